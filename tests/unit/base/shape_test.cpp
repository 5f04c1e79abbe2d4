#include <mixtura/types.hpp>

#include <catch2/catch.hpp>
#include <vector>

using namespace mixtura;

TEST_CASE("a shape is refused when its product does not fit, even behind a zero", "[base][short]") {
    using Extents = std::vector<std::int64_t>;
    CHECK(Shape::from(Extents{2, 3, 4})->element_count() == 24);
    CHECK(Shape::from(Extents{})->element_count() == 1);
    CHECK(Shape::from(Extents{7, 0})->element_count() == 0);
    CHECK_FALSE(Shape::from(Extents{-1}));
    CHECK_FALSE(Shape::from(Extents{std::int64_t{1} << 32, std::int64_t{1} << 32}));
    CHECK_FALSE(Shape::from(Extents{0, std::int64_t{1} << 32, std::int64_t{1} << 32}));
    CHECK_FALSE(Shape::from(Extents(9, 1)));
    CHECK(Shape::from(Extents{2, 3})->to_string() == "[2, 3]");
    CHECK(Shape::from(Extents{})->to_string() == "[]");
}
