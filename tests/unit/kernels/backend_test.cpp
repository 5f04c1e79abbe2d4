#include "kernels/backend.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

using namespace mixtura;

namespace {

// What a processor with nothing beyond its architecture's baseline gets.
#if defined(__aarch64__)
constexpr std::string_view kBaseline = "neon";
#else
constexpr std::string_view kBaseline = "ref";
#endif

}  // namespace

TEST_CASE("the reference is listed first and is always there", "[kernels][short]") {
    REQUIRE_FALSE(backends().empty());
    CHECK(backends()[0].name == "ref");
    CHECK(backends()[0].is_supported);
    std::set<std::string_view> names;
    for (const Backend& backend : backends()) {
        CHECK(names.insert(backend.name).second);
        CHECK_FALSE(backend.description.empty());
        REQUIRE(backend.table != nullptr);
    }
}

TEST_CASE("every table is full", "[kernels][short]") {
    for (const Backend& backend : backends()) {
        for (const PanelProductFunction function : backend.table->product) CHECK(function != nullptr);
        CHECK(backend.table->quantise_row != nullptr);
        CHECK(backend.table->rms_norm_row != nullptr);
        CHECK(backend.table->layer_norm_row != nullptr);
        CHECK(backend.table->softmax_row != nullptr);
        CHECK(backend.table->activate != nullptr);
        CHECK(backend.table->activate_gated != nullptr);
        CHECK(backend.table->add != nullptr);
        CHECK(backend.table->add_scaled != nullptr);
        CHECK(backend.table->scale != nullptr);
        CHECK(backend.table->divide != nullptr);
        CHECK(backend.table->rotate != nullptr);
        CHECK(backend.table->store_row != nullptr);
        CHECK(backend.table->attend_split != nullptr);
        CHECK(backend.table->merge_split != nullptr);
    }
}

TEST_CASE("without a wish the widest that the machine grants is chosen", "[kernels][short]") {
    const auto chosen = choose_backend(std::nullopt, cpu_features());
    REQUIRE(chosen);
    CHECK((*chosen)->is_supported);
    const auto least = choose_backend(std::nullopt, CpuFeatures{});
    REQUIRE(least);
    CHECK((*least)->name == kBaseline);
    CHECK((*least)->required_isa.empty());
}

TEST_CASE("a wish above the machine is an error, one below it is granted", "[kernels][short]") {
    for (const Backend& backend : backends()) {
        const auto here = choose_backend(backend.name, cpu_features());
        CHECK(here.is_ok() == backend.is_supported);
        if (here) CHECK((*here)->name == backend.name);
        const auto nowhere = choose_backend(backend.name, CpuFeatures{});
        CHECK(nowhere.is_ok() == (backend.name == "ref" || backend.name == kBaseline));
        if (nowhere) continue;
        CHECK(nowhere.status().code() == StatusCode::no_backend);
        CHECK(std::string(nowhere.status().message()).find(backend.required_isa) != std::string::npos);
    }
    CHECK((*choose_backend("scalar", CpuFeatures{}))->name == "ref");
    const auto unknown = choose_backend("sse9", cpu_features());
    CHECK(unknown.status().code() == StatusCode::invalid_argument);
    CHECK(std::string(unknown.status().message()).find("ref") != std::string::npos);
}

#if defined(__x86_64__)
TEST_CASE("AMX is never chosen unasked, and by name only where its tiles work", "[kernels][short]") {
    CpuFeatures all = cpu_features();
    all.avx2 = all.avx512 = all.avx512_vnni = all.amx_tile = all.amx_int8 = true;
    CHECK((*choose_backend(std::nullopt, all))->name == "avx512_vnni");
    const auto asked = choose_backend("amx_int8", all);
    const bool is_here = choose_backend("amx_int8", cpu_features()).is_ok();
    CHECK(asked.is_ok() == is_here);
    if (is_here) return;
    CHECK(asked.status().code() == StatusCode::no_backend);
    CHECK(std::string(asked.status().message()).find("'amx_int8' is not usable") != std::string::npos);
}
#endif
