#include "weights/placed_memory.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <numeric>

#include "kernels/activation_block.hpp"
#include "kernels/backend.hpp"
#include "kernels/matmul.hpp"
#include "kernels/unpack.hpp"
#include "parallel/thread_pool.hpp"
#include "support/tensors.hpp"
#include "support/topologies.hpp"
#include "support/weights.hpp"

using namespace mixtura;

namespace {

struct Matrix {
    DType dtype;
    std::int64_t rows, columns;
};
// Whole panels and not, fewer panels than nodes, a format that stays as the file has it, and none at all.
const std::vector<Matrix> kMatrices{{DType::q4_k, 768, 512}, {DType::f32, 37, 50},   {DType::q8_0, 1, 64},
                                    {DType::bf16, 16, 32},   {DType::q5_0, 40, 64},  {DType::iq2_s, 75, 256},
                                    {DType::f16, 0, 32},     {DType::mxfp4, 500, 96}};

Extent extent_of(const Matrix& matrix) {
    return {packed_bytes(matrix.dtype, matrix.rows, matrix.columns).value(), panel_count(matrix.rows),
            panel_bytes(matrix.dtype, matrix.columns)};
}

// The matrices with something whole behind each.
std::vector<Extent> extents() {
    std::vector<Extent> all;
    for (const Matrix& matrix : kMatrices) {
        all.push_back(extent_of(matrix));
        all.push_back({100 * all.size()});
    }
    return all;
}

std::uint64_t sum(std::span<const std::uint64_t> bytes) {
    return std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0});
}

// Which node the system was asked to take an address from.
struct System {
    std::map<const std::byte*, std::pair<const std::byte*, int>> stretches;
    PlaceMemory place = [this](std::span<std::byte> memory, int node) {
        stretches[memory.data()] = {memory.data() + memory.size(), node};
        return true;
    };
    int node_of(const std::byte* first, std::size_t bytes) const {
        const auto after = stretches.upper_bound(first);
        REQUIRE(after != stretches.begin());
        const auto& [end, node] = std::prev(after)->second;
        REQUIRE(first + bytes <= end);
        return node;
    }
};

}  // namespace

TEST_CASE("each panel lies on one node, that of its share, and the bytes add up", "[weights][short]") {
    for (const Topology& topology : test::made_up_topologies()) {
        System system;
        const std::vector<Extent> all = extents();
        const auto memory = PlacedMemory::allocate(all, {topology, system.place});
        REQUIRE(memory);
        std::uint64_t total = 0;
        for (const Extent& extent : all) total += extent.size_bytes;
        CHECK(memory->size_bytes() == total);
        CHECK(sum(memory->node_bytes()) == total);
        const std::vector<std::uint64_t> forecast = bytes_of_nodes(all, topology);
        CHECK(std::equal(forecast.begin(), forecast.end(), memory->node_bytes().begin(), memory->node_bytes().end()));

        std::map<int, std::uint64_t> found;
        std::map<const std::byte*, const std::byte*> taken;
        const auto take = [&](const std::byte* first, std::size_t bytes) {
            if (bytes == 0) return;
            found[system.node_of(first, bytes)] += bytes;
            CHECK(taken.emplace(first, first + bytes).second);
        };
        for (std::size_t m = 0; m < kMatrices.size(); ++m) {
            const Extent& extent = all[2 * m];
            const Place place = (*memory)[2 * m];
            CHECK(reinterpret_cast<std::uintptr_t>(place.data) % AlignedBuffer::kAlignmentBytes == 0);
            REQUIRE(place.parts.size() == static_cast<std::size_t>(extent.panel_count > 0 ? topology.node_count() : 0));
            for (std::int64_t panel = 0; panel < extent.panel_count; ++panel) {
                const PanelRun run = panel_run(place.parts, extent.panel_bytes, panel, panel + 1);
                const std::uint64_t before = static_cast<std::uint64_t>(panel * extent.panel_bytes);
                const std::byte* first = place.data + run.offset_bytes;
                if (panel == 0) CHECK(first == place.data);
                const auto bytes = static_cast<std::size_t>(
                    std::min(extent.size_bytes - before, static_cast<std::uint64_t>(extent.panel_bytes)));
                take(first, bytes);
                int owner = 0;
                while (topology.share_begin(owner + 1, extent.panel_count, 2) <= panel) ++owner;
                CHECK(system.node_of(first, bytes) == topology.nodes()[static_cast<std::size_t>(owner)].id);
            }
            take((*memory)[2 * m + 1].data, static_cast<std::size_t>(all[2 * m + 1].size_bytes));
            CHECK((*memory)[2 * m + 1].parts.empty());
        }
        for (auto next = taken.begin(); next != taken.end(); ++next)
            if (std::next(next) != taken.end()) CHECK(next->second <= std::next(next)->first);
        for (int node = 0; node < topology.node_count(); ++node) {
            const auto index = static_cast<std::size_t>(node);
            CHECK(found[topology.nodes()[index].id] == memory->node_bytes()[index]);
        }
    }
}

