#include "model/sequence_capacity.hpp"

#include <algorithm>
#include <vector>

namespace mixtura {

Status drop_beyond(std::int64_t capacity, std::span<const StepSequence> sequences, RoutePlan& plan) {
    std::vector<std::int64_t> load;
    for (const StepSequence& part : sequences) {
        load.assign(static_cast<std::size_t>(plan.experts), 0);
        for (std::int64_t row = part.first_row; row < part.first_row + part.row_count; ++row) {
            std::int32_t* const ids = plan.expert_ids.data() + row * plan.choices;
            float* const weights = plan.weights.data() + row * plan.choices;
            const std::int64_t count = plan.experts_of_token[static_cast<std::size_t>(row)];
            std::int64_t kept = 0;
            for (std::int64_t j = 0; j < count; ++j) {
                if (load[static_cast<std::size_t>(ids[j])]++ >= capacity) continue;
                ids[kept] = ids[j];
                weights[kept++] = weights[j];
            }
            std::fill(ids + kept, ids + count, -1);
            std::fill(weights + kept, weights + count, 0.0F);
            plan.counters.dropped += count - kept;
        }
    }
    return plan.group(plan.experts);
}

}  // namespace mixtura
