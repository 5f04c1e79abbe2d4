// The pieces below the readers, each where its golden data says too little.
#include <catch2/catch.hpp>

#include <algorithm>

#include "base/philox.hpp"
#include "base/text.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/byte_trie.hpp"
#include "tokenizer/charsmap.hpp"
#include "tokenizer/lossy_utf8.hpp"
#include "tokenizer/unicode.hpp"
#include "tokenizer/word_cache.hpp"
#include "unit/tokenizer/cases.hpp"

#include <utf8proc.h>

#include <cstdlib>

using namespace mixtura;
using namespace mixtura::test;
using namespace std::string_literals;

TEST_CASE("a byte trie finds every key that a text starts with", "[tokenizer][short]") {
    const std::vector<std::string> keys = {"a", "ab", "abc", "b", "\xFF", "\xFFz", "abcd", "ab\0d"s, "zz"};
    std::vector<std::pair<std::string_view, std::int32_t>> entries;
    for (std::size_t i = 0; i < keys.size(); ++i) entries.emplace_back(keys[i], static_cast<std::int32_t>(i));
    entries.emplace_back("", 99);
    entries.emplace_back("b", 42);  // the last of two counts
    const ByteTrie trie(entries);
    std::string found;
    trie.for_each_prefix("abcde",
                         [&](std::size_t length, std::int32_t value) { found += text(length, ':', value, ' '); });
    CHECK(found == "1:0 2:1 3:2 4:6 ");
    CHECK(trie.longest_prefix("bb").value == 42);
    CHECK(trie.longest_prefix("\xFFzz").length == 2);
    CHECK(trie.longest_prefix("ab\0d"s).length == 4);
    CHECK(trie.longest_prefix("c").length == 0);
    CHECK(trie.longest_prefix("").length == 0);
    CHECK(ByteTrie().is_empty());
    // Random keys of few letters against a plain search.
    for (std::uint32_t seed = 0; seed < 50; ++seed) {
        std::vector<std::string> words;
        std::vector<std::pair<std::string_view, std::int32_t>> list;
        for (std::uint32_t i = 0; i < 100; ++i) {
            const PhiloxCounter draw = philox4x32({i, 3, 0, 0}, {seed, 0});
            std::string word;
            for (std::uint32_t k = 0; k <= draw[0] % 6; ++k)
                word.push_back(static_cast<char>('a' + (draw[1] >> 2 * k) % 4));
            words.push_back(word);
        }
        for (std::size_t i = 0; i < words.size(); ++i) list.emplace_back(words[i], static_cast<std::int32_t>(i));
        const ByteTrie random(list);
        for (const std::string& word : words) {
            std::size_t longest = 0;
            for (const std::string& other : words) {
                if (word.starts_with(other)) longest = std::max(longest, other.size());
            }
            CHECK(random.longest_prefix(word).length == longest);
        }
    }
}

TEST_CASE("the byte alphabet has one letter for each byte and leads back", "[tokenizer][short]") {
    std::string all, letters, back;
    for (int byte = 0; byte < 256; ++byte) all.push_back(static_cast<char>(byte));
    append_byte_letters(letters, all);
    CHECK(append_letter_bytes(back, letters));
    CHECK(back == all);
    std::string space;
    append_byte_letters(space, " \n");
    CHECK(space == "ĠĊ");
    CHECK_FALSE(append_letter_bytes(back, "a｜"));
    CHECK(back == all);  // nothing appended
}

