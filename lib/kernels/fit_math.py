#!/usr/bin/env python3
"""The polynomials of math.hpp: minimax fits by Remez exchange, coefficients rounded to the precision they are used in.
Writes math_coefficients.hpp.  Needs: mpmath 1.3.  Usage: python3 lib/kernels/fit_math.py > lib/kernels/math_coefficients.hpp

Each fit is P(u) close to g(u) on an interval, where the weighted error w(u) * |P(u) - g(u)| is the relative error of the
function that math.hpp builds from P.  Rounding goes from the lowest power up: after a coefficient is rounded it is held and
the others are fitted again, so that they take up what the rounding took away."""
import struct
from mpmath import mp, mpf, matrix, lu_solve, exp, log, sin, cos, tanh, erf, erfc, sqrt, pi, ln

mp.dps = 60


def rounded(x, bits):
    return mpf(struct.unpack("<f", struct.pack("<f", float(x)))[0]) if bits == 32 else mpf(float(x))


def remez(g, w, lo, hi, powers):
    """Coefficients for the given powers, and the largest weighted error."""
    n = len(powers)
    nodes = [(lo + hi) / 2 - (hi - lo) / 2 * cos(pi * i / n) for i in range(n + 1)]
    eps = (hi - lo) / 10**9  # g is 0/0 at 0; stay off the point itself
    nodes = [x if abs(x) > eps else eps for x in nodes]
    grid = [lo + (hi - lo) * i / 1200 for i in range(1201)]
    grid = [x if abs(x) > eps else eps for x in grid]
    gw = [(x, g(x), w(x)) for x in grid]
    for _ in range(30):
        a, b = matrix(n + 1, n + 1), matrix(n + 1, 1)
        for i, x in enumerate(nodes):
            for j, p in enumerate(powers):
                a[i, j] = x**p
            a[i, n] = (-1) ** i / w(x)
            b[i] = g(x)
        solution = lu_solve(a, b)
        c = [solution[j] for j in range(n)]
        error = [(x, wx * (sum(cj * x**p for cj, p in zip(c, powers)) - gx)) for x, gx, wx in gw]
        # the largest error of each run of one sign
        peaks = []
        for x, e in error:
            if peaks and (peaks[-1][1] > 0) == (e > 0):
                if abs(e) > abs(peaks[-1][1]):
                    peaks[-1] = (x, e)
            else:
                peaks.append((x, e))
        while len(peaks) > n + 1:
            peaks.pop(0 if abs(peaks[0][1]) < abs(peaks[-1][1]) else -1)
        worst = max(abs(e) for _, e in error)
        if len(peaks) < n + 1 or worst <= abs(solution[n]) * mpf("1.0001"):
            break
        nodes = [x for x, _ in peaks]
    return c, worst


def fit(name, comment, g, w, lo, hi, degree, bits):
    lo, hi = mpf(lo), mpf(hi)
    powers, held = list(range(degree + 1)), []
    while powers:
        taken = list(held)
        rest = lambda u: g(u) - sum(c * u**p for p, c in taken)
        c, _ = remez(rest, w, lo, hi, powers)
        held.append((powers[0], rounded(c[0], bits)))
        powers = powers[1:]
    grid = [lo + (hi - lo) * (i + mpf("0.5")) / 2000 for i in range(2000)]
    worst = max(abs(w(u) * (sum(c * u**p for p, c in held) - g(u))) for u in grid)
    kind, suffix = ("float", "F") if bits == 32 else ("double", "")
    print(f"// {comment}  Relative error 2^{float(log(worst, 2)):.1f}.")
    print(f"inline constexpr {kind} {name}[] = {{")
    for _, c in held:
        print(f"    {float(c).hex()}{suffix},")
    print("};")


print("""// The polynomials of math.hpp, lowest power first.  Written by fit_math.py (Remez exchange); change that, not this.
#pragma once

namespace mixtura::detail {
""")
half_ln2 = ln(2) / 2 * mpf("1.001")  # the reduction may miss the middle by a rounding
fit("kExp32", "e^r = 1 + r + r^2 P(r), |r| <= ln 2 / 2.", lambda r: (exp(r) - 1 - r) / r**2, lambda r: r**2 / exp(r), -half_ln2, half_ln2, 4, 32)
fit("kExp64", "e^r = 1 + r + r^2 P(r), |r| <= ln 2 / 2.", lambda r: (exp(r) - 1 - r) / r**2, lambda r: r**2 / exp(r), -half_ln2, half_ln2, 9, 64)
s_max = (sqrt(2) - 1) / (sqrt(2) + 1) * mpf("1.001")
fit("kLog64", "ln((1 + s) / (1 - s)) = 2 s + s z P(z), z = s^2, |s| <= (sqrt 2 - 1) / (sqrt 2 + 1).",
    lambda z: (log((1 + sqrt(z)) / (1 - sqrt(z))) - 2 * sqrt(z)) / (sqrt(z) * z),
    lambda z: sqrt(z) * z / log((1 + sqrt(z)) / (1 - sqrt(z))), 0, s_max**2, 6, 64)
quarter = (pi / 4 * mpf("1.001")) ** 2
fit("kSin64", "sin r = r + r z P(z), z = r^2, |r| <= pi / 4.", lambda z: (sin(sqrt(z)) - sqrt(z)) / (sqrt(z) * z),
    lambda z: sqrt(z) * z / sin(sqrt(z)), 0, quarter, 5, 64)
fit("kCos64", "cos r = 1 - z / 2 + z^2 P(z), z = r^2, |r| <= pi / 4.", lambda z: (cos(sqrt(z)) - 1 + z / 2) / z**2,
    lambda z: z**2 / cos(sqrt(z)), 0, quarter, 5, 64)
fit("kTanh32", "tanh x = x + x z P(z), z = x^2, |x| <= 0.6.", lambda z: (tanh(sqrt(z)) - sqrt(z)) / (sqrt(z) * z),
    lambda z: sqrt(z) * z / tanh(sqrt(z)), 0, mpf("0.361"), 4, 32)
fit("kErf32", "erf x = x + x P(z), z = x^2, |x| <= 1.", lambda z: erf(sqrt(z)) / sqrt(z) - 1,
    lambda z: sqrt(z) / erf(sqrt(z)), 0, mpf("1.001"), 6, 32)
fit("kErfTail32", "erf x = 1 - e^-P(x), 1 <= x <= 4.", lambda x: -log(erfc(x)), lambda x: erfc(x) / erf(x), mpf("0.999"), mpf("4.01"), 6, 32)
print("""
}  // namespace mixtura::detail""")
