// What a step asks of the machine, from the model's headers alone, and what share of the machine's limit a measured
// time is.  `mixtura bench --machine` prints it.
#pragma once

#include <mixtura/machine.hpp>
#include <mixtura/model.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace mixtura::cli {

// Operations: a product and its sum are two.  Norms, rotations, activations and the router's choice are not counted.
struct StepCost {
    double integer_ops = 0;
    double float_ops = 0;
    double bytes = 0;  // of weights, keys and values read from memory

    StepCost& operator+=(const StepCost& other) noexcept;
};

struct LimitShare {
    std::string_view limit;  // "compute" or "bandwidth", whichever needs longer on a perfect machine
    double share = 0;        // the longer of the two times by the measured one
};
// compute = integer ops / V + float ops / F, bandwidth = bytes / B.
LimitShare limit_share(const StepCost& cost, const MachineRates& rates, double seconds) noexcept;

class ModelCost {
  public:
    // Reads headers.  Errors: as Model::forecast.
    static Result<ModelCost> of(const std::string& path, const ModelFacts& facts, CacheDTypes cache_dtype,
                                const WeightMix& weights = {});
    ModelCost(const MemoryForecast& forecast, const ModelFacts& facts, double cache_bytes_per_token);

    // A step of `tokens` tokens of each of `sequences` sequences that hold `position` tokens; `logit_rows` of them get
    // logits.  Attention counts every position before a token's own, whatever windows a layer has.  Of each layer's
    // experts those are read that are chosen at all: E · (1 - (1 - K/E)^n) of E where n tokens choose uniformly.
    StepCost step(std::int64_t sequences, std::int64_t tokens, std::int64_t position, std::int64_t logit_rows) const;

    bool has_experts() const noexcept { return expert_bytes_ > 0; }

  private:
    struct Weights {
        double integer_parameters = 0, float_parameters = 0, bytes = 0;
    };
    static void add(const RoleMemory& role, Weights& weights);

    Weights dense_, head_;  // what every token is multiplied with; what tokens with logits are
    Weights routed_;        // of the experts chosen for one token
    double expert_bytes_ = 0;
    double chosen_share_ = 0;  // K / E
    double attention_ops_per_position_ = 0;
    double cache_bytes_per_token_ = 0;
};

}  // namespace mixtura::cli
