#include "kernels/attention.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/backend.hpp"
#include "kernels/cache_row.hpp"
#include "parallel/fp_environment.hpp"
#include "parallel/thread_pool.hpp"
#include "support/attention_scene.hpp"
#include "support/fp_modes.hpp"
#include "support/tensors.hpp"
#include "support/weights.hpp"

using namespace mixtura;

namespace {

const KernelTable& reference() { return *backends()[0].table; }

using Scene = test::AttentionScene;

bool sees(const AttentionShape& shape, std::int64_t position, std::int64_t key) {
    if (shape.is_causal && key > position) return false;
    if (shape.window_tokens > 0 && key <= position - shape.window_tokens) return false;
    return shape.chunk_tokens == 0 || key / shape.chunk_tokens == position / shape.chunk_tokens;
}

// The rows of `values`, each `width` long, as a cache of that type gives them back.
std::vector<float> cached(DType dtype, const std::vector<float>& values, std::int64_t width) {
    const FpEnvironment guard;
    std::vector<std::byte> row(static_cast<std::size_t>(cache_row_bytes(dtype, width)));
    std::vector<float> found(values.size());
    for (std::size_t at = 0; at < values.size(); at += static_cast<std::size_t>(width)) {
        reference().store_row(dtype, &values[at], width, row.data());
        load_cache_row(dtype, row.data(), 0, width, &found[at]);
    }
    return found;
}

std::string name_of(const Scene& scene) {
    return std::string(dtype_name(scene.key_dtype)) + "/" + std::string(dtype_name(scene.value_dtype));
}

// The formula, in f64, over rounded keys and values.
std::vector<double> exact_outputs(const Scene& scene) {
    const AttentionShape& shape = scene.shape;
    const std::vector<float> keys = cached(scene.key_dtype, scene.key_values, shape.key_width),
                             values = cached(scene.value_dtype, scene.value_values, shape.value_width);
    std::vector<double> y;
    for (std::int64_t row = 0; row < scene.rows; ++row) {
        for (std::int64_t h = 0; h < shape.query_heads; ++h) {
            const std::int64_t kv = h / (shape.query_heads / shape.kv_heads), position = scene.keys - scene.rows + row;
            std::vector<double> scores;
            std::vector<std::int64_t> seen;
            for (std::int64_t p = 0; p < scene.keys; ++p) {
                if (!sees(shape, position, p)) continue;
                double dot = 0;
                for (std::int64_t d = 0; d < shape.key_width; ++d) {
                    dot += static_cast<double>(scene.queries[static_cast<std::size_t>(
                               (row * shape.query_heads + h) * shape.key_width + d)]) *
                           static_cast<double>(
                               keys[static_cast<std::size_t>((p * shape.kv_heads + kv) * shape.key_width + d)]);
                }
                dot *= static_cast<double>(shape.scale);
                if (shape.soft_cap > 0)
                    dot = static_cast<double>(shape.soft_cap) * std::tanh(dot / static_cast<double>(shape.soft_cap));
                if (shape.slopes != nullptr)
                    dot += static_cast<double>(shape.slopes[h]) * static_cast<double>(p - position);
                if (shape.bias != nullptr) {
                    const std::int64_t reach = shape.bias_reach, distance = std::clamp(p - position, -reach, reach);
                    dot += static_cast<double>(shape.bias[h * (2 * reach + 1) + reach + distance]);
                }
                scores.push_back(dot);
                seen.push_back(p);
            }
            double top = shape.sinks != nullptr ? static_cast<double>(shape.sinks[h]) : -1e300;
            for (const double score : scores) top = std::max(top, score);
            double sum = shape.sinks != nullptr ? std::exp(static_cast<double>(shape.sinks[h]) - top) : 0;
            for (const double score : scores) sum += std::exp(score - top);
            for (std::int64_t d = 0; d < shape.value_width; ++d) {
                double out = 0;
                for (std::size_t i = 0; i < seen.size(); ++i) {
                    out +=
                        std::exp(scores[i] - top) / sum *
                        static_cast<double>(
                            values[static_cast<std::size_t>((seen[i] * shape.kv_heads + kv) * shape.value_width + d)]);
                }
                y.push_back(out);
            }
        }
    }
    return y;
}

std::vector<Scene> scenes() {
    std::vector<Scene> all;
    const AttentionShape plain{.query_heads = 6, .kv_heads = 2, .key_width = 16, .value_width = 16, .scale = 0.25F};
    const auto add = [&](AttentionShape shape, Scene::Types types, std::int64_t keys, std::int64_t rows,
                         bool sinks = false, bool slopes = false) {
        all.emplace_back(shape, types, keys, rows, 1 + all.size() * 10);
        if (sinks) all.back().shape.sinks = all.back().sinks.data();
        if (slopes) all.back().shape.slopes = all.back().slopes.data();
    };
    all.reserve(32);  // shapes point into their scene
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::f8_e4m3}) {
        add(plain, dtype, 1, 1);
        add(plain, dtype, 37, 37);
        add(plain, dtype, 700, 3);
    }
    AttentionShape odd = plain;
    odd.key_width = 19;
    odd.value_width = 11;
    add(odd, DType::f32, 300, 70);
    add(odd, {DType::f16, DType::q8_0}, 300, 70);
    AttentionShape window = plain;
    window.window_tokens = 40;
    add(window, DType::f16, 600, 90, true);
    AttentionShape chunked = plain;
    chunked.chunk_tokens = 50;
    add(chunked, DType::bf16, 330, 90);
    AttentionShape capped = plain;
    capped.soft_cap = 2.0F;
    add(capped, DType::f32, 520, 20, false, true);
    AttentionShape both_ways = plain;
    both_ways.is_causal = false;
    add(both_ways, DType::f32, 290, 290);
    const auto add_bias = [&] {
        all.back().shape.bias = all.back().bias.data();
        all.back().shape.bias_reach = Scene::kBiasReach;
    };
    add(both_ways, DType::f16, 290, 290);
    add_bias();
    add(plain, DType::bf16, 530, 40, true, true);
    add_bias();
    AttentionShape wide{.query_heads = 5, .kv_heads = 1, .key_width = 192, .value_width = 576, .scale = 0.07F};
    add(wide, DType::f32, 270, 9, true, true);
    add(wide, {DType::bf16, DType::f8_e4m3}, 270, 9);
    AttentionShape many{.query_heads = 80, .kv_heads = 1, .key_width = 64, .value_width = 64, .scale = 0.125F};
    add(many, DType::f16, 260, 5);
    return all;
}

}  // namespace

