// No forged turns: what untrusted text spells is text, in every vocabulary, however it is cut; and honest prompts have
// the ids of one text.
#include <catch2/catch.hpp>

#include <algorithm>

#include "base/philox.hpp"
#include "base/text.hpp"
#include "unit/tokenizer/cases.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

std::vector<TokenId> spans_ids(const Tokenizer& tokenizer, const std::vector<TextSpan>& spans) {
    const auto ids = tokenizer.encode_spans(spans);
    INFO(ids.status().message());
    REQUIRE(ids.is_ok());
    return *ids;
}

bool contains(const std::vector<TokenId>& ids, TokenId id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// The ids behind what the vocabulary puts in front.
std::vector<TokenId> without_front(const Tokenizer& tokenizer, std::vector<TokenId> ids) {
    const auto front = tokenizer.encode_spans({});
    REQUIRE(front.is_ok());
    REQUIRE(ids.size() >= front->size());
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(front->size()));
    return ids;
}

// Every added, control and user-defined token but the unknown one, which stands for characters and not for itself.
std::vector<TokenId> markers_of(const Tokenizer& tokenizer) {
    std::vector<TokenId> out;
    for (std::size_t i = 0; i < tokenizer.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        const std::string_view spelling = tokenizer.token_text(id);
        const bool is_marker = tokenizer.is_added(id) || spelling == "<|im_start|>" || spelling == "<|im_end|>" ||
                               spelling == "<|endoftext|>";
        if (is_marker && id != tokenizer.special_tokens().unk) out.push_back(id);
    }
    return out;
}

std::vector<std::string> honest_texts(const Tokenizer& tokenizer, JsonValue cases) {
    std::vector<std::string> out;
    for (const JsonValue row : cases.elements()) {
        const std::string given(row.find("text")->as_string().value());
        bool is_honest = true;
        for (std::size_t i = 0; i < tokenizer.size(); ++i) {
            const auto id = static_cast<TokenId>(i);
            if (!tokenizer.is_added(id) && tokenizer.token_text(id).substr(0, 2) != "<|") continue;
            is_honest = is_honest && given.find(tokenizer.token_text(id)) == std::string::npos;
        }
        if (is_honest) out.push_back(given);
    }
    return out;
}

}  // namespace

TEST_CASE("untrusted text never becomes a marker, trusted text does", "[tokenizer][short]") {
    for (const Fixture& fixture : fixtures()) {
        INFO(fixture.path);
        const Tokenizer tokenizer = open_tokenizer(fixture.path);
        const std::vector<TokenId> markers = markers_of(tokenizer);
        CHECK(markers.size() >= 3);
        for (const TokenId marker : markers) {
            const std::string spelling(tokenizer.token_text(marker));
            INFO(spelling);
            const std::string sentence = "a " + spelling + " b" + spelling + "\n" + spelling + spelling;
            CHECK_FALSE(contains(without_front(tokenizer, spans_ids(tokenizer, {{spelling, false}})), marker));
            CHECK_FALSE(contains(without_front(tokenizer, spans_ids(tokenizer, {{sentence, false}})), marker));
            CHECK(contains(without_front(tokenizer, spans_ids(tokenizer, {{"x", true}, {spelling, true}})), marker));
            CHECK(contains(*tokenizer.encode(sentence, {AddedTokens::all, AddBos::no}), marker));
            // Put together from two spans: trusted as long as both are.
            for (std::size_t cut = 1; cut < spelling.size(); ++cut) {
                const std::string head = spelling.substr(0, cut), tail = spelling.substr(cut);
                for (const auto& [first, second] : {std::pair{true, false}, {false, true}, {false, false}}) {
                    CHECK_FALSE(contains(
                        without_front(tokenizer, spans_ids(tokenizer, {{"x", true}, {head, first}, {tail, second}})),
                        marker));
                }
                CHECK(contains(
                    without_front(tokenizer, spans_ids(tokenizer, {{"x", true}, {head, true}, {tail, true}})), marker));
            }
            // A real marker beside a forged one, with and without a beginning of one in front.
            const std::vector<TokenId> mixed = without_front(
                tokenizer,
                spans_ids(tokenizer, {{"x", true}, {spelling + spelling.substr(0, 3), false}, {spelling, true}}));
            CHECK(std::count(mixed.begin(), mixed.end(), marker) == 1);
        }
    }
}

TEST_CASE("an honest prompt has the ids of one text, wherever its spans are cut", "[tokenizer][short]") {
    std::size_t compared = 0;
    for (const Fixture& fixture : fixtures()) {
        INFO(fixture.path);
        const Tokenizer tokenizer = open_tokenizer(fixture.path);
        const JsonDocument cases = golden_json("tokenizers/" + fixture.name + "/cases.json");
        const std::vector<std::string> texts = honest_texts(tokenizer, cases.root().find("cases").value());
        CHECK(texts.size() > 80);
        for (std::size_t i = 0; i < texts.size(); ++i) {
            const std::string& content = texts[i];
            const std::string whole = "<|im_start|>user\n" + content + "<|im_end|>\n<|im_start|>assistant\n";
            const auto wanted = tokenizer.encode(whole, {AddedTokens::all, AddBos::no});
            REQUIRE(wanted.is_ok());
            INFO(quoted(whole, 1000));
            const auto turn = spans_ids(
                tokenizer,
                {{"<|im_start|>user\n", true}, {content, false}, {"<|im_end|>\n<|im_start|>assistant\n", true}});
            CHECK(encoded_ids(without_front(tokenizer, turn)) == encoded_ids(*wanted));
            // The same text cut into pieces at random, each trusted or not.
            std::vector<TextSpan> spans;
            for (std::size_t at = 0; at < content.size();) {
                const PhiloxCounter draw =
                    philox4x32({static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(i), 0, 0}, {7, 0});
                const std::size_t length = std::min<std::size_t>(1 + draw[0] % 7, content.size() - at);
                spans.push_back({std::string_view(content).substr(at, length), draw[1] % 2 == 0});
                at += length;
            }
            const auto plain = tokenizer.encode(content, {AddedTokens::all, AddBos::no});
            CHECK(encoded_ids(without_front(tokenizer, spans_ids(tokenizer, spans))) == encoded_ids(*plain));
            ++compared;
        }
    }
    CHECK(compared > 800);
}

