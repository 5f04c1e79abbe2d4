// The integer products of AVX-VNNI with the vpdpbusd of AVX-512 on 256 bits, which gives the same numbers under another
// encoding: the body of lib/kernels/x86/integer_avx_vnni.cpp.
#include "kernels/lanes/tiles.hpp"
#include "kernels/x86/isa.hpp"
#include "kernels/x86/x86.hpp"
#include "support/x86/test_products.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AVX512_VNNI
#define MIXTURA_BODY_VNNI 1
#define MIXTURA_BODY_DPBUSD _mm256_dpbusd_epi32

namespace mixtura::avx_vnni {
namespace {

#include "kernels/x86/integer_body_256.hpp"

}  // namespace
}  // namespace mixtura::avx_vnni

void mixtura::test::fill_evex_avx_vnni_products(KernelTable& table) noexcept { avx_vnni::fill_integer(table); }
