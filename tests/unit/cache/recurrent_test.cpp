// States of recurrent layers: what is kept, what can be come back to, what it costs.
#include <mixtura/kv_cache.hpp>

#include <catch2/catch.hpp>

#include <cstring>
#include <memory>
#include <random>
#include <set>

#include "memory/address_range.hpp"

using namespace mixtura;

namespace {

// Layers 0 and 2 have states of 5 and 20 elements, layer 1 keys and values.
KVDescription description_of(std::int64_t snapshots_max) {
    KVDescription description = KVDescription::uniform(3, 1, 4, DType::f32);
    description.layers[0] = {{}, 0, 5};
    description.layers[2] = {{}, 0, 20};
    description.snapshots_max = snapshots_max;
    description.tokens_max = 300;
    return description;
}

KVCache make(const KVDescription& description) {
    auto cache = KVCache::create(description);
    INFO(cache.status().message());
    REQUIRE(cache.is_ok());
    return *std::move(cache);
}

// The states of both layers, one behind the other.
std::vector<float> states(const KVCache& cache, SequenceId sequence) {
    std::vector<float> all(25);
    REQUIRE(cache.read_state(sequence, 0, std::span(all).first(5)).is_ok());
    REQUIRE(cache.read_state(sequence, 2, std::span(all).subspan(5)).is_ok());
    return all;
}

// Appends, and writes new states that hang on the old ones and on `mark`.
void advance(KVCache& cache, SequenceId sequence, std::int64_t count, float mark) {
    const std::vector<float> old = states(cache, sequence);
    REQUIRE(cache.append(sequence, count).is_ok());
    std::size_t at = 0;
    for (const std::size_t layer : {0, 2}) {
        const auto step = cache.state_step(sequence, layer);
        INFO(step.status().message());
        REQUIRE(step);
        CHECK(step->size == (layer == 0 ? 5 : 20));
        CHECK(reinterpret_cast<std::uintptr_t>(step->after) % 64 == 0);
        for (std::int64_t i = 0; i < step->size; ++i, ++at) {
            CHECK((step->before == nullptr ? 0.0F : step->before[i]) == old[at]);
            step->after[i] = static_cast<float>(static_cast<int>(old[at] * 3.0F + mark) % 1021) + static_cast<float>(i);
        }
    }
}

std::uint64_t state_bytes() { return page_bytes(); }  // of a block of 25 elements

}  // namespace

TEST_CASE("a sequence comes back to its last append, to its snapshots and to nothing, and to no other length",
          "[cache][short]") {
    KVCache cache = make(description_of(4));
    const SequenceId sequence = *cache.create_sequence();
    CHECK(states(cache, sequence) == std::vector<float>(25, 0.0F));
    CHECK(cache.snapshot(sequence).is_ok());  // of nothing: is kept anyway
    advance(cache, sequence, 10, 1.0F);
    const std::vector<float> at_10 = states(cache, sequence);
    REQUIRE(cache.snapshot(sequence).is_ok());
    REQUIRE(cache.snapshot(sequence).is_ok());
    advance(cache, sequence, 1, 2.0F);
    const std::vector<float> at_11 = states(cache, sequence);
    advance(cache, sequence, 30, 3.0F);

    CHECK(*cache.restorable_length(sequence, 41) == 41);
    CHECK(*cache.restorable_length(sequence, 40) == 11);
    CHECK(*cache.restorable_length(sequence, 10) == 10);
    CHECK(*cache.restorable_length(sequence, 9) == 0);
    CHECK(cache.restorable_length(sequence, 42).status().code() == StatusCode::out_of_range);
    const Status between = cache.truncate(sequence, 30);
    CHECK(between.code() == StatusCode::out_of_range);
    CHECK(between.message() ==
          "a sequence of 41 tokens cannot be cut to 30, where the states of its recurrent layers are not kept; the "
          "highest length below where they are is 11");
    CHECK(*cache.length(sequence) == 41);

    REQUIRE(cache.truncate(sequence, 11).is_ok());
    CHECK(states(cache, sequence) == at_11);
    CHECK(cache.state_step(sequence, 0).status().message() ==
          "the state of layer 0 at 11 tokens cannot be written, since no token was appended there");
    advance(cache, sequence, 2, 7.0F);
    REQUIRE(cache.truncate(sequence, 10).is_ok());
    CHECK(states(cache, sequence) == at_10);
    advance(cache, sequence, 1, 2.0F);
    CHECK(states(cache, sequence) == at_11);  // the same history, the same states
    REQUIRE(cache.truncate(sequence, 0).is_ok());
    CHECK(states(cache, sequence) == std::vector<float>(25, 0.0F));
    CHECK(cache.memory().bytes_used == 0);
    CHECK(*cache.restorable_length(sequence, 0) == 0);
}

