// Every back-end against the scalar reference, for equal bits: products of every format, quantisation, functions of
// rows, attention, layers with a state.  The first byte chooses which, the others shapes and numbers
// (kernel_input.hpp).
#include <algorithm>
#include <cstring>

#include "fuzz/kernel_input.hpp"
#include "kernels/backend.hpp"
#include "kernels/cache_row.hpp"
#include "kernels/matmul.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/ref/ref.hpp"
#include "kernels/unpack.hpp"
#include "support/attention_scene.hpp"
#include "support/product_tables.hpp"
#include "support/tensors.hpp"

namespace {

using namespace mixtura;
using test::KernelInput;
using test::Misplaced;

const KernelTable& reference() { return *backends()[0].table; }

void expect_equal(std::span<const float> a, std::span<const float> b) {
    if (test::first_difference(a, b) != b.size()) __builtin_trap();
}

// compute(kernels, y) on every back-end of this machine; y starts as `start`, and all of it is compared.
template <class Compute>
void compare(std::span<const float> start, std::int64_t offset, const Compute& compute) {
    const FpEnvironment guard;
    Misplaced<float> expected(start, offset);
    compute(reference(), expected.data());
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        Misplaced<float> y(start, offset);
        compute(*backend.table, y.data());
        expect_equal(y.view(), expected.view());
    }
}

constexpr std::int64_t kStepsMax = 1 << 16;  // of one product or attention: a millisecond of the reference, or some

// Every row out of the panels against the file's, decoded.
void check_unpacked(DType dtype, std::span<const std::byte> file_rows, const std::byte* panels, std::int64_t rows,
                    std::int64_t columns) {
    std::vector<float> unpacked(static_cast<std::size_t>(columns)), decoded = unpacked;
    const FpEnvironment guard;
    for (std::int64_t row = 0; row < rows; ++row) {
        unpack_row({dtype, rows, columns, panels}, row, unpacked.data());
        decoder(dtype)(
            file_rows.data() + file_rows.size() / static_cast<std::size_t>(rows) * static_cast<std::size_t>(row),
            decoded.data(), decoded.size() / static_cast<std::size_t>(dtype_info(dtype).block_elements));
        expect_equal(unpacked, decoded);
    }
}

void check_product(KernelInput& in) {
    static const std::vector<DType> dtypes = test::multipliable_dtypes();
    const DType dtype = dtypes[in.byte() % dtypes.size()];
    const std::int64_t unit = dtype_info(dtype).block_elements, rows = in.number(1, 70);
    const bool is_integer = reads_blocks(dtype);
    const std::int64_t columns = is_integer ? std::max<std::int64_t>(unit, 32) * in.number(1, 4)
                                            : unit * in.number(1, std::max<std::int64_t>(4, 530 / unit));
    const std::int64_t tokens = std::min(in.number(1, 110), std::max<std::int64_t>(1, kStepsMax / (rows * columns)));
    const Misplaced<std::byte> file_rows{in.weights(dtype, rows, columns), in.number(0, 3)};
    const std::int64_t gap = in.number(0, 3), y_stride = rows + in.number(0, 3), at_once = in.number(1, tokens);
    const std::vector<float> x = in.floats(tokens * columns);

    std::vector<float> expected(static_cast<std::size_t>(tokens * rows));
    ref::matmul_file_rows(dtype, file_rows.view().data(), rows, columns, x.data(), tokens, expected.data());
    std::vector<float> spread(static_cast<std::size_t>((tokens - 1) * y_stride + rows), -77.0F);
    for (std::int64_t t = 0; t < tokens; ++t)
        std::copy_n(expected.data() + t * rows, rows, spread.data() + t * y_stride);

    Misplaced<std::byte> panels(static_cast<std::int64_t>(packed_bytes(dtype, rows, columns).value()), std::byte{0xFF},
                                in.number(0, 3));
    pack_rows(dtype, file_rows.view().data(), rows, columns, panels.data());
    check_unpacked(dtype, file_rows.view(), panels.data(), rows, columns);
    const std::int64_t offset = in.number(0, 3), stride = columns + gap, block_count = columns / kBlockColumns;
    Misplaced<float> values((tokens - 1) * stride + columns, std::numeric_limits<float>::quiet_NaN(), offset);
    for (std::int64_t t = 0; t < tokens; ++t) std::copy_n(x.data() + t * columns, columns, values.data() + t * stride);

    SerialFor alone;
    for (const test::ProductTable& kernels : test::product_tables()) {
        std::vector<ActivationBlock> blocks(static_cast<std::size_t>(is_integer ? tokens * block_count : 0));
        if (is_integer) {
            quantise_activations(*kernels.table, alone, values.data(), stride, tokens, columns, blocks.data(),
                                 block_count);
        }
        Misplaced<float> y(static_cast<std::int64_t>(spread.size()), -77.0F, offset);
        for (std::int64_t t = 0; t < tokens; t += at_once) {
            matmul(*kernels.table, alone, {dtype, rows, columns, panels.data()},
                   {.values = is_integer ? nullptr : values.data() + t * stride,
                    .values_stride = stride,
                    .blocks = is_integer ? blocks.data() + t * block_count : nullptr,
                    .blocks_stride = block_count,
                    .token_count = std::min(at_once, tokens - t)},
                   y.data() + t * y_stride, y_stride);
        }
        expect_equal(y.view(), spread);
    }
}