TEST_CASE("attention is what its formula says", "[kernels][short]") {
    SerialFor alone;
    for (const Scene& scene : scenes()) {
        const std::vector<float> y = scene.attend(reference(), alone, scene.rows);
        const std::vector<double> exact = exact_outputs(scene);
        double difference = 0, largest = 0;
        for (std::size_t i = 0; i < y.size(); ++i) {
            difference = std::max(difference, std::fabs(static_cast<double>(y[i]) - exact[i]));
            largest = std::max(largest, std::fabs(exact[i]));
        }
        INFO(name_of(scene) << " keys " << scene.keys);
        CHECK(difference < 2e-6 * largest);
    }
}

TEST_CASE("attention has the reference's bits on every back-end, in chunks of any size, on any threads, in any pages",
          "[kernels][short]") {
    for (Scene& scene : scenes()) {
        SerialFor alone;
        const std::vector<float> expected = scene.attend(reference(), alone, scene.rows);
        for (const Backend& backend : backends()) {
            if (!backend.is_supported) continue;
            for (const std::int64_t at_once :
                 {std::int64_t{1}, std::int64_t{7}, std::int64_t{16}, std::int64_t{33}, scene.rows}) {
                auto pool = ThreadPool::create(static_cast<int>(1 + at_once % 3));
                REQUIRE(pool);
                INFO(backend.name << " " << name_of(scene) << " keys " << scene.keys << " at once " << at_once);
                REQUIRE(test::first_difference(scene.attend(*backend.table, **pool, at_once), expected) ==
                        expected.size());
            }
            scene.place(99);
            REQUIRE(test::first_difference(scene.attend(*backend.table, alone, scene.rows), expected) ==
                    expected.size());
            for (const test::FpMode mode : test::kFpModes) {
                std::vector<float> y;
                {
                    const test::HostFpMode host(mode);
                    y = scene.attend(*backend.table, alone, scene.rows);
                }
                REQUIRE(test::first_difference(y, expected) == expected.size());
            }
        }
    }
}

