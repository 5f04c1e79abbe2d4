#include <mixtura/sampler.hpp>

#include <catch2/catch.hpp>

#include <random>

using namespace mixtura;

namespace {

StopMatcher make(std::vector<std::string> strings, std::vector<TokenId> tokens = {},
                 std::optional<std::int64_t> max_tokens = {}) {
    auto matcher = StopMatcher::create({std::move(tokens), std::move(strings), max_tokens});
    REQUIRE(matcher.is_ok());
    return *std::move(matcher);
}

// What each piece released, then what finish() did, joined by '|'; a '!' where the stop string ended it.
std::string trace(StopMatcher matcher, const std::vector<std::string>& pieces) {
    std::string out;
    for (const std::string& piece : pieces) {
        const auto step = matcher.accept(1, piece);
        REQUIRE(step.is_ok());
        out += std::string(step->text) + (step->reason == FinishReason::stop_string ? "!" : "") + "|";
        if (step->reason != FinishReason::none) break;
    }
    return out + std::string(matcher.finish()->text);
}

}  // namespace

TEST_CASE("what may become a stop string is held back and released once it cannot", "[sampler][short]") {
    CHECK(trace(make({}), {"a", "b"}) == "a|b|");
    CHECK(trace(make({"STOP"}), {"go ", "S", "T", "ART"}) == "go |||START|");
    CHECK(trace(make({"STOP"}), {"go ST", "OP on"}) == "go |!|");          // across two tokens, rest dropped
    CHECK(trace(make({"STOP"}), {"a", "S", "TO", "P", "x"}) == "a|||!|");  // across three
    CHECK(trace(make({"STOP"}), {"STOP"}) == "!|");                        // at the first token
    CHECK(trace(make({"STOP"}), {"yes STO"}) == "yes |STO");               // half matched at the end
    CHECK(trace(make({"aab"}), {"a", "a", "a", "a", "b"}) == "||a|a|!|");  // falls back to a shorter prefix
    CHECK(trace(make({"\n\nUser:"}), {"Hi", "\n", "\n", "Use it"}) == "Hi|||\n\nUse it|");
}

TEST_CASE("of overlapping stop strings the one that ends first counts, then the longest", "[sampler][short]") {
    CHECK(trace(make({"abcd", "bc"}), {"xabcd"}) == "xa!|");
    CHECK(trace(make({"bc", "abc"}), {"xa", "bc"}) == "x|!|");
    CHECK(trace(make({"ab", "abc"}), {"abc"}) == "!|");
    CHECK(trace(make({"abcx", "bcd"}), {"a", "b", "c", "d"}) == "|||a!|");
    CHECK(trace(make({"aa", "aaa"}), {"baaa"}) == "b!|");
    CHECK(trace(make({"ab", "ab"}), {"ab"}) == "!|");
}

TEST_CASE("the cut into pieces makes no difference to where a text stops", "[sampler][short]") {
    std::mt19937 random(1);
    const auto below = [&](std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random); };
    const auto word = [&](std::size_t length) {
        std::string out;
        for (std::size_t i = 0; i < length; ++i) out += static_cast<char>('a' + below(2));
        return out;
    };
    for (int round = 0; round < 2000; ++round) {
        const std::string text = word(1 + below(30));
        std::vector<std::string> stops;
        for (std::size_t i = below(4); i-- > 0;) stops.push_back(word(2 + below(6)));
        // The plain definition: the shortest prefix of the text that ends with a stop string, less the longest such.
        std::string expected = text;
        bool is_stopped = false;
        for (std::size_t end = 1; end <= text.size() && !is_stopped; ++end) {
            std::size_t longest = 0;
            for (const std::string& stop : stops) {
                if (std::string_view(text).substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
            }
            if (longest == 0) continue;
            expected = text.substr(0, end - longest);
            is_stopped = true;
        }
        StopMatcher matcher = make(stops);
        std::string shown, fed;
        for (std::size_t at = 0; at < text.size() && matcher.reason() == FinishReason::none;) {
            const std::string piece = text.substr(at, below(6));
            at += piece.size();
            fed += piece;
            const auto step = matcher.accept(0, piece);
            REQUIRE(step.is_ok());
            shown += step->text;
            // Held back: exactly the longest suffix that is a proper prefix of a stop string.
            std::size_t held = 0;
            for (const std::string& stop : stops) {
                for (std::size_t length = 1; length < stop.size(); ++length) {
                    if (fed.ends_with(stop.substr(0, length))) held = std::max(held, length);
                }
            }
            if (step->reason == FinishReason::none) REQUIRE(shown.size() == fed.size() - held);
        }
        shown += matcher.finish()->text;
        REQUIRE(shown == expected);
        REQUIRE((matcher.reason() == FinishReason::stop_string) == is_stopped);
    }
}

