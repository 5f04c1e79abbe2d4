// The functions of rows on sixteen lanes, as ref/rows_ref.cpp has them step by step.  Included once per instruction
// set, inside its namespace, after its Lanes and math_body.hpp, with MIXTURA_BODY_TARGET defined; so this file has no
// include guard.  Lanes beyond a row's end are never stored and never reach a sum.

#define MIXTURA_BODY MIXTURA_BODY_TARGET static
#define MIXTURA_BODY_INLINE MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE

MIXTURA_BODY_INLINE float sum_row(const float* x, std::int64_t count) {
    Lanes sum = broadcast(0.0F);
    std::int64_t k = 0;
    for (; k + 16 <= count; k += 16) sum = add(sum, load(x + k));
    if (k < count) {
        const Mask rest = first_lanes(count - k);
        sum = select(rest, add(sum, load_first(x + k, rest)), sum);
    }
    return tree_sum(sum);
}

MIXTURA_BODY_INLINE float sum_of_squares_row(const float* x, std::int64_t count, float center) {
    const Lanes c = broadcast(center);
    Lanes sum = broadcast(0.0F);
    std::int64_t k = 0;
    for (; k + 16 <= count; k += 16) {
        const Lanes difference = sub(load(x + k), c);
        sum = fma(difference, difference, sum);
    }
    if (k < count) {
        const Mask rest = first_lanes(count - k);
        const Lanes difference = sub(load_first(x + k, rest), c);
        sum = select(rest, fma(difference, difference, sum), sum);
    }
    return tree_sum(sum);
}

MIXTURA_BODY_INLINE float max_row(const float* x, std::int64_t count) {
    const Lanes lowest = broadcast(-__builtin_inff());
    Lanes largest = lowest;
    std::int64_t k = 0;
    for (; k + 16 <= count; k += 16) largest = larger(load(x + k), largest);
    if (k < count) {
        const Mask rest = first_lanes(count - k);
        largest = larger(select(rest, load_first(x + k, rest), lowest), largest);
    }
    return largest_lane(largest) + 0.0F;
}

MIXTURA_BODY_INLINE float inverse_root(float x) { return 1.0F / square_root(x); }

MIXTURA_BODY void quantise_row(const float* x, std::int64_t columns, ActivationBlock* blocks) noexcept {
    for (std::int64_t b = 0; b < columns / 32; ++b) {
        const Quantised block = quantise(x + 32 * b, kActivationTiny, blocks[b].q);
        set_sums(blocks[b], block.d, block.sum_low, block.sum_high);
    }
}

MIXTURA_BODY void rms_norm_row(const float* x, const float* weight, float epsilon, std::int64_t columns,
                               float* y) noexcept {
    const float mean = sum_of_squares_row(x, columns, 0.0F) / static_cast<float>(columns);
    const Lanes inverse = broadcast(inverse_root(mean + epsilon));
    std::int64_t k = 0;
    for (; k + 16 <= columns; k += 16) {
        const Lanes scaled = mul(load(x + k), inverse);
        store(y + k, weight != nullptr ? mul(scaled, load(weight + k)) : scaled);
    }
    if (k == columns) return;
    const Mask rest = first_lanes(columns - k);
    const Lanes scaled = mul(load_first(x + k, rest), inverse);
    store_first(y + k, rest, weight != nullptr ? mul(scaled, load_first(weight + k, rest)) : scaled);
}

MIXTURA_BODY void layer_norm_row(const float* x, const float* weight, const float* bias, float epsilon,
                                 std::int64_t columns, float* y) noexcept {
    const float mean = sum_row(x, columns) / static_cast<float>(columns);
    const float variance = sum_of_squares_row(x, columns, mean) / static_cast<float>(columns);
    const Lanes center = broadcast(mean), inverse = broadcast(inverse_root(variance + epsilon));
    for (std::int64_t k = 0; k < columns; k += 16) {
        const Mask lanes = first_lanes(columns - k < 16 ? columns - k : 16);
        const Lanes scaled = mul(sub(load_first(x + k, lanes), center), inverse);
        const Lanes w = weight != nullptr ? load_first(weight + k, lanes) : broadcast(1.0F);
        const Lanes b = bias != nullptr ? load_first(bias + k, lanes) : broadcast(0.0F);
        store_first(y + k, lanes, fma(scaled, w, b));
    }
}

MIXTURA_BODY void softmax_row(const float* x, std::int64_t columns, float* y) noexcept {
    const Lanes maximum = broadcast(max_row(x, columns));
    for (std::int64_t k = 0; k < columns; k += 16) {
        const Mask lanes = first_lanes(columns - k < 16 ? columns - k : 16);
        store_first(y + k, lanes, exp(sub(load_first(x + k, lanes), maximum)));
    }
    const Lanes sum = broadcast(sum_row(y, columns));
    for (std::int64_t k = 0; k < columns; k += 16) {
        const Mask lanes = first_lanes(columns - k < 16 ? columns - k : 16);
        store_first(y + k, lanes, div(load_first(y + k, lanes), sum));
    }
}

