// Attention for AVX-512: attention_dots_body.hpp and attention_body.hpp over lanes_avx512.hpp.
#include "kernels/cache_row.hpp"
#include "kernels/math.hpp"
#include "kernels/x86/lanes_avx512.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AVX512

namespace mixtura::avx512 {
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

}  // namespace mixtura::avx512
