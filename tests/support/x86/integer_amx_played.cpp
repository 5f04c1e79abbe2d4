// The integer products of AMX with tiles that are played: the body of lib/kernels/x86/integer_amx.cpp.
#include "kernels/x86/integer_parts_512.hpp"
#include "kernels/x86/x86.hpp"
#include "support/played_tiles.hpp"
#include "support/x86/test_products.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AVX512_VNNI

namespace mixtura::amx {
namespace {

using Tiles = test::PlayedTiles;

#include "kernels/x86/integer_body_amx.hpp"

}  // namespace
}  // namespace mixtura::amx

void mixtura::test::fill_played_amx_products(KernelTable& table) noexcept { amx::fill_integer<false>(table); }
