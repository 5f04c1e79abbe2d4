// Text in, the same text out; bytes in, the same bytes out; and a stream is its whole.
#include <catch2/catch.hpp>

#include "base/philox.hpp"
#include "base/text.hpp"
#include "tokenizer/traced_text.hpp"
#include "tokenizer/unicode.hpp"
#include "unit/tokenizer/cases.hpp"

using namespace mixtura;
using namespace mixtura::test;
using namespace std::string_literals;

namespace {

std::string random_bytes(std::uint32_t seed, std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) {
        const PhiloxCounter draw = philox4x32({static_cast<std::uint32_t>(i), 1, 0, 0}, {seed, 0});
        out.push_back(static_cast<char>(draw[0] % 3 == 0 ? draw[1] % 128 : draw[1] % 256));
    }
    return out;
}

std::string bytes_of_all(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
    std::string out;
    for (const TokenId id : ids) out += *tokenizer.token_bytes(id);
    return out;
}

}  // namespace

TEST_CASE("detokenising tokenised text gives the text back on byte-level vocabularies", "[tokenizer][short]") {
    for (const Fixture& fixture : fixtures()) {
        if (!fixture.is_byte_level) continue;
        INFO(fixture.path);
        const Tokenizer tokenizer = open_tokenizer(fixture.path);
        const bool normalises = fixture.name == "bpe-qwen2";
        for (std::uint64_t seed = 0; seed < 300; ++seed) {
            TracedText text{random_text(seed, 1 + seed % 200), {}};
            const auto ids = tokenizer.encode(text.bytes, {AddedTokens::none, AddBos::no});
            REQUIRE(ids.is_ok());
            if (normalises) REQUIRE(normalize_form(UnicodeForm::nfc, text).is_ok());
            const auto back = tokenizer.decode(*ids, {false});
            REQUIRE(back.is_ok());
            CHECK(*back == text.bytes);
            CHECK(bytes_of_all(tokenizer, *ids) == text.bytes);
        }
    }
}

TEST_CASE("a byte-level vocabulary encodes bytes that are no UTF-8 as themselves", "[tokenizer][short]") {
    for (const char* form : {"tokenizers/bpe-llama3/tokenizer.json", "tokenizers/bpe-gpt-4o/vocab.gguf"}) {
        const Tokenizer tokenizer = open_tokenizer(golden(form));
        for (std::uint32_t seed = 0; seed < 300; ++seed) {
            const std::string bytes = random_bytes(seed, 1 + seed % 100);
            const auto ids = tokenizer.encode(bytes, {AddedTokens::none, AddBos::no});
            REQUIRE(ids.is_ok());
            CHECK(bytes_of_all(tokenizer, *ids) == bytes);
            const auto spans = tokenizer.encode_spans(std::vector<TextSpan>{{bytes, false}});
            CHECK(spans.is_ok());
        }
        // What stands around a broken byte is cut as if a text ended and began there.
        const auto ids = tokenizer.encode("Hello\xFF world", {AddedTokens::all, AddBos::no});
        std::vector<TokenId> parts = *tokenizer.encode("Hello", {AddedTokens::all, AddBos::no});
        for (const std::string_view part : {"\xFF", " world"}) {
            const auto more = tokenizer.encode(part, {AddedTokens::all, AddBos::no});
            parts.insert(parts.end(), more->begin(), more->end());
        }
        CHECK(*ids == parts);
    }
}

