#include "cli/forecast.hpp"

#include <nlohmann/json.hpp>

#include "cli/format.hpp"

namespace mixtura::cli {
namespace {

std::uint64_t total_bytes(const MemoryForecast& forecast) {
    return forecast.weight_bytes + forecast.cache_bytes + forecast.scratch_bytes;
}

}  // namespace

// Numbers that one token is multiplied with: all but the tables of which it reads one row.  A head that shares its
// numbers with such a table has a role of its own, so it counts.
std::uint64_t parameters_per_token(const MemoryForecast& forecast) {
    std::uint64_t sum = 0;
    for (const RoleMemory& role : forecast.roles) {
        if (role.role != "token_embedding" && role.role != "position_embedding") sum += role.parameter_count;
    }
    return sum;
}

std::string forecast_text(const Result<MemoryForecast>& forecast) {
    if (!forecast) return "\n  no forecast: " + printable(forecast.status().message()) + "\n";
    std::vector<std::vector<std::string>> rows{{"tensors", "parameters", "in memory", "role"}};
    for (const RoleMemory& role : forecast->roles) {
        rows.push_back({grouped(role.tensor_count), human_count(role.parameter_count), human_bytes(role.size_bytes),
                        printable(role.role)});
    }
    std::string out = "\n" + table(rows, "012");
    const std::uint64_t used = parameters_per_token(*forecast);
    rows = {{"one token, one context", ""},
            {"parameters a token uses", human_count(used) + " (" + grouped(used) + ")"},
            {"context", grouped(static_cast<std::uint64_t>(forecast->context_tokens)) + " tokens"},
            {"weights", human_bytes(forecast->weight_bytes)},
            {"keys and values", human_bytes(forecast->cache_bytes)},
            {"scratch", human_bytes(forecast->scratch_bytes)},
            {"memory in all", human_bytes(total_bytes(*forecast))}};
    return out + "\n" + table(rows, "");
}

void add_forecast(const Result<MemoryForecast>& forecast, nlohmann::ordered_json& out) {
    if (!forecast) {
        out["memory"] = nullptr;
        out["memory_error"] = forecast.status().message();
        return;
    }
    nlohmann::ordered_json memory = {
        {"context_tokens", forecast->context_tokens}, {"weight_bytes", forecast->weight_bytes},
        {"cache_bytes", forecast->cache_bytes},       {"scratch_bytes", forecast->scratch_bytes},
        {"total_bytes", total_bytes(*forecast)},      {"parameters_per_token", parameters_per_token(*forecast)},
        {"roles", nlohmann::ordered_json::array()}};
    for (const RoleMemory& role : forecast->roles) {
        memory["roles"].push_back({{"role", role.role},
                                   {"tensor_count", role.tensor_count},
                                   {"parameter_count", role.parameter_count},
                                   {"size_bytes", role.size_bytes}});
    }
    out["memory"] = std::move(memory);
}

}  // namespace mixtura::cli