// elementwise.hpp, step by step.
template <Activation kKind>
MIXTURA_BODY_INLINE Lanes activation(Lanes x) {
    const Lanes one = broadcast(1.0F);
    if constexpr (kKind == Activation::silu) return div(x, add(one, exp(negate(x))));
    if constexpr (kKind == Activation::gelu_erf) {
        return mul(mul(broadcast(0.5F), x), add(one, erf(mul(x, broadcast(kRootHalf32)))));
    }
    if constexpr (kKind == Activation::gelu_tanh) {
        const Lanes u = fma(mul(broadcast(kGeluCubic32), mul(x, x)), x, x);
        return div(x, add(one, exp(negate(mul(broadcast(kGeluSlope32), u)))));
    }
    if constexpr (kKind == Activation::quick_gelu) {
        return div(x, add(one, exp(negate(mul(broadcast(kQuickGelu32), x)))));
    }
    if constexpr (kKind == Activation::relu) return larger(broadcast(0.0F), x);
    if constexpr (kKind == Activation::sigmoid) return div(one, add(one, exp(negate(x))));
}

template <Activation kKind>
MIXTURA_BODY void activate_row(const float* x, const float* up, std::int64_t count, float* y) noexcept {
    for (std::int64_t k = 0; k < count; k += 16) {
        const Mask lanes = first_lanes(count - k < 16 ? count - k : 16);
        const Lanes activated = activation<kKind>(load_first(x + k, lanes));
        store_first(y + k, lanes, up != nullptr ? mul(activated, load_first(up + k, lanes)) : activated);
    }
}

MIXTURA_BODY void activate_any(Activation kind, const float* x, const float* up, std::int64_t count,
                               float* y) noexcept {
    switch (kind) {
        case Activation::silu: return activate_row<Activation::silu>(x, up, count, y);
        case Activation::gelu_erf: return activate_row<Activation::gelu_erf>(x, up, count, y);
        case Activation::gelu_tanh: return activate_row<Activation::gelu_tanh>(x, up, count, y);
        case Activation::quick_gelu: return activate_row<Activation::quick_gelu>(x, up, count, y);
        case Activation::relu: return activate_row<Activation::relu>(x, up, count, y);
        case Activation::sigmoid: return activate_row<Activation::sigmoid>(x, up, count, y);
    }
}

MIXTURA_BODY void activate(Activation kind, const float* x, std::int64_t count, float* y) noexcept {
    activate_any(kind, x, nullptr, count, y);
}

MIXTURA_BODY void activate_gated(const GatedActivation& gated, const float* gate, const float* up, std::int64_t count,
                                 float* y) noexcept {
    if (!(gated.limit > 0.0F)) return activate_any(gated.kind, gate, up, count, y);
    const Lanes limit = broadcast(gated.limit), lowest = broadcast(-gated.limit), one = broadcast(1.0F);
    for (std::int64_t k = 0; k < count; k += 16) {
        const Mask lanes = first_lanes(count - k < 16 ? count - k : 16);
        const Lanes g = smaller(limit, load_first(gate + k, lanes));
        const Lanes u = larger(lowest, smaller(limit, load_first(up + k, lanes)));
        const Lanes glu = div(g, add(one, exp(negate(mul(broadcast(gated.alpha), g)))));
        store_first(y + k, lanes, mul(add(u, one), glu));
    }
}

MIXTURA_BODY void add_row(const float* a, const float* b, std::int64_t count, float* y) noexcept {
    for (std::int64_t k = 0; k < count; k += 16) {
        const Mask lanes = first_lanes(count - k < 16 ? count - k : 16);
        store_first(y + k, lanes, add(load_first(a + k, lanes), load_first(b + k, lanes)));
    }
}

MIXTURA_BODY void add_scaled(const float* x, float factor, std::int64_t count, float* y) noexcept {
    const Lanes f = broadcast(factor);
    for (std::int64_t k = 0; k < count; k += 16) {
        const Mask lanes = first_lanes(count - k < 16 ? count - k : 16);
        store_first(y + k, lanes, fma(f, load_first(x + k, lanes), load_first(y + k, lanes)));
    }
}

MIXTURA_BODY void scale(const float* x, float factor, std::int64_t count, float* y) noexcept {
    const Lanes f = broadcast(factor);
    for (std::int64_t k = 0; k < count; k += 16) {
        const Mask lanes = first_lanes(count - k < 16 ? count - k : 16);
        store_first(y + k, lanes, mul(f, load_first(x + k, lanes)));
    }
}

