// Layers with a state on sixteen lanes, as ref/recurrent_ref.cpp has them step by step.  Included once per instruction
// set, inside its namespace, after its Lanes, with MIXTURA_BODY_TARGET defined; so this file has no include guard.

#define MIXTURA_BODY MIXTURA_BODY_TARGET static
#define MIXTURA_BODY_INLINE MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE

MIXTURA_BODY void convolve_row(const float* const* x, const float* weights, std::int64_t stride, std::int64_t taps,
                               std::int64_t count, float* y) noexcept {
    for (std::int64_t c = 0; c < count; c += 16) {
        const Mask lanes = first_lanes(count - c < 16 ? count - c : 16);
        Lanes sum = broadcast(0.0F);
        for (std::int64_t w = 0; w < taps; ++w)
            sum = fma(load_first(x[w] + c, lanes), load_first(weights + w * stride + c, lanes), sum);
        store_first(y + c, lanes, sum);
    }
}

MIXTURA_BODY_INLINE Lanes sum_of_four(const Lanes (&a)[4]) { return add(add(a[0], a[2]), add(a[1], a[3])); }

// One element of the key, in accumulator kSlot: what it adds to what the state recalls, and then its row of the state.
template <int kSlot>
MIXTURA_BODY_INLINE void recall(const float* key, const float* state, std::int64_t i, Lanes (&recalled)[4]) {
    recalled[kSlot] = fma(broadcast(key[i]), load(state + 16 * i), recalled[kSlot]);
}
template <int kSlot>
MIXTURA_BODY_INLINE void renew(const float* query, const float* key, Lanes change, Lanes decay, std::int64_t i,
                               float* state, Lanes (&read)[4]) {
    const Lanes row = fma(broadcast(key[i]), change, mul(load(state + 16 * i), decay));
    store(state + 16 * i, row);
    read[kSlot] = fma(broadcast(query[i]), row, read[kSlot]);
}

// Sixteen value elements over all tokens, so that their part of the state (64 bytes an element of the key) stays in the
// first cache.
MIXTURA_BODY_INLINE void delta_panel(const DeltaRule& rule, std::int64_t first, Mask lanes) {
    float* const state = rule.state + first * rule.key_width;
    const std::int64_t whole = rule.key_width / 4 * 4, rest = rule.key_width - whole;
    for (std::int64_t t = 0; t < rule.token_count; ++t) {
        const float* query = rule.query + t * rule.input_stride;
        const float* key = rule.key + t * rule.input_stride;
        const float* value = rule.value + t * rule.input_stride + first;
        const Lanes zero = broadcast(0.0F), decay = broadcast(rule.decays[t]);
        Lanes recalled[4] = {zero, zero, zero, zero}, read[4] = {zero, zero, zero, zero};
        for (std::int64_t i = 0; i < whole; i += 4) {
            recall<0>(key, state, i, recalled);
            recall<1>(key, state, i + 1, recalled);
            recall<2>(key, state, i + 2, recalled);
            recall<3>(key, state, i + 3, recalled);
        }
        if (rest > 0) recall<0>(key, state, whole, recalled);
        if (rest > 1) recall<1>(key, state, whole + 1, recalled);
        if (rest > 2) recall<2>(key, state, whole + 2, recalled);
        const Lanes kept = mul(sum_of_four(recalled), decay);
        const Lanes change = mul(sub(load_first(value, lanes), kept), broadcast(rule.rates[t]));
        for (std::int64_t i = 0; i < whole; i += 4) {
            renew<0>(query, key, change, decay, i, state, read);
            renew<1>(query, key, change, decay, i + 1, state, read);
            renew<2>(query, key, change, decay, i + 2, state, read);
            renew<3>(query, key, change, decay, i + 3, state, read);
        }
        if (rest > 0) renew<0>(query, key, change, decay, whole, state, read);
        if (rest > 1) renew<1>(query, key, change, decay, whole + 1, state, read);
        if (rest > 2) renew<2>(query, key, change, decay, whole + 2, state, read);
        store_first(rule.output + t * rule.output_stride + first, lanes, sum_of_four(read));
    }
}

MIXTURA_BODY void delta_rule(const DeltaRule& rule) noexcept {
    for (std::int64_t first = 0; first < rule.value_width; first += 16)
        delta_panel(rule, first, first_lanes(rule.value_width - first < 16 ? rule.value_width - first : 16));
}

#undef MIXTURA_BODY_INLINE
#undef MIXTURA_BODY
