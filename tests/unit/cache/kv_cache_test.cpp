#include <mixtura/kv_cache.hpp>

#include <atomic>
#include <catch2/catch.hpp>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <thread>

#include "kernels/cache_row.hpp"
#include "memory/address_range.hpp"
#include "support/fp_modes.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

KVCache make(KVDescription description) {
    auto cache = KVCache::create(std::move(description));
    INFO(cache.status().message());
    REQUIRE(cache.is_ok());
    return *std::move(cache);
}

KVDescription windowed(std::int64_t window_tokens, std::int64_t chunk_tokens = 0) {
    KVDescription description = KVDescription::uniform(2, 1, 4, DType::f32);
    description.groups = {KVGroup{}, KVGroup{window_tokens, chunk_tokens}};
    description.layers[1].group = 1;
    return description;
}

std::string refusal(const KVDescription& description) {
    const auto cache = KVCache::create(description);
    if (cache.is_ok()) return "accepted";
    CHECK(cache.status().code() == StatusCode::invalid_argument);
    CHECK(KVCache::bytes_needed(description, 1, 1).status().message() == cache.status().message());
    return std::string(cache.status().message());
}

// A block is whole pages.
std::uint64_t in_pages(std::uint64_t bytes) { return (bytes + page_bytes() - 1) / page_bytes() * page_bytes(); }

std::vector<float> ramp(std::size_t count, float start) {
    std::vector<float> rows(count);
    std::iota(rows.begin(), rows.end(), start);
    return rows;
}

}  // namespace

TEST_CASE("descriptions that contradict themselves are refused", "[cache][short]") {
    CHECK(refusal(KVDescription::uniform(2, 1, 64, DType::f16)) == "accepted");
    CHECK(refusal(KVDescription::uniform(0, 1, 64, DType::f16)) == "the cache has 0 layers, expected 1 to 65536");
    CHECK(refusal(KVDescription::uniform(1, 0, 64, DType::f16)) ==
          "plane 0 of layer 0 is 0 heads of 64 elements, expected at least 1 of each");
    CHECK(refusal(KVDescription::uniform(1, 1, -3, DType::f16)) ==
          "plane 0 of layer 0 is 1 heads of -3 elements, expected at least 1 of each");
    CHECK(refusal(KVDescription::uniform(1, 1, 64, DType::q4_0)) ==
          "plane 0 of layer 0 is of dtype q4_0, expected f32, f16, bf16, q8_0 or f8_e4m3");
    CHECK(refusal(KVDescription::uniform(1, std::int64_t{1} << 40, std::int64_t{1} << 40, DType::f16)) ==
          "a block of layer group 0 exceeds 1099511627776 bytes at plane 0 of layer 0");
    CHECK(refusal(KVDescription::uniform(1, 1, std::numeric_limits<std::int64_t>::max(), DType::f16)) ==
          "a block of layer group 0 exceeds 1099511627776 bytes at plane 0 of layer 0");
    KVDescription description = windowed(8);
    description.layers[1].group = 2;
    CHECK(refusal(description) == "layer 1 is in group 2, expected one below 2");
    CHECK(refusal(windowed(-1)) ==
          "layer group 1 has a window of -1 tokens and chunks of 0, expected neither below 0 and one of them 0");
    CHECK(refusal(windowed(8, 8)) ==
          "layer group 1 has a window of 8 tokens and chunks of 8, expected neither below 0 and one of them 0");
    description = windowed(8);
    description.tokens_max = 0;
    CHECK(refusal(description) == "tokens_max is 0, expected 1 to 2147483647");
    description = windowed(8);
    description.groups.clear();
    CHECK(refusal(description) == "the cache has 0 layer groups, expected 1 to 2, the number of layers");
    description = windowed(8);
    description.layers[0].planes.assign(9, KVPlane{1, 1, DType::f32});
    CHECK(refusal(description) == "layer 0 has 9 planes, expected at most 8");
}

