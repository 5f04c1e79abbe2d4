#include "memory/address_range.hpp"

#include <catch2/catch.hpp>

#include <limits>

using namespace mixtura;

TEST_CASE("a reserved range becomes memory page by page and keeps its place", "[memory][short]") {
    const std::size_t page = page_bytes();
    auto reserved = AddressRange::reserve((std::size_t{1} << 36) + 1);  // 64 GiB: far more than is used
    REQUIRE(reserved.is_ok());
    AddressRange range = *std::move(reserved);
    CHECK(range.size_bytes() == (std::size_t{1} << 36) + page);
    REQUIRE(range.make_usable(3 * page, 2 * page));
    std::byte* const data = range.base() + 3 * page;
    CHECK(data[0] == std::byte{0});
    data[0] = data[2 * page - 1] = std::byte{9};
    range.give_back(3 * page, page);
    CHECK(data[0] == std::byte{0});
    CHECK(data[2 * page - 1] == std::byte{9});

    AddressRange moved = std::move(range);
    CHECK(moved.base() + 3 * page == data);
    CHECK(data[2 * page - 1] == std::byte{9});
}

TEST_CASE("an empty range needs no addresses, an endless one is refused", "[memory][short]") {
    CHECK(AddressRange::reserve(0)->base() == nullptr);
    const std::size_t most = std::numeric_limits<std::size_t>::max();
    const auto refused = AddressRange::reserve(most);
    REQUIRE_FALSE(refused.is_ok());
    CHECK(refused.status().code() == StatusCode::out_of_host_memory);
    CHECK(refused.status().message() == "this process may not have 18446744073709551615 bytes of addresses more");
    CHECK(AddressRange::reserve(most / 2).status().code() == StatusCode::out_of_host_memory);
}
