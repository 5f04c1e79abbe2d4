#include "base/text.hpp"

#include <catch2/catch.hpp>

using namespace mixtura;
using namespace std::string_view_literals;

TEST_CASE("untrusted text is shown without driving the terminal", "[base][short]") {
    CHECK(quoted("plain") == "'plain'");
    CHECK(quoted("a\x1b[31m\nb") == "'a\\x1b[31m\\x0ab'");
    CHECK(quoted("nul\0!"sv) == "'nul\\x00!'");
    CHECK(quoted("gr\xc3\xbc\xc3\x9f") == "'gr\xc3\xbc\xc3\x9f'");
    CHECK(quoted("\xff\xc3") == "'\\xff\\xc3'");
    CHECK(quoted("\xc2\x9b") == "'\\xc2\\x9b'");  // the 8-bit form of ESC [
    CHECK(quoted("abcdef", 3) == "'abc…'");
    CHECK(quoted("ab\xc3\xbc", 3) == "'ab…'");  // never cut inside a character
}

TEST_CASE("UTF-8 is checked as RFC 3629 says", "[base][short]") {
    CHECK(is_utf8("aé€😀"));
    for (const std::string_view broken :
         {"\x80"sv, "\xc0\x80"sv, "\xe0\x80\x80"sv, "\xed\xa0\x80"sv, "\xf4\x90\x80\x80"sv, "\xf0\x80\x80\x80"sv,
          "\xe2\x82"sv, "\xf5\x80\x80\x80"sv, "\xc3("sv}) {
        CHECK_FALSE(is_utf8(broken));
    }
}