TEST_CASE("large weights take several arenas, and small ones share pages", "[weights][short]") {
    const Topology topology = test::made_up_nodes({1, 1});
    System system;
    const Extent large{200 << 20, 100 << 4, 128 << 10}, small{4096, 16, 256};
    const auto memory =
        PlacedMemory::allocate(std::vector<Extent>{large, small, large, small, small}, {topology, system.place});
    REQUIRE(memory);
    CHECK(system.stretches.size() == 4);
    const auto second_part = [&](std::size_t extent) {
        const std::int64_t panel = (*memory)[extent].parts[1].first_panel;
        return (*memory)[extent].data + panel_run((*memory)[extent].parts, 256, panel, 16).offset_bytes;
    };
    CHECK((*memory)[4].data == (*memory)[3].data + 2048);
    CHECK(second_part(4) == second_part(3) + 2048);
}

TEST_CASE("weights of a size that cannot be are refused, on one node and on several", "[weights][short]") {
    for (const Topology& topology : {Topology(), test::made_up_nodes({1, 9})}) {
        for (const std::uint64_t bytes : {~std::uint64_t{0}, std::uint64_t{1} << 63}) {
            const std::vector<Extent> lie{{100}, {bytes}, {100}};
            CHECK(PlacedMemory::allocate(lie, {topology}).status().code() == StatusCode::out_of_host_memory);
        }
    }
}

TEST_CASE("with one node nothing is cut, placed or asked for", "[weights][short]") {
    const std::vector<Extent> all = extents();
    const auto memory = PlacedMemory::allocate(all, {{}, [](std::span<std::byte>, int) {
                                                         FAIL("nothing is to be placed");
                                                         return false;
                                                     }});
    REQUIRE(memory);
    CHECK(memory->node_bytes().empty());
    const std::byte* at = (*memory)[0].data;
    for (std::size_t i = 0; i < all.size(); ++i) {
        CHECK((*memory)[i].parts.empty());
        CHECK((*memory)[i].data == at);
        at += (all[i].size_bytes + 63) / 64 * 64;
    }
    CHECK(memory->held_bytes() == static_cast<std::uint64_t>(at - (*memory)[0].data));
}

TEST_CASE("where the system refuses, weights lie somewhere and count for no node", "[weights][short]") {
    const std::vector<Extent> all = extents();
    const Topology topology = test::made_up_nodes({1, 1, 1});
    const auto refused = PlacedMemory::allocate(all, {topology, [](std::span<std::byte>, int) { return false; }});
    REQUIRE(refused);
    CHECK(sum(refused->node_bytes()) == 0);
    const auto partly =
        PlacedMemory::allocate(all, {topology, [](std::span<std::byte>, int node) { return node != 2; }});
    REQUIRE(partly);
    const std::vector<std::uint64_t> forecast = bytes_of_nodes(all, topology);
    CHECK(partly->node_bytes()[0] == forecast[0]);
    CHECK(partly->node_bytes()[1] == 0);
    CHECK(partly->node_bytes()[2] == forecast[2]);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].panel_count == 0) std::memset((*refused)[i].data, 1, static_cast<std::size_t>(all[i].size_bytes));
}

