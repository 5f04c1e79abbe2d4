// Products of f32, f16, bf16 and scaled panels for AVX2: plain_body.hpp over lanes_avx2.hpp.
#include "kernels/lanes/tiles.hpp"
#include "kernels/x86/lanes_avx2.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AVX2

namespace mixtura::avx2 {
namespace {

#include "kernels/lanes/plain_body.hpp"

constexpr int kTokensMax = 5;  // ten accumulators, two weights, one activation: 13 of 16 registers

template <DType kDType>
void product(const PanelProduct& p) noexcept {
    static constexpr detail::TileFunction kTwo[2 + 1] = {nullptr, plain_tile<kDType, 2, 1>, plain_tile<kDType, 2, 2>};
    static constexpr detail::TileFunction kOne[kTokensMax + 1] = {nullptr,
                                                                  plain_tile<kDType, 1, 1>,
                                                                  plain_tile<kDType, 1, 2>,
                                                                  plain_tile<kDType, 1, 3>,
                                                                  plain_tile<kDType, 1, 4>,
                                                                  plain_tile<kDType, 1, 5>};
    const std::int64_t pairs = p.token_count <= 2 ? p.panel_count / 2 * 2 : 0;
    detail::run_tiles<2>(kTwo, p, 2, 0, pairs);
    detail::run_tiles<kTokensMax>(kOne, p, 1, pairs, p.panel_count);
}

}  // namespace

void fill_plain_products(KernelTable& table) noexcept {
    table.product[product_index(DType::f32)] = product<DType::f32>;
    table.product[product_index(DType::f16)] = product<DType::f16>;
    table.product[product_index(DType::bf16)] = product<DType::bf16>;
    table.product[product_index(DType::f8_e4m3_32)] = product<DType::f8_e4m3_32>;
    table.product[product_index(DType::f8_e4m3_128)] = product<DType::f8_e4m3_128>;
    table.product[product_index(DType::nf4)] = product<DType::nf4>;
}

}  // namespace mixtura::avx2