TEST_CASE("rows come back as the plane's dtype rounds them", "[cache][short]") {
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> rows = {1.0F + 0x1p-11F, 1.0F + 0x3p-11F, 65519.0F, 65520.0F,  //
                                     1.0F + 0x1p-8F,  1.0F + 0x3p-8F,  -0.0F,    0x1p-25F};
    const auto stored_as = [&](DType dtype) {
        KVCache cache = make(KVDescription::uniform(1, 2, 4, dtype));
        const SequenceId sequence = *cache.create_sequence();
        REQUIRE(cache.append(sequence, 1).is_ok());
        REQUIRE(cache.write(sequence, 0, 1, 0, rows).is_ok());
        std::vector<float> found(rows.size());
        REQUIRE(cache.read(sequence, 0, 1, 0, found).is_ok());
        return found;
    };
    CHECK(stored_as(DType::f32) == rows);
    CHECK(stored_as(DType::f16) ==
          std::vector<float>{1.0F, 1.0F + 0x1p-9F, 65504.0F, inf, 1.0F + 0x1p-8F, 1.0F + 0x3p-8F, -0.0F, 0.0F});
    CHECK(stored_as(DType::bf16) ==
          std::vector<float>{1.0F, 1.0F, 65536.0F, 65536.0F, 1.0F, 1.0F + 0x1p-6F, -0.0F, 0x1p-25F});
    CHECK(std::signbit(stored_as(DType::f16)[6]));
    // The first row's steps are 65520 / 127 = 516 in f16, and 65520 / 448 = 146.25 times e4m3's.
    const std::vector<float> q8 = stored_as(DType::q8_0), f8 = stored_as(DType::f8_e4m3);
    CHECK(q8[3] == 127.0F * 516.0F);
    CHECK(q8[0] == 0.0F);
    CHECK(q8[5] == Approx(rows[5]).epsilon(1e-3));
    CHECK(f8[2] == Approx(65520.0F));
    CHECK(f8[0] == 4.0F * 0x1p-9F * 146.25F);
    CHECK(f8[4] == Approx(1.0F).epsilon(0.07));
    CHECK((std::signbit(f8[6]) && f8[6] == 0.0F));
    for (const DType dtype : {DType::f16, DType::bf16, DType::q8_0, DType::f8_e4m3}) {
        const std::vector<float> expected = stored_as(dtype);
        for (const test::FpMode mode : test::kFpModes) {
            std::vector<float> found;
            {
                const test::HostFpMode host(mode);
                found = stored_as(dtype);
            }
            CHECK(test::first_difference(found, expected) == expected.size());
        }
    }
}

TEST_CASE("a view shows the bytes of narrow rows, whose scales lie in the row", "[cache][short]") {
    KVDescription description;
    description.layers = {KVLayer{{{2, 40, DType::q8_0}, {2, 40, DType::f8_e4m3}}}};
    KVCache cache = make(description);
    const SequenceId sequence = *cache.create_sequence();
    REQUIRE(cache.append(sequence, 33).is_ok());
    const std::vector<float> rows = ramp(33 * 80, -1000);
    std::vector<float> found(rows.size());
    for (std::size_t plane = 0; plane < 2; ++plane) REQUIRE(cache.write(sequence, 0, plane, 0, rows).is_ok());
    const auto view = cache.view(sequence, 0);
    REQUIRE(view.is_ok());
    CHECK(view->planes[0].row_stride_bytes == 68);
    CHECK(view->planes[1].row_stride_bytes == 44);
    CHECK(view->planes[1].head_stride_bytes == 32 * 44);
    CHECK(view->planes[1].offset_bytes == 2 * 32 * 68);
    for (std::size_t plane = 0; plane < 2; ++plane) {
        REQUIRE(cache.read(sequence, 0, plane, 0, found).is_ok());
        for (std::int64_t position = 0; position < 33; ++position) {
            for (std::int64_t head = 0; head < 2; ++head) {
                float row[40];
                load_cache_row(view->planes[plane].dtype, view->row(plane, head, position), 0, 40, row);
                CHECK(std::memcmp(row, &found[static_cast<std::size_t>(position * 80 + head * 40)], sizeof row) == 0);
            }
        }
    }
    CHECK(*KVCache::bytes_needed(description, 33, 1) == 2 * in_pages(2 * 32 * (68 + 44)));
}

