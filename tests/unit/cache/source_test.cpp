// The rows of a source: reserved once, kept whatever becomes of the sequence's own tokens, within the budget.
#include <mixtura/kv_cache.hpp>

#include <catch2/catch.hpp>
#include <numeric>

using namespace mixtura;

namespace {

// A layer of the sequence's own tokens and one of a source.
KVDescription description() {
    KVDescription out;
    const KVPlane plane{2, 4, DType::f32};
    out.groups = {KVGroup{}, KVGroup{0, 0, true}};
    out.layers = {KVLayer{{plane, plane}, 0}, KVLayer{{plane, plane}, 1}};
    out.tokens_max = 100;
    return out;
}

KVCache make(const KVDescription& from) {
    auto cache = KVCache::create(from);
    REQUIRE(cache);
    return *std::move(cache);
}

SequenceId begun(KVCache& cache, std::int64_t source_rows) {
    const auto sequence = cache.create_sequence();
    REQUIRE(sequence);
    REQUIRE(cache.append_source(*sequence, source_rows).is_ok());
    return *sequence;
}

std::vector<float> numbers(std::int64_t rows, float first) {
    std::vector<float> out(static_cast<std::size_t>(rows) * 8);
    std::iota(out.begin(), out.end(), first);
    return out;
}

std::vector<float> source_of(const KVCache& cache, SequenceId sequence, std::int64_t rows) {
    std::vector<float> out(static_cast<std::size_t>(rows) * 8);
    REQUIRE(cache.read(sequence, 1, 0, 0, out).is_ok());
    return out;
}

}  // namespace

TEST_CASE("a source's rows stay while the sequence's own come and go", "[cache][short]") {
    KVCache cache = make(description());
    const SequenceId sequence = begun(cache, 70);
    CHECK(*cache.source_length(sequence) == 70);
    CHECK(*cache.length(sequence) == 0);
    const std::vector<float> rows = numbers(70, 1);
    REQUIRE(cache.write(sequence, 1, 0, 0, rows).is_ok());
    REQUIRE(cache.append(sequence, 40).is_ok());
    REQUIRE(cache.truncate(sequence, 0).is_ok());
    REQUIRE(cache.append(sequence, 3).is_ok());
    CHECK(source_of(cache, sequence, 70) == rows);
    const auto view = cache.view(sequence, 1);
    REQUIRE(view);
    CHECK(view->length_tokens == 70);
    CHECK(view->block_table.size() == 3);
    CHECK(cache.view(sequence, 0)->length_tokens == 3);
}

TEST_CASE("a source is reserved once, within the limits and in a cache that has room for one", "[cache][short]") {
    KVCache cache = make(description());
    const SequenceId sequence = begun(cache, 5);
    CHECK(cache.append_source(sequence, 5).code() == StatusCode::bad_state);
    const auto other = cache.create_sequence();
    REQUIRE(other);
    CHECK(cache.append_source(*other, 0).code() == StatusCode::out_of_range);
    CHECK(cache.append_source(*other, 101).code() == StatusCode::out_of_range);
    CHECK(*cache.source_length(*other) == 0);
    std::vector<float> row(8);
    CHECK(cache.read(*other, 1, 0, 0, row).code() == StatusCode::out_of_range);
    CHECK(cache.read(sequence, 1, 0, 5, row).code() == StatusCode::out_of_range);
    KVCache plain = make(KVDescription::uniform(1, 2, 4, DType::f32));
    const auto sourceless = plain.create_sequence();
    REQUIRE(sourceless);
    CHECK(plain.append_source(*sourceless, 1).code() == StatusCode::invalid_argument);
    KVDescription windowed = description();
    windowed.groups[1].window_tokens = 8;
    CHECK(KVCache::create(windowed).status().code() == StatusCode::invalid_argument);
}

TEST_CASE("a fork shares a source's rows, and the last to let go of them gives them back", "[cache][short]") {
    KVCache cache = make(description());
    const SequenceId sequence = begun(cache, 33);
    const std::vector<float> rows = numbers(33, 5);
    REQUIRE(cache.write(sequence, 1, 0, 0, rows).is_ok());
    const auto fork = cache.fork(sequence);
    REQUIRE(fork);
    CHECK(cache.memory().blocks_used == 2);
    CHECK(cache.memory().blocks_shared == 2);
    CHECK(cache.write(*fork, 1, 0, 0, rows).code() == StatusCode::bad_state);
    REQUIRE(cache.free_sequence(sequence).is_ok());
    CHECK(*cache.source_length(*fork) == 33);
    CHECK(source_of(cache, *fork, 33) == rows);
    REQUIRE(cache.free_sequence(*fork).is_ok());
    CHECK(cache.memory().blocks_used == 0);
}

TEST_CASE("a source keeps the budget, and what it needs is told", "[cache][short]") {
    KVDescription small = description();
    const auto needed = KVCache::bytes_needed(small, 64, 64);
    REQUIRE(needed);
    small.bytes_max = *needed;
    KVCache cache = make(small);
    const SequenceId sequence = begun(cache, 64);
    REQUIRE(cache.append(sequence, 64).is_ok());
    CHECK(cache.memory().bytes_held == *needed);
    const auto other = cache.create_sequence();
    REQUIRE(other);
    CHECK(cache.append_source(*other, 1).code() == StatusCode::budget_exceeded);
    CHECK(*cache.source_length(*other) == 0);
    CHECK(*cache.length(sequence) == 64);
}

TEST_CASE("a saved sequence brings its source along", "[cache][short]") {
    KVCache cache = make(description());
    const SequenceId sequence = begun(cache, 45);
    const std::vector<float> rows = numbers(45, 9), own = numbers(7, 2);
    REQUIRE(cache.write(sequence, 1, 0, 0, rows).is_ok());
    REQUIRE(cache.append(sequence, 7).is_ok());
    REQUIRE(cache.write(sequence, 0, 1, 0, own).is_ok());
    const auto bytes = cache.export_sequence(sequence);
    REQUIRE(bytes);
    KVCache second = make(description());
    const auto read = second.import_sequence(*bytes);
    REQUIRE(read);
    CHECK(*second.source_length(*read) == 45);
    CHECK(*second.length(*read) == 7);
    CHECK(source_of(second, *read, 45) == rows);
    std::vector<float> found(own.size());
    REQUIRE(second.read(*read, 0, 1, 0, found).is_ok());
    CHECK(found == own);
    CHECK(*second.export_sequence(*read) == *bytes);
    for (std::size_t size = 0; size < bytes->size(); ++size)
        CHECK(!second.import_sequence(std::span(*bytes).first(size)));
}
