// Which file a path means, and what the files beside a vocabulary change.
#include <catch2/catch.hpp>

#include "unit/tokenizer/cases.hpp"
#include "unit/tokenizer/refusals.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

// A folder with a small tokenizer.json, or a tokenizer.model, and more files.
struct Folder {
    TemporaryFolder folder;
    explicit Folder(const char* vocabulary, std::vector<std::pair<std::string, std::string>> files = {}) {
        if (std::string(vocabulary) == "json") {
            folder.write("tokenizer.json", read_file(golden("tokenizers/bpe-llama3/tokenizer.json")));
        } else {
            folder.write("tokenizer.model", read_file(golden("tokenizers/spm-bpe/tokenizer.model")));
        }
        for (const auto& [name, content] : files) folder.write(name, content);
    }
    Tokenizer open() const { return open_tokenizer(folder.path()); }
};

}  // namespace

TEST_CASE("a folder's tokenizer.json wins over its tokenizer.model", "[tokenizer][short]") {
    CHECK(Folder("json", {{"tokenizer.model", "broken"}}).open().source() == "tokenizer.json");
    CHECK(Folder("model").open().source() == "tokenizer.model");
}

TEST_CASE("a path without a vocabulary is refused with what is there", "[tokenizer][short]") {
    const TemporaryFolder folder;
    const auto message = [](const std::string& path) { return std::string(Tokenizer::open(path).status().message()); };
    CHECK(message(folder.path()) == "'" + folder.path() + "' holds neither a tokenizer.json nor a tokenizer.model");
    CHECK(Tokenizer::open(folder.path()).status().code() == StatusCode::not_found);
    CHECK(Tokenizer::open(folder.file("none")).status().code() == StatusCode::not_found);
    CHECK(Tokenizer::open("/dev/null").status().code() == StatusCode::invalid_argument);
    CHECK(Tokenizer::open(std::string("a\0b", 3)).status().code() == StatusCode::invalid_argument);
    const std::string pointer =
        folder.write("tokenizer.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    CHECK(Tokenizer::open(pointer).status().code() == StatusCode::unknown_format);
    CHECK(message(pointer).find("git-LFS pointer") != std::string::npos);
    CHECK(Tokenizer::open(golden("quants.safetensors")).status().message().find("holds weights") !=
          std::string_view::npos);
    CHECK(Tokenizer::open(golden("gguf/llama.gguf")).status().code() == StatusCode::not_found);
}

TEST_CASE("tokenizer_config.json says what is put around a text", "[tokenizer][short]") {
    CHECK(encoded_ids(*Folder("json").open().encode("a")).substr(0, 2) == "0 ");
    const auto with = [](const std::string& config) {
        return Folder("json", {{"tokenizer_config.json", config}}).open();
    };
    CHECK_FALSE(with(R"({"bos_token": "<|endoftext|>", "add_bos_token": false})").adds_bos());
    const Tokenizer both =
        with(R"({"bos_token": {"content": "<|im_start|>"}, "eos_token": "<|im_end|>", "add_bos_token": true,
                                    "add_eos_token": true})");
    CHECK(both.special_tokens().bos == 1);
    CHECK(both.special_tokens().eos == 2);
    const auto ids = both.encode("a");
    CHECK(ids->front() == 1);
    CHECK(ids->back() == 2);
    CHECK(both.is_end(2));
    // AddBos::yes needs a name to add.
    const Tokenizer forced = with(R"({"bos_token": "<|endoftext|>", "add_bos_token": false})");
    CHECK(forced.encode("a", {AddedTokens::all, AddBos::yes})->front() == 0);
    CHECK(forced.encode("a", {AddedTokens::all, AddBos::model_default})->front() != 0);
    const Tokenizer nameless = open_tokenizer(golden("tokenizers/bpe-qwen2/tokenizer.json"));
    CHECK(nameless.encode("a", {AddedTokens::all, AddBos::yes}).status().code() == StatusCode::invalid_argument);
}

TEST_CASE("tokenizer_config.json and added_tokens.json add tokens and change them", "[tokenizer][short]") {
    const Tokenizer changed = Folder("json", {{"tokenizer_config.json", R"({"added_tokens_decoder": {
        "2": {"content": "<|im_end|>", "special": false, "rstrip": true, "normalized": false},
        "1500": {"content": "<think>", "special": false, "normalized": false}}})"}})
                                  .open();
    CHECK_FALSE(changed.is_special(2));
    CHECK(changed.find("<think>") == 1500);
    CHECK(encoded_ids(*changed.encode("<|im_end|>  <think>", {AddedTokens::all, AddBos::no})) == "2 1500");
    const Tokenizer model = Folder("model", {{"added_tokens.json", R"({"<think>": 1500, "<s>": 1})"}}).open();
    CHECK(encoded_ids(*model.encode("<think><s>", {AddedTokens::all, AddBos::no})) == "1500 1");
    CHECK(*model.decode(std::vector<TokenId>{1500}) == "<think>");
}

