// Products of panels as they lie: codes at their ends, tokens that lie anywhere, widths that fill no piece.
#include <catch2/catch.hpp>
#include <cstring>

#include "kernels/backend.hpp"
#include "kernels/layout.hpp"
#include "parallel/fp_environment.hpp"
#include "support/product_tables.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

constexpr std::int64_t kPanels = 3;

// A byte of codes and group codes, with scales and minimums of 1 (mxfp4: of 2^-1) and zero points of 31.
std::vector<std::byte> panels_of(const IntegerFormat& format, std::int64_t columns, unsigned byte) {
    const IntegerPanel panel = integer_panel(format);
    std::vector<std::byte> bytes(static_cast<std::size_t>(kPanels * panel_bytes(format.dtype, columns)),
                                 static_cast<std::byte>(byte));
    for (std::size_t unit = 0; unit < bytes.size(); unit += static_cast<std::size_t>(panel.unit_bytes)) {
        for (std::int64_t i = 0; i < panel.header_bytes; ++i) {
            const unsigned one = format.has_exponent_scale ? 127U : i % 2 == 0 ? 0U : 0x3CU;
            bytes[unit + static_cast<std::size_t>(i)] = static_cast<std::byte>(i < panel.zero_bytes ? one : 31U);
        }
    }
    return bytes;
}

ActivationBlock block_of(int even, int odd) {
    ActivationBlock block;
    for (int k = 0; k < 32; ++k) block.q[k] = static_cast<std::int8_t>(k % 2 == 0 ? even : odd);
    set_sums(block, 1.0F, 8 * (even + odd), 8 * (even + odd));
    return block;
}

// Tokens in an order that is none, some of them twice; outputs likewise apart.
void check_everywhere(const IntegerFormat& format, std::int64_t columns, std::int64_t tokens,
                      const std::vector<std::byte>& panels, const std::vector<ActivationBlock>& blocks) {
    const std::int64_t row_blocks = columns / kBlockColumns;
    const std::int64_t rows = static_cast<std::int64_t>(blocks.size()) / std::max<std::int64_t>(row_blocks, 1);
    std::vector<const void*> x;
    for (std::int64_t t = 0; t < tokens; ++t) x.push_back(blocks.data() + t * 5 % rows * row_blocks);
    constexpr std::int64_t kStride = kPanels * kPanelRows + 3;
    const auto multiply = [&](const KernelTable& kernels) {
        const FpEnvironment guard;
        std::vector<float> out(static_cast<std::size_t>(tokens * kStride), -77.0F);
        std::vector<float*> y;
        for (std::int64_t t = 0; t < tokens; ++t) y.push_back(out.data() + (tokens - 1 - t) * kStride);
        kernels.product[product_index(format.dtype)]({.panels = panels.data(),
                                                      .panel_bytes = panel_bytes(format.dtype, columns),
                                                      .panel_count = kPanels,
                                                      .columns = columns,
                                                      .x = x.data(),
                                                      .y = y.data(),
                                                      .token_count = tokens,
                                                      .accumulate = false});
        return out;
    };
    const std::vector<float> expected = multiply(*backends()[0].table);
    for (const test::ProductTable& kernels : test::product_tables()) {
        INFO(dtype_name(format.dtype) << " " << kernels.name << " " << columns << " columns, " << tokens << " tokens");
        REQUIRE(test::first_difference(multiply(*kernels.table), expected) == expected.size());
    }
}

}  // namespace

TEST_CASE("the largest and least codes times the largest and least activations have the reference's bits",
          "[kernels][short]") {
    for (const IntegerFormat& format : kIntegerFormats) {
        const std::int64_t columns = format.unit_columns;
        for (const unsigned byte : {0x00U, 0x7FU, 0x80U, 0xFFU}) {
            const std::vector<std::byte> panels = panels_of(format, columns, byte);
            for (const int even : {-127, 0, 127}) {
                for (const int odd : {-127, 127}) {
                    const std::vector<ActivationBlock> blocks(static_cast<std::size_t>(columns / kBlockColumns),
                                                              block_of(even, odd));
                    for (const std::int64_t tokens : {1, 16}) check_everywhere(format, columns, tokens, panels, blocks);
                }
            }
        }
    }
}

TEST_CASE("tokens that lie anywhere, in any number, have the reference's bits at every width", "[kernels][short]") {
    for (const IntegerFormat& format : kIntegerFormats) {
        for (const std::int64_t columns :
             {std::int64_t{0}, format.unit_columns, 2 * format.unit_columns, 256 + format.unit_columns}) {
            std::vector<std::byte> panels = panels_of(format, columns, 0);
            const IntegerPanel panel = integer_panel(format);
            std::uint32_t state = 7;
            const auto next = [&] { return (state = state * 1664525U + 1013904223U) >> 24; };
            for (std::size_t i = 0; i < panels.size(); ++i) {
                if (static_cast<std::int64_t>(i) % panel.unit_bytes >= panel.header_bytes)
                    panels[i] = static_cast<std::byte>(next());
            }
            std::vector<ActivationBlock> blocks;
            for (std::int64_t i = 0; i < std::max<std::int64_t>(7 * columns / kBlockColumns, 1); ++i) {
                const int even = static_cast<int>(next() % 255) - 127, odd = static_cast<int>(next() % 255) - 127;
                blocks.push_back(block_of(even, odd));
            }
            for (const std::int64_t tokens : {1, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33, 96})
                check_everywhere(format, columns, tokens, panels, blocks);
        }
    }
}