TEST_CASE("the oldest snapshot goes when there is one more than may be, and what is kept costs so many blocks",
          "[cache][short]") {
    const KVDescription description = description_of(2);
    KVCache cache = make(description);
    const SequenceId sequence = *cache.create_sequence();
    for (int i = 0; i < 3; ++i) {
        advance(cache, sequence, 1, 1.0F);
        REQUIRE(cache.snapshot(sequence).is_ok());
    }
    advance(cache, sequence, 1, 1.0F);
    advance(cache, sequence, 1, 1.0F);
    CHECK(*cache.restorable_length(sequence, 5) == 5);
    CHECK(*cache.restorable_length(sequence, 4) == 4);
    CHECK(*cache.restorable_length(sequence, 3) == 3);
    CHECK(*cache.restorable_length(sequence, 2) == 2);
    CHECK(*cache.restorable_length(sequence, 1) == 0);
    // One block of rows, and the states at 5, 4, 3 and 2.
    CHECK(cache.memory().bytes_used == page_bytes() + 4 * state_bytes());
    CHECK(*KVCache::bytes_needed(description, 5, 5) == page_bytes() + 4 * state_bytes());
    CHECK(*KVCache::bytes_needed(description, 0, 5) == 0);
    // Long decoding takes no more.
    for (int i = 0; i < 20; ++i) advance(cache, sequence, 1, 1.0F);
    CHECK(cache.memory().bytes_held == page_bytes() + 4 * state_bytes());
    KVCache none = make(description_of(0));
    const SequenceId plain = *none.create_sequence();
    advance(none, plain, 3, 1.0F);
    REQUIRE(none.snapshot(plain).is_ok());
    advance(none, plain, 3, 1.0F);
    advance(none, plain, 3, 1.0F);
    CHECK(*none.restorable_length(plain, 5) == 0);
}

TEST_CASE("an append for whose states the budget has no room changes nothing", "[cache][short]") {
    KVDescription description = description_of(2);
    description.bytes_max = page_bytes() + 2 * state_bytes();
    KVCache cache = make(description);
    const SequenceId sequence = *cache.create_sequence();
    advance(cache, sequence, 1, 1.0F);
    REQUIRE(cache.snapshot(sequence).is_ok());
    advance(cache, sequence, 1, 2.0F);
    const std::vector<float> before = states(cache, sequence);
    CHECK(cache.append(sequence, 1).status().code() == StatusCode::budget_exceeded);
    CHECK(*cache.length(sequence) == 2);
    CHECK(states(cache, sequence) == before);
    CHECK(*cache.restorable_length(sequence, 1) == 1);
    CHECK(cache.memory().bytes_held == page_bytes() + 2 * state_bytes());
}

TEST_CASE("what a fork or a snapshot shares is not written, and a fork goes its own way", "[cache][short]") {
    KVCache cache = make(description_of(2));
    const SequenceId sequence = *cache.create_sequence();
    advance(cache, sequence, 4, 1.0F);
    REQUIRE(cache.snapshot(sequence).is_ok());
    const Status shared = cache.state_step(sequence, 0).status();
    CHECK(shared.code() == StatusCode::bad_state);
    CHECK(shared.message() ==
          "the state of layer 0 at 4 tokens is shared with a fork or a snapshot and cannot be written");
    const std::vector<float> at_4 = states(cache, sequence);
    const SequenceId fork = *cache.fork(sequence);
    CHECK(states(cache, fork) == at_4);
    advance(cache, sequence, 3, 5.0F);
    advance(cache, fork, 3, 6.0F);
    CHECK(states(cache, fork) != states(cache, sequence));
    REQUIRE(cache.free_sequence(sequence).is_ok());
    REQUIRE(cache.truncate(fork, 4).is_ok());
    CHECK(states(cache, fork) == at_4);
    REQUIRE(cache.free_sequence(fork).is_ok());
    CHECK(cache.memory().bytes_used == 0);
}

