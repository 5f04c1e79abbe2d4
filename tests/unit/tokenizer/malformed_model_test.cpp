// Broken tokenizer.model files: SentencePiece's protobuf cut short, lying about lengths, or asking for what is not
// known.
#include <catch2/catch.hpp>

#include "base/text.hpp"
#include "support/gguf_writer.hpp"
#include "unit/tokenizer/cases.hpp"
#include "unit/tokenizer/refusals.hpp"

using namespace mixtura;
using namespace mixtura::test;
using namespace std::string_literals;

namespace {

constexpr StatusCode kCorrupt = StatusCode::corrupt_file, kUnsupported = StatusCode::unsupported,
                     kUnknown = StatusCode::unknown_format;

std::string varint(std::uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
    return out;
}
std::string number(std::uint32_t field, std::uint64_t value) { return varint(field << 3) + varint(value); }
std::string bytes(std::uint32_t field, std::string_view value) {
    return varint(field << 3 | 2) + varint(value.size()) + std::string(value);
}
std::string piece(std::string_view spelling, float score = 0, std::uint64_t type = 1) {
    return bytes(1, bytes(1, spelling) + varint(2 << 3 | 5) + bytes_of(score) + number(3, type));
}

std::string good() {
    return piece("<unk>", 0, 2) + piece("<s>", 0, 3) + piece("</s>", 0, 3) + piece("a", -1) + piece("b", -2);
}
std::string bpe(const std::string& trainer = "") { return bytes(2, number(3, 2) + trainer); }

Refusal refuse(std::string name, std::string content, StatusCode code, std::string message) {
    return {std::move(name), "tokenizer.model", std::move(content), code, std::move(message)};
}

}  // namespace

TEST_CASE("a file that is no SentencePiece model is refused as unknown", "[tokenizer][short]") {
    check_refusals({
        refuse("empty", "", kUnknown, "<file> is empty; the download or the disk failed"),
        refuse("text", "# a vocabulary\nhello 1\n", kUnknown, "<file>: not a SentencePiece model"),
        refuse("tiktoken", "IQ== 0\nIg== 1\n", kUnsupported,
               "<file>: a tiktoken vocabulary is not supported, since it lacks the pattern that splits words; use the "
               "tokenizer.json of the same checkpoint"),
        refuse("NUL bytes", std::string(100, '\0'), kUnknown,
               "<file> starts with zeros only; the download or the disk failed"),
        refuse("no pieces", bytes(2, number(3, 2)), kUnknown, "<file>: not a SentencePiece model, it has no pieces"),
        refuse("long varint", std::string(20, '\xFF'), kUnknown, "<file>: not a SentencePiece model"),
    });
}

