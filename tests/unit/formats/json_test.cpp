#include "formats/json.hpp"

#include <catch2/catch.hpp>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/number.hpp"
#include "support/files.hpp"

using namespace mixtura;
using namespace std::string_literals;

namespace {

JsonDocument parsed(std::string_view text) {
    auto document = JsonDocument::parse(text, "test.json");
    INFO(std::string(text.substr(0, 200)));
    REQUIRE(std::string(document.status().message()).empty());
    return *std::move(document);
}

std::string refusal(std::string_view text, const JsonLimits& limits = {}) {
    const auto document = JsonDocument::parse(text, "test.json", limits);
    CHECK(document.is_ok() == document.status().message().empty());
    return std::string(document.status().message());
}

std::optional<std::int64_t> integer(std::string_view text) { return parsed(text).root().as_integer(); }
std::optional<double> real(std::string_view text) { return parsed(text).root().as_real(); }
std::string string(std::string_view text) {
    const JsonDocument document = parsed(text);
    return std::string(document.root().as_string().value());
}

}  // namespace

TEST_CASE("json: every kind of value is read as what it is", "[formats][short]") {
    const JsonDocument document =
        parsed(R"( {"n":null,"t":true,"f":false,"i":-12,"r":0.5,"s":"text","a":[1,[],{}],"o":{"x":1}} )");
    const JsonValue root = document.root();
    CHECK(root.is_object());
    CHECK(root.size() == 8);
    CHECK(root.find("n")->is_null());
    CHECK(root.find("t")->as_boolean() == true);
    CHECK(root.find("f")->as_boolean() == false);
    CHECK(root.find("i")->as_integer() == -12);
    CHECK(root.find("r")->as_real() == 0.5);
    CHECK(root.find("s")->as_string() == "text");
    CHECK(root.find("a")->is_array());
    CHECK(root.find("a")->size() == 3);
    CHECK(root.find("o")->find("x")->as_integer() == 1);
    CHECK_FALSE(root.find("missing").has_value());
    // Of another kind: nothing, never a conversion.
    CHECK_FALSE(root.find("t")->as_integer().has_value());
    CHECK_FALSE(root.find("i")->as_boolean().has_value());
    CHECK_FALSE(root.find("i")->as_string().has_value());
    CHECK_FALSE(root.find("s")->as_real().has_value());
    CHECK_FALSE(root.find("n")->as_integer().has_value());
    CHECK_FALSE(root.find("a")->find("x").has_value());
    CHECK(root.find("s")->size() == 0);
    CHECK(JsonDocument().root().is_null());
}

TEST_CASE("json: elements and members come in the file's order", "[formats][short]") {
    const JsonDocument document = parsed(R"({"z":[10,[1,2,[3]],"x",{"k":4},20],"a":{},"m":9007199254740993123})");
    std::string order;
    for (const auto [key, value] : document.root().members()) order += std::string(key) + ",";
    CHECK(order == "z,a,m,");
    std::vector<JsonKind> kinds;
    for (const JsonValue element : document.root().find("z")->elements()) kinds.push_back(element.kind());
    CHECK(kinds ==
          std::vector{JsonKind::integer, JsonKind::array, JsonKind::string, JsonKind::object, JsonKind::integer});
    for ([[maybe_unused]] const JsonValue none : document.root().elements()) FAIL("an object has no elements");
    for ([[maybe_unused]] const auto none : document.root().find("z")->members()) FAIL("an array has no members");
}

TEST_CASE("json: integers are exact to the ends of 64 bits, and reals beyond", "[formats][short]") {
    CHECK(integer("0") == 0);
    CHECK(integer("-0") == 0);
    // 56 bits lie in the tape's own word, the rest in one of its own.
    for (const std::int64_t edge :
         {std::int64_t{1} << 55, std::int64_t{1} << 56, std::numeric_limits<std::int64_t>::max() - 1}) {
        for (const std::int64_t value : {edge - 1, edge, edge + 1, -edge - 1, -edge, -edge + 1}) {
            std::string digits;
            append_integer(digits, value);
            CHECK(integer(digits) == value);
        }
    }
    CHECK(integer("-9223372036854775808") == std::numeric_limits<std::int64_t>::min());
    for (const char* beyond : {"9223372036854775808", "18446744073709551615", "-9223372036854775809",
                               "340282366920938463463374607431768211456"}) {
        CHECK_FALSE(integer(beyond).has_value());
        CHECK(parsed(beyond).root().kind() == JsonKind::real);
        CHECK(real(beyond) == parse_double(beyond));
    }
    // Whole reals are integers where they fit: files write 128.0 and 1e6.
    CHECK(integer("128.0") == 128);
    CHECK(integer("1e6") == 1000000);
    CHECK(integer("9007199254740992.0") == std::int64_t{1} << 53);
    CHECK_FALSE(integer("9007199254740994.0").has_value());  // which 9007199254740993.0 would be read as, too
    CHECK_FALSE(integer("-9223372036854775808.0").has_value());
    CHECK_FALSE(integer("0.5").has_value());
    CHECK_FALSE(integer("1e300").has_value());
}