TEST_CASE("layers without a state, and states that nobody could hold, are refused", "[cache][short]") {
    KVCache cache = make(description_of(2));
    const SequenceId sequence = *cache.create_sequence();
    advance(cache, sequence, 1, 1.0F);
    CHECK(cache.state_step(sequence, 1).status().message() == "the state of layer 1 is named, but it has none");
    CHECK(cache.state_step(sequence, 3).status().message() == "layer 3 is named, expected one below 3");
    std::vector<float> four(4);
    CHECK(cache.read_state(sequence, 0, four).message() == "room for 4 elements of the state of layer 0, expected 5");
    KVDescription description = description_of(-1);
    CHECK(KVCache::create(description).status().message() == "snapshots_max is -1, expected 0 or more");
    description = description_of(1);
    description.layers[0].state_size = -1;
    CHECK(KVCache::create(description).status().message() ==
          "the state of layer 0 has -1 elements, expected 0 or more");
    for (const std::int64_t size : {(std::int64_t{1} << 38) + 1, std::int64_t{1} << 62, INT64_MAX}) {
        description.layers[0].state_size = size;
        CHECK(KVCache::create(description).status().message() ==
              "a block of states exceeds 1099511627776 bytes at layer 0");
    }
    description.layers[0].state_size = 5;
    description.snapshots_max = INT64_MAX;
    CHECK(KVCache::bytes_needed(description, 1, 1).status().code() == StatusCode::out_of_range);
}

TEST_CASE("a saved sequence comes back with its states", "[cache][short]") {
    KVCache cache = make(description_of(2)), other = make(description_of(3));
    const SequenceId sequence = *cache.create_sequence();
    advance(cache, sequence, 33, 1.0F);
    REQUIRE(cache.snapshot(sequence).is_ok());
    advance(cache, sequence, 2, 2.0F);
    const auto bytes = cache.export_sequence(sequence);
    REQUIRE(bytes);
    const auto copy = other.import_sequence(*bytes);
    INFO(copy.status().message());
    REQUIRE(copy);
    CHECK(states(other, *copy) == states(cache, sequence));
    CHECK(*other.export_sequence(*copy) == *bytes);
    CHECK(*other.restorable_length(*copy, 34) == 0);
    advance(cache, sequence, 1, 3.0F);
    advance(other, *copy, 1, 3.0F);
    CHECK(states(other, *copy) == states(cache, sequence));

    for (std::size_t size = 0; size < bytes->size(); size += 3)
        CHECK_FALSE(other.import_sequence(std::span(*bytes).first(size)));
    KVDescription wider = description_of(2);
    wider.layers[2].state_size = 21;
    CHECK(make(wider).import_sequence(*bytes).status().code() == StatusCode::invalid_argument);
    const auto empty = cache.export_sequence(*cache.create_sequence());
    REQUIRE(empty);
    CHECK(states(other, *other.import_sequence(*empty)) == std::vector<float>(25, 0.0F));
}

namespace {

// What a sequence keeps, the plainest way: a moment is a length and states; who shares its pointer shares its block.
struct Moment {
    std::int64_t length = 0;
    std::shared_ptr<std::vector<float>> states = {};
};
struct ModelSequence {
    Moment now, before{-1, {}};
    std::vector<Moment> snapshots = {};
};

class Walk {
  public:
    Walk(std::uint32_t seed, std::uint64_t bytes_max)
        : random_(seed), bytes_max_(bytes_max), cache_([&] {
              KVDescription description = description_of(3);
              description.layers[1].planes.clear();  // nothing but states
              description.bytes_max = bytes_max;
              return make(description);
          }()) {}

