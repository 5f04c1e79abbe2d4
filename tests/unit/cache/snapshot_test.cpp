#include <mixtura/kv_cache.hpp>

#include <catch2/catch.hpp>

#include <cstring>
#include <numeric>

#include "memory/address_range.hpp"

using namespace mixtura;

namespace {

KVDescription description_of(DType dtype) {
    KVDescription description = KVDescription::uniform(2, 2, 3, dtype);
    description.groups = {KVGroup{}, KVGroup{40, 0}};
    description.layers[1].group = 1;
    return description;
}

KVCache make(const KVDescription& description) {
    auto cache = KVCache::create(description);
    REQUIRE(cache.is_ok());
    return *std::move(cache);
}

SequenceId filled(KVCache& cache, std::int64_t tokens) {
    const SequenceId sequence = *cache.create_sequence();
    REQUIRE(cache.append(sequence, tokens).is_ok());
    std::vector<float> rows(static_cast<std::size_t>(tokens) * 6);
    std::iota(rows.begin(), rows.end(), 1.0F);
    for (std::size_t layer = 0; layer < 2; ++layer) {
        for (std::size_t plane = 0; plane < 2; ++plane) REQUIRE(cache.write(sequence, layer, plane, 0, rows).is_ok());
    }
    return sequence;
}

}  // namespace

TEST_CASE("a saved sequence comes back in another cache with the same rows and windows", "[cache][short]") {
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::f8_e4m3}) {
        KVCache cache = make(description_of(dtype)), other = make(description_of(dtype));
        const SequenceId sequence = filled(cache, 130);
        REQUIRE(cache.release_before(sequence, 1, 91).is_ok());
        const auto bytes = cache.export_sequence(sequence);
        REQUIRE(bytes.is_ok());
        CHECK(*bytes == *cache.export_sequence(*cache.fork(sequence)));
        const auto copy = other.import_sequence(*bytes);
        INFO(copy.status().message());
        REQUIRE(copy.is_ok());
        CHECK(*other.length(*copy) == 130);
        CHECK(*other.kept_from(*copy, 1) == 64);
        CHECK(*other.export_sequence(*copy) == *bytes);
        for (std::size_t layer = 0; layer < 2; ++layer) {
            const std::int64_t from = layer == 0 ? 0 : 64;
            std::vector<float> expected(static_cast<std::size_t>(130 - from) * 6), found = expected;
            REQUIRE(cache.read(sequence, layer, 1, from, expected).is_ok());
            REQUIRE(other.read(*copy, layer, 1, from, found).is_ok());
            CHECK(found == expected);
        }
        REQUIRE(*other.append(*copy, 1) == 130);
    }
}

TEST_CASE("an empty sequence can be saved", "[cache][short]") {
    KVCache cache = make(description_of(DType::f16));
    const auto bytes = cache.export_sequence(*cache.create_sequence());
    REQUIRE(bytes.is_ok());
    CHECK(*cache.length(*cache.import_sequence(*bytes)) == 0);
}

TEST_CASE("damaged or foreign bytes are refused and take nothing", "[cache][short]") {
    KVCache cache = make(description_of(DType::f16));
    const std::vector<std::byte> bytes = *cache.export_sequence(filled(cache, 33));
    KVCache other = make(description_of(DType::f16));
    const auto refusal = [&](std::span<const std::byte> saved) {
        const Status status = other.import_sequence(saved).status();
        REQUIRE_FALSE(status.is_ok());
        CHECK(other.memory().sequences == 0);
        CHECK(other.memory().bytes_held == 0);
        return status;
    };
    for (std::size_t size = 0; size < bytes.size(); ++size) (void)refusal(std::span(bytes).first(size));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        std::vector<std::byte> damaged = bytes;
        damaged[at] ^= std::byte{0x10};
        const Status status = refusal(damaged);
        if (at < 8) CHECK(status.code() == StatusCode::unknown_format);
        if (at >= 8 && at < 12) CHECK(status.code() == StatusCode::version_mismatch);
    }
    CHECK(refusal({}).message() == "these 0 bytes are no saved sequence");
    std::vector<std::byte> newer = bytes;
    newer[8] = std::byte{2};
    CHECK(refusal(newer).message() == "the saved sequence is of version 2, expected 1");
    std::vector<std::byte> damaged = bytes;
    damaged[bytes.size() - 20] ^= std::byte{1};
    CHECK(refusal(damaged).message() == "the saved sequence is damaged: its checksum differs");
    damaged = bytes;
    damaged.push_back(std::byte{0});
    CHECK(refusal(damaged).message() == "the saved sequence has 1585 bytes of rows, expected 1584");
}

TEST_CASE("a saved sequence of other layers is refused with the first difference", "[cache][short]") {
    KVCache cache = make(description_of(DType::f16)), other = make(description_of(DType::bf16));
    const Status status = other.import_sequence(*cache.export_sequence(filled(cache, 5))).status();
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message() ==
          "the saved sequence is of other layers: it says '; layer of 0 2x3f16 2x3f16; layer of 1 2x3f16 2x3f16', "
          "expected '; layer of 0 2x3bf16 2x3bf16; layer of 1 2x3bf16 2x3bf16'");
}

TEST_CASE("importing keeps the limits of the cache it goes to", "[cache][short]") {
    KVCache cache = make(description_of(DType::f16));
    const std::vector<std::byte> bytes = *cache.export_sequence(filled(cache, 100));
    KVDescription small = description_of(DType::f16);
    small.bytes_max = 3 * page_bytes();  // 4 and 2 blocks of a page would be needed
    KVCache poor = make(small);
    CHECK(poor.import_sequence(bytes).status().code() == StatusCode::budget_exceeded);
    CHECK(poor.memory().sequences == 0);
    KVDescription brief = description_of(DType::f16);
    brief.tokens_max = 99;
    KVCache shorter = make(brief);
    CHECK(shorter.import_sequence(bytes).status().message() ==
          "the saved sequence has 100 tokens, expected at most 99");
}
