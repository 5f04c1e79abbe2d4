// Broken vocabularies in GGUF files, and the keys that alter what a good one does.
#include <catch2/catch.hpp>

#include <limits>

#include "support/gguf_writer.hpp"
#include "unit/tokenizer/cases.hpp"
#include "unit/tokenizer/refusals.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

constexpr StatusCode kCorrupt = StatusCode::corrupt_file, kUnsupported = StatusCode::unsupported;

using Strings = std::vector<std::string>;
using Types = std::vector<std::int32_t>;

GgufFile gpt2() {
    GgufFile file;
    file.add("tokenizer.ggml.model", "gpt2").add("tokenizer.ggml.pre", "gpt-2");
    file.add_array("tokenizer.ggml.tokens", Strings{"a", "b", "ab", "<|im_end|>", "Ġ", "<think>"});
    file.add_array("tokenizer.ggml.token_type", Types{1, 1, 1, 3, 1, 4})
        .add_array("tokenizer.ggml.merges", Strings{"a b"});
    return file;
}

GgufFile llama() {
    GgufFile file;
    file.add("tokenizer.ggml.model", "llama")
        .add_array("tokenizer.ggml.tokens", Strings{"<unk>", "<s>", "</s>", "a", "\u2581"});
    file.add_array("tokenizer.ggml.token_type", Types{2, 3, 3, 1, 1});
    file.add_array("tokenizer.ggml.scores", std::vector<float>{0, 0, 0, -1, -2});
    return file;
}

using Change = std::function<void(GgufFile&)>;

// `file` with one entry replaced, or dropped where `change` adds none.
Refusal replaced(GgufFile file, std::string key, const Change& change, StatusCode code, std::string message) {
    std::erase_if(file.metadata, [&](const GgufFile::Entry& entry) { return entry.key == "tokenizer.ggml." + key; });
    change(file);
    return {key, "vocab.gguf", file.bytes(), code, std::move(message)};
}

void none(GgufFile&) {}

}  // namespace

TEST_CASE("a GGUF file's broken vocabulary is refused with the key that is wrong", "[tokenizer][short]") {
    const auto strings = [](std::string key, Strings values) {
        return [key = "tokenizer.ggml." + key, values](GgufFile& file) { file.add_array(key, values); };
    };
    const auto text = [](std::string key, std::string value) {
        return [key = "tokenizer.ggml." + key, value](GgufFile& file) { file.add(key, value); };
    };
    check_refusals({
        replaced(gpt2(), "model", none, StatusCode::not_found,
                 "<file>: the file holds no vocabulary (tokenizer.ggml.model is missing)"),
        replaced(gpt2(), "model", text("model", "none"), StatusCode::not_found,
                 "<file>: the file holds no vocabulary (tokenizer.ggml.model is 'none')"),
        replaced(gpt2(), "model", text("model", "bert"), kUnsupported,
                 "<file>: the tokenizer model 'bert' is not supported"),
        replaced(gpt2(), "model", text("model", "rwkv"), kUnsupported,
                 "<file>: the tokenizer model 'rwkv' is not supported"),
        replaced(
            gpt2(), "tokens", none, kCorrupt,
            "<file>: metadata key 'tokenizer.ggml.token_type' has 6 entries, expected one for each of the 0 tokens"),
        replaced(
            gpt2(), "tokens", strings("tokens", {}), kCorrupt,
            "<file>: metadata key 'tokenizer.ggml.token_type' has 6 entries, expected one for each of the 0 tokens"),
        replaced(
            gpt2(), "tokens", text("tokens", "a"), kCorrupt,
            "<file>: metadata key 'tokenizer.ggml.tokens' is a value of type string, expected an array of strings"),
        replaced(gpt2(), "tokens", strings("tokens", {"a", "b", "ab", "a", "x", "y"}), kCorrupt,
                 "<file>: the tokens 0 and 3 have the same spelling 'a'"),
        replaced(gpt2(), "tokens", strings("tokens", {"a", "b", "ab", "\xFF", "x", "y"}), kCorrupt,
                 "<file>: the token 3, '\\xff', is not UTF-8"),
        replaced(
            gpt2(), "token_type", [](GgufFile& file) { file.add_array("tokenizer.ggml.token_type", Types{1}); },
            kCorrupt,
            "<file>: metadata key 'tokenizer.ggml.token_type' has 1 entries, expected one for each of the 6 tokens"),
        replaced(
            gpt2(), "token_type",
            [](GgufFile& file) { file.add_array("tokenizer.ggml.token_type", std::vector<float>(6)); }, kCorrupt,
            "<file>: metadata key 'tokenizer.ggml.token_type' is an array of float32 values, expected an array of "
            "integers"),
        replaced(gpt2(), "pre", text("pre", "frobnicate"), kUnsupported,
                 "<file>: the pre-tokenizer 'frobnicate' is not supported"),
        replaced(gpt2(), "pre", text("pre", ""), kUnsupported, "<file>: the pre-tokenizer '' is not supported"),
        replaced(
            gpt2(), "pre", [](GgufFile& file) { file.add("tokenizer.ggml.pre", true); }, kCorrupt,
            "<file>: metadata key 'tokenizer.ggml.pre' is a value of type boolean, expected a string"),
        replaced(gpt2(), "merges", none, kCorrupt,
                 "<file>: expected a list of string as tokenizer.ggml.merges, found none"),
        replaced(gpt2(), "merges", strings("merges", {"ab"}), kCorrupt,
                 "<file>: merge 0: expected two tokens with a space between, found 'ab'"),
        replaced(gpt2(), "merges", strings("merges", {"a "}), kCorrupt,
                 "<file>: merge 0: expected two tokens with a space between, found 'a '"),
        replaced(gpt2(), "merges", strings("merges", {""}), kCorrupt,
                 "<file>: merge 0: expected two tokens with a space between, found ''"),
        replaced(gpt2(), "merges", strings("merges", {"b a"}), kCorrupt,
                 "<file>: merge 0, 'b' and 'a', needs the token 'ba', which the vocabulary lacks"),
        replaced(gpt2(), "bos_token_id", text("bos_token_id", "a"), kCorrupt,
                 "<file>: metadata key 'tokenizer.ggml.bos_token_id' is a value of type string, expected an integer"),
        replaced(
            gpt2(), "add_bos_token", [](GgufFile& file) { file.add("tokenizer.ggml.add_bos_token", true); }, kCorrupt,
            "<file>: tokenizer.ggml.add_bos_token is true, but there is no bos_token_id"),
        replaced(
            gpt2(), "add_bos_token", [](GgufFile& file) { file.add("tokenizer.ggml.add_bos_token", 1); }, kCorrupt,
            "<file>: metadata key 'tokenizer.ggml.add_bos_token' is a value of type int32, expected a boolean"),
        replaced(llama(), "scores", none, kCorrupt,
                 "<file>: expected a list of float32 as tokenizer.ggml.scores, found none"),
        replaced(
            llama(), "scores", [](GgufFile& file) { file.add_array("tokenizer.ggml.scores", std::vector<float>(3)); },
            kCorrupt,
            "<file>: metadata key 'tokenizer.ggml.scores' has 3 entries, expected one for each of the 5 tokens"),
        replaced(
            llama(), "scores",
            [](GgufFile& file) {
                file.add_array("tokenizer.ggml.scores", std::vector<float>(5, std::numeric_limits<float>::quiet_NaN()));
            },
            kCorrupt, "<file>: the piece 3 has a score that is no number"),
        replaced(llama(), "precompiled_charsmap", text("precompiled_charsmap", "x"), kCorrupt,
                 "<file>: expected a list of bytes as tokenizer.ggml.precompiled_charsmap"),
    });
}

