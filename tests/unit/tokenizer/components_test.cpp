// Each component of a tokenizer.json alone against the tokenizers library's own (make_tokenizer_components.py).
#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "tokenizer/json_parts.hpp"
#include "unit/tokenizer/cases.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

class Collector final : public WordSink {
  public:
    Status take(const Word& word) override {
        words.emplace_back(word.text);
        return {};
    }
    std::vector<std::string> words;
};

std::string joined(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += quoted(word, 1000) + " ";
    return out;
}

std::vector<std::string> strings_of(JsonValue list) {
    std::vector<std::string> out;
    for (const JsonValue value : list.elements()) out.emplace_back(value.as_string().value());
    return out;
}

// Calls each(spec, input, wanted) for every case of the components under `key`; returns how many components there are.
template <class Each>
std::size_t for_each_case(std::string_view key, std::string_view spec_key, Each&& each) {
    const JsonDocument components = golden_json("tokenizers/components.json");
    std::size_t count = 0;
    for (const JsonValue component : components.root().find(key)->elements()) {
        ++count;
        INFO(key << '[' << count - 1 << ']');
        for (const JsonValue row : component.find("cases")->elements()) {
            auto part = row.elements().begin();
            const JsonValue input = *part;
            each(component.find(spec_key).value(), input, *++part);
        }
    }
    return count;
}

}  // namespace

TEST_CASE("each normaliser makes of a text what the tokenizers library makes of it", "[tokenizer][short]") {
    RegexWorkspace regex;
    const std::size_t count =
        for_each_case("normalizers", "spec", [&](JsonValue spec, JsonValue input, JsonValue wanted) {
            Normalizer normalizer;
            const Status status = read_json_normalizer(spec, "test", normalizer);
            INFO(status.message());
            REQUIRE(status.is_ok());
            TracedText text{std::string(input.as_string().value()), {}};
            REQUIRE(normalizer.apply(text, regex).is_ok());
            INFO(quoted(input.as_string().value()));
            CHECK(quoted(text.bytes, 1000) == quoted(wanted.as_string().value(), 1000));
            // With trust alongside, the text is the same and every byte has its trust.
            TracedText traced{std::string(input.as_string().value()), std::string(input.as_string()->size(), '\0')};
            REQUIRE(normalizer.apply(traced, regex).is_ok());
            CHECK(traced.bytes == text.bytes);
            CHECK((traced.trust.size() == traced.bytes.size() || input.as_string()->empty()));
        });
    CHECK(count == 19);
}

TEST_CASE("each pre-tokenizer cuts a text where the tokenizers library cuts it", "[tokenizer][short]") {
    const std::size_t count =
        for_each_case("pre_tokenizers", "spec", [&](JsonValue spec, JsonValue input, JsonValue wanted) {
            PreTokenizer pre_tokenizer;
            const Status status = read_json_pre_tokenizer(spec, "test", pre_tokenizer);
            INFO(status.message());
            REQUIRE(status.is_ok());
            PreTokenizer::Scratch scratch;
            Collector collector;
            REQUIRE(pre_tokenizer.run({input.as_string().value(), nullptr}, true, scratch, collector).is_ok());
            INFO(quoted(input.as_string().value()));
            CHECK(joined(collector.words) == joined(strings_of(wanted)));
        });
    CHECK(count == 42);
}

TEST_CASE("each pattern of Oniguruma's syntax matches what Oniguruma matches", "[tokenizer][short]") {
    const std::size_t count =
        for_each_case("patterns", "pattern", [&](JsonValue pattern, JsonValue input, JsonValue wanted) {
            PreTokenizer pre_tokenizer;
            Result<Regex> regex = Regex::compile(pattern.as_string().value(), "test");
            INFO(pattern.as_string().value() << ": " << regex.status().message());
            REQUIRE(regex.is_ok());
            pre_tokenizer.stages.emplace_back().pattern = *std::move(regex);
            PreTokenizer::Scratch scratch;
            Collector collector;
            REQUIRE(pre_tokenizer.run({input.as_string().value(), nullptr}, true, scratch, collector).is_ok());
            INFO(quoted(input.as_string().value()));
            CHECK(joined(collector.words) == joined(strings_of(wanted)));
        });
    CHECK(count == 47);
}

TEST_CASE("each decoder makes of tokens the text that the tokenizers library makes of them", "[tokenizer][short]") {
    const std::size_t count = for_each_case("decoders", "spec", [&](JsonValue spec, JsonValue input, JsonValue wanted) {
        DecodePlan plan;
        const Status status = read_json_decoder(spec, "test", plan);
        INFO(status.message());
        REQUIRE(status.is_ok());
        Vocabulary vocabulary;
        std::vector<TokenId> ids;
        for (const std::string& token : strings_of(input)) {
            TokenId id = vocabulary.find(token);
            if (id < 0) {
                id = static_cast<TokenId>(vocabulary.size());
                REQUIRE(vocabulary.add(id, token, 0, "test").is_ok());
            }
            ids.push_back(id);
        }
        DecodeRun run(plan, vocabulary, false);
        std::string out;
        for (const TokenId id : ids) REQUIRE(run.push(id, out).is_ok());
        REQUIRE(run.finish(out).is_ok());
        INFO(joined(strings_of(input)));
        CHECK(quoted(out, 1000) == quoted(wanted.as_string().value(), 1000));
    });
    CHECK(count == 14);
}
