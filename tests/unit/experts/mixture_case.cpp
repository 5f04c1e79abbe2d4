#include "unit/experts/mixture_case.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "kernels/elementwise.hpp"
#include "kernels/quant/decode.hpp"
#include "kernels/ref/ref.hpp"
#include "support/weights.hpp"

namespace mixtura::test {
namespace {

std::vector<float> bias_of(bool wanted, std::int64_t count, std::uint64_t seed) {
    return wanted ? gaussian_rows(1, count, seed) : std::vector<float>();
}

FileExpert random_expert(const ExpertSpec& spec, std::int64_t width, const MixtureVariant& variant, DType in, DType out,
                         std::uint64_t seed) {
    const std::int64_t h = spec.hidden_size;
    FileExpert expert;
    if (variant.is_gated) {
        expert.gate = random_matrix(in, width, h, seed);
        expert.gate_bias = bias_of(variant.has_bias, width, seed + 1);
    }
    expert.up = random_matrix(in, width, h, seed + 2);
    expert.up_bias = bias_of(variant.has_bias, width, seed + 3);
    expert.down = random_matrix(out, h, width, seed + 4);
    expert.down_bias = bias_of(variant.has_bias, h, seed + 5);
    return expert;
}

const float* data_or_null(const std::vector<float>& floats) { return floats.empty() ? nullptr : floats.data(); }

ExpertView view_of(const FileExpert& expert) {
    ExpertView view;
    if (expert.gate.has_data()) view.gate = expert.gate.view();
    view.up = expert.up.view();
    view.down = expert.down.view();
    view.gate_bias = data_or_null(expert.gate_bias);
    view.up_bias = data_or_null(expert.up_bias);
    view.down_bias = data_or_null(expert.down_bias);
    return view;
}

ExpertTensors bare_of(const FileExpert& expert) {
    return {.gate = expert.gate.bare(),
            .up = expert.up.bare(),
            .down = expert.down.bare(),
            .gate_bias = data_or_null(expert.gate_bias),
            .up_bias = data_or_null(expert.up_bias),
            .down_bias = data_or_null(expert.down_bias)};
}

Activation kind_of(ExpertActivation activation) {
    switch (activation) {
        case ExpertActivation::silu: return Activation::silu;
        case ExpertActivation::gelu: return Activation::gelu_erf;
        case ExpertActivation::gelu_tanh: return Activation::gelu_tanh;
        case ExpertActivation::quick_gelu: return Activation::quick_gelu;
        case ExpertActivation::relu: return Activation::relu;
    }
    throw std::logic_error("no such activation");
}

std::vector<float> multiply(const FileMatrix& matrix, const std::vector<float>& x, const std::vector<float>& bias) {
    std::vector<float> y(static_cast<std::size_t>(matrix.rows));
    ref::matmul_file_rows(matrix.dtype, matrix.bytes.data(), matrix.rows, matrix.columns, x.data(), 1, y.data());
    for (std::size_t i = 0; i < bias.size(); ++i) y[i] += bias[i];
    return y;
}

std::vector<float> expert_output(const ExpertSpec& spec, const FileExpert& expert, const std::vector<float>& x) {
    const GatedActivation gated{kind_of(spec.activation), spec.clamp_limit, spec.clamp_alpha};
    std::vector<float> hidden = multiply(expert.up, x, expert.up_bias);
    if (expert.gate.has_data()) {
        const std::vector<float> gate = multiply(expert.gate, x, expert.gate_bias);
        for (std::size_t i = 0; i < hidden.size(); ++i) hidden[i] = gated_activation_f32(gated, gate[i], hidden[i]);
    } else {
        for (float& value : hidden) value = activation_f32(gated.kind, value);
    }
    return multiply(expert.down, hidden, expert.down_bias);
}

// ---- f64 ----

std::vector<double> exact_multiply(const FileMatrix& matrix, const std::vector<double>& x,
                                   const std::vector<float>& bias) {
    std::vector<float> decoded(static_cast<std::size_t>(matrix.rows * matrix.columns));
    decoder(matrix.dtype)(matrix.bytes.data(), decoded.data(),
                          decoded.size() / static_cast<std::size_t>(dtype_info(matrix.dtype).block_elements));
    std::vector<double> y(static_cast<std::size_t>(matrix.rows));
    for (std::size_t n = 0; n < y.size(); ++n) {
        for (std::size_t k = 0; k < x.size(); ++k) y[n] += x[k] * static_cast<double>(decoded[n * x.size() + k]);
        if (!bias.empty()) y[n] += static_cast<double>(bias[n]);
    }
    return y;
}

double exact_activation(ExpertActivation activation, double x) {
    switch (activation) {
        case ExpertActivation::silu: return x / (1 + std::exp(-x));
        case ExpertActivation::gelu: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
        case ExpertActivation::gelu_tanh:
            return 0.5 * x * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
        case ExpertActivation::quick_gelu: return x / (1 + std::exp(-1.702 * x));
        case ExpertActivation::relu: return std::max(x, 0.0);
    }
    throw std::logic_error("no such activation");
}

std::vector<double> exact_expert(const ExpertSpec& spec, const FileExpert& expert, const std::vector<double>& x) {
    std::vector<double> hidden = exact_multiply(expert.up, x, expert.up_bias);
    const double limit = static_cast<double>(spec.clamp_limit), alpha = static_cast<double>(spec.clamp_alpha);
    if (expert.gate.has_data()) {
        const std::vector<double> gate = exact_multiply(expert.gate, x, expert.gate_bias);
        for (std::size_t i = 0; i < hidden.size(); ++i) {
            if (limit > 0) {
                const double g = std::min(gate[i], limit), u = std::clamp(hidden[i], -limit, limit);
                hidden[i] = (u + 1) * g / (1 + std::exp(-alpha * g));
            } else {
                hidden[i] *= exact_activation(spec.activation, gate[i]);
            }
        }
    } else {
        for (double& value : hidden) value = exact_activation(spec.activation, value);
    }
    return exact_multiply(expert.down, hidden, expert.down_bias);
}

}  // namespace

FileMatrix random_matrix(DType dtype, std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    FileMatrix matrix{dtype, rows, columns, random_weights(dtype, rows, columns, seed), {}};
    matrix.packed.resize(static_cast<std::size_t>(packed_bytes(dtype, rows, columns).value()));
    pack_rows(dtype, matrix.bytes.data(), rows, columns, matrix.packed.data());
    return matrix;
}

MixtureView MixtureCase::view() const {
    MixtureView all;
    all.experts = views;
    if (shared.up.has_data()) all.shared = view_of(shared);
    if (shared_gate.has_data()) all.shared_gate = shared_gate.view();
    return all;
}

ExpertWeights MixtureCase::bare() const {
    ExpertWeights weights;
    for (const FileExpert& expert : experts) weights.experts.push_back(bare_of(expert));
    if (shared.up.has_data()) weights.shared = bare_of(shared);
    if (shared_gate.has_data()) weights.shared_gate = shared_gate.bare();
    return weights;
}

MixtureCase random_mixture(const ExpertSpec& sizes, const MixtureVariant& variant, const std::vector<DType>& formats,
                           std::uint64_t seed) {
    MixtureCase mixture;
    mixture.spec = sizes;
    mixture.spec.is_gated = variant.is_gated;
    mixture.spec.clamp_limit = variant.is_clamped ? 1.5F : 0.0F;
    mixture.spec.weight_at = variant.weight_at;
    for (std::size_t e = 0; e < static_cast<std::size_t>(sizes.expert_count); ++e) {
        mixture.experts.push_back(random_expert(mixture.spec, sizes.width, variant, formats[e % formats.size()],
                                                formats[(e + 1) % formats.size()], seed + 10 * e));
    }
    for (const FileExpert& expert : mixture.experts) mixture.views.push_back(view_of(expert));
    if (variant.shared == SharedKind::none) {
        mixture.spec.shared_width = 0;
        return mixture;
    }
    mixture.shared =
        random_expert(mixture.spec, sizes.shared_width, variant, formats.front(), formats.back(), seed + 7000);
    mixture.spec.is_shared_weighed = variant.shared == SharedKind::weighed;
    mixture.spec.shared_scale = 0.75F;
    if (mixture.spec.is_shared_weighed)
        mixture.shared_gate = random_matrix(formats.front(), 1, sizes.hidden_size, seed + 8000);
    return mixture;
}

std::vector<float> gaussian_rows(std::int64_t rows, std::int64_t columns, std::uint64_t seed) {
    Random random(seed);
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (float& value : values) value = random.gaussian();
    return values;
}

RoutePlan random_plan(std::int64_t tokens, std::int64_t choices, std::int64_t experts, std::uint64_t seed) {
    Random random(seed);
    RoutePlan plan;
    plan.tokens = tokens;
    plan.choices = choices;
    plan.experts = experts;
    const auto k = static_cast<std::size_t>(choices);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(experts));
    for (std::int64_t t = 0; t < tokens; ++t) {
        std::iota(ids.begin(), ids.end(), 0);
        for (std::size_t i = 0; i + 1 < ids.size(); ++i) std::swap(ids[i], ids[i + random.bits() % (ids.size() - i)]);
        const std::size_t used = t == 1 ? 0 : t % 5 == 4 ? random.bits() % (k + 1) : k;
        for (std::size_t i = 0; i < k; ++i) {
            plan.expert_ids.push_back(i < used ? ids[i] : -1);
            plan.weights.push_back(i < used ? 0.1F + std::fabs(random.uniform()) : 0.0F);
        }
    }
    group(plan);
    return plan;
}

