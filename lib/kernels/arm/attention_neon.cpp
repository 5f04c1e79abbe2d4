// Attention for NEON: attention_dots_body.hpp and attention_body.hpp over lanes_neon.hpp.
#include "kernels/arm/arm.hpp"
#include "kernels/arm/lanes_neon.hpp"
#include "kernels/cache_row.hpp"
#include "kernels/math.hpp"
#include "kernels/ref/ref.hpp"

#define MIXTURA_BODY_TARGET

namespace mixtura::neon {
namespace {

#include "kernels/lanes/math_body.hpp"
//
#include "kernels/lanes/attention_dots_body.hpp"
//
#include "kernels/lanes/attention_body.hpp"

}  // namespace

void fill_attention(KernelTable& table) noexcept {
    table.attend_split = attend_split;
    table.merge_split = merge_split;
}

}  // namespace mixtura::neon
