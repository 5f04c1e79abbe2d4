#include "cli/weight_report.hpp"

#include <algorithm>
#include <cmath>

#include "cli/format.hpp"

namespace mixtura::cli {
double relative_error(double error_sum, double square_sum) {
    return square_sum > 0 ? std::sqrt(error_sum / square_sum) : 0;
}

std::vector<RoleError> errors_by_role(std::span<const WeightError> errors) {
    std::vector<RoleError> roles;
    for (const WeightError& error : errors) {
        auto role = std::find_if(roles.begin(), roles.end(), [&](const RoleError& known) {
            return known.role == error.kind && known.from == error.from && known.to == error.to;
        });
        if (role == roles.end()) {
            role = roles.insert(roles.end(), RoleError());
            role->role = error.kind;
            role->from = error.from;
            role->to = error.to;
        }
        ++role->matrices;
        role->error_sum += error.error_sum;
        role->square_sum += error.square_sum;
        const double relative = relative_error(error.error_sum, error.square_sum);
        if (!role->worst.empty() && relative <= role->worst_error) continue;
        role->worst = error.role;
        role->worst_error = relative;
    }
    return roles;
}

std::vector<std::vector<std::string>> weight_error_rows(std::span<const WeightError> errors) {
    std::vector<std::vector<std::string>> rows{{"weights", "from", "to", "matrices", "error", "largest", "of"}};
    for (const RoleError& role : errors_by_role(errors)) {
        rows.push_back({role.role, std::string(dtype_name(role.from)), std::string(dtype_name(role.to)),
                        grouped(role.matrices),
                        decimal(100 * relative_error(role.error_sum, role.square_sum), 3) + " %",
                        decimal(100 * role.worst_error, 3) + " %", role.worst});
    }
    return rows;
}

void add_weight_errors(std::span<const WeightError> errors, nlohmann::ordered_json& out) {
    for (const RoleError& role : errors_by_role(errors)) {
        out["weight_errors"].push_back({{"role", role.role},
                                        {"from", dtype_name(role.from)},
                                        {"to", dtype_name(role.to)},
                                        {"matrices", role.matrices},
                                        {"relative_error", relative_error(role.error_sum, role.square_sum)},
                                        {"largest_relative_error", role.worst_error},
                                        {"largest_of", role.worst}});
    }
    for (const WeightError& error : errors)
        out["matrix_errors"].push_back({error.role, relative_error(error.error_sum, error.square_sum)});
}

}  // namespace mixtura::cli
