// What quantising on the way into memory lost, by role, with the worst matrix of each.
#pragma once

#include <mixtura/weight_mix.hpp>

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace mixtura::cli {

struct RoleError {
    std::string role;  // "experts.up"
    DType from = DType::unknown, to = DType::unknown;
    std::uint64_t matrices = 0;
    double error_sum = 0, square_sum = 0;
    std::string worst;       // role of the matrix with the largest relative error, with its numbers
    double worst_error = 0;  // √(Σ (w - w')² / Σ w²) of it
};

// In the order in which the roles first come; a role that became two types is two.
std::vector<RoleError> errors_by_role(std::span<const WeightError> errors);
double relative_error(double error_sum, double square_sum);

// Rows for table(), with a heading; the heading alone where nothing was quantised.
std::vector<std::vector<std::string>> weight_error_rows(std::span<const WeightError> errors);
// The same and every matrix' as "weight_errors" and "matrix_errors"; neither where nothing was quantised.
void add_weight_errors(std::span<const WeightError> errors, nlohmann::ordered_json& out);

}  // namespace mixtura::cli
