// Where the published tokenizer.json of a family is known, its own patterns stand here and not llama.cpp's: that
// library rewrites them for its matcher, which knows no (?i:…), no case categories and no intersections.  Published
// patterns give the published ids.  Names of vocabularies that are no byte-pair encoding (bert-bge, jina-v2-en) belong
// to WordPiece models, which are refused by tokenizer.ggml.model.
#include "tokenizer/gguf_pre.hpp"

#include <algorithm>

#include "tokenizer/json_parts.hpp"

namespace mixtura {
namespace {

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define WORDS "[^\\r\\n\\p{L}\\p{N}]?\\p{L}+"
#define SYMBOLS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
// Words that may begin in capitals and go on in small letters, the contraction with them.
#define CASED(contraction)                                                                                  \
    "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+" contraction \
    "|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*" contraction "|"
#define CASED_SYMBOLS " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" SPACES

constexpr std::string_view kLlama3 = CONTRACTIONS "|" WORDS "|\\p{N}{1,3}|" SYMBOLS "|" SPACES;
constexpr std::string_view kQwen2 = CONTRACTIONS "|" WORDS "|\\p{N}|" SYMBOLS "|" SPACES;
constexpr std::string_view kGpt4o = CASED(CONTRACTIONS "?") "\\p{N}{1,3}|" CASED_SYMBOLS;
constexpr std::string_view kOneNumber = "\\p{N}";
constexpr std::string_view kThreeNumbers = "\\p{N}{1,3}";
constexpr std::string_view kLines = "[^\\n]+|[\\n]+";
constexpr std::string_view kChineseJapanese = "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+";
constexpr std::string_view kDeepSeek3Words =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
    " ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES;
constexpr std::string_view kBloom = " ?[^(\\s|[.,!?\\x{2026}\\x{3002}\\x{ff0c}\\x{3001}\\x{964}\\x{6d4}\\x{60c}])]+";
constexpr std::string_view kDeepSeekLetters =
    R"(\s?[)"
    R"(A-Za-z\x{b5}\x{c0}-\x{d6}\x{d8}-\x{f6}\x{f8}-\x{1ba}\x{1bc}-\x{1bf}\x{1c4}-\x{293}\x{295}-)"
    R"(\x{2af}\x{370}-\x{373}\x{376}\x{377}\x{37b}-\x{37d}\x{37f}\x{386}\x{388}-\x{38a}\x{38c}\x{38e}-)"
    R"(\x{3a1}\x{3a3}-\x{3f5}\x{3f7}-\x{481}\x{48a}-\x{52f}\x{531}-\x{556}\x{10a0}-\x{10c5}\x{13a0}-)"
    R"(\x{13f5}\x{13f8}-\x{13fd}\x{1c90}-\x{1cba}\x{1cbd}-\x{1cbf}\x{1d00}-\x{1d2b}\x{1d6b}-\x{1d77})"
    R"(\x{1d79}-\x{1d9a}\x{1e00}-\x{1f15}\x{1f18}-\x{1f1d}\x{1f20}-\x{1f45}\x{1f48}-\x{1f4d}\x{1f50}-)"
    R"(\x{1f57}\x{1f59}\x{1f5b}\x{1f5d}\x{1f5f}-\x{1f7d}\x{1f80}-\x{1fb4}\x{1fb6}-\x{1fbc}\x{1fbe})"
    R"(\x{1fc2}-\x{1fc4}\x{1fc6}-\x{1fcc}\x{1fd0}-\x{1fd3}\x{1fd6}-\x{1fdb}\x{1fe0}-\x{1fec}\x{1ff2}-)"
    R"(\x{1ff4}\x{1ff6}-\x{1ffc}\x{2102}\x{2107}\x{210a}-\x{2113}\x{2115}\x{2119}-\x{211d}\x{2124})"
    R"(\x{2126}\x{2128}\x{212a}-\x{212d}\x{212f}-\x{2134}\x{2139}\x{213c}-\x{213f}\x{2145}-\x{2149})"
    R"(\x{214e}\x{2183}\x{2184}\x{2c00}-\x{2c7b}\x{2c7e}-\x{2ce4}\x{2ceb}-\x{2cee}\x{2cf2}\x{2cf3})"
    R"(\x{a640}-\x{a66d}\x{a680}-\x{a69b}\x{a722}-\x{a76f}\x{a771}-\x{a787}\x{a78b}-\x{a78e}\x{ab70}-)"
    R"(\x{abbf}\x{fb00}-\x{fb06}\x{fb13}-\x{fb17}\x{ff21}-\x{ff3a}\x{ff41}-\x{ff5a}\x{10400}-\x{1044f})"
    R"(\x{104b0}-\x{104d3}\x{104d8}-\x{104fb}\x{10c80}-\x{10cb2}\x{10cc0}-\x{10cf2}\x{118a0}-\x{118df})"
    R"(\x{1e900}-\x{1e943})"
    R"(]+)";
constexpr std::string_view kDeepSeekIdeographs = "[\\x{4e00}-\\x{9fa5}\\x{800}-\\x{4e00}\\x{ac00}-\\x{d7ff}]+";
constexpr std::string_view kDeepSeekPunctuation =
    "\\s?[!-/:-~\\x{ff01}-\\x{ff0f}\\x{ff1a}-\\x{ff5e}\\x{2018}-\\x{201f}\\x{3000}-\\x{3002}]+";
constexpr std::string_view kYoutuScripts =
    "[\\x{ac00}-\\x{d7a3}\\x{3131}-\\x{318e}]+|[\\x{ff01}\\x{2026}\\x{201c}\\x{201d}\\x{2018}\\x{2019}"
    "\\x{2014}\\x{ff1a}\\x{ff1b}\\x{ff0c}\\x{3001}-\\x{303f}\\x{fe30}-\\x{fe4f}]+|[\\x{3105}-\\x{312f}]+|"
    "[\\x{4e00}-\\x{9fa5}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}]+";
constexpr std::string_view kAfmoeScripts =
    "[\\x{4e00}-\\x{9fff}\\x{3400}-\\x{4dbf}\\x{f900}-\\x{faff}\\x{3040}-\\x{309f}\\x{30a0}-\\x{30ff}"
    "\\x{ff65}-\\x{ff9f}\\x{2f00}-\\x{2fdf}\\x{e40}-\\x{e7f}\\x{e80}-\\x{eff}\\x{1780}-\\x{17ff}\\x{1000}"
    "-\\x{109f}\\x{aa60}-\\x{aa7f}\\x{a9e0}-\\x{a9ff}\\x{ac00}-\\x{d7af}\\x{1100}-\\x{11ff}]+";
constexpr std::string_view kQwen35 =
    CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" SPACES;
// As CASED, but Chinese characters are words of their own.
#define KIMI_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]"
#define KIMI_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]"
constexpr std::string_view kKimiWords =
    "[\\p{Han}]+|[^\\r\\n\\p{L}\\p{N}]?" KIMI_UPPER "*" KIMI_LOWER "+" CONTRACTIONS
    "?|"
    "[^\\r\\n\\p{L}\\p{N}]?" KIMI_UPPER "+" KIMI_LOWER "*" CONTRACTIONS "?|\\p{N}{1,3}|" SYMBOLS "|" SPACES;

constexpr GgufPreTokenizer kTable[] = {
    {"default", {"[\\p{P}\\$\\+<=>\\^~\\|]+", kGpt2Pattern, "\\p{N}+", "[0-9][0-9][0-9]"}},
    {"llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 jina-v5-nano",
     {kLlama3},
     kPreIgnoreMerges | kPreAddsBos},
    {"dbrx smaug-bpe glm4 chatglm-bpe", {kLlama3}},
    {"minicpm5", {kThreeNumbers, CONTRACTIONS "|" WORDS "|\\p{N}+|" SYMBOLS "|" SPACES}, kPreIgnoreMerges},
    {"jais-2",
     {CONTRACTIONS "|" WORDS "|\\p{N}{1,3}|" SYMBOLS
                   "|\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|\\s{32}(?!\\S)|"
                   "\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"}},
    {"deepseek-llm", {"[\\r\\n]", kDeepSeekLetters, kDeepSeekPunctuation, "\\s+$", kDeepSeekIdeographs, kOneNumber}},
    {"deepseek-coder", {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", kDeepSeekIdeographs, kOneNumber}},
    {"deepseek-v3 hunyuan-dense joyai-llm hy_v4", {kThreeNumbers, kChineseJapanese, kDeepSeek3Words}},
    {"spark2_5",
     {kThreeNumbers, kChineseJapanese,
      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
      " ?[\\p{P}\\p{S}]+|[\\r\\n]|\\s+(?!\\S)|\\s+",
      kOneNumber}},
    {"youtu", {kYoutuScripts, CASED(CONTRACTIONS "?") "\\p{N}|" CASED_SYMBOLS}, kPreIgnoreMerges},
    // Falcon splits numbers after bytes became letters; some bytes' letters (² ³ ¹ ¼ ½ ¾) are numbers then.
    {"falcon", {"[\\p{P}$+<=>^`|~]+", kGpt2Pattern}, 0, {"\\p{N}+", "[0-9][0-9][0-9]"}},
    {"starcoder refact codeshell smollm exaone minerva-7b mellum2", {kOneNumber, kGpt2Pattern}},
    {"command-r", {kOneNumber, kGpt2Pattern}, kPreNfc},
    {"gpt-2 phi-2 jina-es jina-de jina-v2-es jina-v2-de jina-v1-en jina-v2-code roberta-bpe gigachat a.x-4.0 mellum "
     "exaone4 jais trillion granite-docling",
     {kGpt2Pattern}},
    {"mpt olmo modern-bert", {kGpt2Pattern}, kPreNfc},
    {"qwen2 deepseek-r1-qwen kormo f2llmv2 megrez stablelm2 hunyuan", {kQwen2}, kPreNfc},
    {"solar-open grok-2", {kQwen2}},
    {"qwen35", {kQwen35}, kPreNfc},
    {"ufakzeka", {WORDS "|\\p{N}|" SYMBOLS "|" SPACES}},
    {"poro-chat bloom gpt3-finnish", {kBloom}},
    {"viking", {kBloom, kOneNumber}},
    {"tekken", {CASED("") "\\p{N}|" CASED_SYMBOLS}, kPreIgnoreMerges | kPreAddsBos},
    {"chameleon",
     {"<sentinel:[0-9]+>", "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z", "([\\t\\n]|    |  )", kOneNumber,
      "[\\p{P}!-/:-@\\[-`{-~]", kGpt2Pattern},
     kPreAddsBos},
    {"gpt-4o llama4 kanana2 talkie minimax-m2", {kGpt4o}},
    {"granite-embed-multi-97m", {kGpt4o}, kPreIgnoreMerges},
    {"tiny_aya cohere2moe", {"\\d{1,3}(?=(?:\\d{3})*\\b)", kGpt4o}, kPreNfc},
    {"kimi-k2 kimi-k25", {kKimiWords}},
    {"superbpe", {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"}},
    {"bailingmoe bailingmoe2 llada-moe",
     {"'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*|\\s*[\\r\\n]|"
      "\\s+(?!\\S)|\\s+"},
     kPreNfc},
    {"seed-coder", {CONTRACTIONS "|" WORDS "|\\p{N}{1}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" SPACES}},
    // Runs of digits from their end in groups of three.
    {"afmoe",
     {"\\p{N}{1,3}(?=(?:\\p{N}{3})*(?!\\p{N}))", kAfmoeScripts,
      "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+|"
      " ?[\\p{P}\\p{S}]+[\\r\\n]*|" SPACES}},
    {"laguna", {kLines, kQwen2}},
    {"exaone-moe",
     {CONTRACTIONS "|[^\\r\\n\\p{L}\\p{N}]?(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}|"
                   " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"}},
    {"gemma4 granite-embed-multi-311m", {kLines}, kPreMetaSpace | kPreAddsBos},
    {"sarvam-moe", {kLines}, kPreMetaSpace},
};

#undef CONTRACTIONS
#undef WORDS
#undef SYMBOLS
#undef SPACES
#undef CASED
#undef CASED_SYMBOLS
#undef KIMI_UPPER
#undef KIMI_LOWER

}  // namespace

std::span<const GgufPreTokenizer> all_gguf_pre_tokenizers() noexcept { return kTable; }

const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name) noexcept {
    if (name.empty() || name.find(' ') != std::string_view::npos) return nullptr;
    for (const GgufPreTokenizer& row : kTable) {
        for (std::size_t at = 0; at < row.names.size();) {
            const std::size_t end = std::min(row.names.find(' ', at), row.names.size());
            if (row.names.substr(at, end - at) == name) return &row;
            at = end + 1;
        }
    }
    return nullptr;
}

}  // namespace mixtura
