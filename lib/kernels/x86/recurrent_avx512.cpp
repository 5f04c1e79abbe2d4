// Layers with a state for AVX-512: recurrent_body.hpp over lanes_avx512.hpp.
#include "kernels/x86/lanes_avx512.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AVX512

namespace mixtura::avx512 {
namespace {

#include "kernels/lanes/recurrent_body.hpp"

}  // namespace

void fill_recurrent(KernelTable& table) noexcept {
    table.convolve_row = convolve_row;
    table.delta_rule = delta_rule;
}

}  // namespace mixtura::avx512
