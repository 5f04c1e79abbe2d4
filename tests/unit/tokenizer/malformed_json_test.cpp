// Broken tokenizer.json files, and files that ask for what this version does not know: the sentence a user reads.
#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "unit/tokenizer/refusals.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

constexpr StatusCode kCorrupt = StatusCode::corrupt_file, kUnsupported = StatusCode::unsupported;

// A good file with one field in another form.
Refusal with(std::string key, std::string value, StatusCode code, std::string message) {
    std::string model = R"({"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]})";
    std::string added = "[]";
    if (key == "model") model = std::exchange(value, "");
    if (key == "added_tokens") added = std::exchange(value, "");
    const std::string other = value.empty() ? "" : text(", \"", key, "\": ", value);
    return {text(key, ' ', message), "tokenizer.json",
            text("{\"added_tokens\": ", added, ", \"model\": ", model, other, "}"), code, message};
}

Refusal model(std::string fields, StatusCode code, std::string message) {
    return with("model", "{" + fields + "}", code, std::move(message));
}

// A BPE model with one more field.
Refusal bpe(std::string field, StatusCode code, std::string message) {
    return model(R"("type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"], )" + field, code,
                 std::move(message));
}

std::string nested(std::string_view open, std::string_view close, int depth, std::string_view inner) {
    std::string out;
    for (int i = 0; i < depth; ++i) out += open;
    out += inner;
    for (int i = 0; i < depth; ++i) out += close;
    return out;
}

}  // namespace

TEST_CASE("a tokenizer.json that is no such thing is refused in one sentence", "[tokenizer][short]") {
    check_refusals({
        {"empty object", "tokenizer.json", "{}", kCorrupt, "<file>: expected an object as \"model\""},
        {"not JSON", "tokenizer.json", "{\"model\": ", kCorrupt,
         "<file> cannot be read as JSON at byte 10: expected a value, found the end"},
        with("version", "\"2.0\"", kUnsupported, "<file>: expected the version \"1.0\""),
        with("version", "1", kUnsupported, "<file>: expected the version \"1.0\""),
        with("model", "[]", kCorrupt, "<file>: expected an object as \"model\""),
        with("added_tokens", "{}", kCorrupt, "<file>: expected a list as \"added_tokens\""),
        with("added_tokens", "[{\"id\": 3}]", kCorrupt, "<file>: added_tokens[0]: expected a text as \"content\""),
        with("added_tokens", R"([{"id": -1, "content": "x"}])", kCorrupt,
             "<file>: added_tokens[0]: expected a whole number from 0 to 16777215 as \"id\""),
        with("added_tokens", R"([{"content": "x"}])", kCorrupt, "<file>: added_tokens[0]: the token 'x' has no id"),
        with("added_tokens", R"([{"id": 1, "content": "x"}])", kCorrupt,
             "<file>: added_tokens[0]: two tokens have the id 1: 'b' and 'x'"),
        with("added_tokens", R"([{"id": 3, "content": "x", "lstrip": 1}])", kCorrupt,
             "<file>: added_tokens[0]: expected true or false as \"lstrip\""),
        with("added_tokens", R"([{"id": 2000000, "content": "x"}])", kCorrupt,
             "<file>: a token has the id 2000000 among 4 tokens, expected one below 65568"),
    });
}