void group(RoutePlan& plan) {
    const auto tokens = static_cast<std::size_t>(plan.tokens), k = static_cast<std::size_t>(plan.choices);
    plan.offsets = {0};
    plan.token_of_slot.clear();
    plan.slot_of_token_choice.assign(tokens * k, -1);
    plan.experts_of_token.assign(tokens, 0);
    for (std::int32_t e = 0; e < plan.experts; ++e) {
        for (std::size_t i = 0; i < tokens * k; ++i) {
            if (plan.expert_ids[i] != e) continue;
            plan.slot_of_token_choice[i] = static_cast<std::int32_t>(plan.token_of_slot.size());
            plan.token_of_slot.push_back(static_cast<std::int32_t>(i / k));
            ++plan.experts_of_token[i / k];
        }
        plan.offsets.push_back(static_cast<std::int64_t>(plan.token_of_slot.size()));
    }
}

RoutePlan plan_of(const RoutePlan& plan, const std::vector<std::int64_t>& chosen) {
    RoutePlan part;
    part.tokens = static_cast<std::int64_t>(chosen.size());
    part.choices = plan.choices;
    part.experts = plan.experts;
    for (const std::int64_t t : chosen) {
        for (std::int64_t i = t * plan.choices; i < (t + 1) * plan.choices; ++i) {
            part.expert_ids.push_back(plan.expert_ids[static_cast<std::size_t>(i)]);
            part.weights.push_back(plan.weights[static_cast<std::size_t>(i)]);
        }
    }
    group(part);
    return part;
}

