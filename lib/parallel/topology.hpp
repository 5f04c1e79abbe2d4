// The NUMA nodes that threads and weights are spread over.  A pool and the weights it reads are given the same one, so
// that node n of a task list, of a pool and of a matrix are the same node.  A value: tests hand in machines that do not
// exist, and the system calls that such a machine refuses change speed, never results.
#pragma once

#include <cstdint>
#include <vector>

#include "base/machine.hpp"

namespace mixtura {

class Topology {
  public:
    Topology() noexcept = default;  // one node: nothing is pinned, placed or cut
    // Nodes without processors are left out; what remains is one node where there are fewer than 2, or more than
    // kNodesMax, of them.
    explicit Topology(std::vector<NumaNode> nodes);
    static Topology of_machine();

    int node_count() const noexcept { return nodes_.empty() ? 1 : static_cast<int>(nodes_.size()); }
    // Empty where there is one node.
    const std::vector<NumaNode>& nodes() const noexcept { return nodes_; }

    // Of `count` things in a row node n's are [share_begin(n), share_begin(n + 1)): as many as it has of the
    // processors, in whole multiples of `granule`.  share_begin(node_count()) is count.
    std::int64_t share_begin(int node, std::int64_t count, std::int64_t granule) const noexcept;
    // The node that worker `worker` of so many belongs to: in proportion to processors, too.
    int node_of_worker(int worker, int thread_count) const noexcept;

  private:
    // Both empty where there is one node: making such a value allocates nothing, so it cannot fail.
    std::vector<NumaNode> nodes_;
    std::vector<std::int64_t> cpus_before_;  // [node_count + 1]: processors of the nodes in front
};

}  // namespace mixtura
