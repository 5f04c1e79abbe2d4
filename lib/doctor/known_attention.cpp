// The attention of the known answers: one sequence whose keys reach into a second split, its last tokens the queries.
//   q = rope(rms_norm(x)), k = rope(layer_norm(x)), both rounded as the cache keeps them; y = attention(q, k, v)
#include <bit>
#include <memory>

#include "base/error.hpp"
#include "doctor/known_answers.hpp"
#include "kernels/attention.hpp"
#include "kernels/cache_row.hpp"
#include "kernels/rope.hpp"
#include "kernels/rows.hpp"
#include "memory/aligned_buffer.hpp"

namespace mixtura {
namespace {

constexpr std::int64_t kKeys = 283, kRows = 5, kQueryHeads = 4, kHeads = 2, kWidth = 48;
constexpr std::int64_t kPages = (kKeys + kCacheBlockTokens - 1) / kCacheBlockTokens;
constexpr std::int64_t kPairs = kWidth / 2;
constexpr float kEpsilon = 1e-6F;

// Streams beside those of the weight formats, whose numbers end below 100.
constexpr std::uint32_t kStream = 1000;
enum Part : std::uint32_t { kQueries, kKeyRows, kValues, kWeights, kBiases, kSinks };

constexpr KnownCache kCaches[] = {{DType::f32, DType::f32, 0xC4E5'806F'01F5'B0AA},
                                  {DType::f16, DType::f16, 0x2705'52F1'756F'9D89},
                                  {DType::bf16, DType::bf16, 0x7DFA'7774'CBF6'D7F1},
                                  {DType::q8_0, DType::q8_0, 0x4D96'6A78'D8EE'A862},
                                  {DType::f16, DType::f8_e4m3, 0xEB3C'7704'997C'C147}};

struct Scene {
    std::vector<float> queries;          // [kRows, kQueryHeads, kWidth]
    std::vector<float> keys, values;     // [kKeys, kHeads, kWidth]
    std::vector<float> weights, biases;  // [kWidth]
    std::vector<float> sinks;            // [kQueryHeads]
};

// The tables of cosines and sines for positions [first, first + count).
struct Turns {
    std::vector<float> cosines, sines;  // [count, kPairs]

    Turns(std::int64_t first, std::int64_t count)
        : cosines(static_cast<std::size_t>(count * kPairs)), sines(cosines.size()) {
        std::vector<std::int32_t> positions;
        for (std::int64_t t = 0; t < count; ++t) positions.push_back(static_cast<std::int32_t>(first + t));
        std::vector<float> frequencies(kPairs, 1.0F);
        for (std::size_t i = 1; i < frequencies.size(); ++i) frequencies[i] = 0.75F * frequencies[i - 1];
        SerialFor alone;
        rope_table(alone, positions.data(), count, frequencies.data(), kPairs, 1.0F, cosines.data(), sines.data());
    }
};

// One plane of the cache: pages in reverse order, so that a kernel that ignores the table is found out.
struct Plane {
    Plane(const KernelTable& kernels, DType dtype, const std::vector<float>& rows)
        : row_bytes(cache_row_bytes(dtype, kWidth)), bytes(static_cast<std::size_t>(kPages * page_bytes())) {
        for (std::int64_t p = 0; p < kKeys; ++p) {
            for (std::int64_t h = 0; h < kHeads; ++h) {
                std::byte* const row = bytes.data() + (kPages - 1 - p / kCacheBlockTokens) * page_bytes() +
                                       h * head_bytes() + p % kCacheBlockTokens * row_bytes;
                kernels.store_row(dtype, rows.data() + (p * kHeads + h) * kWidth, kWidth, row);
            }
        }
    }

    std::int64_t head_bytes() const noexcept { return kCacheBlockTokens * row_bytes; }
    std::int64_t page_bytes() const noexcept { return kHeads * head_bytes(); }
    PagedRows view() const noexcept { return {bytes.data(), page_bytes(), row_bytes}; }

    std::int64_t row_bytes;
    std::vector<std::byte> bytes;
};

void turn(const KernelTable& kernels, RopePairing pairing, const Turns& turns, std::int64_t tokens, std::int64_t heads,
          std::vector<float>& x) {
    SerialFor alone;
    rope_rotate(kernels, alone, pairing, turns.cosines.data(), turns.sines.data(), kPairs, x.data(), tokens,
                heads * kWidth, heads, kWidth);
}

void run_on(const Scene& scene, const KnownCache& known, const KernelTable& kernels, KnownAnswer& answer) {
    SerialFor alone;
    std::vector<float> queries(scene.queries.size()), keys(scene.keys.size()), outputs(scene.queries.size());
    rms_norm(kernels, alone, {scene.queries.data(), kWidth}, scene.weights.data(), kEpsilon, kRows * kQueryHeads,
             kWidth, {queries.data(), kWidth});
    layer_norm(kernels, alone, {scene.keys.data(), kWidth}, scene.weights.data(), scene.biases.data(), kEpsilon,
               kKeys * kHeads, kWidth, {keys.data(), kWidth});
    turn(kernels, RopePairing::half, Turns(kKeys - kRows, kRows), kRows, kQueryHeads, queries);
    turn(kernels, RopePairing::interleaved, Turns(0, kKeys), kKeys, kHeads, keys);

    const Plane key_plane(kernels, known.key_dtype, keys), value_plane(kernels, known.value_dtype, scene.values);
    std::int32_t table[kPages];
    for (std::int64_t i = 0; i < kPages; ++i) table[i] = static_cast<std::int32_t>(kPages - 1 - i);
    AttentionShape shape;
    shape.query_heads = kQueryHeads;
    shape.kv_heads = kHeads;
    shape.key_width = shape.value_width = kWidth;
    shape.scale = 0.125F;
    shape.sinks = scene.sinks.data();
    const AttentionCache cache{key_plane.view(),         value_plane.view(), key_plane.head_bytes(),
                               value_plane.head_bytes(), known.key_dtype,    known.value_dtype};
    const AttentionSequence sequence{table, 0, kRows, kKeys - kRows, kKeys};
    attention(kernels, alone, shape, cache, {&sequence, 1}, {queries.data(), kQueryHeads * kWidth},
              {outputs.data(), kQueryHeads * kWidth});
    for (const float number : outputs) answer.push_back(std::bit_cast<std::uint32_t>(number));
}

}  // namespace

std::span<const KnownCache> known_caches() noexcept { return kCaches; }

Result<KnownCase> known_attention(const KnownCache& cache) {
    const auto scene = std::make_shared<Scene>();
    scene->queries = KnownNumbers(kStream, kQueries).numbers(kRows * kQueryHeads * kWidth, 4.0F);
    scene->keys = KnownNumbers(kStream, kKeyRows).numbers(kKeys * kHeads * kWidth, 4.0F);
    scene->values = KnownNumbers(kStream, kValues).numbers(kKeys * kHeads * kWidth, 4.0F);
    scene->weights = KnownNumbers(kStream, kWeights).numbers(kWidth, 2.0F);
    scene->biases = KnownNumbers(kStream, kBiases).numbers(kWidth, 1.0F);
    scene->sinks = KnownNumbers(kStream, kSinks).numbers(kQueryHeads, 2.0F);
    const bool is_pair = cache.key_dtype != cache.value_dtype;
    return KnownCase{text("attention over a cache in ", dtype_name(cache.key_dtype), is_pair ? " and " : "",
                          is_pair ? dtype_name(cache.value_dtype) : ""),
                     cache.attention_checksum, [scene, cache](const KernelTable& kernels, KnownAnswer& answer) {
                         run_on(*scene, cache, kernels, answer);
                         return Status();
                     }};
}

}  // namespace mixtura
