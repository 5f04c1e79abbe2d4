// Products of f32, f16, bf16 and scaled panels for NEON: plain_body.hpp over lanes_neon.hpp.
#include "kernels/arm/arm.hpp"
#include "kernels/arm/lanes_neon.hpp"
#include "kernels/lanes/tiles.hpp"

#define MIXTURA_BODY_TARGET

namespace mixtura::neon {
namespace {

#include "kernels/lanes/plain_body.hpp"

constexpr int kTokensMax = 5;  // twenty accumulators, four weights, four activations: 28 of 32 registers

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

}  // namespace mixtura::neon