TEST_CASE("a tokenizer.json's model is refused with what is wrong with it", "[tokenizer][short]") {
    check_refusals({
        model(R"("type": "WordPiece", "vocab": {})", kUnsupported,
              "<file>: model: the model 'WordPiece' is not supported"),
        model(R"("type": "BPE")", kCorrupt, "<file>: model: expected an object as \"vocab\""),
        model(R"("type": "BPE", "vocab": [])", kCorrupt, "<file>: model: expected an object as \"vocab\""),
        model(R"("type": "BPE", "vocab": {"a": 0})", kCorrupt, "<file>: model: expected a list as \"merges\""),
        model(R"("type": "BPE", "vocab": {"a": "0"}, "merges": [])", kCorrupt,
              "<file>: model: the token 'a' has no whole number as id"),
        model(R"("type": "BPE", "vocab": {"a": 0.5}, "merges": [])", kCorrupt,
              "<file>: model: the token 'a' has no whole number as id"),
        model(R"("type": "BPE", "vocab": {"a": -1}, "merges": [])", kCorrupt,
              "<file>: model: the token 'a' has no whole number as id"),
        model(R"("type": "BPE", "vocab": {"a": 0, "b": 0}, "merges": [])", kCorrupt,
              "<file>: model: two tokens have the id 0: 'a' and 'b'"),
        model(R"("type": "BPE", "vocab": {"a": 4294967296}, "merges": [])", kCorrupt,
              "<file>: model: the token 'a' has no whole number as id"),
        model(R"("type": "BPE", "vocab": {"a": 2000000000}, "merges": [])", kCorrupt,
              "<file>: model: a token has the id 2000000000 among 1 tokens, expected one below 65544"),
        model(R"("type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": ["a b"])", kCorrupt,
              "<file>: model: merge 0, 'a' and 'b', needs the token 'ab', which the vocabulary lacks"),
        model(R"("type": "BPE", "vocab": {"a": 0, "ab": 1}, "merges": ["a b"])", kCorrupt,
              "<file>: model: merge 0, 'a' and 'b', needs the token 'b', which the vocabulary lacks"),
        model(R"("type": "BPE", "vocab": {"a": 0}, "merges": ["a"])", kCorrupt,
              "<file>: model: merge 0: expected two tokens with a space between, found 'a'"),
        model(R"("type": "BPE", "vocab": {"a": 0}, "merges": ["a b c"])", kCorrupt,
              "<file>: model: merge 0: expected two tokens with a space between, found 'a b c'"),
        model(R"("type": "BPE", "vocab": {"a": 0}, "merges": [["a"]])", kCorrupt,
              "<file>: model: merge 0: expected a list of two tokens"),
        model(R"("type": "BPE", "vocab": {"a": 0}, "merges": [["a", 1]])", kCorrupt,
              "<file>: model: merge 0: expected a list of two tokens"),
        model(R"("type": "BPE", "vocab": {"a": 0}, "merges": [3])", kCorrupt,
              "<file>: model: merge 0: expected a list of two tokens"),
        bpe(R"("dropout": 0.1)", kUnsupported, "<file>: model: a dropout is not supported, ids would be random"),
        bpe(R"("continuing_subword_prefix": "##")", kUnsupported,
            "<file>: model: the continuing_subword_prefix is not supported"),
        bpe(R"("end_of_word_suffix": "</w>")", kUnsupported, "<file>: model: the end_of_word_suffix is not supported"),
        bpe(R"("byte_fallback": 1)", kCorrupt, "<file>: model: expected true or false as \"byte_fallback\""),
        bpe(R"("unk_token": "?")", kCorrupt, "<file>: model: the vocabulary lacks its unk_token '?'"),
        bpe(R"("unk_token": 1)", kCorrupt, "<file>: model: expected a text as \"unk_token\""),
        model(R"("type": "Unigram", "vocab": {})", kCorrupt, "<file>: model: expected a list as \"vocab\""),
        model(R"("type": "Unigram", "vocab": [])", kCorrupt, "<file>: model: the vocabulary has no pieces"),
        model(R"("type": "Unigram", "vocab": [["a"]])", kCorrupt,
              "<file>: model: entry 0 of the vocabulary: expected a list of a text and a number"),
        model(R"("type": "Unigram", "vocab": [["a", "b"]])", kCorrupt,
              "<file>: model: entry 0 of the vocabulary: expected a list of a text and a number"),
        model(R"("type": "Unigram", "vocab": [["a", 0.5, 1]])", kCorrupt,
              "<file>: model: entry 0 of the vocabulary: expected a list of a text and a number"),
        model(R"("type": "Unigram", "vocab": [["a", 0.5]], "unk_id": 1)", kCorrupt,
              "<file>: model: expected a whole number from 0 to 0 as \"unk_id\""),
    });
}

