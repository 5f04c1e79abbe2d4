// A finished comparison as tables for people and as one JSON object.
#pragma once

#include <mixtura/model.hpp>

#include <string>
#include <vector>

#include "cli/compare_measures.hpp"

namespace mixtura::cli {

struct SideCost {
    std::string name;  // as the command line says it
    std::uint64_t weight_bytes = 0, cache_bytes = 0;
    std::vector<WeightError> weight_errors = {};
    std::vector<double> prefill_rates, decode_rates;  // tokens/s, one of each round
};

struct Comparison {
    std::string token_source;  // "of 'book.txt'"
    LogitComparison logits;
    std::vector<RouteDistance> routes;  // [L]; without tokens where a layer has no routes, or not both sides' experts
    SideCost a, b;
};

// `a`: the model that names the tokens.
std::string comparison_text(const Comparison& comparison, const Model& a);
std::string comparison_json(const Comparison& comparison);

}  // namespace mixtura::cli
