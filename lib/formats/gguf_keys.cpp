#include "formats/gguf_keys.hpp"

#include <algorithm>
#include <iterator>

#include "base/checked.hpp"
#include "base/text.hpp"

namespace mixtura {
namespace {

enum class Wanted { string, integer, boolean, strings, integers, reals };

struct Rule {
    std::string_view key;
    Wanted wanted;
};
constexpr Rule kRules[] = {
    {"general.architecture", Wanted::string},
    {"general.name", Wanted::string},
    {"general.size_label", Wanted::string},
    {"general.alignment", Wanted::integer},
    {"general.file_type", Wanted::integer},
    {"split.no", Wanted::integer},
    {"split.count", Wanted::integer},
    {"split.tensors.count", Wanted::integer},
    {"tokenizer.chat_template", Wanted::string},
    {"tokenizer.ggml.model", Wanted::string},
    {"tokenizer.ggml.pre", Wanted::string},
    {"tokenizer.ggml.tokens", Wanted::strings},
    {"tokenizer.ggml.merges", Wanted::strings},
    {"tokenizer.ggml.scores", Wanted::reals},
    {"tokenizer.ggml.token_type", Wanted::integers},
    {"tokenizer.ggml.bos_token_id", Wanted::integer},
    {"tokenizer.ggml.eos_token_id", Wanted::integer},
    {"tokenizer.ggml.eot_token_id", Wanted::integer},
    {"tokenizer.ggml.eom_token_id", Wanted::integer},
    {"tokenizer.ggml.unknown_token_id", Wanted::integer},
    {"tokenizer.ggml.padding_token_id", Wanted::integer},
    {"tokenizer.ggml.add_bos_token", Wanted::boolean},
    {"tokenizer.ggml.add_eos_token", Wanted::boolean},
    {"tokenizer.ggml.add_space_prefix", Wanted::boolean},
};

bool is_integer(GgufType type) {
    return type != GgufType::f32 && type != GgufType::f64 && type != GgufType::boolean && type != GgufType::string &&
           type != GgufType::array;
}

bool is_as_wanted(Wanted wanted, const GgufValue& value) {
    switch (wanted) {
        case Wanted::string: return value.type() == GgufType::string;
        case Wanted::integer: return is_integer(value.type()) && value.as_integer().has_value();
        case Wanted::boolean: return value.type() == GgufType::boolean;
        case Wanted::strings: return value.is_array() && value.element_type() == GgufType::string;
        case Wanted::integers: return value.is_array() && is_integer(value.element_type());
        case Wanted::reals: return value.is_array() && value.element_type() == GgufType::f32;
    }
    return false;
}

std::string_view wanted_name(Wanted wanted) {
    switch (wanted) {
        case Wanted::string: return "a string";
        case Wanted::integer: return "an integer";
        case Wanted::boolean: return "a boolean";
        case Wanted::strings: return "an array of strings";
        case Wanted::integers: return "an array of integers";
        case Wanted::reals: return "an array of float32";
    }
    return {};
}

}  // namespace

std::string gguf_key_problem(std::string_view key, const GgufValue& value) {
    const auto* rule =
        std::find_if(std::begin(kRules), std::end(kRules), [key](const Rule& r) { return r.key == key; });
    if (rule == std::end(kRules)) return {};
    if (!is_as_wanted(rule->wanted, value)) {
        if (rule->wanted == Wanted::integer && value.type() == GgufType::u64) return "is larger than 2^63 - 1";
        const std::string found = value.is_array()
                                      ? text("an array of ", gguf_type_name(value.element_type()), " values")
                                      : text("a value of type ", gguf_type_name(value.type()));
        return text("is ", found, ", expected ", wanted_name(rule->wanted));
    }
    if (key == "general.alignment") {
        // Converters write 32; 64 KiB is the largest page size in use, and nothing gains from more.
        constexpr std::int64_t kAlignmentMin = 8, kAlignmentMax = 65536;
        const std::int64_t alignment = *value.as_integer();
        if (alignment < kAlignmentMin || alignment > kAlignmentMax ||
            !is_power_of_two(static_cast<std::uint64_t>(alignment))) {
            return text("is ", alignment, ", expected a power of two from ", kAlignmentMin, " to ", kAlignmentMax);
        }
    }
    return {};
}

std::string gguf_vocabulary_problem(const GgufHeader& header) {
    const GgufValue* tokens = header.find("tokenizer.ggml.tokens");
    for (const std::string_view key : {"tokenizer.ggml.scores", "tokenizer.ggml.token_type"}) {
        const GgufValue* list = header.find(key);
        if (list == nullptr) continue;
        const std::size_t token_count = tokens == nullptr ? 0 : tokens->size();
        if (list->size() != token_count) {
            return text("metadata key ", quoted(key), " has ", list->size(), " entries, expected one for each of the ",
                        token_count, " tokens");
        }
    }
    return {};
}

}  // namespace mixtura