TEST_CASE("normalisation by stretches equals normalisation of the whole", "[tokenizer][short]") {
    const auto whole = [](UnicodeForm form, const std::string& text) {
        const int options =
            UTF8PROC_STABLE |
            (form == UnicodeForm::nfc || form == UnicodeForm::nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE) |
            (form == UnicodeForm::nfkc || form == UnicodeForm::nfkd ? UTF8PROC_COMPAT : 0);
        utf8proc_uint8_t* mapped = nullptr;
        const auto length =
            utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                         static_cast<utf8proc_ssize_t>(text.size()), &mapped, static_cast<utf8proc_option_t>(options));
        REQUIRE(length >= 0);
        const std::string out(reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length));
        std::free(mapped);
        return out;
    };
    for (const UnicodeForm form : {UnicodeForm::nfc, UnicodeForm::nfd, UnicodeForm::nfkc, UnicodeForm::nfkd}) {
        // Every character between two that may combine with it.
        std::size_t wrong = 0;
        for (char32_t value = 1; value < 0x30000; ++value) {
            if (value >= 0xD800 && value <= 0xDFFF) continue;
            TracedText text;
            append_utf8(text.bytes, U'e');
            append_utf8(text.bytes, value);
            append_utf8(text.bytes, U'\u0301');
            append_utf8(text.bytes, value);
            const std::string wanted = whole(form, text.bytes);
            REQUIRE(normalize_form(form, text).is_ok());
            wrong += text.bytes == wanted ? 0 : 1;
        }
        CHECK(wrong == 0);
        for (std::uint64_t seed = 0; seed < 300; ++seed) {
            TracedText text{random_text(seed, 100), {}};
            const std::string wanted = whole(form, text.bytes);
            REQUIRE(normalize_form(form, text).is_ok());
            CHECK(text.bytes == wanted);
        }
    }
}

TEST_CASE("trust follows bytes through normalisation", "[tokenizer][short]") {
    TracedText text{"Ｎe\u0301x", std::string("\1\1\1\1\0\0\1", 7)};
    REQUIRE(normalize_form(UnicodeForm::nfkc, text).is_ok());
    CHECK(text.bytes == "Néx");
    CHECK(text.trust == std::string("\1\0\0\1", 4));  // é comes from a trusted letter and an untrusted mark
}