TEST_CASE("json: reals are read to the nearest double, however written", "[formats][short]") {
    CHECK(real("0.1") == 0.1);
    CHECK(real("-1.5E+3") == -1500.0);
    CHECK(real("1e-5") == 1e-5);
    CHECK(real("123456789012345678901234567890") == 123456789012345678901234567890.0);
    CHECK(real("1.7976931348623157e308") == std::numeric_limits<double>::max());
    CHECK(real("4.9e-324") == std::numeric_limits<double>::denorm_min());
    CHECK(std::signbit(*real("-0.0")));
    CHECK(real("0e999999999999999999999999") == 0.0);
    // Below the smallest double: zero.  Above the largest: refused, since infinity is no JSON.
    for (const char* tiny : {"1e-400", "-1e-400", "0.0000001e-330", "1e-99999999999999999999",
                             "0."
                             "0000000000000000000000000000000000001e-300"}) {
        CHECK(real(tiny) == 0.0);
    }
    for (const char* huge :
         {"1e309", "-1e309", "1000000e303", "0.00001e315", "1e99999999999999999999", "1.7976931348623159e308"}) {
        CHECK(refusal(huge).find("is larger than a double can hold") != std::string::npos);
    }
    CHECK(real("1" + std::string(400, '0') + "e-400") == 1.0);
    CHECK(real("0." + std::string(400, '0') + "1e+401") == 1.0);
    CHECK(refusal("1" + std::string(400, '0') + "e-50").find("is larger than") != std::string::npos);
    CHECK(real("0." + std::string(509, '1') + "1") == 1.0 / 9);
    CHECK(refusal(std::string(513, '1')) ==
          "'test.json' cannot be read as JSON at byte 512: a number longer than 512 characters");
}

TEST_CASE("json: numbers do not hang on the host's locale", "[formats][short]") {
    // A locale whose decimal point is a comma, made here where the machine has none; without the tools to make one the
    // checks run in the locale there is, in which they must hold all the same.
    const test::TemporaryFolder folder;
    const std::string make = "localedef -i de_DE -f UTF-8 " + folder.file("de_DE.UTF-8") + " >/dev/null 2>&1";
    const bool is_made = std::system(make.c_str()) == 0;
    if (is_made) ::setenv("LOCPATH", folder.path().c_str(), 1);
    const char* chosen = nullptr;
    for (const char* name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"}) {
        if (chosen == nullptr) chosen = std::setlocale(LC_ALL, name);
    }
    if (chosen != nullptr) CHECK(std::strtod("1,5", nullptr) == 1.5);  // so that the locale is one that would show
    CHECK(real("1.5") == 1.5);
    CHECK(real("-2.25e-2") == -0.0225);
    CHECK_FALSE(refusal("1,5").empty());
    std::setlocale(LC_ALL, "C");
    ::unsetenv("LOCPATH");
}

