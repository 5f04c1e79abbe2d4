#include "support/played_tiles.hpp"

#include <catch2/catch.hpp>

#include "kernels/layout.hpp"
#include "support/product_tables.hpp"
#if defined(__x86_64__)
#include "kernels/x86/x86.hpp"
#endif

using namespace mixtura;

TEST_CASE("a played tile takes its rows and bytes, and no more", "[kernels][short]") {
    amx::TileShapes shapes;
    shapes.rows[3] = 2;
    shapes.row_bytes[3] = 8;
    std::uint8_t from[40], to[40];
    for (int i = 0; i < 40; ++i) from[i] = static_cast<std::uint8_t>(i + 1);
    std::memset(to, 0xEE, sizeof to);
    test::PlayedTiles tiles;
    tiles.configure(shapes);
    tiles.load<3>(from, 20);
    tiles.store<3>(to, 10);
    tiles.release();
    for (int i = 0; i < 40; ++i) {
        INFO(i);
        CHECK(to[i] == (i < 8 ? i + 1 : i >= 10 && i < 18 ? i + 11 : 0xEE));
    }
}

TEST_CASE("a played product takes signed bytes by unsigned ones and adds to what is there", "[kernels][short]") {
    amx::TileShapes shapes;
    shapes.rows[0] = shapes.rows[1] = 2;             // two tokens
    shapes.rows[2] = 2;                              // eight columns, four a row
    shapes.row_bytes[0] = shapes.row_bytes[2] = 12;  // three rows of weights
    shapes.row_bytes[1] = 8;
    const std::int8_t a[2][8] = {{-127, -127, -127, -127, -127, -127, -127, -127}, {1, -2, 3, -4, 5, -6, 7, -8}};
    std::uint8_t b[2][12];
    for (int k = 0; k < 8; ++k) {
        b[k / 4][k % 4] = 255;
        b[k / 4][4 + k % 4] = static_cast<std::uint8_t>(k);
        b[k / 4][8 + k % 4] = k == 6 ? 200 : 0;
    }
    std::int32_t sums[2][3] = {{1, 2, 3}, {4, 5, 0x7FFF'FFFF}};
    test::PlayedTiles tiles;
    tiles.configure(shapes);
    tiles.load<0>(sums, 12);
    tiles.load<1>(a, 8);
    tiles.load<2>(b, 12);
    tiles.dot<0, 1, 2>();
    tiles.store<0>(sums, 12);
    tiles.release();
    CHECK(sums[0][0] == 1 - 8 * 127 * 255);
    CHECK(sums[0][1] == 2 - 28 * 127);
    CHECK(sums[0][2] == 3 - 127 * 200);
    CHECK(sums[1][0] == 4 - 4 * 255);
    CHECK(sums[1][1] == 5 + (-2 + 6 - 12 + 20 - 30 + 42 - 56));
    CHECK(sums[1][2] == static_cast<std::int32_t>(0x7FFF'FFFFU + 1400U));
}

#if defined(__x86_64__)
namespace {

void last_output_off(const PanelProduct& product) noexcept {
    float& last = product.y[product.token_count - 1][product.panel_count * kPanelRows - 1];
    last += 1.0F + last;
}

}  // namespace

TEST_CASE("tiles agree where every format's bits do, and not where one output of one format is off",
          "[kernels][short]") {
    for (const test::ProductTable& tested : test::product_tables()) {
        const KernelTable& reference = *test::product_tables()[0].table;
        INFO(tested.name);
        CHECK(amx::products_agree(*tested.table, reference));
        for (const IntegerFormat& format : kIntegerFormats) {
            static PanelProductFunction right = nullptr;
            KernelTable table = *tested.table;
            PanelProductFunction& product = table.product[product_index(format.dtype)];
            right = product;
            product = [](const PanelProduct& p) noexcept {
                right(p);
                last_output_off(p);
            };
            CHECK_FALSE(amx::products_agree(table, reference));
        }
    }
}
#endif