TEST_CASE("a stop token ends the text before itself and releases what was held", "[sampler][short]") {
    StopMatcher matcher = make({"STOP"}, {7, 3});
    CHECK(matcher.is_stop_token(3));
    CHECK_FALSE(matcher.is_stop_token(4));
    CHECK(matcher.accept(1, "ok ST")->text == "ok ");
    const auto step = matcher.accept(3, "</s>");
    CHECK(step->reason == FinishReason::stop_token);
    CHECK(step->text.empty());
    CHECK(matcher.finish()->text == "ST");
    CHECK(matcher.finish()->text.empty());
    CHECK(matcher.accepted_count() == 1);
    CHECK(matcher.accept(1, "more")->reason == FinishReason::stop_token);
    CHECK(matcher.accept(1, "more")->text.empty());
}

TEST_CASE("the token limit counts what is accepted and loses nothing that was held", "[sampler][short]") {
    StopMatcher matcher = make({"STOP"}, {}, 2);
    CHECK(matcher.accept(1, "a")->reason == FinishReason::none);
    const auto step = matcher.accept(1, "bST");
    CHECK(step->text == "b");
    CHECK(step->reason == FinishReason::max_tokens);
    CHECK(matcher.finish("\xef\xbf\xbd")->text == "ST\xef\xbf\xbd");

    StopMatcher both = make({"STOP"}, {}, 1);
    CHECK(both.accept(1, "xSTOP")->reason == FinishReason::stop_string);
    CHECK(make({}, {}, 0).reason() == FinishReason::max_tokens);
    CHECK(make({}, {}, 0).accept(1, "a")->text.empty());
}

TEST_CASE("the decoder's last bytes may complete a stop string", "[sampler][short]") {
    StopMatcher matcher = make({"ab"});
    CHECK(matcher.accept(1, "xa")->text == "x");
    const auto step = matcher.finish("bc");
    CHECK(step->text.empty());
    CHECK(step->reason == FinishReason::stop_string);
}

TEST_CASE("a cancelled request releases what was held and takes no more", "[sampler][short]") {
    StopMatcher matcher = make({"STOP"});
    CHECK(matcher.accept(1, "ST")->text.empty());
    const auto step = matcher.finish();
    CHECK(step->text == "ST");
    CHECK(step->reason == FinishReason::none);
    const Status refused = matcher.accept(4, "OP").status();
    CHECK(refused.code() == StatusCode::bad_state);
    CHECK(refused.message() == "token 4 follows the end of its request");
}

TEST_CASE("an emoji over four byte tokens passes as one piece", "[sampler][short]") {
    // The tokenizer's stream decoder gives whole characters: nothing, nothing, nothing, then all four bytes.
    CHECK(trace(make({"\xf0\x9f\x98\x81"}), {"", "", "", "\xf0\x9f\x98\x80"}) == "|||\xf0\x9f\x98\x80|");
    CHECK(trace(make({"x\xf0\x9f\x98\x80"}), {"", "", "", "\xf0\x9f\x98\x80"}) == "|||\xf0\x9f\x98\x80|");
}

TEST_CASE("stop options out of range are refused with a sentence", "[sampler][short]") {
    const auto refusal = [](StopOptions options) { return std::string(options.check().message()); };
    CHECK(refusal({{}, {"a", ""}, {}}) == "stop string 1 is empty, expected at least one byte");
    CHECK(refusal({{}, {std::string(70'000, 'a')}, {}}) == "stop string 0 has 70000 bytes, expected at most 65536");
    CHECK(refusal({{}, std::vector<std::string>(2000, "a"), {}}) ==
          "2000 stop strings are given, expected at most 1024");
    CHECK(refusal({{}, {}, -1}) == "max_tokens is -1, expected at least 0");
    CHECK_FALSE(StopMatcher::create({{}, {""}, {}}).is_ok());
}

TEST_CASE("finish reasons have names", "[sampler][short]") {
    CHECK(finish_reason_name(FinishReason::none) == "none");
    CHECK(finish_reason_name(FinishReason::stop_token) == "stop_token");
    CHECK(finish_reason_name(FinishReason::stop_string) == "stop_string");
    CHECK(finish_reason_name(FinishReason::max_tokens) == "max_tokens");
    CHECK(finish_reason_name(FinishReason::context_full) == "context_full");
    CHECK(finish_reason_name(FinishReason::cancelled) == "cancelled");
    CHECK(finish_reason_name(FinishReason::callback) == "callback");
    CHECK(finish_reason_name(static_cast<FinishReason>(99)) == "unknown");
}
