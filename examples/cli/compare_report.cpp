#include "cli/compare_report.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/format.hpp"
#include "cli/weight_report.hpp"

namespace mixtura::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double share(double part, std::int64_t whole) { return whole == 0 ? 0 : part / static_cast<double>(whole); }

std::string percent(double part, std::int64_t whole) { return decimal(100.0 * share(part, whole), 2) + " %"; }

std::string range_name(const PositionRange& range) {
    if (range.first == 0 && range.last == kPositionsEnd) return "all";
    const std::string first = grouped(static_cast<std::uint64_t>(range.first));
    return range.last == kPositionsEnd ? first + " on"
                                       : first + " to " + grouped(static_cast<std::uint64_t>(range.last - 1));
}

// Three significant digits: divergences run over many orders of magnitude.
std::string small(double value) {
    char digits[32];
    const auto [end, failure] = std::to_chars(digits, digits + sizeof digits, value, std::chars_format::general, 3);
    return std::string(digits, end);
}

double perplexity(double loss, std::int64_t scored) { return std::exp(share(loss, scored)); }

Rows logit_rows(const LogitComparison& logits) {
    Rows rows{{"positions", "tokens", "mean KL", "largest KL", "same likeliest", "perplexity A", "B"}};
    for (std::size_t r = 0; r < kPositionRanges.size(); ++r) {
        const LogitDistance& range = logits.ranges()[r];
        if (range.tokens == 0) continue;
        const bool is_scored = range.scored > 0;
        rows.push_back({range_name(kPositionRanges[r]), grouped(static_cast<std::uint64_t>(range.tokens)),
                        small(share(range.divergence_sum, range.tokens)), small(range.divergence_max),
                        percent(static_cast<double>(range.same_top), range.tokens),
                        is_scored ? decimal(perplexity(range.loss_a, range.scored), 4) : "",
                        is_scored ? decimal(perplexity(range.loss_b, range.scored), 4) : ""});
    }
    return rows;
}

std::string token_text(const Model& model, TokenId id) {
    std::string out = std::to_string(id);
    if (!model.tokenizer()) return out;
    if (const auto bytes = model.tokenizer()->token_bytes(id)) out += " '" + printable(*bytes) + "'";
    return out;
}

std::string difference_text(const LogitComparison& logits, const Model& model) {
    if (logits.are_bits_equal()) return "All logits are the same, bit for bit.\n";
    const auto& difference = logits.first_difference();
    if (!difference) return "The likeliest token is the same everywhere.\n";
    return "First differing token: after position " + grouped(static_cast<std::uint64_t>(difference->position)) +
           " A says " + token_text(model, difference->a) + " and B " + token_text(model, difference->b) + ".\n";
}

Rows route_rows(const std::vector<RouteDistance>& routes) {
    Rows rows{{"layer", "same experts", "weight kept"}};
    RouteDistance all;
    for (std::size_t l = 0; l < routes.size(); ++l) {
        const RouteDistance& layer = routes[l];
        if (layer.tokens == 0) continue;
        rows.push_back({std::to_string(l), percent(static_cast<double>(layer.same_set), layer.tokens),
                        percent(layer.kept_sum, layer.tokens)});
        all.tokens += layer.tokens;
        all.same_set += layer.same_set;
        all.kept_sum += layer.kept_sum;
    }
    if (all.tokens > 0)
        rows.push_back(
            {"all", percent(static_cast<double>(all.same_set), all.tokens), percent(all.kept_sum, all.tokens)});
    return rows;
}

Rows cost_rows(const SideCost& a, const SideCost& b) {
    Rows rows{{"", "A", "B", "B / A"}};
    const auto bytes = [&](const char* name, std::uint64_t left, std::uint64_t right) {
        rows.push_back({name, human_bytes(left), human_bytes(right),
                        left == 0 ? "" : decimal(static_cast<double>(right) / static_cast<double>(left), 3)});
    };
    const auto rate = [&](const char* name, const std::vector<double>& left, const std::vector<double>& right) {
        if (left.empty()) return;
        rows.push_back(
            {name, decimal(median(left), 2), decimal(median(right), 2), decimal(median(right) / median(left), 3)});
    };
    bytes("weights", a.weight_bytes, b.weight_bytes);
    bytes("keys and values", a.cache_bytes, b.cache_bytes);
    rate("prompt, tokens/s", a.prefill_rates, b.prefill_rates);
    rate("one by one, tokens/s", a.decode_rates, b.decode_rates);
    return rows;
}

nlohmann::ordered_json cost_json(const SideCost& side) {
    nlohmann::ordered_json out = {
        {"side", side.name}, {"weight_bytes", side.weight_bytes}, {"cache_bytes", side.cache_bytes}};
    add_weight_errors(side.weight_errors, out);
    if (side.prefill_rates.empty()) return out;
    out["prefill_tokens_per_s"] = median(side.prefill_rates);
    out["decode_tokens_per_s"] = median(side.decode_rates);
    return out;
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const Model& a) {
    const LogitDistance& all = comparison.logits.ranges().back();
    std::string out = "A: " + printable(comparison.a.name) + "\nB: " + printable(comparison.b.name) + "\n" +
                      grouped(static_cast<std::uint64_t>(all.tokens)) + " tokens " + comparison.token_source + "\n\n";
    out += table(logit_rows(comparison.logits), "123456") + difference_text(comparison.logits, a);
    const Rows routes = route_rows(comparison.routes);
    if (routes.size() > 1) out += "\n" + table(routes, "012");
    for (const SideCost* side : {&comparison.a, &comparison.b}) {
        if (side->weight_errors.empty()) continue;
        out += "\n" + std::string(side == &comparison.a ? "A" : "B") + " lost of its weights:\n" +
               table(weight_error_rows(side->weight_errors), "345");
    }
    return out + "\n" + table(cost_rows(comparison.a, comparison.b), "123");
}

std::string comparison_json(const Comparison& comparison) {
    using Json = nlohmann::ordered_json;
    Json out;
    out["a"] = cost_json(comparison.a);
    out["b"] = cost_json(comparison.b);
    out["same_bits"] = comparison.logits.are_bits_equal();
    if (const auto& difference = comparison.logits.first_difference())
        out["first_difference"] = {{"position", difference->position}, {"a", difference->a}, {"b", difference->b}};
    out["ranges"] = Json::array();
    for (std::size_t r = 0; r < kPositionRanges.size(); ++r) {
        const LogitDistance& range = comparison.logits.ranges()[r];
        if (range.tokens == 0) continue;
        Json line = {{"positions", range_name(kPositionRanges[r])},
                     {"tokens", range.tokens},
                     {"mean_kl", share(range.divergence_sum, range.tokens)},
                     {"largest_kl", range.divergence_max},
                     {"same_likeliest", share(static_cast<double>(range.same_top), range.tokens)}};
        if (range.scored > 0) {
            line["perplexity_a"] = perplexity(range.loss_a, range.scored);
            line["perplexity_b"] = perplexity(range.loss_b, range.scored);
        }
        out["ranges"].push_back(std::move(line));
    }
    out["layers"] = Json::array();
    for (std::size_t l = 0; l < comparison.routes.size(); ++l) {
        const RouteDistance& layer = comparison.routes[l];
        if (layer.tokens == 0) continue;
        out["layers"].push_back({{"layer", l},
                                 {"same_experts", share(static_cast<double>(layer.same_set), layer.tokens)},
                                 {"weight_kept", share(layer.kept_sum, layer.tokens)}});
    }
    return out.dump() + "\n";
}

}  // namespace mixtura::cli
