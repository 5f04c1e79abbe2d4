// Products of f32, f16, bf16 and scaled panels for AVX-512: plain_body.hpp over lanes_avx512.hpp.
#include "kernels/lanes/tiles.hpp"
#include "kernels/x86/lanes_avx512.hpp"
#include "kernels/x86/x86.hpp"

#define MIXTURA_BODY_TARGET MIXTURA_TARGET_AVX512

namespace mixtura::avx512 {
namespace {

#include "kernels/lanes/plain_body.hpp"

constexpr int kTokensMax = 12;

// Two panels by 12 tokens are 24 accumulators of 32 registers; four panels by few tokens give enough chains.
template <DType kDType>
void product(const PanelProduct& p) noexcept {
    static constexpr detail::TileFunction kFour[4 + 1] = {nullptr, plain_tile<kDType, 4, 1>, plain_tile<kDType, 4, 2>,
                                                          plain_tile<kDType, 4, 3>, plain_tile<kDType, 4, 4>};
    static constexpr detail::TileFunction kTwo[kTokensMax + 1] = {nullptr,
                                                                  plain_tile<kDType, 2, 1>,
                                                                  plain_tile<kDType, 2, 2>,
                                                                  plain_tile<kDType, 2, 3>,
                                                                  plain_tile<kDType, 2, 4>,
                                                                  plain_tile<kDType, 2, 5>,
                                                                  plain_tile<kDType, 2, 6>,
                                                                  plain_tile<kDType, 2, 7>,
                                                                  plain_tile<kDType, 2, 8>,
                                                                  plain_tile<kDType, 2, 9>,
                                                                  plain_tile<kDType, 2, 10>,
                                                                  plain_tile<kDType, 2, 11>,
                                                                  plain_tile<kDType, 2, 12>};
    static constexpr detail::TileFunction kOne[kTokensMax + 1] = {nullptr,
                                                                  plain_tile<kDType, 1, 1>,
                                                                  plain_tile<kDType, 1, 2>,
                                                                  plain_tile<kDType, 1, 3>,
                                                                  plain_tile<kDType, 1, 4>,
                                                                  plain_tile<kDType, 1, 5>,
                                                                  plain_tile<kDType, 1, 6>,
                                                                  plain_tile<kDType, 1, 7>,
                                                                  plain_tile<kDType, 1, 8>,
                                                                  plain_tile<kDType, 1, 9>,
                                                                  plain_tile<kDType, 1, 10>,
                                                                  plain_tile<kDType, 1, 11>,
                                                                  plain_tile<kDType, 1, 12>};
    std::int64_t first = 0;
    if (p.token_count <= 4) {
        const std::int64_t last = p.panel_count / 4 * 4;
        detail::run_tiles<4>(kFour, p, 4, first, last);
        first = last;
    }
    const std::int64_t last = p.panel_count / 2 * 2;
    detail::run_tiles<kTokensMax>(kTwo, p, 2, first, last);
    detail::run_tiles<kTokensMax>(kOne, p, 1, last, p.panel_count);
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

}  // namespace mixtura::avx512
