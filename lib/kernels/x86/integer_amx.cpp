// Products of integer formats for AMX: integer_body_amx.hpp.  No processor with AMX was at hand: what follows was
// compiled and read as instructions, and the body ran with tiles that the tests play; these tiles never ran.
#include "kernels/x86/amx_tiles.hpp"
#include "kernels/x86/integer_parts_512.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AMX

namespace mixtura::amx {
namespace {

using Tiles = ProcessorTiles;

#include "kernels/x86/integer_body_amx.hpp"

}  // namespace

void fill_integer_products(KernelTable& table) noexcept { fill_integer<true>(table); }
void fill_integer_products_unchecked(KernelTable& table) noexcept { fill_integer<false>(table); }

}  // namespace mixtura::amx
