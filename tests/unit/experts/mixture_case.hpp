// Random mixture layers for the tests of this room: file bytes, the packed views over them, route plans, and the answer
// computed step by step from the file bytes, one scalar at a time.
#pragma once

#include <mixtura/expert_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "experts/mixture.hpp"

namespace mixtura::test {

struct FileMatrix {
    DType dtype = DType::unknown;
    std::int64_t rows = 0, columns = 0;
    std::vector<std::byte> bytes;
    std::vector<std::byte> packed;

    bool has_data() const { return !bytes.empty(); }
    PackedMatrix view() const { return {dtype, rows, columns, packed.data()}; }
    ExpertMatrix bare() const { return {bytes.data(), dtype, 0}; }
};
FileMatrix random_matrix(DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed);

struct FileExpert {
    FileMatrix gate, up, down;
    std::vector<float> gate_bias, up_bias, down_bias;  // empty: none
};

enum class SharedKind { none, plain, weighed };

struct MixtureVariant {
    bool is_gated = true;
    bool has_bias = false;
    bool is_clamped = false;
    WeightAt weight_at = WeightAt::output;
    SharedKind shared = SharedKind::none;
};

struct MixtureCase {
    ExpertSpec spec;
    std::vector<FileExpert> experts;
    FileExpert shared;
    FileMatrix shared_gate;
    std::vector<ExpertView> views;  // of experts

    MixtureView view() const;
    ExpertWeights bare() const;
};

// Expert e has the formats formats[e mod size] for gate and up, and the next one for down.
MixtureCase random_mixture(const ExpertSpec& sizes, const MixtureVariant& variant, const std::vector<DType>& formats,
                           std::uint64_t seed);

// [rows, columns], normal numbers.
std::vector<float> gaussian_rows(std::int64_t rows, std::int64_t columns, std::uint64_t seed);

// T tokens with 0 to K distinct experts each; token 1 has none.
RoutePlan random_plan(std::int64_t tokens, std::int64_t choices, std::int64_t experts, std::uint64_t seed);
// The grouped view anew, from expert_ids.
void group(RoutePlan& plan);
// Tokens `chosen` of the plan, in that order.
RoutePlan plan_of(const RoutePlan& plan, const std::vector<std::int64_t>& chosen);
std::vector<float> rows_of(const std::vector<float>& rows, std::int64_t columns,
                           const std::vector<std::int64_t>& chosen);

// [T, H] by the formulas of expert_pool.hpp, every rounding in its place.
std::vector<float> expected_output(const MixtureCase& mixture, const std::vector<float>& hidden, const RoutePlan& plan);
// The same in f64, from decoded weights; formats whose activations stay f32 only.
std::vector<double> exact_output(const MixtureCase& mixture, const std::vector<float>& hidden, const RoutePlan& plan);

std::vector<float> run(const MixtureCase& mixture, const KernelTable& kernels, ParallelFor& threads,
                       const std::vector<float>& hidden, const RoutePlan& plan);

}  // namespace mixtura::test
