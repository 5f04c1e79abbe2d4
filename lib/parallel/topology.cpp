#include "parallel/topology.hpp"

#include <algorithm>
#include <utility>

#include "parallel/parallel_for.hpp"

namespace mixtura {

Topology::Topology(std::vector<NumaNode> nodes) {
    nodes.erase(std::remove_if(nodes.begin(), nodes.end(), [](const NumaNode& node) { return node.cpus.empty(); }),
                nodes.end());
    if (nodes.size() < 2 || nodes.size() > static_cast<std::size_t>(kNodesMax)) return;
    cpus_before_ = {0};
    for (const NumaNode& node : nodes)
        cpus_before_.push_back(cpus_before_.back() + static_cast<std::int64_t>(node.cpus.size()));
    nodes_ = std::move(nodes);
}

Topology Topology::of_machine() { return Topology(numa_nodes()); }

std::int64_t Topology::share_begin(int node, std::int64_t count, std::int64_t granule) const noexcept {
    if (node == node_count()) return count;
    if (nodes_.empty()) return 0;
    // At most 2^16 processors, and of panels in an address space at most 2^47.
    return count * cpus_before_[static_cast<std::size_t>(node)] / cpus_before_.back() / granule * granule;
}

int Topology::node_of_worker(int worker, int thread_count) const noexcept {
    if (nodes_.empty()) return 0;
    // The middle of the worker's own stretch of the processors in a row.
    const std::int64_t cpu = (2 * std::int64_t{worker} + 1) * cpus_before_.back() / (2 * std::int64_t{thread_count});
    const auto after = std::upper_bound(cpus_before_.begin(), cpus_before_.end(), cpu);
    return static_cast<int>(after - cpus_before_.begin()) - 1;
}

}  // namespace mixtura
