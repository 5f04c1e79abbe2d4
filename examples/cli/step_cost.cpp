#include "cli/step_cost.hpp"

#include <algorithm>
#include <cmath>

namespace mixtura::cli {

StepCost& StepCost::operator+=(const StepCost& other) noexcept {
    integer_ops += other.integer_ops;
    float_ops += other.float_ops;
    bytes += other.bytes;
    return *this;
}

LimitShare limit_share(const StepCost& cost, const MachineRates& rates, double seconds) noexcept {
    const double compute = cost.integer_ops / rates.integer_ops_per_s + cost.float_ops / rates.float_ops_per_s;
    const double reading = cost.bytes / rates.read_bytes_per_s;
    return {reading > compute ? "bandwidth" : "compute", std::max(reading, compute) / seconds};
}

Result<ModelCost> ModelCost::of(const std::string& path, const ModelFacts& facts, CacheDTypes cache_dtype,
                                const WeightMix& weights) {
    // The cache has blocks and a working set; the difference of two lengths is what one token of context takes.
    constexpr std::int64_t kShort = 4096, kLong = 8192;
    const auto short_one = Model::forecast(path, kShort, cache_dtype, weights);
    if (!short_one) return short_one.status();
    const auto long_one = Model::forecast(path, kLong, cache_dtype, weights);
    if (!long_one) return long_one.status();
    const double more = static_cast<double>(long_one->cache_bytes) - static_cast<double>(short_one->cache_bytes);
    return ModelCost(*short_one, facts, more / static_cast<double>(kLong - kShort));
}

void ModelCost::add(const RoleMemory& role, Weights& weights) {
    weights.integer_parameters += static_cast<double>(role.integer_parameter_count);
    weights.float_parameters += static_cast<double>(role.parameter_count - role.integer_parameter_count);
    weights.bytes += static_cast<double>(role.size_bytes);
}

ModelCost::ModelCost(const MemoryForecast& forecast, const ModelFacts& facts, double cache_bytes_per_token)
    : cache_bytes_per_token_(cache_bytes_per_token) {
    Weights experts;
    for (const RoleMemory& role : forecast.roles) {
        // One row of these a token: nothing beside the rest.
        if (role.role == "token_embedding" || role.role == "position_embedding") continue;
        const bool is_expert = role.role.find(".experts.") != std::string::npos;
        add(role, is_expert ? experts : role.role.compare(0, 5, "head.") == 0 ? head_ : dense_);
    }
    expert_bytes_ = experts.bytes;
    const double parameters = experts.integer_parameters + experts.float_parameters;
    if (parameters > 0) chosen_share_ = static_cast<double>(forecast.token.routed_parameters) / parameters;
    routed_ = {experts.integer_parameters * chosen_share_, experts.float_parameters * chosen_share_,
               experts.bytes * chosen_share_};
    // q · k and the weighted sum of values: D steps each.
    attention_ops_per_position_ = 4.0 * static_cast<double>(facts.layer_count) * static_cast<double>(facts.head_count) *
                                  static_cast<double>(facts.head_size);
}

StepCost ModelCost::step(std::int64_t sequences, std::int64_t tokens, std::int64_t position,
                         std::int64_t logit_rows) const {
    const auto s = static_cast<double>(sequences), t = static_cast<double>(tokens), p = static_cast<double>(position);
    const auto rows = static_cast<double>(logit_rows);
    const double all = s * t;
    StepCost cost;
    cost.integer_ops =
        2 * (all * (dense_.integer_parameters + routed_.integer_parameters) + rows * head_.integer_parameters);
    cost.float_ops = 2 * (all * (dense_.float_parameters + routed_.float_parameters) + rows * head_.float_parameters);
    cost.float_ops += attention_ops_per_position_ * s * (t * p + t * (t + 1) / 2);
    cost.bytes = dense_.bytes + expert_bytes_ * (1 - std::pow(1 - chosen_share_, all)) + (rows > 0 ? head_.bytes : 0);
    cost.bytes += cache_bytes_per_token_ * s * (p + t);
    return cost;
}

}  // namespace mixtura::cli