TEST_CASE("other vocabularies take each byte that is no UTF-8 for U+FFFD", "[tokenizer][short]") {
    for (const Fixture& fixture : fixtures()) {
        if (fixture.is_byte_level || fixture.name == "unigram") continue;
        INFO(fixture.path);
        const Tokenizer tokenizer = open_tokenizer(fixture.path);
        CHECK(*tokenizer.encode("a\xFF\xE4\xBD b") == *tokenizer.encode("a\uFFFD\uFFFD\uFFFD b"));
        for (std::uint32_t seed = 0; seed < 100; ++seed) CHECK(tokenizer.encode(random_bytes(seed, 50)).is_ok());
    }
    // The unigram fixture's own character map makes a space of U+FFFD, but SentencePiece does not map what it puts in.
    const Tokenizer unigram = open_tokenizer(golden("tokenizers/unigram/tokenizer.model"));
    CHECK(unigram.encode("a\xFF"s).is_ok());
    CHECK(*unigram.encode("a\xFF") != *unigram.encode("a "));
}

TEST_CASE("a NUL byte is text", "[tokenizer][short]") {
    for (const Fixture& fixture : fixtures()) {
        INFO(fixture.path);
        const Tokenizer tokenizer = open_tokenizer(fixture.path);
        const auto ids = tokenizer.encode("a\0b"s, {AddedTokens::none, AddBos::no});
        REQUIRE(ids.is_ok());
        if (fixture.name == "unigram") continue;  // its vocabulary has no NUL: an unknown character
        CHECK(*tokenizer.decode(*ids, {false}) == "a\0b"s);
    }
}

TEST_CASE("random ids stream as whole UTF-8 and together give the whole", "[tokenizer][short]") {
    const JsonDocument components = golden_json("tokenizers/components.json");
    const TemporaryFolder folder;
    std::vector<std::string> paths;
    for (const Fixture& fixture : fixtures()) paths.push_back(fixture.path);
    for (const JsonValue entry : components.root().find("tokenizers")->elements()) {
        paths.push_back(
            folder.write(text("v", paths.size(), "/tokenizer.json"), entry.find("spec")->as_string().value()));
    }
    CHECK(paths.size() == 22);
    for (const std::string& path : paths) {
        INFO(path);
        const Tokenizer tokenizer = open_tokenizer(path);
        for (std::uint32_t seed = 0; seed < 60; ++seed) {
            std::vector<TokenId> ids;
            for (std::uint32_t i = 0; i < 1 + seed * 2; ++i) {
                const PhiloxCounter draw = philox4x32({i, 2, 0, 0}, {seed, 0});
                // Byte tokens and the alphabet lie at the front of every vocabulary: half of the ids from there.
                const std::size_t range =
                    draw[0] % 2 == 0 ? std::min<std::size_t>(300, tokenizer.size()) : tokenizer.size();
                ids.push_back(static_cast<TokenId>(draw[1] % range));
            }
            for (const bool skip_special : {false, true}) {
                const auto whole = tokenizer.decode(ids, {skip_special});
                REQUIRE(whole.is_ok());
                CHECK(streamed(tokenizer, ids, {skip_special}) == *whole);
            }
        }
    }
}

TEST_CASE("a stream holds an incomplete character and flushes it as U+FFFD", "[tokenizer][short]") {
    const Tokenizer tokenizer = open_tokenizer(golden("tokenizers/bpe-llama3/tokenizer.json"));
    const auto ids = tokenizer.encode("你", {AddedTokens::none, AddBos::no});
    REQUIRE(ids->size() == 2);  // the first stops inside the character
    Result<StreamDecoder> decoder = StreamDecoder::create(tokenizer);
    CHECK(decoder->push((*ids)[0])->empty());
    CHECK(*decoder->push((*ids)[1]) == "你");
    CHECK(decoder->finish()->empty());
    CHECK(decoder->push((*ids)[0])->empty());
    CHECK(*decoder->finish() == "\uFFFD");
    CHECK(decoder->push(-1).status().code() == StatusCode::out_of_range);
    CHECK(decoder->push(static_cast<TokenId>(tokenizer.size())).status().message() ==
          "the token id 1500 is not in [0, 1500)");
    CHECK(*decoder->push((*tokenizer.encode("a", {AddedTokens::none, AddBos::no}))[0]) == "a");
}