void check_quantised(KernelInput& in) {
    const std::int64_t columns = kBlockColumns * in.number(1, 20);
    Misplaced<float> x{in.floats(columns), in.number(0, 3)};
    const auto count = static_cast<std::size_t>(columns / kBlockColumns);
    std::vector<ActivationBlock> expected(count), blocks(count);
    const FpEnvironment guard;
    reference().quantise_row(x.data(), columns, expected.data());
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        backend.table->quantise_row(x.data(), columns, blocks.data());
        for (std::size_t b = 0; b < count; ++b) {
            const ActivationBlock &a = blocks[b], &e = expected[b];
            const float ours[] = {a.d, a.scaled_sum, a.scaled_sum_low, a.scaled_sum_high};
            const float theirs[] = {e.d, e.scaled_sum, e.scaled_sum_low, e.scaled_sum_high};
            expect_equal(ours, theirs);
            if (std::memcmp(a.q, e.q, sizeof a.q) != 0 || a.start != e.start || a.start_low != e.start_low ||
                a.start_high != e.start_high || a.unused != e.unused)
                __builtin_trap();
        }
    }
}

DType cache_dtype(KernelInput& in) {
    static constexpr DType kDTypes[] = {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::f8_e4m3};
    return kDTypes[in.byte() % std::size(kDTypes)];
}

void check_stored(KernelInput& in) {
    const DType dtype = cache_dtype(in);
    const std::int64_t count = in.number(1, 400), offset = in.number(0, 3);
    Misplaced<float> x{in.floats(count), offset};
    const FpEnvironment guard;
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        Misplaced<std::byte> out(cache_row_bytes(dtype, count), std::byte{0}, offset), expected = out;
        reference().store_row(dtype, x.data(), count, expected.data());
        backend.table->store_row(dtype, x.data(), count, out.data());
        std::vector<float> ours(static_cast<std::size_t>(count)), theirs = ours;  // as floats: NaN payloads may differ
        load_cache_row(dtype, out.data(), 0, count, ours.data());
        load_cache_row(dtype, expected.data(), 0, count, theirs.data());
        expect_equal(ours, theirs);
    }
}

void check_rows(KernelInput& in) {
    const std::uint32_t function = in.byte() % 11;
    const std::int64_t n = in.number(1, 400), offset = in.number(0, 15);
    const bool is_in_place = in.flag(), has_weight = in.flag(), has_bias = in.flag();
    const float epsilon = in.flag() ? 1e-6F : in.special(), factor = in.special();
    const auto kind = static_cast<Activation>(in.byte() % 6);
    const GatedActivation gated{.kind = kind,
                                .limit = in.flag()   ? 7.0F
                                         : in.flag() ? in.special()
                                                     : 0.0F,
                                .alpha = in.flag() ? 1.702F : in.special()};
    Misplaced<float> x{in.floats(n), offset}, w{in.floats(n), in.number(0, 3)}, b{in.floats(n), in.number(0, 3)};
    const float *weight = has_weight ? w.data() : nullptr, *bias = has_bias ? b.data() : nullptr;
    compare(x.view(), offset, [&](const KernelTable& k, float* y) {
        const float* from = is_in_place ? y : x.data();
        switch (function) {
            case 0: return k.rms_norm_row(from, weight, epsilon, n, y);
            case 1: return k.layer_norm_row(from, weight, bias, epsilon, n, y);
            case 2: return k.softmax_row(from, n, y);
            case 3: return k.activate(kind, from, n, y);
            case 4: return k.activate_gated(gated, from, w.data(), n, y);
            case 5: return k.activate_gated(gated, w.data(), from, n, y);
            case 6: return k.add(from, w.data(), n, y);
            case 7: return k.add_scaled(w.data(), factor, n, y);
            case 8: return k.scale(from, factor, n, y);
            case 9: return k.divide(from, factor, n, y);
            default:
                return k.rotate(has_weight ? RopePairing::half : RopePairing::interleaved, w.data(), b.data(), n / 2,
                                y);
        }
    });
}