TEST_CASE("a view gives each head 32 rows in one piece, 64-byte aligned", "[cache][short]") {
    KVDescription description;
    description.layers = {KVLayer{{{2, 3, DType::f32}, {1, 5, DType::f16}}}, KVLayer{}, KVLayer{{{1, 7, DType::bf16}}}};
    KVCache cache = make(description);
    const SequenceId sequence = *cache.create_sequence();
    REQUIRE(*cache.append(sequence, 40) == 0);
    const std::vector<float> keys = ramp(40 * 6, 0);
    REQUIRE(cache.write(sequence, 0, 0, 0, keys).is_ok());
    const auto view = cache.view(sequence, 0);
    REQUIRE(view.is_ok());
    CHECK(view->length_tokens == 40);
    CHECK(view->first_block == 0);
    REQUIRE(view->block_table.size() == 2);
    CHECK(reinterpret_cast<std::uintptr_t>(view->base) % 64 == 0);
    CHECK(view->block_stride_bytes % 64 == 0);
    REQUIRE(view->planes.size() == 2);
    CHECK(view->planes[0].row_stride_bytes == 12);
    CHECK(view->planes[0].head_stride_bytes == 32 * 12);
    CHECK(view->planes[1].offset_bytes == 2 * 32 * 12);
    CHECK(view->planes[1].dtype == DType::f16);
    for (const KVPlaneView& plane : view->planes) CHECK(plane.offset_bytes % 64 == 0);
    for (std::int64_t position = 0; position < 40; ++position) {
        for (std::int64_t head = 0; head < 2; ++head) {
            float row[3];
            std::memcpy(row, view->row(0, head, position), sizeof row);
            CHECK(row[1] == keys[static_cast<std::size_t>(position * 6 + head * 3 + 1)]);
        }
    }
    CHECK(cache.view(sequence, 1).status().message() == "plane 0 of layer 1 is named, but it has 0");
    CHECK(cache.view(sequence, 2)->planes[0].size == 7);
    CHECK(cache.view(sequence, 3).status().message() == "layer 3 is named, expected one below 3");
}

TEST_CASE("reads and writes outside what is kept are refused", "[cache][short]") {
    KVCache cache = make(windowed(8));
    const SequenceId sequence = *cache.create_sequence();
    REQUIRE(cache.append(sequence, 100).is_ok());
    std::vector<float> rows(8);
    CHECK(cache.write(sequence, 0, 0, 98, rows).is_ok());
    const Status beyond = cache.write(sequence, 0, 0, 99, rows);
    CHECK(beyond.code() == StatusCode::out_of_range);
    CHECK(beyond.message() ==
          "2 rows from position 99 of layer 0 are named, but the sequence keeps positions 0 to 100 (exclusive)");
    CHECK(cache.read(sequence, 0, 0, -1, rows).code() == StatusCode::out_of_range);
    CHECK(cache.write(sequence, 0, 0, std::numeric_limits<std::int64_t>::max(), rows).code() ==
          StatusCode::out_of_range);
    CHECK(cache.write(sequence, 0, 0, 0, std::vector<float>(7)).message() ==
          "7 elements are given for plane 0 of layer 0, expected a multiple of 4");
    CHECK(cache.write(sequence, 0, 2, 0, rows).message() == "plane 2 of layer 0 is named, but it has 2");
    REQUIRE(cache.release_before(sequence, 1, 93).is_ok());
    CHECK(cache.read(sequence, 1, 0, 63, rows).code() == StatusCode::out_of_range);
    CHECK(cache.read(sequence, 1, 0, 64, rows).is_ok());
    CHECK(cache.read(sequence, 0, 0, 63, rows).is_ok());
}

