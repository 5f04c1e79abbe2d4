// Structures that more than one file translates between C and C++.
#pragma once

#include <functional>

#include "arguments.hpp"
#include "handles.hpp"

namespace mixtura::capi {

SamplingOptions sampling_from(const mixtura_sampling_options* options);
mixtura_sampling_options sampling_to(const SamplingOptions& options);
StopOptions stop_from(const mixtura_request& request);
GenerationOptions generation_options_from(const mixtura_generation_options* options);
// What a callback answered: 0 is "go on".
inline Flow flow_from(int answer) { return answer == 0 ? Flow::go_on : Flow::stop; }
std::function<Flow(std::int64_t, std::int64_t, const RoutePlan&)> route_from(mixtura_on_route on_route,
                                                                             void* user_data);
CacheDTypes cache_dtypes_from(std::int32_t choice);  // MIXTURA_CACHE_…; 0: f16

// `likeliest` gets what the result points to.
mixtura_sampled sampled_to(const Sampled& sampled, std::vector<mixtura_token_logprob>& likeliest);
mixtura_answer answer_to(const GenerationResult& result);

RouterPolicy policy_from(const mixtura_router_policy& policy);
// `mask`, borrowed: the policy's as bytes.
mixtura_router_policy policy_to(const RouterPolicy& policy, const std::vector<std::uint8_t>& mask);
mixtura_route_view view_of(const RoutePlan& plan);

mixtura_model_facts facts_to(const ModelFacts& facts);
std::string lines_of(std::span<const std::string> texts);

// The rows of a tensor without gaps: its own, or a copy in `storage`.  INVALID_ARGUMENT where it is not of `shape`.
const void* dense_rows(const mixtura_tensor& tensor, std::span<const std::int64_t> shape, const std::string& name,
                       std::vector<std::byte>& storage);

}  // namespace mixtura::capi
