// exp, tanh and erf on sixteen lanes: math.hpp, step by step.  Included once per instruction set, inside its namespace,
// after its Lanes, with MIXTURA_BODY_TARGET defined; so this file has no include guard.

#define MIXTURA_BODY MIXTURA_BODY_TARGET MIXTURA_ALWAYS_INLINE

template <int kCount>
MIXTURA_BODY Lanes horner(const float (&c)[kCount], Lanes u) {
    Lanes p = broadcast(c[kCount - 1]);
    MIXTURA_UNROLL
    for (int i = kCount - 2; i >= 0; --i) p = fma(p, u, broadcast(c[i]));
    return p;
}

MIXTURA_BODY Lanes exp(Lanes x) {
    x = larger(broadcast(detail::kExpLowest32), x);
    x = smaller(broadcast(detail::kExpHighest32), x);
    const Lanes shifted = fma(x, broadcast(detail::kLog2E32), broadcast(detail::kRound32));
    const Lanes n = sub(shifted, broadcast(detail::kRound32));
    Lanes r = negated_fma(n, broadcast(detail::kLn2High32), x);
    r = negated_fma(n, broadcast(detail::kLn2Low32), r);
    Lanes p = horner(detail::kExp32, r);
    p = fma(p, r, broadcast(1.0F));
    p = fma(p, r, broadcast(1.0F));
    return times_power_of_two(p, shifted, detail::kRound32);
}

MIXTURA_BODY Lanes tanh(Lanes x) {
    const Lanes square = mul(x, x);
    const Lanes small = fma(mul(x, square), horner(detail::kTanh32, square), x);
    const Lanes size = magnitude(x);
    const Lanes e = exp(mul(broadcast(-2.0F), size));
    const Lanes large = with_sign_of(div(sub(broadcast(1.0F), e), add(broadcast(1.0F), e)), x);
    return select(is_less(size, broadcast(detail::kTanhSplit32)), small, large);
}

MIXTURA_BODY Lanes erf(Lanes x) {
    const Lanes small = fma(x, horner(detail::kErf32, mul(x, x)), x);
    const Lanes size = magnitude(x);
    const Lanes bounded = smaller(broadcast(detail::kErfOne32), size);
    const Lanes large = with_sign_of(sub(broadcast(1.0F), exp(negate(horner(detail::kErfTail32, bounded)))), x);
    return select(is_less(size, broadcast(detail::kErfSplit32)), small, large);
}

#undef MIXTURA_BODY
