// What a lying header costs, in bytes, exactly; milliseconds and resident memory are measured by hand, with
// write_header_bombs and `mixtura inspect`.
#include <mixtura/checkpoint.hpp>

#include <catch2/catch.hpp>

#include "formats/json.hpp"
#include "support/allocation_meter.hpp"
#include "support/files.hpp"
#include "support/header_bombs.hpp"

using namespace mixtura;
using namespace mixtura::test;

TEST_CASE("a header that lies is refused for at most a mebibyte beyond its honest part", "[formats][short]") {
    const TemporaryFolder folder;
    for (const HeaderBomb& bomb : header_bombs()) {
        INFO(bomb.name);
        const std::string path = folder.file(bomb.name);
        bomb.write(path);
        const AllocationMeter meter;
        const StatusCode code = Checkpoint::open(path).status().code();
        const std::size_t peak_bytes = meter.peak_bytes();
        const std::ptrdiff_t held_bytes = meter.held_bytes();
        CHECK(code == StatusCode::corrupt_file);
        CHECK(peak_bytes <= (std::size_t{1} << 20) + bomb.honest_bytes);
        CHECK(held_bytes == 0);
        REQUIRE(::remove(path.c_str()) == 0);
    }
}