MIXTURA_BODY void divide(const float* x, float divisor, std::int64_t count, float* y) noexcept {
    const Lanes d = broadcast(divisor);
    for (std::int64_t k = 0; k < count; k += 16) {
        const Mask lanes = first_lanes(count - k < 16 ? count - k : 16);
        store_first(y + k, lanes, div(load_first(x + k, lanes), d));
    }
}

MIXTURA_BODY_INLINE void turn(Lanes& a, Lanes& b, Lanes c, Lanes s) {
    const Lanes turned = negated_fma(b, s, mul(a, c));
    b = fma(a, s, mul(b, c));
    a = turned;
}

MIXTURA_BODY void rotate(RopePairing pairing, const float* cosines, const float* sines, std::int64_t pair_count,
                         float* x) noexcept {
    std::int64_t i = 0;
    if (pairing == RopePairing::half) {
        for (; i < pair_count; i += 16) {
            const Mask lanes = first_lanes(pair_count - i < 16 ? pair_count - i : 16);
            Lanes a = load_first(x + i, lanes), b = load_first(x + pair_count + i, lanes);
            turn(a, b, load_first(cosines + i, lanes), load_first(sines + i, lanes));
            store_first(x + i, lanes, a);
            store_first(x + pair_count + i, lanes, b);
        }
        return;
    }
    for (; i + 16 <= pair_count; i += 16) {
        Lanes a, b;
        load_pairs(x + 2 * i, a, b);
        turn(a, b, load(cosines + i), load(sines + i));
        store_pairs(x + 2 * i, a, b);
    }
    if (i == pair_count) return;
    float rest[32] = {};
    const std::int64_t count = pair_count - i;
    for (std::int64_t k = 0; k < 2 * count; ++k) rest[k] = x[2 * i + k];
    const Mask lanes = first_lanes(count);
    Lanes a, b;
    load_pairs(rest, a, b);
    turn(a, b, load_first(cosines + i, lanes), load_first(sines + i, lanes));
    store_pairs(rest, a, b);
    for (std::int64_t k = 0; k < 2 * count; ++k) x[2 * i + k] = rest[k];
}

MIXTURA_BODY void store_q8(const float* x, std::int64_t count, std::byte* out) noexcept {
    std::int64_t k = 0;
    for (; k + kQ8Elements <= count; k += kQ8Elements, out += kQ8BlockBytes)
        store_f16_first(out, quantise(x + k, kActivationTiny, reinterpret_cast<std::int8_t*>(out + kQ8ScaleBytes)).d);
    if (k < count) ref::store_row(DType::q8_0, x + k, count - k, out);
}

MIXTURA_BODY void store_f8(const float* x, std::int64_t count, std::byte* out) noexcept {
    Lanes largest = broadcast(0.0F);
    for (std::int64_t k = 0; k < count; k += 16)
        largest = larger_bits(largest, magnitude(load_first(x + k, first_lanes(count - k < 16 ? count - k : 16))));
    const ref::F8Scale scale = ref::f8_scale(largest_bits(largest));
    __builtin_memcpy(out, &scale.scale, sizeof scale.scale);
    out += kF8ScaleBytes;
    if (scale.inverse == 0.0F) {
        __builtin_memset(out, 0, static_cast<std::size_t>(count));
        return;
    }
    const Lanes inverse = broadcast(scale.inverse);
    std::int64_t k = 0;
    for (; k + 16 <= count; k += 16) store_e4m3(out + k, mul(load(x + k), inverse));
    if (k == count) return;
    std::byte last[16];
    store_e4m3(last, mul(load_first(x + k, first_lanes(count - k)), inverse));
    __builtin_memcpy(out + k, last, static_cast<std::size_t>(count - k));
}

MIXTURA_BODY void store_row(DType dtype, const float* x, std::int64_t count, std::byte* out) noexcept {
    if (dtype == DType::q8_0) return store_q8(x, count, out);
    if (dtype == DType::f8_e4m3) return store_f8(x, count, out);
    std::int64_t k = 0;
    if (dtype == DType::f16) {
        for (; k + 16 <= count; k += 16) store_f16(out + 2 * k, load(x + k));
    } else if (dtype == DType::bf16) {
        for (; k + 16 <= count; k += 16) store_bf16(out + 2 * k, load(x + k));
    }
    const std::int64_t element_bytes = dtype == DType::f32 ? 4 : 2;
    ref::store_row(dtype, x + k, count - k, out + k * element_bytes);
}

#undef MIXTURA_BODY_INLINE
#undef MIXTURA_BODY
