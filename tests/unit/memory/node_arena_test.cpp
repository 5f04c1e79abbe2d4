#include "memory/node_arena.hpp"

#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "memory/aligned_buffer.hpp"

using namespace mixtura;

namespace {

struct Asked {
    std::span<std::byte> memory;
    int node;
};

}  // namespace

TEST_CASE("stretches are whole pages apart, huge ones where they are large, and asked for once each",
          "[memory][short]") {
    const std::vector<NodeArena::Stretch> stretches{{0, 100}, {3, kHugeFromBytes + 1}, {1, 0}, {7, 5'000}};
    std::vector<Asked> asked;
    const auto arena = NodeArena::allocate(stretches, [&](std::span<std::byte> memory, int node) {
        asked.push_back({memory, node});
        return node != 7;
    });
    REQUIRE(arena);
    REQUIRE(asked.size() == 3);
    const auto address = [](const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); };
    const std::byte* end = nullptr;
    for (const Asked& one : asked) {
        CHECK(address(one.memory.data()) % page_bytes() == 0);
        CHECK(one.memory.size() % page_bytes() == 0);
        CHECK(address(one.memory.data()) >= address(end));
        end = one.memory.data() + one.memory.size();
    }
    CHECK(asked[0].memory.data() == arena->begin_of(0));
    CHECK(asked[1].memory.data() == arena->begin_of(1));
    CHECK(asked[1].memory.size() >= kHugeFromBytes + 1);
    CHECK(address(arena->begin_of(1)) % kHugePageBytes == 0);
    CHECK(asked[2].node == 7);
    CHECK(arena->is_placed(0));
    CHECK(arena->is_placed(1));
    CHECK_FALSE(arena->is_placed(3));
    for (std::size_t i = 0; i < stretches.size(); ++i)
        std::memset(arena->begin_of(i), 1, static_cast<std::size_t>(stretches[i].size_bytes));
}

TEST_CASE("the system is asked for a node, and its refusal is no error", "[memory][short]") {
    const auto arena = NodeArena::allocate(std::vector<NodeArena::Stretch>{{0, 10'000}, {1000, 10'000}}, place_on_node);
    REQUIRE(arena);
    for (const std::size_t i : {0, 1}) std::memset(arena->begin_of(i), 1, 10'000);
    CHECK_FALSE(arena->is_placed(1));  // no machine has a node 1000 today
    CHECK_FALSE(place_on_node({arena->begin_of(0), 4096}, -1));
    CHECK_FALSE(place_on_node({arena->begin_of(0), 4096}, 1 << 20));
}

TEST_CASE("an arena that cannot be is refused", "[memory][short]") {
    constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
    for (const std::uint64_t bytes : {kHuge, kHuge / 2 + 1, std::uint64_t{1} << 50}) {
        const auto arena = NodeArena::allocate(std::vector<NodeArena::Stretch>{{0, bytes}, {1, bytes}}, place_on_node);
        CHECK(arena.status().code() == StatusCode::out_of_host_memory);
    }
    CHECK(NodeArena::allocate({}, place_on_node));
}
