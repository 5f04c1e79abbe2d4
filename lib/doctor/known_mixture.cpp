// The mixture of the known answers: gate and experts of one weight format, run through the public objects.
#include <mixtura/expert_pool.hpp>
#include <mixtura/router.hpp>

#include <bit>
#include <memory>

#include "base/error.hpp"
#include "doctor/known_answers.hpp"
#include "experts/pack_experts.hpp"
#include "experts/pool_state.hpp"
#include "kernels/layout.hpp"
#include "memory/aligned_buffer.hpp"
#include "parallel/parallel_for.hpp"
#include "router/router_state.hpp"

namespace mixtura {
namespace {

constexpr std::int64_t kExperts = 5, kTokens = 7, kChoices = 2;

// Parts of a format's numbers: 0 to 3 · (kExperts + 1) are the matrices.
enum Part : std::uint32_t { kMatrices = 0, kSharedGate = 100, kGate = 101, kHidden = 102 };

struct Mixture {
    RouterSpec router;
    ExpertSpec experts;
    PackedExperts packed;
    AlignedBuffer gate;
    std::vector<float> hidden;  // [kTokens, H]

    GateView gate_view() const {
        return {.gate = {DType::f32, router.expert_count, router.hidden_size, gate.data()},
                .inner_gate = {},
                .gate_bias = nullptr,
                .selection_bias = nullptr};
    }
};

// Formats take turns with the activations, and with the side that an expert's weight is multiplied in.
ExpertSpec spec_of(DType dtype) {
    const bool is_long = dtype_info(dtype).block_elements > 32;
    const auto turn = static_cast<int>(dtype);
    ExpertSpec spec;
    spec.hidden_size = is_long ? 256 : 160;  // ten panels of rows: no power of two
    spec.width = is_long ? 256 : 96;
    spec.expert_count = kExperts;
    spec.activation = static_cast<ExpertActivation>(turn % 5);
    spec.clamp_limit = turn % 7 == 0 ? 1.0F : 0.0F;
    spec.weight_at = turn % 3 == 0 ? WeightAt::input : WeightAt::output;
    spec.shared_width = spec.width;
    spec.is_shared_weighed = true;
    return spec;
}

Result<PackedExperts> packed_experts(DType dtype, const ExpertSpec& spec) {
    const auto stream = static_cast<std::uint32_t>(dtype);
    std::vector<std::vector<std::byte>> bytes;
    const auto matrix = [&](std::int64_t rows, std::int64_t columns, std::uint32_t part) -> ExpertMatrix {
        bytes.push_back(known_weights(dtype, rows, columns, KnownNumbers(stream, part)));
        return {bytes.back().data(), dtype, 0};
    };
    ExpertWeights weights;
    for (std::uint32_t e = 0; e <= kExperts; ++e) {
        ExpertTensors tensors;
        tensors.gate = matrix(spec.width, spec.hidden_size, kMatrices + 3 * e);
        tensors.up = matrix(spec.width, spec.hidden_size, kMatrices + 3 * e + 1);
        tensors.down = matrix(spec.hidden_size, spec.width, kMatrices + 3 * e + 2);
        if (e < kExperts) {
            weights.experts.push_back(tensors);
        } else {
            weights.shared = tensors;
        }
    }
    weights.shared_gate = matrix(1, spec.hidden_size, kSharedGate);
    return pack_experts(weights, spec);
}

Result<std::shared_ptr<const Mixture>> make_mixture(DType dtype) {
    const auto stream = static_cast<std::uint32_t>(dtype);
    const auto mixture = std::make_shared<Mixture>();
    mixture->experts = spec_of(dtype);
    const std::int64_t h = mixture->experts.hidden_size;
    MIXTURA_ASSIGN_OR_RETURN(mixture->packed, packed_experts(dtype, mixture->experts));
    mixture->router.hidden_size = h;
    mixture->router.expert_count = kExperts;
    mixture->router.policy.top_k = kChoices;
    mixture->router.policy.renormalise = true;
    const std::vector<std::byte> gate = known_weights(DType::f32, kExperts, h, KnownNumbers(stream, kGate));
    MIXTURA_ASSIGN_OR_RETURN(mixture->gate, AlignedBuffer::allocate(packed_bytes(DType::f32, kExperts, h).value_or(0)));
    pack_rows(DType::f32, gate.data(), kExperts, h, mixture->gate.data());
    mixture->hidden = KnownNumbers(stream, kHidden).numbers(kTokens * h, 4.0F);
    return std::shared_ptr<const Mixture>(mixture);
}

Status run_on(const std::shared_ptr<const Mixture>& mixture, const KernelTable& kernels, KnownAnswer& answer) {
    const Router router = make_router(mixture->router, mixture->gate_view(), &kernels, mixture);
    const ExpertPool pool =
        make_expert_pool(mixture->experts, mixture->packed.experts, mixture->packed.shared, mixture->packed.shared_gate,
                         &kernels, std::make_shared<SerialFor>(), mixture, mixture->packed.memory.size_bytes());
    RoutePlan plan;
    MIXTURA_RETURN_IF_ERROR(router.route(mixture->hidden, router.policy(), {}, plan));
    std::vector<float> output(mixture->hidden.size());
    MIXTURA_RETURN_IF_ERROR(pool.run(mixture->hidden, plan, output));
    for (const std::int32_t id : plan.expert_ids) answer.push_back(static_cast<std::uint32_t>(id));
    for (const float weight : plan.weights) answer.push_back(std::bit_cast<std::uint32_t>(weight));
    for (const float number : output) answer.push_back(std::bit_cast<std::uint32_t>(number));
    return {};
}

}  // namespace

Result<KnownCase> known_mixture(const KnownFormat& format) {
    MIXTURA_ASSIGN_OR_RETURN(const std::shared_ptr<const Mixture> mixture, make_mixture(format.dtype));
    return KnownCase{
        text("a mixture in ", dtype_name(format.dtype)), format.mixture_checksum,
        [mixture](const KernelTable& kernels, KnownAnswer& answer) { return run_on(mixture, kernels, answer); }};
}

}  // namespace mixtura