TEST_CASE("a broken SentencePiece model is refused with what is wrong with it", "[tokenizer][short]") {
    check_refusals({
        refuse("cut short", good().substr(0, good().size() - 1), kCorrupt,
               "<file>: the model is cut short or malformed"),
        refuse("length lies", good() + varint(1 << 3 | 2) + varint(1ULL << 60), kCorrupt,
               "<file>: the model is cut short or malformed"),
        refuse("piece cut short", good() + bytes(1, bytes(1, "x") + varint(2 << 3 | 5) + "ab"), kCorrupt,
               "<file>: a piece is cut short or malformed"),
        refuse("group", good() + varint(9 << 3 | 3), kCorrupt, "<file>: the model is cut short or malformed"),
        refuse("field 0", good() + number(0, 1), kCorrupt, "<file>: the model is cut short or malformed"),
        refuse("empty piece", good() + piece(""), kCorrupt, "<file>: the piece 5 is empty"),
        refuse("piece twice", good() + piece("a"), kCorrupt, "<file>: the tokens 3 and 5 have the same spelling 'a'"),
        refuse("type 7", good() + piece("x", 0, 7), kCorrupt, "<file>: the piece 5 has the type 7, expected 1 to 6"),
        refuse("type 0", good() + piece("x", 0, 0), kCorrupt, "<file>: the piece 5 has the type 0, expected 1 to 6"),
        refuse("type of 64 bits", good() + piece("x", 0, ~0ULL), kCorrupt,
               "<file>: the piece 5 has the type 18446744073709551615, expected 1 to 6"),
        refuse("no unknown piece", piece("a") + piece("b"), kCorrupt, "<file>: the vocabulary has no unknown piece"),
        refuse("two unknown pieces", good() + piece("<unk2>", 0, 2), kCorrupt, "<file>: two unknown pieces, 0 and 5"),
        refuse("not UTF-8", good() + piece("\xFFx"), kCorrupt, "<file>: the piece 5, '\\xffx', is not UTF-8"),
        refuse("score is no number", good() + piece("ab", std::numeric_limits<float>::quiet_NaN()) + bpe(), kCorrupt,
               "<file>: the piece 5 has a score that is no number"),
        refuse("unigram score is infinite", good() + piece("ab", -std::numeric_limits<float>::infinity()), kCorrupt,
               "<file>: the piece 5 has a score that is no finite number"),
        refuse("byte piece misspelled", good() + piece("<0xG0>", 0, 6) + bpe(), kCorrupt,
               "<file>: the byte piece 5 is spelled '<0xG0>', expected \"<0x00>\" to \"<0xFF>\""),
        refuse("byte pieces missing", good() + piece("<0x00>", 0, 6) + bpe(number(35, 1)), kCorrupt,
               "<file>: bytes are a fallback, but the piece <0x01> is missing"),
        refuse("only an unknown piece", piece("<unk>", 0, 2), kCorrupt, "<file>: the vocabulary has no pieces"),
        refuse("model of words", good() + bytes(2, number(3, 3)), kUnsupported,
               "<file>: a SentencePiece model of type WORD is not supported"),
        refuse("model of characters", good() + bytes(2, number(3, 4)), kUnsupported,
               "<file>: a SentencePiece model of type CHAR is not supported"),
        refuse("model type 9", good() + bytes(2, number(3, 9)), kCorrupt,
               "<file>: the model type is 9, expected 1 to 4"),
        refuse("denormalizer", good() + bytes(5, bytes(2, "xxxx")), kUnsupported,
               "<file>: a denormalizer is not supported"),
        refuse("unknown surface", good() + bytes(2, bytes(44, "\xFF")), kCorrupt,
               "<file>: the unknown piece's surface is not UTF-8"),
        refuse("character map too short", good() + bytes(3, bytes(2, "abc")), kCorrupt,
               "<file>: the character map has 3 bytes, expected at least 4"),
        refuse("character map without replacements", good() + bytes(3, bytes(2, "\x04\0\0\0\0\0\0\0"s)), kCorrupt,
               "<file>: the character map's trie claims 4 of 4 bytes, expected a multiple of 4 that leaves room for "
               "replacements"),
        refuse("character map of odd size", good() + bytes(3, bytes(2, "\x03\0\0\0aaaaaa"s)), kCorrupt,
               "<file>: the character map's trie claims 3 of 6 bytes, expected a multiple of 4 that leaves room for "
               "replacements"),
    });
}

TEST_CASE("a character map that points outside itself maps nothing there", "[tokenizer][short]") {
    // Root with its children far away, and a child whose value lies behind the replacements.
    for (const std::uint32_t unit : {0xFFFFFFFFU, 0x7FFFFD00U, 0x00000500U, 0x000001FFU}) {
        std::string trie;
        for (int i = 0; i < 300; ++i) trie += bytes_of(unit ^ static_cast<std::uint32_t>(i));
        const std::string map = bytes_of(static_cast<std::uint32_t>(trie.size())) + trie + "x";
        const TemporaryFolder folder;
        const Tokenizer tokenizer =
            open_tokenizer(folder.write("tokenizer.model", good() + bytes(3, bytes(2, map)) + bpe()));
        CHECK(tokenizer.encode("ab c\xC3\xA9 \x01").is_ok());
    }
}

TEST_CASE("a hand-made SentencePiece model encodes and decodes", "[tokenizer][short]") {
    const TemporaryFolder folder;
    const std::string merged = good() + piece("ab", -0.5) + piece("\u2581", -3) + piece("\u2581ab", -0.125F) +
                               piece("abab", -9, 5) + piece("<tag>", 0, 4);
    const Tokenizer tokenizer = open_tokenizer(folder.write("tokenizer.model", merged + bpe()));
    CHECK(tokenizer.kind() == "SentencePiece BPE");
    CHECK(tokenizer.size() == 10);
    CHECK(tokenizer.special_tokens().bos == 1);
    CHECK(tokenizer.special_tokens().eos == 2);
    CHECK(tokenizer.special_tokens().unk == 0);
    CHECK(encoded_ids(*tokenizer.encode("ab")) == "1 7");
    // The unused piece is made by merging, and falls apart again.
    CHECK(encoded_ids(*tokenizer.encode("aabab", {AddedTokens::none, AddBos::no})) == "6 3 5 5");
    CHECK(encoded_ids(*tokenizer.encode("xyz", {AddedTokens::none, AddBos::no})) == "6 0");
    CHECK(encoded_ids(*tokenizer.encode("a<tag>b", {AddedTokens::none, AddBos::no})) == "6 3 9 4");
    CHECK(encoded_ids(*tokenizer.encode("<s>ab", {AddedTokens::all, AddBos::no})) == "1 7");
    CHECK(*tokenizer.decode(std::vector<TokenId>{1, 7, 0, 9}) == "ab \u2047 <tag>");
    CHECK(*tokenizer.decode(std::vector<TokenId>{1, 7}, {false}) == "<s> ab");
}
