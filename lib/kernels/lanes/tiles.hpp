// Inside x86/ and arm/ only: what the integer tiles of all instruction sets share: facts of a format as constants, and
// the cutting of tokens into tiles.
#pragma once

#include <bit>
#include <iterator>
#include <utility>

#include "kernels/kernel_table.hpp"
#include "kernels/layout.hpp"

namespace mixtura::detail {

template <DType kDType>
inline constexpr IntegerFormat kFormat = *integer_format(kDType);
template <DType kDType>
inline constexpr IntegerPanel kPanel = integer_panel(kFormat<kDType>);

// Codes with an offset reach the sums lifted to u · 2^kLift = (q + offset) · 2^kLift with offset · 2^kLift = 128, and
// looked-up values as step + 128, codes with a zero point as u - z + 128: so all sums start at ActivationBlock::start,
// and the scale is divided by 2^kLift, which is exact.
template <DType kDType>
inline constexpr bool kHasOffset =
    kFormat<kDType>.offset != 0 || kFormat<kDType>.steps != nullptr || kFormat<kDType>.has_zero_points;
template <DType kDType>
inline constexpr int kLift = kFormat<kDType>.offset == 0
                                 ? 0
                                 : 7 - std::countr_zero(static_cast<unsigned>(kFormat<kDType>.offset));
template <DType kDType>
inline constexpr bool kTwoGroups = kFormat<kDType>.group_columns == 16;

// The values that codes stand for, plus 128, as unsigned bytes.
struct StepTable {
    alignas(16) std::uint8_t bytes[16];
};
template <DType kDType>
constexpr StepTable step_table() noexcept {
    StepTable table{};
    for (int i = 0; i < 16; ++i) {
        table.bytes[i] =
            static_cast<std::uint8_t>(kFormat<kDType>.steps == nullptr ? 0 : kFormat<kDType>.steps[i] + 128);
    }
    return table;
}
template <DType kDType>
inline constexpr StepTable kStepTable = step_table<kDType>();

// Calls tile<n>(panel, columns, x, y, accumulate) for runs of n <= kTokensMax tokens as equal as can be, so that 13
// tokens are 7 and 6, not 12 and 1: a panel is read and unpacked once a run.
using TileFunction = void (*)(const std::byte* panel, std::int64_t panel_bytes, std::int64_t columns,
                              const void* const* x, float* const* y, bool accumulate) noexcept;
template <int kTokensMax>
void run_tiles(const TileFunction (&tiles)[kTokensMax + 1], const PanelProduct& product, std::int64_t panels_at_once,
               std::int64_t first_panel, std::int64_t last_panel) noexcept {
    const std::int64_t runs = (product.token_count + kTokensMax - 1) / kTokensMax;
    for (std::int64_t p = first_panel; p < last_panel; p += panels_at_once) {
        const std::byte* panel = product.panels + p * product.panel_bytes;
        std::int64_t first = 0;
        for (std::int64_t run = 0; run < runs; ++run) {
            const std::int64_t count = (product.token_count - first + runs - run - 1) / (runs - run);
            float* y[kTokensMax];
            for (std::int64_t t = 0; t < count; ++t) y[t] = product.y[first + t] + p * kPanelRows;
            tiles[count](panel, product.panel_bytes, product.columns, product.x + first, y, product.accumulate);
            first += count;
        }
    }
}

// table.product of every integer format, `make` called with its dtype: no set of tiles leaves one out.
template <class Make>
void fill_integer_products(KernelTable& table, Make make) noexcept {
    [&]<std::size_t... kFormats>(std::index_sequence<kFormats...>) {
        ((table.product[product_index(kIntegerFormats[kFormats].dtype)] =
              make.template operator()<kIntegerFormats[kFormats].dtype>()),
         ...);
    }
    (std::make_index_sequence<std::size(kIntegerFormats)>());
}

}  // namespace mixtura::detail
