// Layers with a state for AVX2: recurrent_body.hpp over lanes_avx2.hpp.
#include "kernels/x86/lanes_avx2.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AVX2

namespace mixtura::avx2 {
namespace {

#include "kernels/lanes/recurrent_body.hpp"

}  // namespace

void fill_recurrent(KernelTable& table) noexcept {
    table.convolve_row = convolve_row;
    table.delta_rule = delta_rule;
}

}  // namespace mixtura::avx2
