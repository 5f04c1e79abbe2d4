// Functions of rows for NEON: rows_body.hpp over lanes_neon.hpp.
#include "kernels/arm/arm.hpp"
#include "kernels/arm/lanes_neon.hpp"
#include "kernels/cache_row.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/math.hpp"
#include "kernels/ref/ref.hpp"

#define MIXTURA_BODY_TARGET

namespace mixtura::neon {
namespace {

#include "kernels/lanes/math_body.hpp"
//
#include "kernels/lanes/rows_body.hpp"

}  // namespace

void fill_rows(KernelTable& table) noexcept {
    table.quantise_row = quantise_row;
    table.rms_norm_row = rms_norm_row;
    table.layer_norm_row = layer_norm_row;
    table.softmax_row = softmax_row;
    table.activate = activate;
    table.activate_gated = activate_gated;
    table.add = add_row;
    table.add_scaled = add_scaled;
    table.scale = scale;
    table.divide = divide;
    table.rotate = rotate;
    table.store_row = store_row;
}

}  // namespace mixtura::neon
