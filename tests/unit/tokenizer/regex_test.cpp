// Patterns that must not be taken, and patterns that must not run away.
#include <catch2/catch.hpp>

#include <chrono>

#include "base/text.hpp"
#include "support/files.hpp"
#include "tokenizer/gguf_pre.hpp"
#include "tokenizer/onig_syntax.hpp"
#include "tokenizer/pre_tokenizer.hpp"
#include "tokenizer/regex.hpp"
#include "unit/tokenizer/cases.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

std::string translated(std::string_view pattern) {
    const auto result = translate_onig(pattern, "here");
    return result ? *result : std::string(result.status().message());
}

std::string first_match(std::string_view pattern, std::string_view subject) {
    const auto regex = Regex::compile(pattern, "here");
    if (!regex) return std::string(regex.status().message());
    RegexWorkspace workspace;
    RegexMatch match;
    const Status status = regex->find(subject, 0, workspace, match);
    if (!status) return std::string(status.message());
    return match.is_found ? quoted(subject.substr(match.begin, match.end - match.begin)) : "none";
}

}  // namespace

TEST_CASE("constructs of Oniguruma without an equal in PCRE2 are refused by name", "[tokenizer][short]") {
    CHECK(translated("(?~abc)") == "here: at byte 0 of the pattern '(?~abc)': the group '(?~' is not supported");
    CHECK(translated("(?(1)a|b)") == "here: at byte 0 of the pattern '(?(1)a|b)': the group '(?(' is not supported");
    CHECK(translated("(?<n>a)\\g<n>") ==
          "here: at byte 7 of the pattern '(?<n>a)\\g<n>': the escape \\g is not supported");
    CHECK(translated("(*FAIL)") == "here: at byte 0 of the pattern '(*FAIL)': callouts, \"(*…)\", are not supported");
    CHECK(translated("\\p{Klingon}") ==
          "here: at byte 0 of the pattern '\\p{Klingon}': the property 'Klingon' is not supported");
    CHECK(translated("[[:graph:]]") ==
          "here: at byte 3 of the pattern '[[:graph:]]': the set [:'graph':] is not supported");
    CHECK(translated("\\xE4") == "here: at byte 0 of the pattern '\\xE4': \\x with a byte above 7F is not supported");
    CHECK(translated("a{100000}") ==
          "here: at byte 1 of the pattern 'a{100000}': a repeat count has more than five digits");
}

TEST_CASE("patterns that are none are refused", "[tokenizer][short]") {
    for (const std::string_view pattern :
         {"(",     ")",    "a)",          "[",     "[a",       "[^",   "[a&&", "[z-a]", "[a-\\d]", "*",
          "+a",    "?",    "(*",          "(?",    "(?i",      "(?#",  "\\",   "a\\",   "\\p",     "\\p{",
          "\\p{L", "\\x{", "\\x{110000}", "\\u12", "[[:alpha", "(?<n", "|*",   "(|+)",  "\xFF",    "\\x{D800}"}) {
        INFO(quoted(pattern));
        const auto result = translate_onig(pattern, "here");
        CHECK_FALSE(result.is_ok());
    }
    // Deep nesting is refused, not followed.
    CHECK_FALSE(translate_onig(std::string(5000, '('), "here").is_ok());
    CHECK_FALSE(translate_onig(std::string(5000, '['), "here").is_ok());
    CHECK_FALSE(translate_onig(std::string(70000, 'a'), "here").is_ok());
}

TEST_CASE("a catastrophic pattern ends with an error and soon", "[tokenizer][short]") {
    const auto start = std::chrono::steady_clock::now();
    const std::string subject(5000, 'a');
    CHECK(first_match("(?:a+)+[bd]", subject + "c") ==
          "the pattern '(?:a+)+[bd]' needs more than 10000000 steps for one match in this text");
    CHECK(first_match("(?:a|aa)+\\z", subject + "c").find("steps") != std::string::npos);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
    // Through the public door it is the call that fails, not the process.
    const TemporaryFolder folder;
    const Tokenizer tokenizer =
        open_tokenizer(folder.write("tokenizer.json", R"({"model": {"type": "BPE", "vocab": {"a": 0},
        "merges": []}, "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?:a+)+[bd]"}, "behavior": "Isolated", "invert": false}})"));
    CHECK(tokenizer.encode(subject + "c").status().code() == StatusCode::budget_exceeded);
    CHECK(tokenizer.encode("aaab").is_ok());
}

TEST_CASE("long texts pass the published patterns", "[tokenizer][short]") {
    const Tokenizer tokenizer = open_tokenizer(golden("tokenizers/bpe-llama3/tokenizer.json"));
    for (const std::string_view piece : {" ", "\n", "a", "!", "1", "é", "\xF0\x9F\xA6\x99", "a ", " \n"}) {
        std::string text;
        while (text.size() < 2'000'000) text += piece;
        INFO(quoted(piece));
        const auto ids = tokenizer.encode(text, {AddedTokens::all, AddBos::no});
        REQUIRE(ids.is_ok());
        CHECK(*tokenizer.decode(*ids, {false}) == text);
    }
}

