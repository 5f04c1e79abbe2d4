#include "unit/tokenizer/cases.hpp"

#include <catch2/catch.hpp>

#include "base/philox.hpp"
#include "base/text.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura::test {

Tokenizer open_tokenizer(const std::string& path) {
    const Result<Tokenizer> tokenizer = Tokenizer::open(path);
    INFO(path << ": " << tokenizer.status().message());
    REQUIRE(tokenizer.is_ok());
    return *tokenizer;
}

JsonDocument golden_json(std::string_view relative) {
    Result<JsonDocument> document = JsonDocument::parse(read_file(golden(relative)), relative);
    REQUIRE(document.is_ok());
    return *std::move(document);
}

std::vector<TokenId> ids_of(JsonValue list) {
    std::vector<TokenId> ids;
    for (const JsonValue id : list.elements()) ids.push_back(static_cast<TokenId>(id.as_integer().value()));
    return ids;
}

std::string encoded_ids(const std::vector<TokenId>& ids) {
    std::string out;
    for (const TokenId id : ids) out += text(out.empty() ? "" : " ", id);
    return out;
}

std::size_t check_cases(const Tokenizer& tokenizer, JsonValue cases, AddedTokens mode) {
    std::size_t compared = 0;
    for (const JsonValue row : cases.elements()) {
        const std::optional<JsonValue> given = row.find("text");
        const auto encodes = [&](std::string_view key, AddBos add_bos) {
            const std::optional<JsonValue> wanted = row.find(key);
            if (!given || !wanted) return;
            const auto ids = tokenizer.encode(given->as_string().value(), {mode, add_bos});
            INFO(key << " of " << quoted(given->as_string().value()) << ": " << ids.status().message());
            REQUIRE(ids.is_ok());
            CHECK(encoded_ids(*ids) == encoded_ids(ids_of(*wanted)));
            ++compared;
        };
        encodes("ids", AddBos::no);
        encodes("ids_special", AddBos::model_default);
        const auto decodes = [&](std::string_view ids_key, std::string_view text_key, bool skip_special) {
            const std::optional<JsonValue> ids = row.find(ids_key), wanted = row.find(text_key);
            if (!ids || !wanted) return;
            const auto back = tokenizer.decode(ids_of(*ids), {skip_special});
            INFO(text_key << " of " << encoded_ids(ids_of(*ids)) << ": " << back.status().message());
            REQUIRE(back.is_ok());
            CHECK(quoted(*back, 10000) == quoted(wanted->as_string().value(), 10000));
            CHECK(streamed(tokenizer, ids_of(*ids), {skip_special}) == *back);
            ++compared;
        };
        decodes("ids", "decoded", false);
        decodes("ids_special", "decoded_skip", true);
    }
    return compared;
}

std::vector<Fixture> fixtures() {
    const auto at = [](std::string_view name, std::string_view file) {
        return golden(text("tokenizers/", name, '/', file));
    };
    std::vector<Fixture> out;
    for (const std::string name : {"bpe-llama3", "bpe-qwen2", "bpe-gpt-4o"}) {
        for (const std::string file : {"tokenizer.json", "vocab.gguf"}) {
            out.push_back({name, at(name, file), AddedTokens::all, true});
        }
    }
    for (const std::string name : {"spm-bpe", "unigram"}) {
        for (const std::string file : {"tokenizer.model", "vocab.gguf"}) {
            out.push_back({name, at(name, file), AddedTokens::none, false});
        }
    }
    return out;
}

std::string random_text(std::uint64_t seed, std::size_t characters) {
    std::string out;
    for (std::size_t i = 0; i < characters; ++i) {
        const PhiloxCounter draw =
            philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0},
                       {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
        // Half ASCII, a quarter the low planes where scripts and marks live, the rest anywhere.
        const std::uint32_t range = draw[0] % 4 < 2 ? 0x80 : draw[0] % 4 == 2 ? 0x3100 : 0x110000;
        const char32_t value = draw[1] % range;
        append_utf8(out, value >= 0xD800 && value <= 0xDFFF ? U' ' : value);
    }
    return out;
}

std::string streamed(const Tokenizer& tokenizer, const std::vector<TokenId>& ids, const DecodeOptions& options) {
    Result<StreamDecoder> decoder = StreamDecoder::create(tokenizer, options);
    REQUIRE(decoder.is_ok());
    std::string out;
    for (const TokenId id : ids) {
        const auto piece = decoder->push(id);
        REQUIRE(piece.is_ok());
        CHECK(is_utf8(*piece));
        out += *piece;
    }
    const auto rest = decoder->finish();
    REQUIRE(rest.is_ok());
    CHECK(is_utf8(*rest));
    return out += *rest;
}

}  // namespace mixtura::test
