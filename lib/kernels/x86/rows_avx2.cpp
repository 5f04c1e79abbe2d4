// Functions of rows for AVX2: rows_body.hpp over lanes_avx2.hpp.
#include "kernels/cache_row.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/math.hpp"
#include "kernels/ref/ref.hpp"
#include "kernels/x86/lanes_avx2.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AVX2

namespace mixtura::avx2 {
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

}  // namespace mixtura::avx2
