// KVCache against the plainest model of it, over random sequences of operations.
#include <mixtura/kv_cache.hpp>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <random>
#include <set>

#include "memory/address_range.hpp"

using namespace mixtura;

namespace {

constexpr std::int64_t kWindow = 50, kChunk = 48, kTokensMax = 400;
constexpr std::size_t kGroups = 3, kLayers = 4;

// A block is an identity that sequences share; a row is its values.  Nothing else is known of storage.
struct ModelSequence {
    std::int64_t length = 0;
    std::array<std::int64_t, kGroups> first_block{};
    std::array<std::vector<std::shared_ptr<int>>, kGroups> blocks;
    std::map<std::array<std::int64_t, 3>, std::vector<float>> rows;  // by layer, plane, position
};

KVDescription description() {
    KVDescription out;
    out.groups = {KVGroup{}, KVGroup{kWindow, 0}, KVGroup{0, kChunk}};
    out.layers = {KVLayer{{{2, 3, DType::f16}, {2, 2, DType::q8_0}}, 0},
                  KVLayer{{{1, 4, DType::bf16}, {1, 4, DType::f32}}, 1}, KVLayer{{}, 0},
                  KVLayer{{{1, 5, DType::f32}, {1, 5, DType::f8_e4m3}}, 2}};
    out.tokens_max = kTokensMax;
    return out;
}
// Every group's block takes less than a page, so it is one.
const std::uint64_t kBlockBytes = page_bytes();

std::int64_t visible(std::size_t group, std::int64_t at) {
    if (group == 1) return std::max<std::int64_t>(0, at - kWindow + 1);
    return group == 2 ? at / kChunk * kChunk : 0;
}

class Trial {
  public:
    Trial(std::uint32_t seed, std::uint64_t bytes_max) : random_(seed), bytes_max_(bytes_max) {
        KVDescription given = description();
        given.bytes_max = bytes_max;
        auto cache = KVCache::create(given);
        REQUIRE(cache.is_ok());
        cache_.emplace(*std::move(cache));
    }

    void run(int steps) {
        for (int step = 0; step < steps; ++step) {
            const int choice = below(100);
            if (model_.empty() || choice < 6)
                create();
            else if (choice < 16)
                fork();
            else if (choice < 55)
                append();
            else if (choice < 70)
                truncate();
            else if (choice < 85)
                release();
            else if (choice < 90)
                write_again();
            else if (choice < 92)
                save_and_load();
            else if (choice < 94)
                cache_->trim();
            else
                free();
            check_figures();
            if (step % 25 == 0) check_rows();
        }
        check_rows();
        while (!model_.empty()) free();
        CHECK(cache_->memory().bytes_used == 0);
        CHECK(cache_->memory().blocks_shared == 0);
        cache_->trim();
        CHECK(cache_->memory().bytes_held == 0);
    }

    int refused_for_budget = 0;
    int refused_for_release = 0;
    int copied_on_write = 0;

  private:
    int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
    SequenceId any() {
        auto it = model_.begin();
        std::advance(it, below(static_cast<int>(model_.size())));
        return it->first;
    }

    void create() {
        const auto id = cache_->create_sequence();
        REQUIRE(id.is_ok());
        REQUIRE(model_.emplace(*id, ModelSequence{}).second);
    }
    void fork() {
        if (model_.size() > 12) return;
        const SequenceId parent = any();
        const auto id = cache_->fork(parent);
        REQUIRE(id.is_ok());
        REQUIRE(model_.emplace(*id, model_.at(parent)).second);
    }
    void free() {
        const SequenceId id = any();
        REQUIRE(cache_->free_sequence(id).is_ok());
        model_.erase(id);
        REQUIRE(cache_->length(id).status().code() == StatusCode::not_found);
    }

    std::uint64_t used_bytes() const {
        std::uint64_t bytes = 0;
        std::set<const int*> seen;
        for (const auto& [id, sequence] : model_) {
            for (std::size_t group = 0; group < kGroups; ++group) {
                for (const auto& block : sequence.blocks[group]) {
                    if (seen.insert(block.get()).second) bytes += kBlockBytes;
                }
            }
        }
        return bytes;
    }

