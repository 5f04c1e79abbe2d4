#include "parallel/fp_environment.hpp"

#include <fenv.h>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <vector>

#include "parallel/thread_pool.hpp"
#include "support/fp_modes.hpp"

using namespace mixtura;

namespace {

// Hidden from the optimiser, so that it is computed in the mode of the moment.
float quotient(float a, float b) {
    __asm__ volatile("" : "+m"(a), "+m"(b) : : "memory");
    float ratio = a / b;
    __asm__ volatile("" : "+m"(ratio) : : "memory");
    return ratio;
}

constexpr float kThird = 0x1.555556p-2F;  // 1 / 3 to nearest: rounded up
constexpr float kTiny = 0x1p-127F;        // subnormal

// By bits: where denormals count as zeros, every comparison of them is with zero.
bool is_bits(float value, float expected) {
    return std::bit_cast<std::uint32_t>(value) == std::bit_cast<std::uint32_t>(expected);
}

bool is_defined() {
    return is_bits(quotient(1.0F, 3.0F), kThird) && is_bits(quotient(-1.0F, 3.0F), -kThird) &&
           is_bits(quotient(0x1p-126F, 2.0F), kTiny);
}

}  // namespace

TEST_CASE("the guard defines the environment and puts the host's back", "[parallel][short]") {
    for (const test::FpMode mode : test::kFpModes) {
        const test::HostFpMode host(mode);
        const bool before = is_defined();
        bool inside = false;
        {
            const FpEnvironment guard;
            inside = is_defined();
        }
        const bool after = is_defined();
        const bool kept = host.is_in_force();
        CHECK(inside);
        CHECK(before == (mode == test::FpMode::usual));
        CHECK(after == before);
        CHECK(kept);
    }
}

TEST_CASE("exceptions raised under the guard leave no trace in the host's flags", "[parallel][short]") {
    feclearexcept(FE_ALL_EXCEPT);
    {
        const FpEnvironment guard;
        quotient(1.0F, 0.0F);
    }
    CHECK(fetestexcept(FE_ALL_EXCEPT) == 0);
}

TEST_CASE("exceptions the host had raised are still raised behind the guard", "[parallel][short]") {
    feclearexcept(FE_ALL_EXCEPT);
    quotient(1.0F, 0.0F);
    {
        const FpEnvironment guard;
        quotient(1.0F, 3.0F);
    }
    const int raised = fetestexcept(FE_ALL_EXCEPT);
    feclearexcept(FE_ALL_EXCEPT);
    CHECK(raised == FE_DIVBYZERO);
}

TEST_CASE("tasks compute in the defined environment whoever made the pool", "[parallel][short]") {
    for (const test::FpMode mode : test::kFpModes) {
        const test::HostFpMode host(mode);
        auto pool = ThreadPool::create(3);
        REQUIRE(pool);
        std::vector<char> defined(64);
        parallel_for(**pool, 64,
                     [&](std::int64_t i, int) noexcept { defined[static_cast<std::size_t>(i)] = is_defined(); });
        CHECK(std::count(defined.begin(), defined.end(), 1) == 64);
        SerialFor alone;
        parallel_for(alone, 64,
                     [&](std::int64_t i, int) noexcept { defined[static_cast<std::size_t>(i)] = is_defined(); });
        CHECK(std::count(defined.begin(), defined.end(), 1) == 64);
    }
}
