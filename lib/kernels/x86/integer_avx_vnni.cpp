// Products of integer formats for AVX-VNNI: integer_body_256.hpp.
#include "kernels/lanes/tiles.hpp"
#include "kernels/x86/isa.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AVX_VNNI
#define MIXTURA_BODY_VNNI 1
#define MIXTURA_BODY_DPBUSD _mm256_dpbusd_avx_epi32

namespace mixtura::avx_vnni {
namespace {

#include "kernels/x86/integer_body_256.hpp"

}  // namespace

void fill_integer_products(KernelTable& table) noexcept { fill_integer(table); }

}  // namespace mixtura::avx_vnni
