// Inside x86/ only: the instruction sets a function may be compiled for.  A function that uses intrinsics carries one
// of these attributes, and so does every function it inlines; translation units themselves are built for the baseline,
// so that no inline function of the standard library is ever emitted with wider instructions (the linker might keep
// that copy for everybody).  Inside such functions no lambda and no std call: GCC 12 and clang 14 each refuse one of
// them.
#pragma once

// GCC 12's own header leaves registers undefined on purpose and then warns of it where they are inlined (PR 105593).
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif

#define MIXTURA_TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define MIXTURA_TARGET_AVX_VNNI __attribute__((target("avx2,fma,f16c,avxvnni")))
#define MIXTURA_TARGET_AVX512 __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")))
#define MIXTURA_TARGET_AVX512_VNNI \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")))
#define MIXTURA_TARGET_AMX \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8")))

#define MIXTURA_ALWAYS_INLINE inline __attribute__((always_inline))

// Before a loop over registers: an array of vectors lives in registers only if every index is a constant.
#if defined(__clang__)
#define MIXTURA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MIXTURA_UNROLL _Pragma("GCC unroll 32")
#endif