TEST_CASE("a prompt begins with exactly one beginning-of-text token where the vocabulary adds one",
          "[tokenizer][short]") {
    const Tokenizer llama3 = open_tokenizer(golden("tokenizers/bpe-llama3/tokenizer.json"));
    CHECK(llama3.adds_bos());
    CHECK(spans_ids(llama3, {{"<|endoftext|>", true}, {"hi", false}}) == spans_ids(llama3, {{"hi", false}}));
    CHECK(spans_ids(llama3, {{"hi", false}})[0] == llama3.special_tokens().bos);
    CHECK(spans_ids(llama3, {}).size() == 1);
    // Spelled by somebody else it is text, and the real one still comes.
    const auto forged = spans_ids(llama3, {{"<|endoftext|>", false}});
    CHECK(forged[0] == llama3.special_tokens().bos);
    CHECK(std::count(forged.begin(), forged.end(), forged[0]) == 1);
    // Plain encoding is the reference's, which doubles it.
    const auto plain = llama3.encode("<|endoftext|>hi");
    CHECK(std::count(plain->begin(), plain->end(), llama3.special_tokens().bos) == 2);
    const Tokenizer spm = open_tokenizer(golden("tokenizers/spm-bpe/tokenizer.model"));
    const auto once = spans_ids(spm, {{"<s>", true}, {"[INST] hi", true}});
    CHECK(std::count(once.begin(), once.end(), spm.special_tokens().bos) == 1);
    const Tokenizer qwen2 = open_tokenizer(golden("tokenizers/bpe-qwen2/tokenizer.json"));
    CHECK_FALSE(qwen2.adds_bos());
    CHECK(spans_ids(qwen2, {}).empty());
}

namespace {

// One of the small vocabularies of components.json.
Tokenizer composed(std::string_view name) {
    const JsonDocument components = golden_json("tokenizers/components.json");
    const TemporaryFolder folder;
    for (const JsonValue entry : components.root().find("tokenizers")->elements()) {
        if (entry.find("name")->as_string() != name) continue;
        return open_tokenizer(folder.write("tokenizer.json", entry.find("spec")->as_string().value()));
    }
    throw std::runtime_error("no such composition");
}

}  // namespace

TEST_CASE("normalisation, whole-word look-ups and merges make no marker out of untrusted text", "[tokenizer][short]") {
    // NFKC makes of full-width letters the spelling of a token that is matched in normalised text.
    const Tokenizer nfkc = composed("no unknown");
    const std::string wide = "Ｎｏｒｍ ｅｄ";
    const TokenId normalised = nfkc.find("Norm ed");
    REQUIRE(normalised >= 0);
    CHECK(contains(spans_ids(nfkc, {{wide, true}}), normalised));
    CHECK_FALSE(contains(spans_ids(nfkc, {{wide, false}}), normalised));
    CHECK_FALSE(contains(spans_ids(nfkc, {{"Ｎｏｒｍ", true}, {" ｅｄ", false}}), normalised));
    // "word" is an added token and also what merges make.
    const Tokenizer whole = composed("byte-level, ignore merges");
    const TokenId word = whole.find("word");
    REQUIRE(word >= 0);
    CHECK(contains(spans_ids(whole, {{"word", true}}), word));
    CHECK_FALSE(contains(spans_ids(whole, {{"word sword words", false}}), word));
    for (const std::string_view name :
         {"llama legacy", "llama metaspace first", "gemma", "byte-level normalizer", "unigram",
          "unigram, byte fallback", "falcon", "unknown fused", "byte-level, prefix space, NFC"}) {
        INFO(name);
        const Tokenizer tokenizer = composed(name);
        for (const TokenId marker : markers_of(tokenizer)) {
            const std::string spelling(tokenizer.token_text(marker));
            if (!tokenizer.is_added(marker) || spelling == "  " || spelling == "é") continue;
            INFO(spelling);
            const auto ids =
                without_front(tokenizer, spans_ids(tokenizer, {{"a " + spelling + " " + spelling, false}}));
            CHECK_FALSE(contains(ids, marker));
        }
    }
}

TEST_CASE("runs of white space are vocabulary in untrusted text too", "[tokenizer][short]") {
    const Tokenizer tokenizer = composed("gemma");
    const TokenId spaces = tokenizer.find("  ");
    REQUIRE(tokenizer.is_added(spaces));
    CHECK(contains(spans_ids(tokenizer, {{"if x:\n  y", false}}), spaces));
    CHECK(spans_ids(tokenizer, {{"if x:\n  y", false}}) ==
          *tokenizer.encode("if x:\n  y", {AddedTokens::all, AddBos::no}));
}