    void run(int steps) {
        for (int i = 0; i < steps; ++i) {
            if (model_.empty()) model_.emplace_back(*cache_.create_sequence(), ModelSequence{});
            auto& [id, sequence] = model_[static_cast<std::size_t>(below(static_cast<int>(model_.size())))];
            const int choice = below(100);
            if (choice < 5) {
                model_.emplace_back(*cache_.create_sequence(), ModelSequence{});
            } else if (choice < 12) {
                const ModelSequence copy = sequence;
                model_.emplace_back(*cache_.fork(id), copy);
            } else if (choice < 55) {
                append(id, sequence);
            } else if (choice < 70) {
                snapshot(id, sequence);
            } else if (choice < 92 || model_.size() < 4) {
                cut(id, sequence);
            } else {
                const SequenceId gone = id;
                std::erase_if(model_, [&](const auto& entry) { return entry.first == gone; });
                REQUIRE(cache_.free_sequence(gone).is_ok());
            }
            check();
        }
    }
    int refused_for_budget = 0, refused_cuts = 0, cuts = 0;

  private:
    int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

    std::size_t blocks() const {
        std::set<const void*> seen;
        for (const auto& [id, sequence] : model_) {
            for (const Moment* moment : {&sequence.now, &sequence.before}) seen.insert(moment->states.get());
            for (const Moment& moment : sequence.snapshots) seen.insert(moment.states.get());
        }
        seen.erase(nullptr);
        return seen.size();
    }

    void append(SequenceId id, ModelSequence& sequence) {
        const std::int64_t count = 1 + below(3);
        if (sequence.now.length + count > 300) return;
        const bool is_reused = sequence.before.states != nullptr && sequence.before.states.use_count() == 1;
        if (!is_reused && (blocks() + 1) * state_bytes() > bytes_max_) {
            REQUIRE(cache_.append(id, count).status().code() == StatusCode::budget_exceeded);
            ++refused_for_budget;
            return;
        }
        advance(cache_, id, count, static_cast<float>(below(100)));
        sequence.before = sequence.now;
        sequence.now = {sequence.now.length + count, std::make_shared<std::vector<float>>(states(cache_, id))};
    }

    void snapshot(SequenceId id, ModelSequence& sequence) {
        REQUIRE(cache_.snapshot(id).is_ok());
        auto& kept = sequence.snapshots;
        if (sequence.now.length == 0 || (!kept.empty() && kept.back().length == sequence.now.length)) return;
        kept.push_back(sequence.now);
        if (kept.size() > 3) kept.erase(kept.begin());
    }

    void cut(SequenceId id, ModelSequence& sequence) {
        const std::int64_t length = below(static_cast<int>(sequence.now.length) + 1);
        Moment best;
        std::vector<Moment> all = sequence.snapshots;
        all.push_back(sequence.now);
        all.push_back(sequence.before);
        for (const Moment& moment : all)
            if (moment.length <= length && moment.length > best.length) best = moment;
        REQUIRE(*cache_.restorable_length(id, length) == best.length);
        if (best.length != length) {
            REQUIRE(cache_.truncate(id, length).code() == StatusCode::out_of_range);
            ++refused_cuts;
            if (below(2) == 0) return;
        }
        REQUIRE(cache_.truncate(id, best.length).is_ok());
        if (best.length == sequence.now.length) return;
        ++cuts;
        sequence.now = best;
        sequence.before = {-1, {}};
        std::erase_if(sequence.snapshots, [&](const Moment& moment) { return moment.length > best.length; });
    }

    void check() {
        REQUIRE(cache_.memory().bytes_used == blocks() * state_bytes());
        REQUIRE(cache_.memory().bytes_held <= bytes_max_);
        for (const auto& [id, sequence] : model_) {
            REQUIRE(*cache_.length(id) == sequence.now.length);
            const std::vector<float> none(25, 0.0F);
            REQUIRE(states(cache_, id) == (sequence.now.states ? *sequence.now.states : none));
        }
    }

    std::mt19937 random_;
    std::uint64_t bytes_max_;
    KVCache cache_;
    std::vector<std::pair<SequenceId, ModelSequence>> model_;
};

}  // namespace

TEST_CASE("any walk of appends, snapshots, forks and cuts gives the states that a naive model gives",
          "[cache][short]") {
    int for_budget = 0, refused = 0, cuts = 0;
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
        INFO("seed " << seed);
        Walk walk(seed, (seed % 2 == 0 ? 12 : 5000) * page_bytes());
        walk.run(400);
        for_budget += walk.refused_for_budget;
        refused += walk.refused_cuts;
        cuts += walk.cuts;
    }
    CHECK(for_budget > 20);
    CHECK(refused > 50);
    CHECK(cuts > 50);
}
