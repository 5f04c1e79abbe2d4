// Ids one by one against ids at once, on the golden vocabularies: the first byte chooses one, every other byte or two
// are an id.
#include <cstdint>
#include <optional>

#include "formats/json.hpp"
#include "fuzz/exercise_tokenizer.hpp"
#include "support/files.hpp"

namespace {

std::vector<mixtura::Tokenizer> open_all() {
    using mixtura::test::golden;
    std::vector<mixtura::Tokenizer> out;
    for (const char* path :
         {"bpe-llama3/tokenizer.json", "bpe-qwen2/vocab.gguf", "spm-bpe/tokenizer.model", "unigram/vocab.gguf"}) {
        const auto tokenizer = mixtura::Tokenizer::open(golden(std::string("tokenizers/") + path));
        if (tokenizer) out.push_back(*tokenizer);
    }
    const std::string json = mixtura::test::read_file(golden("tokenizers/components.json"));
    const auto components = mixtura::JsonDocument::parse(json, "components.json");
    if (!components) return out;
    for (const mixtura::JsonValue entry : components->root().find("tokenizers")->elements()) {
        const auto state = mixtura::read_tokenizer_json(entry.find("spec")->as_string().value(), "composed");
        if (!state || !finish_state(**state)) continue;
        out.emplace_back(*state);
    }
    return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const std::vector<mixtura::Tokenizer> tokenizers = open_all();
    if (tokenizers.size() != 16) __builtin_trap();  // the golden data is not where it should be
    if (size == 0) return 0;
    const mixtura::Tokenizer& tokenizer = tokenizers[data[0] % tokenizers.size()];
    std::vector<mixtura::TokenId> ids;
    for (std::size_t i = 1; i < size; ++i) {
        std::size_t id = data[i];
        if (id >= 0xF0 && i + 1 < size) id = (id & 0xF) << 8 | data[++i];
        ids.push_back(static_cast<mixtura::TokenId>(id % tokenizer.size()));
    }
    mixtura::test::check_stream(tokenizer, ids, {(data[0] & 0x80) != 0});
    return 0;
}
