// Router: gate weights and policy as an object of its own.
#include <mixtura/router.hpp>

#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "kernels/backend.hpp"
#include "kernels/quant/decode.hpp"
#include "memory/aligned_buffer.hpp"
#include "parallel/fp_environment.hpp"
#include "router/limits.hpp"
#include "router/route.hpp"
#include "router/router_state.hpp"

namespace mixtura {
namespace {

// Gate weights that a Router made its own.
struct OwnedGate {
    AlignedBuffer gate, inner_gate;
    std::vector<float> gate_bias, selection_bias;
};

Status check_size(std::string_view what, std::int64_t size, std::int64_t least) {
    if (size >= least && size <= kRouterSizeMax) return {};
    return error(StatusCode::invalid_argument, "router: ", what, " is ", size, ", expected ", least, " to ",
                 kRouterSizeMax);
}

Status check_dtype(std::string_view what, DType dtype) {
    if (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16) return {};
    return error(StatusCode::invalid_argument, "router: the ", what, " is ", dtype_name(dtype),
                 ", expected f32, f16 or bf16: a router is never below 16 bit");
}

Status pack(std::string_view what, const RouterTensor& tensor, std::int64_t rows, std::int64_t columns,
            AlignedBuffer& buffer, PackedMatrix& matrix) {
    if (tensor.data == nullptr) return error(StatusCode::invalid_argument, "router: the ", what, " is missing");
    MIXTURA_RETURN_IF_ERROR(check_dtype(what, tensor.dtype));
    const std::optional<std::uint64_t> bytes = packed_bytes(tensor.dtype, rows, columns);
    if (!bytes) return error(StatusCode::invalid_argument, "router: the ", what, " is larger than memory can be");
    MIXTURA_ASSIGN_OR_RETURN(buffer, AlignedBuffer::allocate(*bytes));
    pack_rows(tensor.dtype, static_cast<const std::byte*>(tensor.data), rows, columns, buffer.data());
    matrix = {tensor.dtype, rows, columns, buffer.data()};
    return {};
}

Status copy_bias(std::string_view what, const RouterTensor& tensor, std::int64_t count, std::vector<float>& copy,
                 const float*& view) {
    if (tensor.data == nullptr) return {};
    MIXTURA_RETURN_IF_ERROR(check_dtype(what, tensor.dtype));
    copy.resize(static_cast<std::size_t>(count));
    decoder(tensor.dtype)(static_cast<const std::byte*>(tensor.data), copy.data(), copy.size());
    view = copy.data();
    return {};
}

// Rows of `width` floats in `floats`, where there are no more than a router takes.
Result<std::int64_t> count_rows(std::string_view what, std::size_t floats, std::int64_t width) {
    const auto row = static_cast<std::size_t>(width);
    if (floats % row != 0) {
        return error(StatusCode::invalid_argument, "router: ", floats, " floats of ", what,
                     " are given, expected a multiple of ", width);
    }
    if (floats / row > static_cast<std::size_t>(kRouteSlotsMax)) {
        return error(StatusCode::invalid_argument, "router: ", floats / row, " rows of ", what, " are given, expected ",
                     kRouteSlotsMax, " at most");
    }
    return static_cast<std::int64_t>(floats / row);
}

Result<std::size_t> logits_size(std::int64_t tokens, std::int64_t width) {
    const std::optional<std::size_t> size =
        checked_multiply(static_cast<std::size_t>(tokens), static_cast<std::size_t>(width));
    if (!size) return Status(StatusCode::out_of_host_memory, {});
    return *size;
}

}  // namespace

Router make_router(RouterSpec spec, GateView view, const KernelTable* kernels, std::shared_ptr<const void> keep_alive) {
    auto state = std::make_unique<Router::State>();
    *state = {std::move(spec), view, kernels, std::move(keep_alive)};
    return Router(std::move(state));
}

Router::Router(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;
Router::~Router() = default;

Result<Router> Router::create(const RouterWeights& weights, const RouterSpec& spec) noexcept {
    return without_exceptions([&]() -> Result<Router> {
        MIXTURA_RETURN_IF_ERROR(check_size("hidden_size", spec.hidden_size, 1));
        MIXTURA_RETURN_IF_ERROR(check_size("expert_count", spec.expert_count, 1));
        MIXTURA_RETURN_IF_ERROR(check_size("gate_width", spec.gate_width, 0));
        MIXTURA_RETURN_IF_ERROR(check(spec.policy, spec.expert_count));
        MIXTURA_ASSIGN_OR_RETURN(const Backend* const backend, choose_backend());
        const auto owned = std::make_shared<OwnedGate>();
        const bool has_inner = spec.gate_width > 0;
        GateView view;
        MIXTURA_RETURN_IF_ERROR(pack("gate", weights.gate, spec.expert_count,
                                     has_inner ? spec.gate_width : spec.hidden_size, owned->gate, view.gate));
        if (has_inner) {
            MIXTURA_RETURN_IF_ERROR(pack("inner gate", weights.inner_gate, spec.gate_width, spec.hidden_size,
                                         owned->inner_gate, view.inner_gate));
        }
        MIXTURA_RETURN_IF_ERROR(
            copy_bias("gate bias", weights.gate_bias, spec.expert_count, owned->gate_bias, view.gate_bias));
        MIXTURA_RETURN_IF_ERROR(copy_bias("selection bias", weights.selection_bias, spec.expert_count,
                                          owned->selection_bias, view.selection_bias));
        return make_router(spec, view, backend->table, owned);
    });
}

const RouterSpec& Router::spec() const noexcept { return state_->spec; }
const RouterPolicy& Router::policy() const noexcept { return state_->spec.policy; }

Status Router::route(std::span<const float> hidden, const RouterPolicy& policy,
                     std::span<const std::uint8_t> padding_mask, RoutePlan& plan) const noexcept {
    return without_exceptions([&]() -> Status {
        const RouterSpec& spec = state_->spec;
        MIXTURA_RETURN_IF_ERROR(check(policy, spec.expert_count));
        MIXTURA_ASSIGN_OR_RETURN(const std::int64_t tokens,
                                 count_rows("hidden states", hidden.size(), spec.hidden_size));
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t floats, logits_size(tokens, spec.expert_count + spec.gate_width));
        const FpEnvironment guard;
        plan.scratch.logits.resize(floats);
        float* const logits = plan.scratch.logits.data();
        SerialFor alone;
        gate_logits(*state_->kernels, alone, spec, state_->view, hidden.data(), tokens,
                    logits + tokens * spec.expert_count, logits);
        return choose_experts(*state_->kernels, alone, policy, spec.expert_count, state_->view.selection_bias, logits,
                              tokens, padding_mask, plan);
    });
}

Status Router::logits(std::span<const float> hidden, std::span<float> logits) const noexcept {
    return without_exceptions([&]() -> Status {
        const RouterSpec& spec = state_->spec;
        MIXTURA_ASSIGN_OR_RETURN(const std::int64_t tokens,
                                 count_rows("hidden states", hidden.size(), spec.hidden_size));
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t expected, logits_size(tokens, spec.expert_count));
        if (logits.size() != expected) {
            return error(StatusCode::invalid_argument, "router: room for ", logits.size(),
                         " logits is given, expected ", expected, ": ", tokens, " tokens times ", spec.expert_count,
                         " experts");
        }
        MIXTURA_ASSIGN_OR_RETURN(const std::size_t inner_floats, logits_size(tokens, spec.gate_width));
        const FpEnvironment guard;
        std::vector<float> inner(inner_floats);
        SerialFor alone;
        gate_logits(*state_->kernels, alone, spec, state_->view, hidden.data(), tokens, inner.data(), logits.data());
        return {};
    });
}

Status Router::route_logits(std::span<const float> logits, std::span<const float> selection_bias,
                            const RouterPolicy& policy, std::int64_t expert_count,
                            std::span<const std::uint8_t> padding_mask, RoutePlan& plan) noexcept {
    return without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(check(policy, expert_count));
        MIXTURA_ASSIGN_OR_RETURN(const std::int64_t tokens, count_rows("logits", logits.size(), expert_count));
        if (!selection_bias.empty() && selection_bias.size() != static_cast<std::size_t>(expert_count)) {
            return error(StatusCode::invalid_argument, "router: the selection bias has ", selection_bias.size(),
                         " entries, expected none or ", expert_count);
        }
        const FpEnvironment guard;
        plan.scratch.logits.assign(logits.begin(), logits.end());
        SerialFor alone;
        return choose_experts(alone, policy, expert_count, selection_bias.empty() ? nullptr : selection_bias.data(),
                              plan.scratch.logits.data(), tokens, padding_mask, plan);
    });
}

}  // namespace mixtura
