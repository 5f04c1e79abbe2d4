#include <mixtura/machine.hpp>

#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "base/machine.hpp"
#include "kernels/peak_loops.hpp"
#include "support/files.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

bool is_rate(double value) { return std::isfinite(value) && value > 0; }

}  // namespace

TEST_CASE("a machine's rates are finite and positive", "[measure][short]") {
    for (const int threads : {1, 2}) {
        const auto rates = measure_machine(threads);
        REQUIRE(std::string(rates.status().message()).empty());
        CHECK(rates->thread_count == threads);
        CHECK(is_rate(rates->read_bytes_per_s));
        CHECK(is_rate(rates->integer_ops_per_s));
        CHECK(is_rate(rates->float_ops_per_s));
    }
}

TEST_CASE("a number of threads that is none is refused", "[measure][short]") {
    CHECK(measure_machine(-1).status().code() == StatusCode::invalid_argument);
}

TEST_CASE("every loop this machine grants runs, and reads all of what it is given and no more", "[measure][short]") {
    const CpuFeatures all = cpu_features();
    CpuFeatures avx2, avx_vnni = all;
    avx2.avx2 = all.avx2;
    avx_vnni.avx512 = avx_vnni.avx512_vnni = false;
    for (const CpuFeatures& features : {CpuFeatures{}, avx2, avx_vnni, all}) {
        const PeakLoops loops = peak_loops(features);
        for (const PeakLoop& loop : {loops.integer, loops.floating}) {
            REQUIRE(loop.run != nullptr);
            CHECK(loop.ops_per_round > 0);
            loop.run(0);
            loop.run(3);
        }
        REQUIRE(loops.read != nullptr);
        const std::vector<std::byte> bytes(4 * kPeakReadBytes);  // AddressSanitizer watches the end
        loops.read(bytes.data(), 0);
        loops.read(bytes.data(), static_cast<std::int64_t>(bytes.size()));
    }
}

TEST_CASE("a disk's rate counts what was read of the file", "[measure][short]") {
    const TemporaryFolder folder;
    constexpr std::size_t kPiece = 4 << 20;
    for (const std::size_t size : {std::size_t{1}, std::size_t{4096}, std::size_t{5000}, kPiece + 4097}) {
        const auto rate = measure_disk(folder.write("some", std::string(size, 'x')));
        REQUIRE(std::string(rate.status().message()).empty());
        CHECK(is_rate(rate->bytes_per_s));
        // Direct reads leave out the end that is no whole block.
        CHECK(rate->bytes_read == (rate->is_direct ? size / 4096 * 4096 : size));
    }
}

TEST_CASE("what cannot be read has no rate", "[measure][short]") {
    const TemporaryFolder folder;
    CHECK(measure_disk(folder.file("nothing")).status().code() == StatusCode::not_found);
    CHECK(measure_disk(folder.path()).status().code() == StatusCode::invalid_argument);
    const auto empty = measure_disk(folder.write("empty", ""));
    CHECK(empty.status().code() == StatusCode::invalid_argument);
    CHECK(std::string(empty.status().message()).find("is empty, expected bytes to read") != std::string::npos);
}
