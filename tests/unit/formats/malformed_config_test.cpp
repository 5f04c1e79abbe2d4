// Broken config.json, generation_config.json and tokenizer_config.json beside a good safetensors file.
#include <mixtura/checkpoint.hpp>

#include <catch2/catch.hpp>

#include "support/malformed.hpp"
#include "support/safetensors_writer.hpp"

using namespace mixtura;
using namespace mixtura::test;
using namespace std::string_literals;

namespace {

constexpr StatusCode kCorrupt = StatusCode::corrupt_file, kForeign = StatusCode::unknown_format;

// `message` goes on behind the file's name.
Malformed beside_weights(std::string name, const std::string& file, std::string content, const std::string& message,
                         StatusCode code) {
    const auto make = [file, content = std::move(content)](const TemporaryFolder& folder) {
        folder.write(file, content);
        SafetensorsFile weights;
        folder.write("model.safetensors", weights.tensor("a", "U8", {1}, "x").bytes());
        return folder.path();
    };
    return {std::move(name), make, code, "'<folder>/" + file + "'" + message};
}

Malformed config(const std::string& content, const std::string& message, StatusCode code = kCorrupt) {
    return beside_weights(content.substr(0, 60), "config.json", content, message, code);
}

Malformed generation(const std::string& content, const std::string& message, StatusCode code = kCorrupt) {
    return beside_weights(content.substr(0, 60), "generation_config.json", content, message, code);
}

}  // namespace

TEST_CASE("a config.json that is no JSON object is refused with the byte", "[formats][short]") {
    std::string deep = "{\"a\":";
    deep += std::string(10000, '[');
    check_malformed({
        config("", " is empty; the download or the disk failed", kForeign),
        config("   ", " cannot be read as JSON at byte 3: expected a value, found the end"),
        config("[]", " is JSON, but no object"),
        config("\"model_type\"", " is JSON, but no object"),
        config("12", " is JSON, but no object"),
        config("{", " cannot be read as JSON at byte 1: expected a key in double quotes or '}', found the end"),
        config("{\"a\":1,}", " cannot be read as JSON at byte 7: expected a key in double quotes, found '}'"),
        config("{\"a\" 1}", " cannot be read as JSON at byte 5: expected ':', found '1'"),
        config("{\"a\":1 \"b\":2}", " cannot be read as JSON at byte 7: expected ',' or '}', found '\"'"),
        config("{'a':1}", " cannot be read as JSON at byte 1: expected a key in double quotes or '}', found '''"),
        config("{a:1}", " cannot be read as JSON at byte 1: expected a key in double quotes or '}', found 'a'"),
        config("{\"a\":NaN}", " cannot be read as JSON at byte 5: expected a value, found 'N'"),
        config("{\"a\":Infinity}", " cannot be read as JSON at byte 5: expected a value, found 'I'"),
        config("{\"a\":nul}", " cannot be read as JSON at byte 8: expected null, found '}'"),
        config("{\"a\":True}", " cannot be read as JSON at byte 5: expected a value, found 'T'"),
        config("{\"a\":+1}", " cannot be read as JSON at byte 5: expected a value, found '+'"),
        config("{\"a\":.5}", " cannot be read as JSON at byte 5: expected a value, found '.'"),
        config("{\"a\":1.}", " cannot be read as JSON at byte 7: expected a digit, found '}'"),
        config("{\"a\":1e}", " cannot be read as JSON at byte 7: expected a digit, found '}'"),
        config("{\"a\":-}", " cannot be read as JSON at byte 6: expected a digit, found '}'"),
        config("{\"a\":012}", " cannot be read as JSON at byte 6: expected ',' or '}', found '1'"),
        config("{\"a\":0x10}", " cannot be read as JSON at byte 6: expected ',' or '}', found 'x'"),
        config("{\"a\":1e309}",
               " cannot be read as JSON at byte 10: the number '1e309' is larger than a double can hold"),
        config("{\"a\":" + std::string(600, '9') + "}",
               " cannot be read as JSON at byte 517: a number longer than 512 characters"),
        config("{} // sizes", " cannot be read as JSON at byte 3: expected the end of the text, found '/'"),
        config("{}\0{}"s, " cannot be read as JSON at byte 2: expected the end of the text, found '\\x00'"),
        config("{\"a\":\"b", " cannot be read as JSON at byte 7: expected '\"', found the end"),
        config("{\"a\":\"\\x41\"}",
               " cannot be read as JSON at byte 7: expected one of \"\\/bfnrtu behind '\\', found 'x'"),
        config("{\"a\":\"\\u12g4\"}",
               " cannot be read as JSON at byte 10: expected four hexadecimal digits behind '\\u', found 'g'"),
        config("{\"a\":\"\\ud800\"}",
               " cannot be read as JSON at byte 12: the first half of a surrogate pair without its second"),
        config("{\"a\":\"\\ud800\\n\"}",
               " cannot be read as JSON at byte 13: the first half of a surrogate pair without its second"),
        config("{\"a\":\"\\ud800\\u0041\"}",
               " cannot be read as JSON at byte 18: the first half of a surrogate pair without its second"),
        config("{\"a\":\"\\udc00\"}",
               " cannot be read as JSON at byte 12: the second half of a surrogate pair without its first"),
        config("{\"a\":\"tab\there\"}", " cannot be read as JSON at byte 9: a string holds the control byte '\\x09'"),
        config("{\"a\":\"\xff\"}", " cannot be read as JSON at byte 7: a string is not UTF-8"),
        config("{\"a\":\"\xc0\xaf\"}", " cannot be read as JSON at byte 8: a string is not UTF-8"),
        config("{\"a\":\"\xed\xa0\x80\"}", " cannot be read as JSON at byte 9: a string is not UTF-8"),
        config("{\"model_type\":\"llama\",\"model_type\":\"qwen\"}", " has the key 'model_type' twice in one object"),
        config("{\"rope\":{\"x\":1,\"y\":2,\"x\":3}}", " has the key 'x' twice in one object"),
        config(deep, " cannot be read as JSON at byte 68: nests deeper than the 64 levels allowed"),
        config(std::string(65, '{'),
               " cannot be read as JSON at byte 1: expected a key in double quotes or '}', found '{'"),
        config("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n",
               " is a git-LFS pointer, not the file itself; fetch it with 'git lfs pull'", kForeign),
        config("\n<!DOCTYPE html>\n<html>",
               " is a web page, not a model; the download went wrong (a login page or an error page)", kForeign),
        config("Entry not found", " cannot be read as JSON at byte 0: expected a value, found 'E'"),
        config("{\"a\":\"" + std::string(5 << 20, 'x') + "\"}", " holds 5242888 bytes, expected at most 4194304",
               StatusCode::out_of_range),
    });
}