TEST_CASE("an unknown component of a tokenizer.json is refused by its name", "[tokenizer][short]") {
    check_refusals({
        with("normalizer", R"({"type": "BertNormalizer"})", kUnsupported,
             "<file>: normalizer: the component 'BertNormalizer' is not supported"),
        with("normalizer", R"({"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Frobnicate"}]})",
             kUnsupported, "<file>: normalizer[1]: the component 'Frobnicate' is not supported"),
        with("normalizer", "[]", kCorrupt, "<file>: normalizer: expected an object with a \"type\""),
        with("normalizer", "{}", kCorrupt, "<file>: normalizer: expected an object with a \"type\""),
        with("normalizer", R"({"type": "Sequence"})", kCorrupt,
             "<file>: normalizer: expected a list as \"normalizers\""),
        with("normalizer", R"({"type": "Strip", "strip_left": true})", kCorrupt,
             "<file>: normalizer ('Strip'): expected true or false as \"strip_right\""),
        with("normalizer", R"({"type": "Prepend"})", kCorrupt,
             "<file>: normalizer ('Prepend'): expected a text as \"prepend\""),
        with("normalizer", R"({"type": "Replace", "pattern": "x", "content": "y"})", kCorrupt,
             "<file>: normalizer ('Replace'): expected {\"String\": …} or {\"Regex\": …} as \"pattern\""),
        with("normalizer", R"({"type": "Replace", "pattern": {"String": ""}, "content": "y"})", kUnsupported,
             "<file>: normalizer ('Replace'): the pattern is empty"),
        with("normalizer", R"({"type": "Replace", "pattern": {"Regex": "("}, "content": "y"})", kCorrupt,
             "<file>: normalizer ('Replace'): at byte 1 of the pattern '(': a group is not closed"),
        with("normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "?"})", kCorrupt,
             "<file>: normalizer ('Precompiled'): the character map is not base64"),
        with("normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "AAAA"})", kCorrupt,
             "<file>: normalizer ('Precompiled'): the character map has 3 bytes, expected at least 4"),
        with("normalizer", R"({"type": "Precompiled", "precompiled_charsmap": "/////wA="})", kCorrupt,
             "<file>: normalizer ('Precompiled'): the character map's trie claims 4294967295 of 1 bytes, expected a "
             "multiple of 4 that leaves room for replacements"),
        with("normalizer", nested(R"({"type": "Sequence", "normalizers": [)", "]}", 20, ""), kUnsupported,
             "<file>: normalizer[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: Sequences nest deeper than 16"),
        with("pre_tokenizer", R"({"type": "UnicodeScripts"})", kUnsupported,
             "<file>: pre_tokenizer: the component 'UnicodeScripts' is not supported"),
        with("pre_tokenizer",
             R"({"type": "Split", "pattern": {"String": "x"}, "behavior": "Sideways", "invert": false})", kUnsupported,
             "<file>: pre_tokenizer ('Split'): the behavior 'Sideways' is not supported"),
        with("pre_tokenizer",
             R"({"type": "Split", "pattern": {"Regex": "\\y"}, "behavior": "Isolated", "invert": false})", kUnsupported,
             "<file>: pre_tokenizer ('Split'): at byte 0 of the pattern '\\y': the escape \\y is not supported"),
        with("pre_tokenizer",
             R"({"type": "Split", "pattern": {"Regex": "(?<=a+)b"}, "behavior": "Isolated", "invert": false})",
             kUnsupported,
             "<file>: pre_tokenizer ('Split'): PCRE2 does not take the pattern '(?<=a+)b': lookbehind assertion is not "
             "fixed length"),
        with("pre_tokenizer", R"({"type": "Metaspace", "replacement": "__"})", kCorrupt,
             "<file>: pre_tokenizer ('Metaspace'): expected one character as \"replacement\", found '__'"),
        with("pre_tokenizer", R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"})", kUnsupported,
             "<file>: pre_tokenizer ('Metaspace'): the prepend_scheme 'last' is not supported"),
        with("pre_tokenizer",
             R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always", "add_prefix_space": false})",
             kCorrupt, "<file>: pre_tokenizer ('Metaspace'): add_prefix_space contradicts prepend_scheme"),
        with("pre_tokenizer", R"({"type": "CharDelimiterSplit", "delimiter": ""})", kCorrupt,
             "<file>: pre_tokenizer ('CharDelimiterSplit'): expected one character as \"delimiter\", found ''"),
        with("decoder", R"({"type": "WordPiece", "prefix": "##", "cleanup": true})", kUnsupported,
             "<file>: decoder: the component 'WordPiece' is not supported"),
        with("decoder", R"({"type": "BPEDecoder", "suffix": "</w>"})", kUnsupported,
             "<file>: decoder: the component 'BPEDecoder' is not supported"),
        with("decoder", R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "ByteFallback"}]})",
             kUnsupported, "<file>: decoder: a ByteFallback behind a Fuse is not supported"),
        with(
            "decoder",
            R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Replace", "pattern": {"Regex": "a"}, "content": ""}]})",
            kUnsupported, "<file>: decoder: a Replace by a regular expression behind a Fuse is not supported"),
        with("decoder", R"({"type": "Strip", "content": " ", "start": -1, "stop": 0})", kCorrupt,
             "<file>: decoder ('Strip'): expected a whole number from 0 to 1000 as \"start\""),
        with("post_processor", R"({"type": "RobertaProcessing"})", kUnsupported,
             "<file>: post_processor: the component 'RobertaProcessing' is not supported"),
        with("post_processor", R"({"type": "TemplateProcessing"})", kCorrupt,
             "<file>: post_processor ('TemplateProcessing'): expected a list as \"single\" and an object as "
             "\"special_tokens\""),
        with("post_processor", R"({"type": "TemplateProcessing", "single": [], "special_tokens": {}})", kUnsupported,
             "<file>: post_processor ('TemplateProcessing'): \"single\" leaves the text out"),
        with("post_processor",
             R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B"}}], "special_tokens": {}})",
             kUnsupported,
             "<file>: post_processor ('TemplateProcessing'): \"single\" holds another text than $A, or $A twice"),
        with(
            "post_processor",
            R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}], "special_tokens": {}})",
            kCorrupt, "<file>: post_processor ('TemplateProcessing'): \"special_tokens\" has no ids for '<s>'"),
        with(
            "post_processor",
            R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}], "special_tokens": {"<s>": {"ids": [9]}}})",
            kCorrupt, "<file>: post_processor adds the token 9, which the vocabulary lacks"),
        with("post_processor",
             R"({"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}}, 3], "special_tokens": {}})",
             kCorrupt,
             "<file>: post_processor ('TemplateProcessing'): \"single\" holds neither Sequence nor SpecialToken"),
    });
}