TEST_CASE("every name of a pre-tokenizer that the common converter writes is in the table, and its patterns compile",
          "[tokenizer][short]") {
    for (const std::string_view name : {"default",
                                        "llama3",
                                        "llama-v3",
                                        "llama-bpe",
                                        "falcon3",
                                        "falcon-h1",
                                        "pixtral",
                                        "midm-2.0",
                                        "lfm2",
                                        "jina-v5-nano",
                                        "dbrx",
                                        "smaug-bpe",
                                        "glm4",
                                        "chatglm-bpe",
                                        "minicpm5",
                                        "jais-2",
                                        "deepseek-llm",
                                        "deepseek-coder",
                                        "deepseek-v3",
                                        "hunyuan-dense",
                                        "joyai-llm",
                                        "hy_v4",
                                        "spark2_5",
                                        "youtu",
                                        "falcon",
                                        "starcoder",
                                        "refact",
                                        "codeshell",
                                        "smollm",
                                        "exaone",
                                        "minerva-7b",
                                        "mellum2",
                                        "command-r",
                                        "gpt-2",
                                        "phi-2",
                                        "jina-es",
                                        "jina-de",
                                        "jina-v2-es",
                                        "jina-v2-de",
                                        "jina-v1-en",
                                        "jina-v2-code",
                                        "roberta-bpe",
                                        "gigachat",
                                        "a.x-4.0",
                                        "mellum",
                                        "exaone4",
                                        "jais",
                                        "trillion",
                                        "granite-docling",
                                        "mpt",
                                        "olmo",
                                        "modern-bert",
                                        "qwen2",
                                        "deepseek-r1-qwen",
                                        "kormo",
                                        "f2llmv2",
                                        "megrez",
                                        "stablelm2",
                                        "hunyuan",
                                        "solar-open",
                                        "grok-2",
                                        "qwen35",
                                        "ufakzeka",
                                        "poro-chat",
                                        "bloom",
                                        "gpt3-finnish",
                                        "viking",
                                        "tekken",
                                        "chameleon",
                                        "gpt-4o",
                                        "llama4",
                                        "kanana2",
                                        "talkie",
                                        "minimax-m2",
                                        "granite-embed-multi-97m",
                                        "tiny_aya",
                                        "cohere2moe",
                                        "kimi-k2",
                                        "kimi-k25",
                                        "superbpe",
                                        "bailingmoe",
                                        "bailingmoe2",
                                        "llada-moe",
                                        "seed-coder",
                                        "afmoe",
                                        "laguna",
                                        "exaone-moe",
                                        "gemma4",
                                        "granite-embed-multi-311m",
                                        "sarvam-moe"}) {
        INFO(name);
        CHECK(find_gguf_pre_tokenizer(name) != nullptr);
    }
    CHECK(find_gguf_pre_tokenizer("") == nullptr);
    CHECK(find_gguf_pre_tokenizer("qwen") == nullptr);
    CHECK(find_gguf_pre_tokenizer("gpt-2 phi-2") == nullptr);
    RegexWorkspace workspace;
    for (const GgufPreTokenizer& row : all_gguf_pre_tokenizers()) {
        for (const std::string_view pattern : row.patterns) {
            if (pattern.empty()) continue;
            const auto regex = Regex::compile(pattern, row.names);
            INFO(row.names << ": " << regex.status().message());
            REQUIRE(regex.is_ok());
            RegexMatch match;
            CHECK(regex->find("Hello, 世界! 12345 I'm  x\n\n 🦙", 0, workspace, match).is_ok());
        }
    }
}

TEST_CASE("the named patterns split where their families' do", "[tokenizer][short]") {
    const auto pieces = [](std::string_view name, std::string_view text) {
        PreTokenizer pre_tokenizer;
        for (const std::string_view pattern : find_gguf_pre_tokenizer(name)->patterns) {
            if (!pattern.empty()) pre_tokenizer.stages.emplace_back().pattern = *Regex::compile(pattern, name);
        }
        struct Collector final : WordSink {
            Status take(const Word& word) override {
                out += quoted(word.text);
                return {};
            }
            std::string out;
        } collector;
        PreTokenizer::Scratch scratch;
        REQUIRE(pre_tokenizer.run({text, nullptr}, true, scratch, collector).is_ok());
        return collector.out;
    };
    CHECK(pieces("llama-bpe", "I'M 12345 ok") == "'I'''M'' ''123''45'' ok'");
    CHECK(pieces("qwen2", "12 a") == "'1''2'' a'");
    CHECK(pieces("gpt-4o", "helloWorld HTTPServer don't") == "'hello''World'' HTTPServer'' don't'");
    CHECK(pieces("afmoe", "1234567 12") == "'1''234''567'' ''12'");
    CHECK(pieces("superbpe", "a12345678b") == "'a''12''345''678''b'");
    CHECK(pieces("tiny_aya", "12345 12a") == "'12''345'' ''12''a'");
    CHECK(pieces("kimi-k2", "中文mixed字") == "'中文''mixed''字'");
    CHECK(pieces("deepseek-v3", "中文abc 123456,x") == "'中文''abc'' ''123''456'',x'");
    CHECK(pieces("smollm", " 42") == "' ''4''2'");
    CHECK(pieces("bloom", "a. b，c") == "'a''.'' b''，''c'");
    CHECK(pieces("bailingmoe", "a\n\nb") == "'a''\\x0a\\x0a''b'");
}
