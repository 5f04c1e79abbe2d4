// Products of integer formats for AVX2: integer_body_256.hpp.
#include "kernels/lanes/tiles.hpp"
#include "kernels/x86/isa.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AVX2
#define MIXTURA_BODY_VNNI 0

namespace mixtura::avx2 {
namespace {

#include "kernels/x86/integer_body_256.hpp"

}  // namespace

void fill_integer_products(KernelTable& table) noexcept { fill_integer(table); }

}  // namespace mixtura::avx2
