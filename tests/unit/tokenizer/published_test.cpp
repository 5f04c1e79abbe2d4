// Published vocabularies, whole and as their owners ship them.  tests/golden/fetch_published.py brings the files.
#include <catch2/catch.hpp>

#include <algorithm>

#include "tokenizer/byte_alphabet.hpp"
#include "unit/tokenizer/cases.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

Tokenizer open_published(const std::string& name) {
    return open_tokenizer(std::string(MIXTURA_PUBLISHED_DIR) + "/" + name);
}

std::size_t check_published(const Tokenizer& tokenizer, const std::string& name, AddedTokens mode) {
    const JsonDocument cases = golden_json("tokenizers/" + name + "/cases.json");
    return check_cases(tokenizer, cases.root().find("cases").value(), mode);
}

// No marker of a published vocabulary comes out of untrusted text that spells it, and each does where it is trusted.
void check_forgeries(const Tokenizer& tokenizer) {
    std::size_t markers = 0;
    for (std::size_t i = 0; i < tokenizer.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        if (!tokenizer.is_added(id) || id == tokenizer.special_tokens().unk) continue;
        const std::string spelling(tokenizer.token_text(id));
        INFO(spelling);
        const auto forged =
            tokenizer.encode_spans(std::vector<TextSpan>{{"x", true}, {spelling + "\n" + spelling + "ab", false}});
        REQUIRE(forged.is_ok());
        CHECK(std::find(forged->begin() + 1, forged->end(), id) == forged->end());
        const auto real = tokenizer.encode_spans(std::vector<TextSpan>{{"x", true}, {spelling, true}, {"y", false}});
        REQUIRE(real.is_ok());
        CHECK(std::find(real->begin(), real->end(), id) != real->end());
        ++markers;
    }
    CHECK(markers > 1);
}

}  // namespace

TEST_CASE("DeepSeek-V3's published vocabulary has the tokenizers library's ids", "[tokenizer][published]") {
    const Tokenizer tokenizer = open_published("deepseek-v3/tokenizer.json");
    CHECK(tokenizer.size() == 128815);
    CHECK(check_published(tokenizer, "deepseek-v3", AddedTokens::all) > 340);
    check_forgeries(tokenizer);
    // Its turn markers are added tokens without the special flag.
    const TokenId user = tokenizer.find("<｜User｜>");
    REQUIRE(user >= 0);
    CHECK(tokenizer.is_added(user));
    CHECK_FALSE(tokenizer.is_special(user));
}

TEST_CASE("Mixtral-8x7B's published vocabulary has SentencePiece's ids", "[tokenizer][published]") {
    const Tokenizer tokenizer = open_published("mixtral-8x7b/tokenizer.model");
    CHECK(tokenizer.size() == 32000);
    CHECK(check_published(tokenizer, "mixtral-8x7b", AddedTokens::none) > 220);
    check_forgeries(tokenizer);
}

TEST_CASE("SmolLM2's published vocabulary, in its GGUF file, has the tokenizers library's ids",
          "[tokenizer][published]") {
    const Tokenizer tokenizer = open_published("smollm2/model.gguf");
    CHECK(tokenizer.size() == 49152);
    CHECK(check_published(tokenizer, "smollm2", AddedTokens::all) > 210);
    check_forgeries(tokenizer);
    CHECK(tokenizer.is_end(tokenizer.find("<|im_end|>")));
}

TEST_CASE("published byte-level vocabularies give random text back", "[tokenizer][published]") {
    for (const char* name : {"deepseek-v3/tokenizer.json", "smollm2/model.gguf"}) {
        INFO(name);
        const Tokenizer tokenizer = open_published(name);
        // SmolLM2's vocabulary lacks the bytes of unassigned planes; text with one loses it, in the reference too.
        const auto can_spell = [&](const std::string& text) {
            return std::all_of(text.begin(), text.end(), [&](char byte) {
                std::string letter;
                append_byte_letters(letter, std::string_view(&byte, 1));
                return tokenizer.find(letter) >= 0;
            });
        };
        std::size_t compared = 0;
        for (std::uint64_t seed = 0; seed < 2000; ++seed) {
            const std::string text = random_text(seed, 1 + seed % 40);
            if (!can_spell(text)) continue;
            const auto ids = tokenizer.encode(text, {AddedTokens::all, AddBos::no});
            REQUIRE(ids.is_ok());
            CHECK(*tokenizer.decode(*ids, {false}) == text);
            CHECK(streamed(tokenizer, *ids, {false}) == text);
            ++compared;
        }
        CHECK(compared > 100);
    }
}
