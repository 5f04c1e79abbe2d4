// Inside arm/ only: NEON is part of AArch64's baseline; the dot products of Armv8.2 are not, so functions with them
// carry this attribute.
#pragma once

#include <arm_neon.h>

#if defined(__clang__)
#define MIXTURA_TARGET_DOTPROD __attribute__((target("dotprod")))
#define MIXTURA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define MIXTURA_TARGET_DOTPROD __attribute__((target("arch=armv8.2-a+dotprod")))
#define MIXTURA_UNROLL _Pragma("GCC unroll 32")
#endif

#define MIXTURA_ALWAYS_INLINE inline __attribute__((always_inline))