TEST_CASE("rows packed into parts are the rows packed in one piece, and come out again", "[weights][short]") {
    for (const Topology& topology : test::made_up_topologies()) {
        for (const Matrix& matrix : kMatrices) {
            const Extent extent = extent_of(matrix);
            const std::vector<std::byte> rows = test::random_weights(matrix.dtype, matrix.rows, matrix.columns, 7);
            std::vector<std::byte> whole(static_cast<std::size_t>(extent.size_bytes));
            pack_rows(matrix.dtype, rows.data(), matrix.rows, matrix.columns, whole.data());
            const auto memory = PlacedMemory::allocate(std::vector{extent}, {topology});
            REQUIRE(memory);
            const Place place = (*memory)[0];
            // In pieces, as a loader does.
            constexpr std::int64_t kPieceRows = 5 * kPanelRows;
            for (std::int64_t row = 0; row < matrix.rows; row += kPieceRows) {
                const auto row_bytes = static_cast<std::int64_t>(rows.size()) / matrix.rows;
                pack_rows(place, matrix.dtype, rows.data() + row * row_bytes, row,
                          std::min(row + kPieceRows, matrix.rows), matrix.columns);
            }
            for (std::int64_t panel = 0; panel < extent.panel_count; ++panel) {
                const std::int64_t before = panel * extent.panel_bytes;
                const auto bytes = std::min(extent.panel_bytes, static_cast<std::int64_t>(whole.size()) - before);
                const PanelRun run = panel_run(place.parts, extent.panel_bytes, panel, panel + 1);
                CHECK(std::memcmp(place.data + run.offset_bytes, whole.data() + before,
                                  static_cast<std::size_t>(bytes)) == 0);
            }
            const auto row_of = [&](const std::byte* data, std::span<const PanelPart> parts, std::int64_t row) {
                std::vector<float> values(static_cast<std::size_t>(matrix.columns));
                unpack_row({matrix.dtype, matrix.rows, matrix.columns, data, parts}, row, values.data());
                return values;
            };
            for (std::int64_t row = 0; row < matrix.rows; ++row) {
                const std::vector<float> expected = row_of(whole.data(), {}, row);
                CHECK(test::first_difference(row_of(place.data, place.parts, row), expected) == expected.size());
            }
        }
    }
}

TEST_CASE("a product with a matrix in parts has the bits of one in one piece", "[weights][short][threads]") {
    const KernelTable& kernels = *(*choose_backend())->table;
    for (const Topology& topology : test::made_up_topologies()) {
        const auto pool = *ThreadPool::create(3, topology);
        for (const Matrix& matrix : kMatrices) {
            const Extent extent = extent_of(matrix);
            const std::vector<std::byte> rows = test::random_weights(matrix.dtype, matrix.rows, matrix.columns, 3);
            std::vector<std::byte> whole(static_cast<std::size_t>(extent.size_bytes));
            pack_rows(matrix.dtype, rows.data(), matrix.rows, matrix.columns, whole.data());
            const auto memory = PlacedMemory::allocate(std::vector{extent}, {topology});
            REQUIRE(memory);
            const Place place = (*memory)[0];
            pack_rows(place, matrix.dtype, rows.data(), 0, matrix.rows, matrix.columns);
            for (const std::int64_t tokens : {1, 5, 100}) {
                const std::vector<float> x = test::random_activations(tokens, matrix.columns, 4);
                std::vector<ActivationBlock> blocks(x.size() / kBlockColumns + 1);
                MatmulInput input{x.data(), matrix.columns, nullptr, 0, tokens};
                if (reads_blocks(matrix.dtype)) {
                    input.blocks_stride = matrix.columns / kBlockColumns;
                    quantise_activations(kernels, *pool, x.data(), matrix.columns, tokens, matrix.columns,
                                         blocks.data(), input.blocks_stride);
                    input.blocks = blocks.data();
                }
                const auto product = [&](const std::byte* data, std::span<const PanelPart> parts) {
                    std::vector<float> y(static_cast<std::size_t>(tokens * matrix.rows));
                    matmul(kernels, *pool, {matrix.dtype, matrix.rows, matrix.columns, data, parts}, input, y.data(),
                           matrix.rows);
                    return y;
                };
                const std::vector<float> expected = product(whole.data(), {});
                INFO(dtype_name(matrix.dtype) << ", " << tokens << " tokens");
                CHECK(test::first_difference(product(place.data, place.parts), expected) == expected.size());
            }
        }
    }
}