TEST_CASE("a size in config.json that is no size is refused with its key and value", "[formats][short]") {
    check_malformed({
        config(R"({"hidden_size":-64})", ": 'hidden_size' is '-64', expected a whole number from 0 to 1099511627776"),
        config(R"({"hidden_size":64.5})", ": 'hidden_size' is '64.5', expected a whole number from 0 to 1099511627776"),
        config(R"({"hidden_size":"64"})",
               ": 'hidden_size' is '\"64\"', expected a whole number from 0 to 1099511627776"),
        config(R"({"hidden_size":true})", ": 'hidden_size' is 'true', expected a whole number from 0 to 1099511627776"),
        config(R"({"hidden_size":{"a":64}})",
               ": 'hidden_size' is '{\"a\":64}', expected a whole number from 0 to 1099511627776"),
        config(R"({"hidden_size":[64,"64"]})",
               ": 'hidden_size' is '\"64\"', expected a whole number from 0 to 1099511627776"),
        config(R"({"hidden_size":[[64]]})",
               ": 'hidden_size' is '[64]', expected a whole number from 0 to 1099511627776"),
        config(R"({"hidden_size":1e300})",
               ": 'hidden_size' is '1e+300', expected a whole number from 0 to 1099511627776"),
        config(R"({"num_hidden_layers":1099511627777})",
               ": 'num_hidden_layers' is '1099511627777', expected a whole number from 0 to 1099511627776"),
        config(R"({"num_attention_heads":9223372036854775808})",
               ": 'num_attention_heads' is '9223372036854775808', expected a whole number from 0 to 1099511627776"),
        config(R"({"vocab_size":2147483648})",
               ": 'vocab_size' is '2147483648', expected a whole number from 0 to 2147483647"),
        config(R"({"text_config":{"num_experts":-1}})",
               ": 'num_experts' is '-1', expected a whole number from 0 to 1099511627776"),
        config(R"({"ffn_config":{"moe_top_k":"two"}})",
               ": 'ffn_config.moe_top_k' is '\"two\"', expected a whole number from 0 to 1099511627776"),
        config(R"({"model_type":"mixtura","layers":[{"ffn":{"experts":-4}}]})",
               ": 'ffn.experts' is '-4', expected a whole number from 0 to 1099511627776"),
        config(R"({"eos_token_id":"</s>"})",
               ": 'eos_token_id' holds '\"</s>\"', expected token ids from 0 to 2147483647"),
        config(R"({"eos_token_id":-1})", ": 'eos_token_id' holds '-1', expected token ids from 0 to 2147483647"),
        config(R"({"eos_token_id":2147483648})",
               ": 'eos_token_id' holds '2147483648', expected token ids from 0 to 2147483647"),
        config(R"({"eos_token_id":[1,2.5]})", ": 'eos_token_id' holds '2.5', expected token ids from 0 to 2147483647"),
        config(R"({"bos_token_id":{"id":1}})",
               ": 'bos_token_id' holds '{\"id\":1}', expected token ids from 0 to 2147483647"),
    });
}

TEST_CASE("a broken generation_config.json or tokenizer_config.json is refused by its own name", "[formats][short]") {
    check_malformed({
        generation("[2]", " is JSON, but no object"),
        generation("{\"eos_token_id\":}", " cannot be read as JSON at byte 16: expected a value, found '}'"),
        generation(R"({"eos_token_id":[2,null]})",
                   ": 'eos_token_id' holds 'null', expected token ids from 0 to 2147483647"),
        generation(R"({"eos_token_id":1e10})",
                   ": 'eos_token_id' holds '10000000000', expected token ids from 0 to 2147483647"),
        generation(R"({"bos_token_id":false})",
                   ": 'bos_token_id' holds 'false', expected token ids from 0 to 2147483647"),
        generation("<html>", " is a web page, not a model; the download went wrong (a login page or an error page)",
                   kForeign),
        beside_weights("no JSON", "tokenizer_config.json", "{\"chat_template\":",
                       " cannot be read as JSON at byte 17: expected a value, found the end", kCorrupt),
        beside_weights("a git-LFS pointer", "tokenizer_config.json", "version https://git-lfs.github.com/spec/v1\n",
                       " is a git-LFS pointer, not the file itself; fetch it with 'git lfs pull'", kForeign),
        {"a folder",
         [](const TemporaryFolder& folder) {
             folder.write("config.json/x", "");
             return folder.write("model.safetensors", SafetensorsFile().tensor("a", "U8", {1}, "x").bytes());
         },
         StatusCode::invalid_argument, "'<folder>/config.json' is a folder, expected a regular file"},
    });
}
