// What only models with an encoder have: buckets of distances, capacity by sequence, and configurations to refuse.
#include <mixtura/model.hpp>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/relative_bias.hpp"
#include "support/files.hpp"
#include "support/model_harness.hpp"

using namespace mixtura;

namespace {

std::string switch_folder() { return test::golden("models/switch"); }

// The golden model with other values in its configuration.
struct Changed : test::TemporaryFolder {
    explicit Changed(const nlohmann::json& changes) {
        std::filesystem::create_symlink(switch_folder() + "/model.safetensors", file("model.safetensors"));
        auto config = nlohmann::json::parse(test::read_file(switch_folder() + "/config.json"));
        config.update(changes);
        write("config.json", config.dump());
    }
};

std::vector<TokenId> some_tokens(std::size_t count) {
    std::vector<TokenId> tokens;
    for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>(3 + i * 37 % 150));
    return tokens;
}

}  // namespace

TEST_CASE("Switch Transformer gives its owners' numbers and routes from both forms of its configuration",
          "[model][short]") {
    test::check_against_reference("switch", switch_folder());
    const Changed folder(nlohmann::json::parse(test::read_file(switch_folder() + "/config_hub.json")));
    test::check_against_reference("switch", folder.path());
}

TEST_CASE("Switch Transformer gives one answer however it is fed", "[model][short]") {
    test::check_one_answer("switch", switch_folder());
}

TEST_CASE("relative positions lie in the buckets that the owners' code gives them", "[model][short]") {
    const RelativeBiasSpec spec{32, 128};
    // From the owners' _relative_position_bucket in f32: the last distance of each bucket.
    const std::int64_t both_ways[] = {0, 1, 2, 3, 4, 5, 6, 7, 11, 15, 22, 31, 45, 63, 90, 1000};
    std::int64_t distance = 0;
    for (std::int64_t bucket = 0; bucket < 16; ++bucket) {
        for (; distance <= both_ways[bucket]; ++distance) {
            INFO("distance " << distance);
            CHECK(bucket_of_distance(spec, true, -distance) == bucket);
            if (distance > 0) CHECK(bucket_of_distance(spec, true, distance) == 16 + bucket);
        }
    }
    const std::int64_t one_way[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14,  15,
                                    18, 20, 23, 26, 30, 34, 39, 45, 51, 58, 66, 76, 86, 98, 112, 1000};
    distance = 0;
    for (std::int64_t bucket = 0; bucket < 32; ++bucket) {
        for (; distance <= one_way[bucket]; ++distance) {
            INFO("distance " << distance);
            CHECK(bucket_of_distance(spec, false, -distance) == bucket);
        }
    }
    CHECK(bucket_of_distance(spec, false, 5) == 0);
}

TEST_CASE("an encoder's expert takes the first tokens of each sequence up to its capacity", "[model][short]") {
    const Changed folder(nlohmann::json{{"expert_capacity", 3}});
    const auto narrow = test::load_core(folder.path()), wide = test::load_core(switch_folder());
    const std::vector<TokenId> source = some_tokens(50), written = some_tokens(9);
    const test::FeedResult all = test::feed(wide, written, {.source = source}),
                           some = test::feed(narrow, written, {.source = source});
    // The first sparse layer has the same inputs in both.
    const std::vector<std::int32_t>&chosen = all.experts.at(1), &kept = some.experts.at(1);
    std::vector<int> load(8);
    std::int64_t dropped = 0;
    for (std::size_t t = 0; t < source.size(); ++t) {
        const bool has_room = ++load[static_cast<std::size_t>(chosen[t])] <= 3;
        CHECK(kept[t] == (has_room ? chosen[t] : -1));
        CHECK(some.weights.at(1)[t] == (has_room ? all.weights.at(1)[t] : 0.0F));
        dropped += has_room ? 0 : 1;
    }
    CHECK(dropped >= 50 - 8 * 3);
    CHECK(!test::is_equal(all, some));
    // Neither company nor threads change what is dropped, and the decoder drops nothing.
    CHECK(test::is_equal(test::feed(narrow, written, {.chunk = 2, .threads = 3, .has_company = true, .source = source}),
                         some));
    for (const std::int32_t expert : some.experts.at(3)) CHECK(expert >= 0);
}

TEST_CASE("Switch Transformers that this version does not compute are refused by the key", "[model][short]") {
    const std::pair<nlohmann::json, const char*> cases[] = {
        {{{"dense_act_fn", "gelu"}}, "dense_act_fn"},
        {{{"is_gated_act", true}}, "is_gated_act"},
        {{{"router_dtype", "bfloat16"}}, "router_dtype"},
        {{{"expert_capacity", 0}}, "expert_capacity"},
        {{{"num_decoder_layers", 0}}, "num_decoder_layers"},
        {{{"num_decoder_layers", 3000}}, "num_decoder_layers"},
        {{{"num_layers", 3}}, "encoder.block.2"},
        {{{"decoder_start_token_id", 160}}, "start token"},
        {{{"relative_attention_num_buckets", 30}}, "relative positions"},
        {{{"relative_attention_max_distance", 8}}, "relative position"},
        {{{"num_experts", 9}}, "router.classifier"},
        {{{"d_kv", 0}}, "head width"}};
    for (const auto& [changes, word] : cases) {
        const Changed folder(changes);
        const auto model = Model::open(folder.path());
        INFO(changes.dump());
        REQUIRE(!model);
        INFO(model.status().message());
        CHECK(std::string(model.status().message()).find(word) != std::string::npos);
    }
}

TEST_CASE("a forecast tells a source's part of the cache and of the weights", "[model][short]") {
    const MemoryForecast forecast = test::forecast_of(switch_folder());
    CHECK(test::role_of(forecast, "layers.#.attention.cross.key.weight").tensor_count == 2);
    CHECK(test::role_of(forecast, "layers.#.attention.query.weight").tensor_count == 4);
    // 64 rows of the decoder's two layers, and as many of the source: whole pages of 2 · 4 heads · 16 · 2 bytes a row.
    CHECK(forecast.cache_bytes == 2 * 2 * 2 * (2 * 4 * 16 * 2) * 32);
    // A token of the answer: two layers' attention of four matrices, two of cross-attention (queries and outputs), a
    // dense feed-forward, a router, one expert, and the head.
    const std::uint64_t matrix = 64 * 64;
    CHECK(forecast.token.routed_parameters == 2 * matrix);
    CHECK(forecast.token.multiplied_parameters >= (2 * 4 + 2 * 2 + 2 + 2) * matrix + 8 * 64 + 160 * 64);
    CHECK(forecast.token.multiplied_parameters < (2 * 4 + 2 * 2 + 2 + 2) * matrix + 8 * 64 + 160 * 64 + 2000);
}
