#include <mixtura/doctor.hpp>

#include <catch2/catch.hpp>

#include "support/allocation_meter.hpp"

using namespace mixtura;

TEST_CASE("the self-test takes 4 MiB at most, and gives them back", "[doctor][short]") {
    REQUIRE(self_test().is_ok());  // what is made once and kept is made by now
    const test::AllocationMeter meter;
    CHECK(self_test().is_ok());
    CHECK(meter.peak_bytes() < std::size_t{4} << 20);
    CHECK(meter.held_bytes() == 0);
    CHECK(meter.peak_bytes() > std::size_t{64} << 10);
}
