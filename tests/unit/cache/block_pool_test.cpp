#include "cache/block_pool.hpp"

#include <catch2/catch.hpp>

using namespace mixtura;

namespace {

const std::size_t kPage = page_bytes();

BlockPool make(std::vector<std::size_t> block_bytes, std::uint64_t bytes_max) {
    auto pool = BlockPool::create(std::move(block_bytes), bytes_max, std::uint64_t{1} << 40);
    INFO(pool.status().message());
    REQUIRE(pool.is_ok());
    return *std::move(pool);
}

}  // namespace

TEST_CASE("a pool counts blocks, references and bytes exactly", "[cache][short]") {
    BlockPool pool = make({2 * kPage, kPage}, 100 * kPage);
    std::vector<BlockId> blocks;
    REQUIRE(pool.acquire(std::vector<std::size_t>{2, 3}, blocks).is_ok());
    REQUIRE(blocks.size() == 5);
    CHECK(pool.bytes_held() == 7 * kPage);
    CHECK(pool.bytes_used() == 7 * kPage);
    CHECK(pool.blocks_used() == 5);
    CHECK(pool.data(0, blocks[1]) == pool.base(0) + static_cast<std::size_t>(blocks[1]) * 2 * kPage);
    pool.retain(0, blocks[0]);
    pool.retain(0, blocks[0]);
    CHECK(pool.references(0, blocks[0]) == 3);
    CHECK(pool.blocks_shared() == 1);
    pool.release(0, blocks[0]);
    CHECK(pool.blocks_shared() == 1);
    pool.release(0, blocks[0]);
    CHECK(pool.blocks_shared() == 0);
    CHECK(pool.blocks_used() == 5);
    pool.release(0, blocks[0]);
    CHECK(pool.blocks_used() == 4);
    CHECK(pool.blocks_free() == 1);
    CHECK(pool.bytes_used() == 5 * kPage);
    CHECK(pool.bytes_held() == 7 * kPage);
    pool.trim();
    CHECK(pool.blocks_free() == 0);
    CHECK(pool.bytes_held() == 5 * kPage);
}

TEST_CASE("freed blocks are used again, zeroed, and so are those given back", "[cache][short]") {
    BlockPool pool = make({kPage}, 100 * kPage);
    std::vector<BlockId> blocks;
    REQUIRE(pool.acquire(std::vector<std::size_t>{1}, blocks).is_ok());
    std::byte* const data = pool.data(0, blocks[0]);
    for (const bool is_trimmed : {false, true}) {
        data[kPage - 1] = std::byte{7};
        pool.release(0, blocks.back());
        if (is_trimmed) pool.trim();
        REQUIRE(pool.acquire(std::vector<std::size_t>{1}, blocks).is_ok());
        CHECK(pool.data(0, blocks.back()) == data);
        CHECK(data[kPage - 1] == std::byte{0});
        CHECK(pool.bytes_held() == kPage);
    }
}

TEST_CASE("a pool's budget is met to the byte, and free blocks of one group make room for another", "[cache][short]") {
    BlockPool pool = make({2 * kPage, kPage}, 5 * kPage);
    std::vector<BlockId> blocks;
    REQUIRE(pool.acquire(std::vector<std::size_t>{2, 1}, blocks).is_ok());  // exactly full
    const Status refused = pool.acquire(std::vector<std::size_t>{0, 1}, blocks);
    CHECK(refused.code() == StatusCode::budget_exceeded);
    CHECK(refused.message() == "the KV cache needs " + std::to_string(kPage) + " bytes more, but " +
                                   std::to_string(5 * kPage) + " of its budget of " + std::to_string(5 * kPage) +
                                   " are taken");
    CHECK(blocks.size() == 3);

    pool.release(0, blocks[0]);
    CHECK(pool.check(std::vector<std::size_t>{1, 0}).is_ok());
    CHECK(pool.check(std::vector<std::size_t>{0, 2}).is_ok());
    CHECK(pool.check(std::vector<std::size_t>{1, 1}).code() == StatusCode::budget_exceeded);
    REQUIRE(pool.acquire(std::vector<std::size_t>{0, 2}, blocks).is_ok());
    CHECK(pool.bytes_held() == 5 * kPage);
    CHECK(pool.blocks_free() == 0);
}

TEST_CASE("counts beyond 64 bits are over any budget", "[cache][short]") {
    BlockPool pool = make({std::size_t{1} << 40}, ~std::uint64_t{0});
    CHECK(pool.check(std::vector<std::size_t>{std::size_t{1} << 30}).code() == StatusCode::budget_exceeded);
}

TEST_CASE("a pool without addresses for its budget says so", "[cache][short]") {
    const auto pool = BlockPool::create({kPage}, ~std::uint64_t{0}, ~std::uint64_t{0});
    // 2^31 blocks of a page are within what a process may address; of 2^20 pages they are not.
    CHECK(pool.is_ok());
    const auto huge = BlockPool::create({kPage << 20}, ~std::uint64_t{0}, ~std::uint64_t{0});
    REQUIRE_FALSE(huge.is_ok());
    CHECK(huge.status().code() == StatusCode::out_of_host_memory);
}

TEST_CASE("running out of memory leaves the pool as it was", "[cache][short]") {
    // Addresses for twice the machine's memory: here 6 pages a group, far below the budget.
    auto created = BlockPool::create({2 * kPage, kPage}, std::uint64_t{1} << 40, 3 * kPage);
    REQUIRE(created.is_ok());
    BlockPool pool = *std::move(created);
    std::vector<BlockId> blocks;
    REQUIRE(pool.acquire(std::vector<std::size_t>{1, 2}, blocks).is_ok());
    pool.release(1, blocks[2]);
    const std::vector<BlockId> before = blocks;
    for (const std::vector<std::size_t>& counts : {std::vector<std::size_t>{3, 4}, {0, 6}, {2, 6}}) {
        const Status status = pool.acquire(counts, blocks);
        CHECK(status.code() == StatusCode::out_of_host_memory);
        CHECK(blocks == before);
        CHECK(pool.bytes_held() == 4 * kPage);
        CHECK(pool.bytes_used() == 3 * kPage);
        CHECK(pool.blocks_free() == 1);
    }
    REQUIRE(pool.acquire(std::vector<std::size_t>{2, 5}, blocks).is_ok());
    CHECK(pool.bytes_held() == 12 * kPage);
}
