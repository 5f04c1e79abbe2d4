// Layers with a state for NEON: recurrent_body.hpp over lanes_neon.hpp.
#include "kernels/arm/arm.hpp"
#include "kernels/arm/lanes_neon.hpp"

#define MIXTURA_BODY_TARGET

namespace mixtura::neon {
namespace {

#include "kernels/lanes/recurrent_body.hpp"

}  // namespace

void fill_recurrent(KernelTable& table) noexcept {
    table.convolve_row = convolve_row;
    table.delta_rule = delta_rule;
}

}  // namespace mixtura::neon
