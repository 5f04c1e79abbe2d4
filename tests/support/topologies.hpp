// Machines with several NUMA nodes that do not exist: their processors are none that threads could be kept on.
#pragma once

#include <vector>

#include "parallel/topology.hpp"

namespace mixtura::test {

inline Topology made_up_nodes(const std::vector<int>& cpu_counts) {
    constexpr int kFirstCpu = 5000;
    std::vector<NumaNode> nodes;
    int next = kFirstCpu;
    for (const int count : cpu_counts) {
        NumaNode node{static_cast<int>(2 * nodes.size()), {}};
        for (int i = 0; i < count; ++i) node.cpus.push_back(next++);
        nodes.push_back(std::move(node));
    }
    return Topology(std::move(nodes));
}

// Two nodes and three, even and not, one of them without processors.
inline std::vector<Topology> made_up_topologies() {
    return {made_up_nodes({4, 4}), made_up_nodes({1, 5}), made_up_nodes({2, 2, 2}), made_up_nodes({6, 1, 2}),
            made_up_nodes({3, 0, 3})};
}

}  // namespace mixtura::test
