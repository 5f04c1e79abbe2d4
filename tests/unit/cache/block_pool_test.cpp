#include "cache/block_pool.hpp"

#include <catch2/catch.hpp>

#include <cstdlib>
#include <new>

using namespace mixtura;

namespace {

int allocations_left = -1;  // below 0: as many as there are

}  // namespace

// The pool allocates with this form only; it is replaced here so that memory can run out at a chosen block.
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
    if (allocations_left == 0) return nullptr;
    if (allocations_left > 0) --allocations_left;
    return std::aligned_alloc(static_cast<std::size_t>(alignment), bytes);
}
void operator delete(void* data, std::align_val_t) noexcept { std::free(data); }

TEST_CASE("a pool counts blocks, references and bytes exactly", "[cache][short]") {
    BlockPool pool({128, 64}, 1024);
    std::vector<BlockId> blocks;
    REQUIRE(pool.acquire(std::vector<std::size_t>{2, 3}, blocks).is_ok());
    REQUIRE(blocks.size() == 5);
    CHECK(pool.bytes_held() == 2 * 128 + 3 * 64);
    CHECK(pool.bytes_used() == pool.bytes_held());
    CHECK(pool.blocks_used() == 5);
    for (const BlockId block : blocks) {
        CHECK(reinterpret_cast<std::uintptr_t>(pool.data(block)) % 64 == 0);
        CHECK(pool.references(block) == 1);
    }
    pool.retain(blocks[0]);
    pool.retain(blocks[0]);
    CHECK(pool.blocks_shared() == 1);
    pool.release(blocks[0]);
    CHECK(pool.blocks_shared() == 1);
    pool.release(blocks[0]);
    CHECK(pool.blocks_shared() == 0);
    CHECK(pool.blocks_used() == 5);
    pool.release(blocks[0]);
    CHECK(pool.blocks_used() == 4);
    CHECK(pool.blocks_free() == 1);
    CHECK(pool.bytes_used() == 128 + 3 * 64);
    CHECK(pool.bytes_held() == 2 * 128 + 3 * 64);
    pool.trim();
    CHECK(pool.blocks_free() == 0);
    CHECK(pool.bytes_held() == pool.bytes_used());
}

TEST_CASE("freed blocks are used again, zeroed", "[cache][short]") {
    BlockPool pool({64}, 1 << 20);
    std::vector<BlockId> blocks, again;
    REQUIRE(pool.acquire(std::vector<std::size_t>{1}, blocks).is_ok());
    std::byte* const data = pool.data(blocks[0]);
    data[63] = std::byte{7};
    pool.release(blocks[0]);
    REQUIRE(pool.acquire(std::vector<std::size_t>{1}, again).is_ok());
    CHECK(pool.data(again[0]) == data);
    CHECK(data[63] == std::byte{0});
    CHECK(pool.bytes_held() == 64);
}

TEST_CASE("a pool's budget is met to the byte, and free blocks of one group make room for another", "[cache][short]") {
    BlockPool pool({128, 64}, 256 + 64);
    std::vector<BlockId> blocks;
    REQUIRE(pool.acquire(std::vector<std::size_t>{2, 1}, blocks).is_ok());  // exactly full
    const Status refused = pool.acquire(std::vector<std::size_t>{0, 1}, blocks);
    CHECK(refused.code() == StatusCode::budget_exceeded);
    CHECK(refused.message() == "the KV cache needs 64 bytes more, but 320 of its budget of 320 are taken");
    CHECK(blocks.size() == 3);

    pool.release(blocks[0]);
    CHECK(pool.check(std::vector<std::size_t>{1, 0}).is_ok());
    CHECK(pool.check(std::vector<std::size_t>{0, 2}).is_ok());
    CHECK(pool.check(std::vector<std::size_t>{1, 1}).code() == StatusCode::budget_exceeded);
    REQUIRE(pool.acquire(std::vector<std::size_t>{0, 2}, blocks).is_ok());
    CHECK(pool.bytes_held() == 320);
    CHECK(pool.blocks_free() == 0);
}

TEST_CASE("counts beyond 64 bits are over any budget", "[cache][short]") {
    BlockPool pool({std::size_t{1} << 40}, ~std::uint64_t{0});
    CHECK(pool.check(std::vector<std::size_t>{std::size_t{1} << 30}).code() == StatusCode::budget_exceeded);
}

TEST_CASE("running out of memory leaves the pool as it was", "[cache][short]") {
    BlockPool pool({128, 64}, 1 << 20);
    std::vector<BlockId> blocks;
    REQUIRE(pool.acquire(std::vector<std::size_t>{1, 1}, blocks).is_ok());
    pool.release(blocks[1]);
    const std::vector<BlockId> before = blocks;
    for (int left = 0; left < 6; ++left) {  // 3 blocks of the first group and 3 of the second, one of them free
        allocations_left = left;
        const Status status = pool.acquire(std::vector<std::size_t>{3, 4}, blocks);
        allocations_left = -1;
        CHECK(status.code() == StatusCode::out_of_host_memory);
        CHECK(blocks == before);
        CHECK(pool.bytes_held() == 128 + 64);
        CHECK(pool.bytes_used() == 128);
        CHECK(pool.blocks_free() == 1);
    }
    REQUIRE(pool.acquire(std::vector<std::size_t>{3, 4}, blocks).is_ok());
    CHECK(pool.bytes_held() == 4 * 128 + 4 * 64);
}