std::vector<float> rows_of(const std::vector<float>& rows, std::int64_t columns,
                           const std::vector<std::int64_t>& chosen) {
    std::vector<float> part;
    for (const std::int64_t t : chosen)
        part.insert(part.end(), rows.begin() + t * columns, rows.begin() + (t + 1) * columns);
    return part;
}

std::vector<float> expected_output(const MixtureCase& mixture, const std::vector<float>& hidden,
                                   const RoutePlan& plan) {
    const ExpertSpec& spec = mixture.spec;
    const auto h = static_cast<std::size_t>(spec.hidden_size), k = static_cast<std::size_t>(plan.choices);
    std::vector<float> output(hidden.size(), 0.0F);
    for (std::size_t t = 0; t < static_cast<std::size_t>(plan.tokens); ++t) {
        const std::vector<float> x(hidden.begin() + static_cast<std::ptrdiff_t>(t * h),
                                   hidden.begin() + static_cast<std::ptrdiff_t>((t + 1) * h));
        float* y = output.data() + t * h;
        for (std::size_t i = t * k; i < (t + 1) * k; ++i) {
            if (plan.expert_ids[i] < 0) continue;
            const bool at_input = spec.weight_at == WeightAt::input;
            std::vector<float> own = x;
            for (float& value : own) value *= at_input ? plan.weights[i] : 1.0F;
            const std::vector<float> out =
                expert_output(spec, mixture.experts[static_cast<std::size_t>(plan.expert_ids[i])], own);
            for (std::size_t j = 0; j < h; ++j) y[j] = std::fma(at_input ? 1.0F : plan.weights[i], out[j], y[j]);
        }
        if (!mixture.shared.up.has_data()) continue;
        float factor = spec.shared_scale;
        if (mixture.shared_gate.has_data())
            factor *= 1.0F / (1.0F + exp_f32(-multiply(mixture.shared_gate, x, {}).front()));
        const std::vector<float> out = expert_output(spec, mixture.shared, x);
        for (std::size_t j = 0; j < h; ++j) y[j] = std::fma(factor, out[j], y[j]);
    }
    return output;
}