void check_equal_bits(const Scene& scene) {
    SerialFor alone;
    const std::vector<float> expected = scene.attend(reference(), alone, scene.rows);
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        INFO(backend.name << " " << name_of(scene) << " widths " << scene.shape.key_width << "/"
                          << scene.shape.value_width << " keys " << scene.keys << " rows " << scene.rows);
        REQUIRE(test::first_difference(scene.attend(*backend.table, alone, scene.rows), expected) == expected.size());
    }
}

TEST_CASE("attention has the reference's bits for every width", "[kernels][short]") {
    const DType dtypes[] = {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::f8_e4m3};
    for (std::int64_t width = 1; width <= 257; ++width) {
        const AttentionShape shape{
            .query_heads = 1, .kv_heads = 1, .key_width = width, .value_width = 258 - width, .scale = 0.1F};
        for (const std::int64_t rows : {3, 9, 13}) {  // lanes along the width, and turned keys
            check_equal_bits({shape,
                              {dtypes[width % 5], dtypes[(width / 5 + rows) % 5]},
                              35,
                              rows,
                              static_cast<std::uint64_t>(width)});
        }
    }
    const std::int64_t widths[][2] = {{64, 64},   {80, 80},   {96, 96},   {128, 128},
                                      {192, 128}, {576, 512}, {520, 600}, {1024, 1024}};
    for (const auto& width : widths) {
        const AttentionShape shape{
            .query_heads = 3, .kv_heads = 1, .key_width = width[0], .value_width = width[1], .scale = 0.05F};
        for (const DType dtype : dtypes) check_equal_bits({shape, dtype, 290, 13, 3});
    }
}

TEST_CASE("attention has the reference's bits for any number of queries", "[kernels][short]") {
    AttentionShape shape{.query_heads = 1, .kv_heads = 1, .key_width = 40, .value_width = 72, .scale = 0.2F};
    for (std::int64_t rows = 1; rows <= 140; rows += rows < 66 ? 1 : 37) {
        shape.window_tokens = rows % 4 == 1 ? 21 : 0;
        shape.chunk_tokens = rows % 4 == 2 ? 45 : 0;
        shape.soft_cap = rows % 8 == 3 ? 3.0F : 0.0F;
        const Scene::Types types[] = {DType::f16, DType::f32, DType::q8_0, {DType::f16, DType::f8_e4m3}};
        Scene scene(shape, types[rows % 4], 250 + rows, rows, static_cast<std::uint64_t>(rows));
        if (rows % 3 == 0) scene.shape.sinks = scene.sinks.data();
        if (rows % 5 == 0) scene.shape.slopes = scene.slopes.data();
        if (rows % 4 == 0) {
            scene.shape.bias = scene.bias.data();
            scene.shape.bias_reach = Scene::kBiasReach;
            scene.shape.is_causal = rows % 8 == 0;
        }
        check_equal_bits(scene);
    }
}

TEST_CASE("attention has the reference's bits for numbers that overflow, vanish or are none", "[kernels][short]") {
    const AttentionShape shape{.query_heads = 2, .kv_heads = 1, .key_width = 48, .value_width = 80, .scale = 1.0F};
    const float strange[] = {std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN(),
                             -std::numeric_limits<float>::max(),
                             std::numeric_limits<float>::denorm_min(),
                             -0.0F,
                             1e-39F,
                             3e38F};
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        const DType dtypes[] = {DType::f32, DType::bf16, DType::q8_0, DType::f8_e4m3};
        Scene scene(shape, dtypes[seed % 4], 300, seed % 3 == 0 ? 2 : 50, seed);
        test::Random generator(seed);
        const float value = strange[seed % 7];
        for (int i = 0; i < 3; ++i) {
            scene.key_values[generator.bits() % scene.key_values.size()] = value;
            scene.value_values[generator.bits() % scene.value_values.size()] = value;
            scene.queries[generator.bits() % scene.queries.size()] = value;
        }
        if (seed % 5 == 0) {  // scores so small that their weights vanish, or all the same
            for (float& x : scene.queries) x *= seed % 2 == 0 ? 40.0F : 1e-38F;
        }
        scene.place(seed);
        check_equal_bits(scene);
    }
}

