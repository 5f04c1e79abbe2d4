#include "base/checked.hpp"

#include <catch2/catch.hpp>
#include <cstdint>

using namespace mixtura;

TEST_CASE("checked arithmetic gives a result exactly when it fits", "[base][short]") {
    constexpr auto kMax = std::numeric_limits<std::uint64_t>::max();
    CHECK(checked_add<std::uint64_t>(kMax - 1, 1) == kMax);
    CHECK_FALSE(checked_add<std::uint64_t>(kMax, 1));
    CHECK(checked_subtract<std::uint64_t>(1, 1) == 0U);
    CHECK_FALSE(checked_subtract<std::uint64_t>(0, 1));
    CHECK(checked_multiply<std::uint64_t>(kMax, 1) == kMax);
    CHECK_FALSE(checked_multiply<std::uint64_t>(1ULL << 32, 1ULL << 32));
    CHECK_FALSE(checked_multiply<std::int64_t>(std::numeric_limits<std::int64_t>::min(), -1));
    CHECK(checked_cast<std::int32_t>(std::uint64_t{7}) == 7);
    CHECK_FALSE(checked_cast<std::int32_t>(std::uint64_t{1} << 31));
    CHECK_FALSE(checked_cast<std::uint8_t>(-1));
}

TEST_CASE("aligning up stops at the end of the type", "[base][short]") {
    CHECK(checked_align_up<std::uint64_t>(0, 32) == 0U);
    CHECK(checked_align_up<std::uint64_t>(1, 32) == 32U);
    CHECK(checked_align_up<std::uint64_t>(32, 32) == 32U);
    CHECK_FALSE(checked_align_up<std::uint64_t>(std::numeric_limits<std::uint64_t>::max(), 32));
    CHECK(is_power_of_two(32U));
    CHECK_FALSE(is_power_of_two(0U));
    CHECK_FALSE(is_power_of_two(48U));
}
