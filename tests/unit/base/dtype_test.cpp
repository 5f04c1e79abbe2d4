#include <mixtura/types.hpp>

#include <array>
#include <catch2/catch.hpp>
#include <set>

using namespace mixtura;

namespace {
Shape shape(std::initializer_list<std::int64_t> extents) {
    return *Shape::from(std::span(extents.begin(), extents.size()));
}
}  // namespace

TEST_CASE("every dtype is found again by its name and its number", "[base][short]") {
    std::set<std::string_view> names;
    for (const DTypeInfo& info : all_dtypes()) {
        CHECK(&dtype_info(info.dtype) == &info);
        CHECK(dtype_from_name(info.name) == info.dtype);
        CHECK(info.block_bytes > 0);
        CHECK(names.insert(info.name).second);
    }
    CHECK(names.size() == 53);
    CHECK(dtype_from_name("q9_9") == DType::unknown);
    CHECK(dtype_info(static_cast<DType>(9999)).block_bytes == 0);
}

TEST_CASE("a tensor's bytes follow from its blocks", "[base][short]") {
    CHECK(tensor_size_bytes(DType::f32, shape({3, 5})) == 60U);
    CHECK(tensor_size_bytes(DType::bf16, shape({})) == 2U);
    CHECK(tensor_size_bytes(DType::q4_k, shape({2, 512})) == 2U * 2 * 144);
    CHECK(tensor_size_bytes(DType::f4_e2m1, shape({3, 2})) == 3U);
    CHECK(tensor_size_bytes(DType::f6_e2m3, shape({2, 2})) == 3U);
    CHECK(tensor_size_bytes(DType::f32, shape({0, 7})) == 0U);
}

TEST_CASE("a tensor whose rows are no whole blocks, or whose bytes leave 64 bits, has no size", "[base][short]") {
    CHECK_FALSE(tensor_size_bytes(DType::q4_k, shape({512, 2})));
    CHECK_FALSE(tensor_size_bytes(DType::q8_0, shape({})));
    CHECK_FALSE(tensor_size_bytes(DType::unknown, shape({1})));
    CHECK_FALSE(tensor_size_bytes(DType::f64, shape({std::int64_t{1} << 62})));
}