TEST_CASE("sequences of one step do not see each other", "[kernels][short]") {
    const AttentionShape shape{.query_heads = 4, .kv_heads = 2, .key_width = 32, .value_width = 32, .scale = 0.2F};
    const Scene a(shape, DType::f16, 100, 3, 1), b(shape, DType::f16, 400, 20, 2);
    SerialFor alone;
    const std::vector<float> ya = a.attend(reference(), alone, 3), yb = b.attend(reference(), alone, 20);
    // Both caches as one: b's pages behind a's.
    std::vector<std::byte> keys = a.key_pages, values = a.value_pages;
    keys.insert(keys.end(), b.key_pages.begin(), b.key_pages.end());
    values.insert(values.end(), b.value_pages.begin(), b.value_pages.end());
    std::vector<std::int32_t> table = b.table;
    for (std::int32_t& page : table) page += static_cast<std::int32_t>(a.table.size());
    AttentionCache cache = a.cache();
    cache.keys.base = keys.data();
    cache.values.base = values.data();
    std::vector<float> queries = b.queries;
    queries.insert(queries.end(), a.queries.begin(), a.queries.end());
    const AttentionSequence sequences[] = {
        {.block_table = table.data(), .first_row = 0, .row_count = 20, .first_position = 380, .key_count = 400},
        {.block_table = a.table.data(), .first_row = 20, .row_count = 3, .first_position = 97, .key_count = 100}};
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        std::vector<float> y(23 * 128);
        auto pool = ThreadPool::create(3);
        attention(*backend.table, **pool, shape, cache, sequences, {queries.data(), 128}, {y.data(), 128});
        CHECK(test::first_difference({y.data(), 20 * 128}, yb) == yb.size());
        CHECK(test::first_difference({y.data() + 20 * 128, 3 * 128}, ya) == ya.size());
    }
}

TEST_CASE("a NaN in a later token's key or value stays with the tokens that see it", "[kernels][short]") {
    const AttentionShape shape{.query_heads = 2, .kv_heads = 1, .key_width = 16, .value_width = 16, .scale = 0.25F};
    Scene scene(shape, DType::f32, 60, 60, 5);
    SerialFor alone;
    const std::vector<float> expected = scene.attend(reference(), alone, 60);
    scene.key_values[40 * 16 + 3] = std::numeric_limits<float>::quiet_NaN();
    scene.value_values[50 * 16 + 3] = std::numeric_limits<float>::infinity();
    scene.place(6);
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        const std::vector<float> y = scene.attend(*backend.table, alone, 60);
        CHECK(test::first_difference({y.data(), 40 * 32}, {expected.data(), 40 * 32}) == 40 * 32);
        for (std::size_t i = 40 * 32; i < y.size(); ++i) CHECK(std::isnan(y[i]));
    }
}

TEST_CASE("a token that sees nothing gives zeros", "[kernels][short]") {
    const AttentionShape shape{.query_heads = 2, .kv_heads = 1, .key_width = 16, .value_width = 16, .scale = 0.25F};
    const Scene scene(shape, DType::f32, 4, 1, 7);
    std::vector<float> y(32, 3.0F);
    const AttentionSequence sequence{
        .block_table = scene.table.data(), .first_row = 0, .row_count = 1, .first_position = 3, .key_count = 0};
    SerialFor alone;
    attention(reference(), alone, shape, scene.cache(), {&sequence, 1}, {scene.queries.data(), 32}, {y.data(), 32});
    CHECK(y == std::vector<float>(32, 0.0F));
}
