#include "experts/pack_experts.hpp"

#include <catch2/catch.hpp>
#include <cstring>

#include "unit/experts/mixture_case.hpp"

using namespace mixtura;

TEST_CASE("an expert's matrices lie one behind the other, each on a cache line", "[experts][short]") {
    const ExpertSpec sizes{.hidden_size = 96, .expert_count = 3, .width = 64, .shared_width = 32};
    const test::MixtureCase mixture =
        test::random_mixture(sizes, {.shared = test::SharedKind::weighed}, {DType::q4_0}, 1);
    const Result<PackedExperts> packed = pack_experts(mixture.bare(), mixture.spec);
    REQUIRE(packed.is_ok());
    const auto line = [](std::uint64_t bytes) { return static_cast<std::ptrdiff_t>((bytes + 63) / 64 * 64); };
    const std::ptrdiff_t in = line(packed_bytes(DType::q4_0, 64, 96).value());
    const std::ptrdiff_t out = line(packed_bytes(DType::q4_0, 96, 64).value());
    const std::byte* at = packed->experts[0].gate.data;
    for (std::size_t e = 0; e < 3; ++e) {
        const ExpertView& view = packed->experts[e];
        CHECK(view.gate.data == at);
        CHECK(view.up.data == at + in);
        CHECK(view.down.data == at + 2 * in);
        CHECK(reinterpret_cast<std::uintptr_t>(view.down.data) % 64 == 0);
        CHECK(view.down.rows == 96);
        CHECK(view.down.columns == 64);
        CHECK(std::memcmp(view.down.data, mixture.experts[e].down.packed.data(),
                          mixture.experts[e].down.packed.size()) == 0);
        at += 2 * in + out;
    }
    CHECK(packed->shared.gate.data == at);
}

TEST_CASE("a layer without shared expert or gate packs what it has", "[experts][short]") {
    const ExpertSpec sizes{.hidden_size = 32, .expert_count = 2, .width = 32};
    const test::MixtureCase mixture = test::random_mixture(sizes, {.is_gated = false}, {DType::f32}, 1);
    const Result<PackedExperts> packed = pack_experts(mixture.bare(), mixture.spec);
    REQUIRE(packed.is_ok());
    CHECK(packed->experts[0].gate.data == nullptr);
    CHECK(packed->shared.up.data == nullptr);
    CHECK(packed->shared_gate.data == nullptr);
    CHECK(packed->memory.size_bytes() == 4 * 32 * 32 * sizeof(float));
}