TEST_CASE("appended positions read as zero until they are written, also in blocks used before", "[cache][short]") {
    KVDescription description = KVDescription::uniform(1, 1, 4, DType::f16);
    description.bytes_max = in_pages(2 * 32 * 4 * 2);  // one block
    KVCache cache = make(description);
    std::vector<float> rows(32 * 4, 3.0F), found(32 * 4);
    const SequenceId first = *cache.create_sequence();
    REQUIRE(cache.append(first, 32).is_ok());
    REQUIRE(cache.write(first, 0, 0, 0, rows).is_ok());
    REQUIRE(cache.free_sequence(first).is_ok());
    const SequenceId second = *cache.create_sequence();
    REQUIRE(cache.append(second, 32).is_ok());
    REQUIRE(cache.read(second, 0, 0, 0, found).is_ok());
    CHECK(found == std::vector<float>(32 * 4, 0.0F));
    CHECK(cache.memory().bytes_held == *description.bytes_max);
}

TEST_CASE("forks share blocks until one of them writes, and never see each other's tokens", "[cache][short]") {
    KVCache cache = make(KVDescription::uniform(1, 1, 2, DType::f32));
    const SequenceId parent = *cache.create_sequence();
    REQUIRE(cache.append(parent, 40).is_ok());
    const std::vector<float> prompt = ramp(80, 1);
    REQUIRE(cache.write(parent, 0, 0, 0, prompt).is_ok());
    const SequenceId child = *cache.fork(parent);
    CHECK(cache.memory().blocks_used == 2);
    CHECK(cache.memory().blocks_shared == 2);

    const Status shared = cache.write(parent, 0, 0, 39, std::vector<float>{0, 0});
    CHECK(shared.code() == StatusCode::bad_state);
    CHECK(shared.message() == "positions 32 to 63 are shared with a fork and cannot be written");

    REQUIRE(*cache.append(child, 2) == 40);
    CHECK(cache.memory().blocks_used == 3);
    CHECK(cache.memory().blocks_shared == 1);
    REQUIRE(cache.write(child, 0, 0, 40, std::vector<float>{-1, -2, -3, -4}).is_ok());
    REQUIRE(cache.append(parent, 2).is_ok());  // its block is its own again
    CHECK(cache.memory().blocks_used == 3);
    std::vector<float> found(84);
    REQUIRE(cache.read(parent, 0, 0, 0, found).is_ok());
    CHECK(std::equal(prompt.begin(), prompt.end(), found.begin()));
    CHECK(found[80] == 0);
    REQUIRE(cache.read(child, 0, 0, 0, found).is_ok());
    CHECK(std::equal(prompt.begin(), prompt.end(), found.begin()));
    CHECK(found[80] == -1);

    // A fork cut back and grown again does not meet the tokens the other one kept.
    const SequenceId third = *cache.fork(child);
    REQUIRE(cache.truncate(third, 35).is_ok());
    REQUIRE(cache.append(third, 5).is_ok());
    std::vector<float> tail(10, 9.0F);
    REQUIRE(cache.read(third, 0, 0, 35, tail).is_ok());
    CHECK(tail == std::vector<float>(10, 0.0F));
    REQUIRE(cache.free_sequence(parent).is_ok());
    REQUIRE(cache.read(child, 0, 0, 0, found).is_ok());
    CHECK(found[83] == -4);
}

