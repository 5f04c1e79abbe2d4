// A host's changes to what the checkpoint asks of its routers, for one Generation or Batch.
#include "base/error.hpp"
#include "engine/generation_state.hpp"

namespace mixtura {

Result<std::vector<RouterPolicy>> settled_policies(const ModelSpec& spec, const GenerationOptions& options) {
    std::vector<RouterPolicy> policies;
    if (!options.change_router) return policies;
    policies.resize(spec.layers.size());
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
        if (!spec.layers[l].mixture) continue;
        const RouterSpec& router = spec.layers[l].mixture->router;
        policies[l] = router.policy;
        MIXTURA_RETURN_IF_ERROR(options.change_router(static_cast<std::int64_t>(l), router, policies[l]));
        if (policies[l].capacity_factor) {
            return error(StatusCode::unsupported, "the router of layer ", l, " is given a capacity of ",
                         *policies[l].capacity_factor,
                         ", expected none: what fits would hang on how the tokens are cut into steps");
        }
        const Status status = Router::check(policies[l], router.expert_count);
        if (!status.is_ok()) return error(status.code(), "the router of layer ", l, ": ", status.message());
    }
    return policies;
}

}  // namespace mixtura