TEST_CASE("json: escapes and surrogate pairs become UTF-8", "[formats][short]") {
    CHECK(string(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
    CHECK(string(R"("\u0041\u00e9\u20ac\ud83d\ude00")") == "Aé€😀");
    CHECK(string(R"("\uD83D\uDE00\uDBFF\uDFFF\uFFFF")") == "😀\xF4\x8F\xBF\xBF\xEF\xBF\xBF");
    CHECK(string("\"Aé€😀\"") == "Aé€😀");
    CHECK(string("\"a\x7f\"") == "a\x7f");
    CHECK(string(R"("nul\u0000!")") == "nul\0!"s);
    const JsonDocument nul_key = parsed("{\"a\\u0000b\":1,\"a\":2}");
    CHECK(nul_key.root().find("a\0b"s)->as_integer() == 1);
    CHECK(nul_key.root().find("a")->as_integer() == 2);
    for (const char* half :
         {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\ud800")", R"("\ud800\u0041")", R"("\ud83d\")"}) {
        CHECK_FALSE(refusal(half).empty());
    }
    // Strings longer than the scanner's pieces, cut at every position inside a character.
    for (std::size_t lead = 245; lead < 262; ++lead) {
        const std::string value = std::string(lead, 'x') + "😀é" + std::string(lead, 'y') + "€";
        CHECK(string("\"" + value + "\"") == value);
    }
}

TEST_CASE("json: bytes that are no UTF-8 are refused at their place", "[formats][short]") {
    for (const std::string& broken :
         {"\x80"s, "\xbf"s, "\xc0\x80"s, "\xc1\xbf"s, "\xe0\x80\x80"s, "\xed\xa0\x80"s, "\xf0\x80\x80\x80"s,
          "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "\xfe"s, "\xff"s, "\xe2\x82"s, "\xf0\x9f\x98"s, "\xc3"s}) {
        CHECK(refusal("\"a" + broken + "\"").find("a string is not UTF-8") != std::string::npos);
        CHECK(refusal("[\"" + broken).find("a string is not UTF-8") != std::string::npos);
    }
}

TEST_CASE("json: nesting is bounded by the limit and not by the stack", "[formats][short]") {
    const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
    CHECK(parsed(nested(64)).root().is_array());
    CHECK(refusal(nested(65)) ==
          "'test.json' cannot be read as JSON at byte 64: nests deeper than the 64 levels allowed");
    CHECK_FALSE(refusal(std::string(1 << 20, '[')).empty());
    CHECK(refusal("[[1]]", {.depth_max = 1}) ==
          "'test.json' cannot be read as JSON at byte 1: nests deeper than the 1 levels allowed");
    CHECK(refusal("1", {.depth_max = 0}).empty());
}

TEST_CASE("json: a key twice in one object is refused, in two objects it is not", "[formats][short]") {
    CHECK(refusal(R"({"a":1,"b":2,"a":3})") == "'test.json' has the key 'a' twice in one object");
    CHECK(refusal(R"([{"x":{"a":1,"\u0061":1}}])") == "'test.json' has the key 'a' twice in one object");
    CHECK(refusal(R"({"":1,"":1})") == "'test.json' has the key '' twice in one object");
    CHECK(refusal(R"({"a":{"a":{"a":1}},"b":{"a":1}})").empty());
    std::string many = "{";
    for (int i = 0; i < 5000; ++i) many += "\"key" + std::to_string(i) + "\":" + std::to_string(i) + ",";
    CHECK(parsed(many + "\"key\":1}").root().size() == 5001);
    CHECK(refusal(many + "\"key4321\":1}") == "'test.json' has the key 'key4321' twice in one object");
}

TEST_CASE("json: sizes are exact, also beyond what the tape's word can count", "[formats][short]") {
    // The word counts up to 2^24 - 2; of the next count it says no more than that it is larger.
    constexpr std::size_t kCount = (1 << 24) - 1;
    std::string ones = "[1";
    for (std::size_t i = 1; i < kCount; ++i) ones += ",1";
    CHECK(parsed(ones + "]").root().size() == kCount);
    const std::string short_text(kCount - 1, 's'), long_text(kCount, 'l');
    const JsonDocument document = parsed("{\"" + long_text + "\":\"" + short_text + "\",\"b\":2}");
    CHECK(document.root().size() == 2);
    const auto value = document.root().find(long_text);
    REQUIRE(value.has_value());
    const bool is_same = value->as_string() == short_text;
    CHECK(is_same);
    CHECK(document.root().find("b")->as_integer() == 2);
}

TEST_CASE("json: a byte order mark is passed over, other bytes in front are not", "[formats][short]") {
    CHECK(integer("\xEF\xBB\xBF 7") == 7);
    CHECK_FALSE(refusal("\xEF\xBB 7").empty());
    CHECK_FALSE(refusal("\xFE\xFF\0007"s).empty());
    CHECK_FALSE(refusal("\f7").empty());
}

TEST_CASE("json: every published configuration reads as another parser reads it", "[formats][short]") {
    const auto same = [](auto&& self, JsonValue ours, const nlohmann::json& other) -> bool {
        if (ours.is_object()) {
            if (ours.size() != other.size()) return false;
            for (const auto [key, value] : ours.members()) {
                if (!other.contains(std::string(key)) || !self(self, value, other[std::string(key)])) return false;
            }
            return true;
        }
        if (ours.is_array()) {
            if (ours.size() != other.size()) return false;
            std::size_t i = 0;
            for (const JsonValue element : ours.elements()) {
                if (!self(self, element, other[i++])) return false;
            }
            return true;
        }
        if (ours.is_string()) return other.is_string() && other.get<std::string>() == ours.as_string();
        if (ours.kind() == JsonKind::boolean) return other.is_boolean() && other.get<bool>() == ours.as_boolean();
        if (ours.kind() == JsonKind::null) return other.is_null();
        return other.is_number() && other.get<double>() == ours.as_real();
    };
    for (const char* name :
         {"models/dbrx/config.json", "models/phimoe-longrope/config_hub.json", "models/hybrid-120/config.json",
          "models/switch/reference.json", "templates.json", "samplers.json"}) {
        INFO(name);
        const std::string text = test::read_file(test::golden(name));
        const JsonDocument document = parsed(text);
        const bool is_same = same(same, document.root(), nlohmann::json::parse(text));
        CHECK(is_same);
    }
}

TEST_CASE("json: text becomes a literal that reads back as the same text", "[formats][short]") {
    for (const std::string& text : {""s, "plain"s, "\"\\/"s, "\0\1\x1f\x7f"s, "é€😀"s})
        CHECK(string(json_quoted(text)) == text);
    CHECK(json_quoted("a\xff"
                      "b") ==
          "\"a\xEF\xBF\xBD"
          "b\"");
    CHECK(json_quoted("\n") == "\"\\u000a\"");
}