TEST_CASE("threads may write different rows and read others at once", "[cache][short]") {
    constexpr std::size_t kThreads = 4;
    constexpr std::int64_t kTokens = 200;
    KVCache cache = make(KVDescription::uniform(kThreads, 2, 8, DType::f16));
    const SequenceId done = *cache.create_sequence(), growing = *cache.create_sequence();
    REQUIRE(cache.append(done, kTokens).is_ok());
    REQUIRE(cache.append(growing, kTokens).is_ok());
    const std::vector<float> rows = ramp(static_cast<std::size_t>(kTokens) * 16, -1000);
    std::atomic<int> failures = 0;
    std::vector<std::thread> threads;
    for (std::size_t layer = 0; layer < kThreads; ++layer) {
        threads.emplace_back([&, layer] {  // Catch2 v2 may not be called here
            std::vector<float> found(16);
            for (std::int64_t position = 0; position < kTokens; ++position) {
                const auto row = std::span(rows).subspan(static_cast<std::size_t>(position) * 16, 16);
                if (!cache.write(growing, layer, position % 2, position, row).is_ok()) ++failures;
                if (!cache.read(done, layer, 0, position, found).is_ok() || found[3] != 0) ++failures;
                if (!cache.view(growing, layer).is_ok()) ++failures;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(failures == 0);
    std::vector<float> found(16);
    for (std::size_t layer = 0; layer < kThreads; ++layer) {
        REQUIRE(cache.read(growing, layer, 1, 101, found).is_ok());
        CHECK(found == std::vector<float>(rows.begin() + 101 * 16, rows.begin() + 102 * 16));
    }
}

TEST_CASE("a sliding window's blocks can go, and what the next token sees cannot", "[cache][short]") {
    KVCache cache = make(windowed(40));
    const SequenceId sequence = *cache.create_sequence();
    REQUIRE(cache.append(sequence, 200).is_ok());
    CHECK(*cache.first_visible(sequence, 0) == 0);
    CHECK(*cache.first_visible(sequence, 1) == 161);  // a token at 200 sees 161 to 200
    const Status refused = cache.release_before(sequence, 1, 162);
    CHECK(refused.code() == StatusCode::out_of_range);
    CHECK(refused.message() ==
          "what lies below position 162 of layer group 1 is to be released, expected 0 to 161, which the next token "
          "sees");
    CHECK(cache.release_before(sequence, 0, 1).code() == StatusCode::out_of_range);
    CHECK(cache.release_before(sequence, 2, 0).code() == StatusCode::invalid_argument);
    REQUIRE(cache.release_before(sequence, 1, 161).is_ok());
    CHECK(*cache.kept_from(sequence, 1) == 160);
    CHECK(*cache.kept_from(sequence, 0) == 0);
    CHECK(cache.memory().blocks_used == 7 + 2);
    CHECK(cache.view(sequence, 1)->first_block == 5);
    REQUIRE(cache.release_before(sequence, 1, 10).is_ok());  // long gone
    CHECK(*cache.kept_from(sequence, 1) == 160);

    // At 199 the window begins at 160, which is there; at 198 it would begin at 159.
    const Status cut = cache.truncate(sequence, 198);
    CHECK(cut.code() == StatusCode::out_of_range);
    CHECK(cut.message() ==
          "a sequence cut to 198 tokens would see position 159 in layer group 1, but what lies below 160 was released");
    CHECK(*cache.length(sequence) == 200);
    REQUIRE(cache.truncate(sequence, 199).is_ok());
    CHECK(cache.truncate(sequence, 0).code() == StatusCode::out_of_range);
    CHECK(cache.truncate(sequence, 200).code() == StatusCode::out_of_range);
    CHECK(cache.truncate(sequence, -1).code() == StatusCode::out_of_range);
}

TEST_CASE("chunked attention sees its own chunk only", "[cache][short]") {
    KVCache cache = make(windowed(0, 64));
    const SequenceId sequence = *cache.create_sequence();
    REQUIRE(cache.append(sequence, 128).is_ok());
    CHECK(*cache.first_visible(sequence, 1) == 128);
    REQUIRE(cache.release_before(sequence, 1, 128).is_ok());
    CHECK(cache.memory().blocks_used == 4);
    CHECK(cache.view(sequence, 1)->first_block == 4);
    REQUIRE(*cache.append(sequence, 1) == 128);
    REQUIRE(cache.view(sequence, 1)->block_table.size() == 5);
    CHECK(cache.view(sequence, 1)->block_table[3] == -1);
    CHECK(cache.view(sequence, 1)->block_table[4] >= 0);
    CHECK(cache.view(sequence, 1)->first_block == 4);
    CHECK(cache.truncate(sequence, 127).code() == StatusCode::out_of_range);
    REQUIRE(cache.truncate(sequence, 128).is_ok());
}

TEST_CASE("sequences that are gone are named in the refusal", "[cache][short]") {
    KVCache cache = make(KVDescription::uniform(1, 1, 2, DType::f32));
    const SequenceId sequence = *cache.create_sequence();
    REQUIRE(cache.free_sequence(sequence).is_ok());
    const SequenceId next = *cache.create_sequence();
    CHECK(next != sequence);
    for (const SequenceId gone : {sequence, SequenceId{0}, SequenceId{~std::uint64_t{0}}}) {
        CHECK(cache.append(gone, 1).status().code() == StatusCode::not_found);
        CHECK(cache.fork(gone).status().code() == StatusCode::not_found);
        CHECK(cache.free_sequence(gone).code() == StatusCode::not_found);
        CHECK(cache.view(gone, 0).status().code() == StatusCode::not_found);
    }
    CHECK(cache.append(sequence, 1).status().message() ==
          "sequence " + std::to_string(static_cast<std::uint64_t>(sequence)) + " is not in this KV cache");
}

TEST_CASE("a sequence ends at tokens_max and a cache at its budget, with nothing changed", "[cache][short]") {
    KVDescription description = KVDescription::uniform(3, 2, 8, DType::f16);
    const std::uint64_t block_bytes = in_pages(3 * 2 * 2 * 32 * 8 * 2);
    description.tokens_max = 100;
    description.bytes_max = 3 * block_bytes + block_bytes / 2;
    KVCache cache = make(description);
    const SequenceId sequence = *cache.create_sequence();
    const Status full = cache.append(sequence, 101).status();
    CHECK(full.code() == StatusCode::out_of_range);
    CHECK(full.message() == "101 tokens are to follow 0, expected 0 to 100 for a sequence of at most 100");
    CHECK(cache.append(sequence, -1).status().code() == StatusCode::out_of_range);
    REQUIRE(cache.append(sequence, 96).is_ok());
    CHECK(cache.memory().bytes_held == 3 * block_bytes);
    const Status over = cache.append(sequence, 1).status();
    CHECK(over.code() == StatusCode::budget_exceeded);
    CHECK(*cache.length(sequence) == 96);
    CHECK(cache.memory().bytes_held == 3 * block_bytes);
    REQUIRE(*cache.append(sequence, 0) == 96);
    REQUIRE(cache.truncate(sequence, 64).is_ok());
    CHECK(cache.memory().bytes_used == 2 * block_bytes);
    CHECK(cache.memory().blocks_free == 1);
    cache.trim();
    CHECK(cache.memory().bytes_held == 2 * block_bytes);
}

TEST_CASE("without a budget of its own a cache stays within the machine's memory", "[cache][short]") {
    KVCache cache = make(KVDescription::uniform(64, 64, 4096, DType::f32));
    CHECK(cache.memory().bytes_max > 0);
    const SequenceId sequence = *cache.create_sequence();
    CHECK(cache.append(sequence, 2'147'483'647).status().code() == StatusCode::budget_exceeded);
    CHECK(cache.memory().bytes_held == 0);
}

TEST_CASE("the bytes a context needs are predicted to the byte", "[cache][short]") {
    const KVDescription plain = KVDescription::uniform(2, 1, 4, DType::f32);
    CHECK(*KVCache::bytes_needed(plain, 0, 1) == 0);
    CHECK(*KVCache::bytes_needed(plain, 33, 1) == 2 * in_pages(2 * 2 * 32 * 16));
    CHECK(KVCache::bytes_needed(plain, -1, 1).status().code() == StatusCode::invalid_argument);
    for (const auto& [window, chunk] : {std::pair{1, 0}, {40, 0}, {64, 0}, {0, 48}, {0, 64}}) {
        for (const std::int64_t step : {1, 7, 32, 50}) {
            const KVDescription description = windowed(window, chunk);
            KVCache cache = make(description);
            const SequenceId sequence = *cache.create_sequence();
            std::uint64_t peak = 0;
            while (*cache.length(sequence) + step <= 2000) {
                REQUIRE(cache.append(sequence, step).is_ok());
                peak = std::max(peak, cache.memory().bytes_used);
                REQUIRE(cache.release_before(sequence, 1, *cache.first_visible(sequence, 1)).is_ok());
            }
            const std::uint64_t needed = *KVCache::bytes_needed(description, *cache.length(sequence), step);
            CHECK(peak <= needed);
            // With a window, and steps that come to lie in every way to the blocks, the worst does happen.
            if (window > 0 && step % 2 == 1) CHECK(peak == needed);
        }
    }
}
