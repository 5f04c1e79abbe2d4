#include "base/number.hpp"

#include <catch2/catch.hpp>
#include <clocale>
#include <limits>

#include "base/text.hpp"

using namespace mixtura;

TEST_CASE("numbers are whole texts or nothing", "[base][short]") {
    CHECK(parse_integer<int>("42") == 42);
    CHECK(parse_integer<int>("-42") == -42);
    for (const char* text : {"", " 1", "1 ", "+1", "1x", "99999999999", "0x10"}) CHECK_FALSE(parse_integer<int>(text));
    CHECK(parse_double("1e-3") == 1e-3);
    for (const char* text : {"", "1,5", "1.5 ", "1e999", "--1"}) CHECK_FALSE(parse_double(text));
}

TEST_CASE("a host's locale changes no number", "[base][short]") {
    const std::string before = std::setlocale(LC_ALL, nullptr);
    // C.UTF-8 is always there; a locale with a decimal comma is used where the machine has one.
    for (const char* name : {"C.UTF-8", "de_DE.UTF-8", "fr_FR.UTF-8"}) {
        if (std::setlocale(LC_ALL, name) == nullptr) continue;
        CHECK(format_fixed(1234.5, 2) == "1234.50");
        CHECK(format_shortest(0.1) == "0.1");
        CHECK(text(1234567, " ", 2.5) == "1234567 2.5");
        CHECK(parse_double("2.5") == 2.5);
    }
    std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("doubles print in their shortest form", "[base][short]") {
    CHECK(format_shortest(1e300) == "1e+300");
    CHECK(format_shortest(-0.0) == "-0");
    CHECK(format_shortest(std::numeric_limits<double>::infinity()) == "inf");
    CHECK(format_fixed(1e308, 3).size() == 309 + 4);
}