TEST_CASE("a GGUF vocabulary's keys say what surrounds a text and what ends a reply", "[tokenizer][short]") {
    const TemporaryFolder folder;
    GgufFile file = gpt2();
    file.add("tokenizer.ggml.bos_token_id", std::uint32_t{0}).add("tokenizer.ggml.add_bos_token", true);
    file.add("tokenizer.ggml.eos_token_id", std::uint32_t{1}).add("tokenizer.ggml.padding_token_id", std::uint32_t{99});
    const Tokenizer tokenizer = open_tokenizer(folder.write("a.gguf", file.bytes()));
    CHECK(tokenizer.source() == "GGUF (gpt2, gpt-2)");
    CHECK(encoded_ids(*tokenizer.encode("ab ab")) == "0 2 4 2");
    CHECK(encoded_ids(*tokenizer.encode("ab", {AddedTokens::all, AddBos::no})) == "2");
    CHECK(tokenizer.special_tokens().eos == 1);
    CHECK(tokenizer.special_tokens().pad == kNoToken);  // out of range: as if it were not there
    CHECK(tokenizer.special_tokens().eot == 3);
    CHECK(tokenizer.is_end(1));
    CHECK(tokenizer.is_end(3));
    CHECK_FALSE(tokenizer.is_end(2));
    CHECK(tokenizer.is_special(3));
    CHECK_FALSE(tokenizer.is_special(5));
    CHECK(tokenizer.is_added(5));
    // "all" finds both kinds, "special_only" one, "none" neither.
    const std::string marked = "<think>a<|im_end|>";
    CHECK(encoded_ids(*tokenizer.encode(marked, {AddedTokens::all, AddBos::no})) == "5 0 3");
    CHECK(encoded_ids(*tokenizer.encode(marked, {AddedTokens::special_only, AddBos::no})) == "0 3");
    CHECK(encoded_ids(*tokenizer.encode(marked, {AddedTokens::none, AddBos::no})) == "0");
    CHECK(*tokenizer.decode(std::vector<TokenId>{5, 4, 2, 3}) == "<think> ab");
    CHECK(*tokenizer.decode(std::vector<TokenId>{5, 4, 2, 3}, {false}) == "<think> ab<|im_end|>");
}

TEST_CASE("the tokens without a spelling in a padded GGUF vocabulary are holes", "[tokenizer][short]") {
    GgufFile file = gpt2();
    std::erase_if(file.metadata, [](const GgufFile::Entry& entry) { return entry.key == "tokenizer.ggml.tokens"; });
    file.add_array("tokenizer.ggml.tokens", Strings{"a", "b", "ab", "", "", "c"});
    const TemporaryFolder folder;
    const Tokenizer tokenizer = open_tokenizer(folder.write("a.gguf", file.bytes()));
    CHECK(tokenizer.size() == 6);
    CHECK(tokenizer.token_text(3).empty());
    CHECK(*tokenizer.decode(std::vector<TokenId>{0, 3, 4, 1}) == "ab");
    CHECK(tokenizer.token_bytes(4)->empty());
}

TEST_CASE("Phi-3's markers swallow the white space behind them", "[tokenizer][short]") {
    GgufFile file = llama();
    file.add("general.architecture", "phimoe");
    const TemporaryFolder folder;
    const Tokenizer phi = open_tokenizer(folder.write("phi.gguf", file.bytes()));
    CHECK(encoded_ids(*phi.encode("</s>\n a", {AddedTokens::all, AddBos::no})) == "2 4 3");
    const Tokenizer other = open_tokenizer(folder.write("other.gguf", llama().bytes()));
    CHECK(encoded_ids(*other.encode("</s>\n a", {AddedTokens::all, AddBos::no})) == "2 4 0 4 3");
}
