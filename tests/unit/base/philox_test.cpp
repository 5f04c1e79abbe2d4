#include "base/philox.hpp"

#include <catch2/catch.hpp>

using namespace mixtura;

// Known answers from the authors' Random123 distribution (kat_vectors, philox4x32 10).
TEST_CASE("philox gives the published known answers", "[base][short]") {
    CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == PhiloxCounter{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
    CHECK(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}) ==
          PhiloxCounter{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
    CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
          PhiloxCounter{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("unit floats are in [0, 1)", "[base][short]") {
    CHECK(unit_float(0) == 0.0F);
    CHECK(unit_float(0xffffffff) < 1.0F);
    CHECK(unit_double(0xffffffff, 0xffffffff) < 1.0);
    CHECK(unit_double(0x80000000, 0) == 0.5);
}
