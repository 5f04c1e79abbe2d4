#include "real/real_models.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/files.hpp"

namespace mixtura::test {
namespace {

// ln of the sum of e^x, without overflow.
double log_sum(std::span<const float> logits) {
    const double largest = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) sum += std::exp(logit - largest);
    return largest + std::log(sum);
}

}  // namespace

Model open_real(std::string_view file) { return must(Model::open(MIXTURA_REAL_MODELS "/" + std::string(file))); }

nlohmann::json golden_json(std::string_view path) { return nlohmann::json::parse(read_file(golden(path))); }

Fed feed(const Model& model, const std::vector<TokenId>& tokens, CacheDTypes cache_dtype) {
    GenerationOptions options;
    options.context_tokens = 512;
    options.cache_dtype = cache_dtype;
    Generation generation = must(Generation::create(model, options));
    Fed fed;
    fed.ids.resize(static_cast<std::size_t>(model.facts().layer_count));
    fed.weights.resize(fed.ids.size());
    FeedOptions watch;
    watch.on_logits = [&](std::int64_t, std::span<const float> logits) {
        fed.logits.emplace_back(logits.begin(), logits.end());
        return Flow::go_on;
    };
    watch.on_route = [&](std::int64_t, std::int64_t layer, const RoutePlan& plan) {
        for (std::int64_t t = 0; t < plan.tokens; ++t) {
            const auto begin = static_cast<std::ptrdiff_t>(t * plan.choices);
            const auto end = begin + plan.experts_of_token[static_cast<std::size_t>(t)];
            const auto l = static_cast<std::size_t>(layer);
            fed.ids[l].emplace_back(plan.expert_ids.begin() + begin, plan.expert_ids.begin() + end);
            fed.weights[l].emplace_back(plan.weights.begin() + begin, plan.weights.begin() + end);
        }
        return Flow::go_on;
    };
    must(generation.feed(tokens, watch));
    return fed;
}

TokenId best(std::span<const float> logits) {
    return static_cast<TokenId>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

double relative_difference(std::span<const float> a, std::span<const float> b) {
    if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!std::isfinite(a[i])) return std::numeric_limits<double>::infinity();
        difference = std::max(difference, std::abs(static_cast<double>(a[i]) - b[i]));
        largest = std::max(largest, std::abs(static_cast<double>(b[i])));
    }
    return difference / largest;
}

double perplexity(const Fed& fed, const std::vector<TokenId>& tokens) {
    double sum = 0;
    for (std::size_t t = 0; t + 1 < tokens.size(); ++t) {
        sum += log_sum(fed.logits[t]) - static_cast<double>(fed.logits[t][static_cast<std::size_t>(tokens[t + 1])]);
    }
    return std::exp(sum / static_cast<double>(tokens.size() - 1));
}

double divergence(std::span<const float> a, std::span<const float> b) {
    const double sum_a = log_sum(a), sum_b = log_sum(b);
    double divergence = 0;
    for (std::size_t i = 0; i < b.size(); ++i) divergence += std::exp(b[i] - sum_b) * ((b[i] - sum_b) - (a[i] - sum_a));
    return divergence;
}

}  // namespace mixtura::test