TEST_CASE("the space in front of a SentencePiece text follows the legacy flag", "[tokenizer][short]") {
    const TokenId space = open_tokenizer(golden("tokenizers/spm-bpe/tokenizer.model")).find("\u2581");
    const auto count = [&](const char* config, const char* text) {
        const auto ids =
            Folder("model", {{"tokenizer_config.json", config}}).open().encode(text, {AddedTokens::all, AddBos::no});
        return std::count(ids->begin(), ids->end(), space);
    };
    // "<s>" is recognised here, and the dummy space comes before every part or before the first alone.
    CHECK(count("{}", "!<s>!<s>!") == 3);
    CHECK(count(R"({"legacy": true})", "!<s>!<s>!") == 3);
    CHECK(count(R"({"legacy": false})", "!<s>!<s>!") == 1);
    CHECK(count(R"({"add_prefix_space": false})", "!<s>!<s>!") == 0);
}

TEST_CASE("end tokens come from generation_config.json, else config.json, else spellings", "[tokenizer][short]") {
    const auto ends = [](std::vector<std::pair<std::string, std::string>> files) {
        const Tokenizer tokenizer = Folder("json", std::move(files)).open();
        return encoded_ids({tokenizer.end_tokens().begin(), tokenizer.end_tokens().end()});
    };
    CHECK(ends({{"generation_config.json", R"({"eos_token_id": [5, 2]})"},
                {"config.json", R"({"eos_token_id": 7})"}}) == "2 5");
    CHECK(ends({{"config.json", R"({"eos_token_id": 7})"}}) == "7");
    CHECK(ends({{"config.json", R"({"eos_token_id": 99999999})"}}) == "0 2");
    CHECK(ends({}) == "0 2");  // <|endoftext|> and <|im_end|>
    CHECK(open_tokenizer(golden("tokenizers/bpe-llama3/tokenizer.json")).special_tokens().eot == 2);
}

TEST_CASE("broken files beside a vocabulary are refused, not left aside", "[tokenizer][short]") {
    for (const auto& [name, content] : std::vector<std::pair<std::string, std::string>>{
             {"tokenizer_config.json", "["},
             {"tokenizer_config.json", "[]"},
             {"tokenizer_config.json", R"({"add_bos_token": 1, "bos_token": "<|im_end|>"})"},
             {"tokenizer_config.json", R"({"bos_token": 3})"},
             {"tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "y"}}})"},
             {"tokenizer_config.json", R"({"added_tokens_decoder": {"99999999999": {"content": "y"}}})"},
             {"tokenizer_config.json", R"({"added_tokens_decoder": {"900000": {"content": "y"}}})"},
             {"added_tokens.json", R"({"a": "b"})"},
             {"special_tokens_map.json", R"({"eos_token": {}})"},
             {"generation_config.json", "{"}}) {
        INFO(name << ' ' << content);
        const Folder folder("json", {{name, content}});
        const auto tokenizer = Tokenizer::open(folder.folder.path());
        REQUIRE_FALSE(tokenizer.is_ok());
        CHECK(tokenizer.status().code() == StatusCode::corrupt_file);
        CHECK(tokenizer.status().message().find(name) != std::string_view::npos);
    }
}

TEST_CASE("a tokenizer tells its vocabulary's facts", "[tokenizer][short]") {
    const Tokenizer tokenizer = open_tokenizer(golden("tokenizers/bpe-llama3/tokenizer.json"));
    CHECK(tokenizer.kind() == "byte-level BPE");
    CHECK(tokenizer.size() == 1500);
    CHECK(tokenizer.token_text(0) == "<|endoftext|>");
    CHECK(tokenizer.token_text(-1).empty());
    CHECK(tokenizer.token_text(1500).empty());
    CHECK(tokenizer.find("<|im_end|>") == 2);
    CHECK(tokenizer.find("<|im_end") == kNoToken);
    CHECK(tokenizer.is_special(2));
    CHECK_FALSE(tokenizer.is_special(1500));
    CHECK_FALSE(tokenizer.is_special(-1));
    CHECK(*tokenizer.token_bytes(tokenizer.find("Ġ")) == " ");
    CHECK(tokenizer.token_bytes(-1).status().code() == StatusCode::out_of_range);
    CHECK(tokenizer.decode(std::vector<TokenId>{1500}).status().message() == "the token id 1500 is not in [0, 1500)");
    const Tokenizer copy = tokenizer;  // shares everything
    CHECK(copy.token_text(0).data() == tokenizer.token_text(0).data());
    const Tokenizer spm = open_tokenizer(golden("tokenizers/spm-bpe/tokenizer.model"));
    CHECK(*spm.token_bytes(spm.find("<0x0A>")) == "\n");
    CHECK(*spm.token_bytes(spm.find("\u2581")) == " ");
    CHECK(*spm.token_bytes(spm.special_tokens().bos) == "<s>");
}