    void append() {
        const SequenceId id = any();
        ModelSequence& sequence = model_.at(id);
        const std::int64_t count = below(4) == 0 ? below(120) : below(8);
        const std::int64_t length = sequence.length + count;
        ModelSequence next = sequence;
        std::uint64_t more = 0;
        int copies = 0;
        for (std::size_t group = 0; group < kGroups; ++group) {
            auto& blocks = next.blocks[group];
            if (count > 0 && sequence.length % 32 != 0 && sequence.blocks[group].back().use_count() > 2) {
                blocks.back() = std::make_shared<int>();  // 2: this sequence and `next`
                more += kBlockBytes;
                ++copies;
            }
            while (next.first_block[group] + static_cast<std::int64_t>(blocks.size()) < (length + 31) / 32) {
                blocks.push_back(std::make_shared<int>());
                more += kBlockBytes;
            }
        }
        const KVMemory before = cache_->memory();
        const auto first = cache_->append(id, count);
        if (length > kTokensMax) {
            REQUIRE(first.status().code() == StatusCode::out_of_range);
        } else if (used_bytes() + more > bytes_max_) {
            REQUIRE(first.status().code() == StatusCode::budget_exceeded);
            ++refused_for_budget;
        } else {
            INFO(first.status().message());
            REQUIRE(first.is_ok());
            REQUIRE(*first == sequence.length);
            copied_on_write += copies;
            next.length = length;
            sequence = std::move(next);
            if (below(10) > 0) write(id, *first, count);
            return;
        }
        const KVMemory after = cache_->memory();
        REQUIRE(std::memcmp(&before, &after, sizeof before) == 0);
    }

    // A number that a row holds exactly: whole ones up to 256, or up to 127 and 16 where the first makes its scale 1.
    float held_exactly(DType dtype, bool is_first) {
        if (dtype == DType::q8_0) return is_first ? 127.0F : static_cast<float>(below(128));
        if (dtype == DType::f8_e4m3) return is_first ? 448.0F : static_cast<float>(below(17));
        return static_cast<float>(below(257));
    }

    void write(SequenceId id, std::int64_t first, std::int64_t count) {
        const KVDescription given = description();
        for (std::size_t layer = 0; layer < kLayers; ++layer) {
            for (std::size_t plane = 0; plane < given.layers[layer].planes.size(); ++plane) {
                const KVPlane& of = given.layers[layer].planes[plane];
                const auto width = static_cast<std::size_t>(of.heads * of.size);
                std::vector<float> rows;
                for (std::int64_t position = first; position < first + count; ++position) {
                    std::vector<float>& row =
                        model_.at(id)
                            .rows[{static_cast<std::int64_t>(layer), static_cast<std::int64_t>(plane), position}];
                    row.clear();
                    for (std::size_t i = 0; i < width; ++i)
                        row.push_back(held_exactly(of.dtype, i % static_cast<std::size_t>(of.size) == 0));
                    rows.insert(rows.end(), row.begin(), row.end());
                }
                REQUIRE(cache_->write(id, layer, plane, first, rows).is_ok());
            }
        }
    }

    // Overwrites one token, which a shared block must refuse.
    void write_again() {
        const SequenceId id = any();
        const ModelSequence& sequence = model_.at(id);
        if (sequence.length == 0) return;
        const std::int64_t position = below(static_cast<int>(sequence.length));
        bool is_shared = false;
        for (std::size_t group = 0; group < kGroups; ++group) {
            if (position / 32 < sequence.first_block[group]) return;
            const std::int64_t index = position / 32 - sequence.first_block[group];
            const auto& block = sequence.blocks[group][static_cast<std::size_t>(index)];
            if (block.use_count() == 1) continue;
            is_shared = true;
            const std::size_t layer = group == 2 ? 3 : group;
            const KVPlane plane = description().layers[layer].planes[0];
            const std::vector<float> row(static_cast<std::size_t>(plane.heads * plane.size), 1000.0F);
            REQUIRE(cache_->write(id, layer, 0, position, row).code() == StatusCode::bad_state);
        }
        if (!is_shared) write(id, position, 1);
    }

    void truncate() {
        const SequenceId id = any();
        ModelSequence& sequence = model_.at(id);
        const int now = static_cast<int>(sequence.length);
        const std::int64_t length = below(5) == 0 ? below(now + 3) : now - below(std::min(9, now + 1));
        bool may = length <= sequence.length;
        for (std::size_t group = 0; may && group < kGroups; ++group) {
            if (sequence.first_block[group] * 32 > visible(group, length)) {
                may = false;
                ++refused_for_release;
            }
        }
        const Status status = cache_->truncate(id, length);
        if (!may) {
            REQUIRE(status.code() == StatusCode::out_of_range);
            return;
        }
        REQUIRE(status.is_ok());
        sequence.length = length;
        for (std::size_t group = 0; group < kGroups; ++group) {
            auto& blocks = sequence.blocks[group];
            while (sequence.first_block[group] + static_cast<std::int64_t>(blocks.size()) > (length + 31) / 32) {
                blocks.pop_back();
            }
        }
        std::erase_if(sequence.rows, [&](const auto& row) { return row.first[2] >= length; });
    }

    void release() {
        const SequenceId id = any();
        ModelSequence& sequence = model_.at(id);
        const auto group = static_cast<std::size_t>(below(kGroups));
        const int limit = static_cast<int>(visible(group, sequence.length));
        const std::int64_t position = below(4) == 0 ? limit + 1 : limit - below(std::min(limit, 40) + 1);
        const Status status = cache_->release_before(id, group, position);
        if (position > limit) {
            REQUIRE(status.code() == StatusCode::out_of_range);
            return;
        }
        REQUIRE(status.is_ok());
        auto& blocks = sequence.blocks[group];
        while (!blocks.empty() && (sequence.first_block[group] + 1) * 32 <= position) {
            blocks.erase(blocks.begin());
            ++sequence.first_block[group];
        }
    }

