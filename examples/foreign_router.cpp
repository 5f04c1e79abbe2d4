// A host that keeps its own attention and takes only the mixture: a Router and an ExpertPool made from bare tensors,
// with no model file anywhere.  Hidden states in, a plan of who computes what, the mixed output out.
#include <mixtura/expert_pool.hpp>
#include <mixtura/router.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::int64_t kTokens = 48, kHidden = 64, kWidth = 128, kExperts = 8, kChosen = 2;

// Stands for whatever the host has computed or loaded: the same numbers everywhere, in [-scale, scale).
std::vector<float> numbers(std::int64_t count, float scale, std::uint64_t seed) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        value = scale * (static_cast<float>(seed >> 40) * 0x1p-23F - 1.0F);
    }
    return values;
}

// Every failure is a value with one sentence: what, where, expected, found.
int complain(const mixtura::Status& status) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(status.message().size()), status.message().data());
    return 1;
}

}  // namespace

int main() {
    // The router: a gate [E, H] and the policy of the checkpoint it came from.
    const std::vector<float> gate = numbers(kExperts * kHidden, 0.5F, 1);
    mixtura::RouterSpec router_spec{.hidden_size = kHidden, .expert_count = kExperts};
    router_spec.policy.top_k = kChosen;
    router_spec.policy.renormalise = true;
    mixtura::RouterWeights router_weights;
    router_weights.gate = {gate.data(), mixtura::DType::f32};
    const auto router = mixtura::Router::create(router_weights, router_spec);
    if (!router) return complain(router.status());

    // The experts: three matrices each, packed for this processor into memory of the pool's own.
    const std::vector<float> experts = numbers(kExperts * 3 * kWidth * kHidden, 0.1F, 2);
    mixtura::ExpertWeights expert_weights;
    for (std::int64_t e = 0; e < kExperts; ++e) {
        const float* matrices = experts.data() + e * 3 * kWidth * kHidden;
        mixtura::ExpertTensors tensors;
        tensors.gate = {matrices, mixtura::DType::f32};
        tensors.up = {matrices + kWidth * kHidden, mixtura::DType::f32};
        tensors.down = {matrices + 2 * kWidth * kHidden, mixtura::DType::f32};
        expert_weights.experts.push_back(tensors);
    }
    const mixtura::ExpertSpec expert_spec{.hidden_size = kHidden, .expert_count = kExperts, .width = kWidth};
    const auto pool = mixtura::ExpertPool::create(expert_weights, expert_spec, {.thread_count = 2});
    if (!pool) return complain(pool.status());

    // Route, look at the plan, change the policy for one call if you like, and run it.
    const std::vector<float> hidden = numbers(kTokens * kHidden, 1.0F, 3);
    std::vector<float> output(hidden.size());
    mixtura::RoutePlan plan;
    if (const auto status = router->route(hidden, router->policy(), {}, plan); !status.is_ok()) return complain(status);
    for (std::size_t e = 0; e < plan.counters.load.size(); ++e)
        std::printf("expert %zu takes %2lld of %lld choices\n", e, static_cast<long long>(plan.counters.load[e]),
                    static_cast<long long>(kTokens * kChosen));
    if (const auto status = pool->run(hidden, plan, output); !status.is_ok()) return complain(status);

    double checksum = 0;  // of bits that are the same on every processor and with any number of threads
    for (const float y : output) checksum += std::fabs(static_cast<double>(y));
    std::printf("checksum %.9f over %llu bytes of weights\n", checksum,
                static_cast<unsigned long long>(pool->weight_bytes()));
    return 0;
}