TEST_CASE("broken UTF-8 becomes one U+FFFD for each maximal part", "[tokenizer][short]") {
    // The Unicode Standard's own example (table 3-8) and the borders.
    const std::vector<std::pair<std::string, std::string>> rows = {
        {"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64", "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd"},
        {"\xC0\xAF", "\uFFFD\uFFFD"},
        {"\xE0\x9F\x80", "\uFFFD\uFFFD\uFFFD"},
        {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
        {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDA\uFFFD\uFFFDB"},
        {"\xF0\x9F\xA6", "\uFFFD"},
        {"\xF0\x9F\xA6\x41", "\uFFFDA"},
        {"é", "é"}};
    for (const auto& [bytes, wanted] : rows) {
        std::string held = bytes, out;
        take_all_utf8(held, out);
        CHECK(quoted(out) == quoted(wanted));
        // Byte by byte the same comes out.
        std::string streamed_out;
        held.clear();
        for (const char byte : bytes) {
            held.push_back(byte);
            take_whole_utf8(held, streamed_out);
        }
        take_all_utf8(held, streamed_out);
        CHECK(quoted(streamed_out) == quoted(wanted));
    }
}

TEST_CASE("short and long words merge alike", "[tokenizer][short]") {
    // A vocabulary over two letters with merges made at random; words around the border of the two algorithms.
    Vocabulary vocabulary;
    std::vector<std::string> tokens = {"a", "b"};
    std::vector<std::pair<std::string, std::string>> merges;
    for (std::uint32_t i = 0; tokens.size() < 40; ++i) {
        const PhiloxCounter draw = philox4x32({i, 4, 0, 0}, {1, 0});
        const std::string left = tokens[draw[0] % tokens.size()], right = tokens[draw[1] % tokens.size()];
        if (left.size() + right.size() > 12 || std::find(tokens.begin(), tokens.end(), left + right) != tokens.end())
            continue;
        tokens.push_back(left + right);
        merges.emplace_back(left, right);
    }
    for (std::size_t i = 0; i < tokens.size(); ++i)
        REQUIRE(vocabulary.add(static_cast<TokenId>(i), tokens[i], 0, "test").is_ok());
    std::vector<BpeModel::MergePair> pairs;
    for (const auto& [left, right] : merges) pairs.push_back({left, right});
    const auto model = BpeModel::from_merges(vocabulary, {}, pairs, "test");
    REQUIRE(model.is_ok());
    const auto reference = [&](const std::string& word) {  // the definition, literally
        std::vector<std::string> parts;
        for (const char c : word) parts.emplace_back(1, c);
        for (;;) {
            std::size_t best = merges.size(), at = 0;
            for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
                const auto rank = static_cast<std::size_t>(
                    std::find(merges.begin(), merges.end(), std::pair(parts[i], parts[i + 1])) - merges.begin());
                if (rank < best) best = rank, at = i;
            }
            if (best == merges.size()) return parts;
            parts[at] += parts[at + 1];
            parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        }
    };
    BpeScratch scratch;
    for (std::uint32_t seed = 0; seed < 400; ++seed) {
        std::string word;
        for (std::uint32_t i = 0; i < 1 + seed / 3; ++i)
            word.push_back(philox4x32({i, 5, 0, 0}, {seed, 0})[0] % 2 == 0 ? 'a' : 'b');
        std::vector<TokenId> ids;
        model->encode({word, nullptr}, scratch, ids);
        std::string got, wanted;
        for (const TokenId id : ids) got += tokens[static_cast<std::size_t>(id)] + " ";
        for (const std::string& part : reference(word)) wanted += part + " ";
        CHECK(got == wanted);
    }
}

TEST_CASE("the word cache gives back what was put, and nothing else", "[tokenizer][short]") {
    WordCache none(10), cache(1 << 20);
    const TokenId ids[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    std::vector<TokenId> out;
    none.put("a", ids, 1);
    CHECK_FALSE(none.find("a", out));
    cache.put("word", ids, 3);
    cache.put("long", ids, 9);
    cache.put(std::string(31, 'x'), ids, 1);
    cache.put("", ids, 0);
    CHECK(cache.find("word", out));
    CHECK(out == std::vector<TokenId>{1, 2, 3});
    CHECK_FALSE(cache.find("wor", out));
    CHECK_FALSE(cache.find("long", out));
    CHECK_FALSE(cache.find(std::string(31, 'x'), out));
    CHECK(out.size() == 3);
}

TEST_CASE("base64 is read as RFC 4648 has it", "[tokenizer][short]") {
    CHECK(decode_base64("") == "");
    CHECK(decode_base64("Zg==") == "f");
    CHECK(decode_base64("Zm9vYmFy") == "foobar");
    CHECK(decode_base64("+/8=") == "\xFB\xFF");
    CHECK_FALSE(decode_base64("Z").has_value());
    CHECK_FALSE(decode_base64("Zm9v!").has_value());
    CHECK_FALSE(decode_base64("Zm 9v").has_value());
}

TEST_CASE("a vocabulary whose spellings are chosen to collide is refused", "[tokenizer][short]") {
    // hash_bytes of 8-byte words can be inverted by anybody who reads it; here the table's own limit is enough.
    Vocabulary vocabulary;
    CHECK(vocabulary.reserve(10, 200000, "test").message() ==
          "test: a token has the id 200000 among 10 tokens, expected one below 65616");
    CHECK(vocabulary.add(-1, "a", 0, "test").code() == StatusCode::corrupt_file);
    CHECK(vocabulary.add(1 << 24, "a", 0, "test").code() == StatusCode::corrupt_file);
    CHECK(vocabulary.add(0, std::string(70000, 'a'), 0, "test").message() ==
          "test: the token 0 is 70000 bytes long, expected at most 65536");
    for (TokenId id = 0; id < 5000; ++id) REQUIRE(vocabulary.add(id, text("token ", id), 0, "test").is_ok());
    for (TokenId id = 0; id < 5000; ++id) CHECK(vocabulary.find(text("token ", id)) == id);
    CHECK(vocabulary.find("token") == -1);
}