    void save_and_load() {
        const SequenceId id = any();
        const auto bytes = cache_->export_sequence(id);
        REQUIRE(bytes.is_ok());
        const ModelSequence saved = model_.at(id);
        REQUIRE(cache_->free_sequence(id).is_ok());
        model_.erase(id);
        const std::uint64_t used = used_bytes();
        ModelSequence loaded = saved;
        std::uint64_t more = 0;
        for (std::size_t group = 0; group < kGroups; ++group) {
            for (auto& block : loaded.blocks[group]) {
                block = std::make_shared<int>();
                more += kBlockBytes;
            }
        }
        const auto again = cache_->import_sequence(*bytes);
        if (used + more > bytes_max_) {
            REQUIRE(again.status().code() == StatusCode::budget_exceeded);
            return;
        }
        REQUIRE(again.is_ok());
        model_.emplace(*again, std::move(loaded));
        REQUIRE(*cache_->export_sequence(*again) == *bytes);
    }

    void check_figures() {
        const KVMemory memory = cache_->memory();
        std::map<const int*, int> holders;
        std::uint64_t tokens = 0;
        for (const auto& [id, sequence] : model_) {
            tokens += static_cast<std::uint64_t>(sequence.length);
            for (const auto& blocks : sequence.blocks) {
                for (const auto& block : blocks) ++holders[block.get()];
            }
        }
        const auto shared = std::count_if(holders.begin(), holders.end(), [](const auto& h) { return h.second > 1; });
        REQUIRE(memory.blocks_used == holders.size());
        REQUIRE(memory.blocks_shared == static_cast<std::uint64_t>(shared));
        REQUIRE(memory.bytes_used == used_bytes());
        REQUIRE(memory.bytes_held >= memory.bytes_used);
        REQUIRE(memory.bytes_held <= bytes_max_);
        REQUIRE(memory.sequences == model_.size());
        REQUIRE(memory.tokens == tokens);
    }

    // Every kept row of every sequence, by read() and by the raw blocks.
    void check_rows() {
        const KVDescription given = description();
        for (const auto& [id, sequence] : model_) {
            REQUIRE(*cache_->length(id) == sequence.length);
            for (std::size_t layer = 0; layer < kLayers; ++layer) {
                const std::size_t group = given.layers[layer].group;
                const std::int64_t kept = sequence.first_block[group] * 32;
                REQUIRE(*cache_->kept_from(id, group) == kept);
                for (std::size_t plane = 0; plane < given.layers[layer].planes.size(); ++plane) {
                    const KVPlane& shape = given.layers[layer].planes[plane];
                    const auto width = static_cast<std::size_t>(shape.heads * shape.size);
                    std::vector<float> expected, found;
                    for (std::int64_t position = kept; position < sequence.length; ++position) {
                        const auto row = sequence.rows.find(
                            {static_cast<std::int64_t>(layer), static_cast<std::int64_t>(plane), position});
                        const std::vector<float> values =
                            row == sequence.rows.end() ? std::vector<float>(width, 0.0F) : row->second;
                        expected.insert(expected.end(), values.begin(), values.end());
                    }
                    found.resize(expected.size());
                    REQUIRE(cache_->read(id, layer, plane, kept, found).is_ok());
                    REQUIRE(found == expected);
                    if (shape.dtype != DType::f32) continue;
                    const auto view = cache_->view(id, layer);
                    REQUIRE(view.is_ok());
                    std::vector<float> raw;
                    for (std::int64_t position = kept; position < sequence.length; ++position) {
                        for (std::int64_t head = 0; head < shape.heads; ++head) {
                            std::vector<float> row(static_cast<std::size_t>(shape.size));
                            std::memcpy(row.data(), view->row(plane, head, position), row.size() * sizeof(float));
                            raw.insert(raw.end(), row.begin(), row.end());
                        }
                    }
                    REQUIRE(raw == expected);
                }
            }
        }
    }

    std::mt19937 random_;
    std::uint64_t bytes_max_;
    std::optional<KVCache> cache_;
    std::map<SequenceId, ModelSequence> model_;
};

}  // namespace

TEST_CASE("any sequence of cache operations gives what a naive model gives", "[cache][short]") {
    int for_budget = 0, for_release = 0, copies = 0;
    for (std::uint32_t seed = 0; seed < 16; ++seed) {
        INFO("seed " << seed);
        Trial trial(seed, (seed % 2 == 0 ? 60 : 5000) * page_bytes());
        trial.run(300);
        for_budget += trial.refused_for_budget;
        for_release += trial.refused_for_release;
        copies += trial.copied_on_write;
    }
    // The walk does meet what it is about.
    CHECK(for_budget > 20);
    CHECK(for_release > 10);
    CHECK(copies > 50);
}