void check_attention(KernelInput& in) {
    static constexpr std::int64_t kWidths[] = {16, 64, 80, 96, 128, 192, 256, 512, 576, kHeadWidthMax};
    const auto width = [&] { return in.flag() ? in.number(1, 140) : kWidths[in.byte() % std::size(kWidths)]; };
    const std::int64_t kv_heads = in.number(1, 2), group = in.number(1, 12);
    AttentionShape shape{.query_heads = kv_heads * group, .kv_heads = kv_heads};
    shape.key_width = width();
    shape.value_width = width();
    shape.scale = in.flag() ? 0.1F : in.special();
    shape.soft_cap = in.byte() % 4 == 0 ? in.special() : 0.0F;
    shape.is_causal = in.byte() % 8 != 0;
    shape.window_tokens = in.byte() % 4 == 0 ? in.number(1, 300) : 0;
    shape.chunk_tokens = in.byte() % 4 == 0 ? in.number(1, 300) : 0;
    const DType key_dtype = cache_dtype(in), value_dtype = cache_dtype(in);
    // As many queries and keys as the time allows, the queries first.
    const std::int64_t steps = 2 * kStepsMax / ((shape.key_width + shape.value_width) * shape.query_heads);
    const std::int64_t wanted_rows = in.number(1, 70), wanted_keys = in.number(1, 600);
    const std::int64_t rows = std::clamp<std::int64_t>(steps / 16, 1, wanted_rows);
    const std::int64_t keys = std::max(rows, std::min(wanted_keys, steps / rows));
    test::AttentionScene scene(shape, {key_dtype, value_dtype}, keys, rows, in.byte());
    scene.queries = in.floats(static_cast<std::int64_t>(scene.queries.size()));
    scene.key_values = in.floats(static_cast<std::int64_t>(scene.key_values.size()));
    scene.value_values = in.floats(static_cast<std::int64_t>(scene.value_values.size()));
    scene.place(in.byte());
    if (in.flag()) {
        scene.sinks = in.floats(shape.query_heads);
        scene.shape.sinks = scene.sinks.data();
    }
    if (in.flag()) {
        scene.slopes = in.floats(shape.query_heads);
        scene.shape.slopes = scene.slopes.data();
    }
    if (in.flag()) {
        scene.bias = in.floats(static_cast<std::int64_t>(scene.bias.size()));
        scene.shape.bias = scene.bias.data();
        scene.shape.bias_reach = test::AttentionScene::kBiasReach;
    }
    SerialFor alone;
    const std::vector<float> expected = scene.attend(reference(), alone, rows);
    const std::int64_t at_once = in.number(1, rows);
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        expect_equal(scene.attend(*backend.table, alone, rows), expected);
        if (at_once < rows) expect_equal(scene.attend(*backend.table, alone, at_once), expected);
    }
}

void check_recurrent(KernelInput& in) {
    const std::int64_t tokens = in.number(1, 6), keys = in.number(1, 70), values = in.number(1, 70);
    const std::int64_t stride = 2 * keys + values + in.number(0, 3), offset = in.number(0, 3), taps = in.number(1, 6);
    const std::vector<float> inputs = in.floats(tokens * stride), gates = in.floats(2 * tokens);
    const std::vector<float> state = in.floats((values + 15) / 16 * 16 * keys);
    std::vector<float> start = state;  // the outputs behind it
    start.resize(state.size() + static_cast<std::size_t>(tokens * values), -77.0F);
    compare(start, offset, [&](const KernelTable& k, float* y) {
        k.delta_rule({inputs.data(), inputs.data() + keys, inputs.data() + 2 * keys, gates.data(),
                      gates.data() + tokens, y + state.size(), y, stride, values, tokens, keys, values});
    });
    const std::vector<float> weights = in.floats(taps * stride);
    std::vector<const float*> rows;
    for (std::int64_t w = 0; w < taps; ++w) rows.push_back(inputs.data() + w % tokens * stride);
    compare(std::vector<float>(static_cast<std::size_t>(values), -77.0F), offset, [&](const KernelTable& k, float* y) {
        k.convolve_row(rows.data(), weights.data(), stride, taps, values, y);
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    KernelInput in(data, size);
    switch (in.byte() % 8) {
        case 0:
        case 1:
        case 2: check_product(in); break;
        case 3: check_quantised(in); break;
        case 4: check_stored(in); break;
        case 5: check_rows(in); break;
        case 6: check_recurrent(in); break;
        default: check_attention(in); break;
    }
    return 0;
}
