#include "cli/forecast.hpp"

#include <nlohmann/json.hpp>

#include "cli/format.hpp"

namespace mixtura::cli {
namespace {

std::uint64_t total_bytes(const MemoryForecast& forecast) {
    return forecast.weight_bytes + forecast.cache_bytes + forecast.scratch_bytes;
}

// "214 M (214,135,488)"
std::string both(std::uint64_t count) { return human_count(count) + " (" + grouped(count) + ")"; }

}  // namespace

std::string forecast_text(const Result<MemoryForecast>& forecast) {
    if (!forecast) return "\n  no forecast: " + printable(forecast.status().message()) + "\n";
    std::vector<std::vector<std::string>> rows{{"tensors", "parameters", "in memory", "role"}};
    for (const RoleMemory& role : forecast->roles) {
        rows.push_back({grouped(role.tensor_count), human_count(role.parameter_count), human_bytes(role.size_bytes),
                        printable(role.role)});
    }
    std::string out = "\n" + table(rows, "012");
    const TokenCost& token = forecast->token;
    rows = {{"one token, one context", ""},
            {"parameters multiplied", both(token.multiplied_parameters)},
            {"weights read", human_bytes(token.read_bytes)},
            {"context", grouped(static_cast<std::uint64_t>(forecast->context_tokens)) + " tokens"},
            {"weights", human_bytes(forecast->weight_bytes)}};
    for (const NodeMemory& node : forecast->nodes)
        rows.push_back({"weights on node " + std::to_string(node.node), human_bytes(node.size_bytes)});
    rows.push_back({"keys and values", human_bytes(forecast->cache_bytes)});
    rows.push_back({"scratch", human_bytes(forecast->scratch_bytes)});
    rows.push_back({"memory in all", human_bytes(total_bytes(*forecast))});
    if (token.routed_parameters > 0)
        rows.insert(rows.begin() + 1, {"parameters of its experts", both(token.routed_parameters)});
    return out + "\n" + table(rows, "");
}

void add_forecast(const Result<MemoryForecast>& forecast, nlohmann::ordered_json& out) {
    if (!forecast) {
        out["memory"] = nullptr;
        out["memory_error"] = forecast.status().message();
        return;
    }
    nlohmann::ordered_json memory = {{"context_tokens", forecast->context_tokens},
                                     {"weight_bytes", forecast->weight_bytes},
                                     {"cache_bytes", forecast->cache_bytes},
                                     {"scratch_bytes", forecast->scratch_bytes},
                                     {"total_bytes", total_bytes(*forecast)},
                                     {"routed_parameters_per_token", forecast->token.routed_parameters},
                                     {"parameters_per_token", forecast->token.multiplied_parameters},
                                     {"bytes_per_token", forecast->token.read_bytes},
                                     {"roles", nlohmann::ordered_json::array()}};
    for (const RoleMemory& role : forecast->roles) {
        memory["roles"].push_back({{"role", role.role},
                                   {"tensor_count", role.tensor_count},
                                   {"parameter_count", role.parameter_count},
                                   {"size_bytes", role.size_bytes}});
    }
    // Where the machine has several nodes; with one there is nothing to tell.
    for (const NodeMemory& node : forecast->nodes)
        memory["nodes"].push_back({{"node", node.node}, {"weight_bytes", node.size_bytes}});
    out["memory"] = std::move(memory);
}

}  // namespace mixtura::cli