std::vector<double> exact_output(const MixtureCase& mixture, const std::vector<float>& hidden, const RoutePlan& plan) {
    const ExpertSpec& spec = mixture.spec;
    const auto h = static_cast<std::size_t>(spec.hidden_size), k = static_cast<std::size_t>(plan.choices);
    std::vector<double> output(hidden.size(), 0.0);
    for (std::size_t t = 0; t < static_cast<std::size_t>(plan.tokens); ++t) {
        const std::vector<double> x(hidden.begin() + static_cast<std::ptrdiff_t>(t * h),
                                    hidden.begin() + static_cast<std::ptrdiff_t>((t + 1) * h));
        double* y = output.data() + t * h;
        for (std::size_t i = t * k; i < (t + 1) * k; ++i) {
            if (plan.expert_ids[i] < 0) continue;
            const bool at_input = spec.weight_at == WeightAt::input;
            const auto weight = static_cast<double>(plan.weights[i]);
            std::vector<double> own = x;
            for (double& value : own) value *= at_input ? weight : 1.0;
            const std::vector<double> out =
                exact_expert(spec, mixture.experts[static_cast<std::size_t>(plan.expert_ids[i])], own);
            for (std::size_t j = 0; j < h; ++j) y[j] += (at_input ? 1.0 : weight) * out[j];
        }
        if (!mixture.shared.up.has_data()) continue;
        auto factor = static_cast<double>(spec.shared_scale);
        if (mixture.shared_gate.has_data())
            factor /= 1.0 + std::exp(-exact_multiply(mixture.shared_gate, x, {}).front());
        const std::vector<double> out = exact_expert(spec, mixture.shared, x);
        for (std::size_t j = 0; j < h; ++j) y[j] += factor * out[j];
    }
    return output;
}

std::vector<float> run(const MixtureCase& mixture, const KernelTable& kernels, ParallelFor& threads,
                       const std::vector<float>& hidden, const RoutePlan& plan) {
    MixtureScratch scratch;
    if (!scratch.reserve(mixture.spec, plan.tokens, plan.choices)) throw std::runtime_error("no scratch");
    std::vector<float> output(hidden.size(), -77.0F);
    run_mixture(kernels, threads, mixture.spec, mixture.view(), hidden.data(), plan, scratch, output.data());
    return output;
}

}  // namespace mixtura::test
