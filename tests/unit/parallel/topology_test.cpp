#include "parallel/topology.hpp"

#include <catch2/catch.hpp>
#include <numeric>

#include "parallel/parallel_for.hpp"

using namespace mixtura;

namespace {

NumaNode node(int id, int cpu_count) {
    NumaNode made{id, std::vector<int>(static_cast<std::size_t>(cpu_count))};
    std::iota(made.cpus.begin(), made.cpus.end(), id * 100);
    return made;
}

}  // namespace

TEST_CASE("nodes without processors count as none, and one node as nothing to know", "[parallel][short]") {
    CHECK(Topology().node_count() == 1);
    CHECK(Topology(std::vector{node(3, 8)}).nodes().empty());
    CHECK(Topology(std::vector{node(0, 8), node(1, 0)}).nodes().empty());
    const Topology two(std::vector{node(0, 2), node(1, 0), node(4, 2)});
    REQUIRE(two.node_count() == 2);
    CHECK(two.nodes()[1].id == 4);
    CHECK(Topology(std::vector<NumaNode>(kNodesMax, node(0, 1))).node_count() == kNodesMax);
    CHECK(Topology(std::vector<NumaNode>(kNodesMax + 1, node(0, 1))).node_count() == 1);
    CHECK(Topology::of_machine().node_count() >= 1);
}

TEST_CASE("shares are in proportion to processors and leave nothing out", "[parallel][short]") {
    const Topology even(std::vector{node(0, 4), node(1, 4)}), uneven(std::vector{node(0, 1), node(1, 6), node(2, 1)});
    CHECK(even.share_begin(1, 48, 2) == 24);
    CHECK(even.share_begin(1, 50, 2) == 24);
    CHECK(uneven.share_begin(1, 64, 2) == 8);
    CHECK(uneven.share_begin(2, 64, 2) == 56);
    for (const Topology& topology : {Topology(), even, uneven}) {
        for (const std::int64_t granule : {1, 2, 3}) {
            for (std::int64_t count = 0; count < 70; ++count) {
                CHECK(topology.share_begin(0, count, granule) == 0);
                CHECK(topology.share_begin(topology.node_count(), count, granule) == count);
                for (int n = 0; n < topology.node_count(); ++n) {
                    CHECK(topology.share_begin(n, count, granule) <= topology.share_begin(n + 1, count, granule));
                    CHECK(topology.share_begin(n, count, granule) % granule == 0);
                }
            }
        }
    }
}

TEST_CASE("workers are spread over the nodes as processors are", "[parallel][short]") {
    const auto nodes_of = [](const Topology& topology, int threads) {
        std::vector<int> nodes;
        for (int worker = 0; worker < threads; ++worker) nodes.push_back(topology.node_of_worker(worker, threads));
        return nodes;
    };
    const Topology even(std::vector{node(0, 4), node(1, 4)}), uneven(std::vector{node(0, 2), node(1, 6)});
    CHECK(nodes_of(Topology(), 3) == std::vector<int>{0, 0, 0});
    CHECK(nodes_of(even, 2) == std::vector<int>{0, 1});
    CHECK(nodes_of(even, 4) == std::vector<int>{0, 0, 1, 1});
    CHECK(nodes_of(uneven, 8) == std::vector<int>{0, 0, 1, 1, 1, 1, 1, 1});
    CHECK(nodes_of(uneven, 4) == std::vector<int>{0, 1, 1, 1});
    CHECK(nodes_of(uneven, 16) == std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1});
}
