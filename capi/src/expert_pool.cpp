#include <deque>

#include "convert.hpp"

using namespace mixtura::capi;
using mixtura::StatusCode;

namespace {

// Copies of tensors that came with strides, as long as the pool is being made.
using Storage = std::deque<std::vector<std::byte>>;

const void* dense(const mixtura_tensor& tensor, std::initializer_list<std::int64_t> shape, const std::string& name,
                  Storage& storage) {
    return dense_rows(tensor, {shape.begin(), shape.size()}, name, storage.emplace_back());
}

mixtura::ExpertMatrix matrix(const mixtura_tensor* tensor, std::int64_t rows, std::int64_t columns, const char* name,
                             Storage& storage) {
    if (tensor == nullptr) return {};
    return {dense(*tensor, {rows, columns}, name, storage), static_cast<mixtura::DType>(tensor->dtype), 0};
}

// The E matrices of one role, from one tensor with E in front or from E tensors.
std::vector<mixtura::ExpertMatrix> matrices(const mixtura_expert_spec& spec, const mixtura_tensor* tensors,
                                            std::int64_t rows, std::int64_t columns, const std::string& name,
                                            Storage& storage) {
    std::vector<mixtura::ExpertMatrix> found(static_cast<std::size_t>(spec.expert_count));
    if (tensors == nullptr) return found;
    if (spec.tensor_count == 1 && tensors->rank == 3) {
        const auto dtype = static_cast<mixtura::DType>(tensors->dtype);
        const void* all = dense(*tensors, {spec.expert_count, rows, columns}, name, storage);
        const auto one = mixtura::Shape::from(std::array<std::int64_t, 2>{rows, columns});
        const auto bytes = static_cast<std::size_t>(mixtura::tensor_size_bytes(dtype, *one).value());
        for (std::size_t e = 0; e < found.size(); ++e)
            found[e] = {static_cast<const std::byte*>(all) + e * bytes, dtype, 0};
        return found;
    }
    if (spec.tensor_count != found.size()) {
        fail(StatusCode::invalid_argument, "spec.tensor_count is " + std::to_string(spec.tensor_count) +
                                               ", expected 1 (one tensor of three extents) or " +
                                               std::to_string(found.size()) + " (a matrix for each expert)");
    }
    for (std::size_t e = 0; e < found.size(); ++e)
        found[e] = matrix(tensors + e, rows, columns, (name + "[" + std::to_string(e) + "]").c_str(), storage);
    return found;
}

const float* bias(const mixtura_tensor* tensor, std::int64_t experts, std::int64_t width, const char* name,
                  Storage& storage) {
    if (tensor == nullptr) return nullptr;
    if (tensor->dtype != MIXTURA_DTYPE_F32) {
        fail(StatusCode::unsupported,
             std::string(name) + " is " + mixtura_dtype_name(tensor->dtype) + ", expected f32");
    }
    return static_cast<const float*>(dense(*tensor, {experts, width}, name, storage));
}

void check_size(std::int64_t size, const char* name) {
    constexpr std::int64_t kSizeMax = std::int64_t{1} << 24;
    if (size < 1 || size > kSizeMax) {
        fail(StatusCode::invalid_argument, std::string("spec.") + name + " is " + std::to_string(size) +
                                               ", expected 1 to " + std::to_string(kSizeMax));
    }
}

}  // namespace

extern "C" {

mixtura_status mixtura_expert_pool_create(const mixtura_expert_spec* spec, mixtura_expert_pool** pool) noexcept {
    return guard([&] {
        given(pool, "pool");
        const mixtura_expert_spec defaults = MIXTURA_EXPERT_SPEC_INIT;
        const mixtura_expert_spec wanted = options_of(&given(spec, "spec"), defaults, "spec");
        check_size(wanted.hidden_size, "hidden_size");
        check_size(wanted.expert_count, "expert_count");
        check_size(wanted.width, "width");
        if (wanted.shared_width != 0) check_size(wanted.shared_width, "shared_width");

        mixtura::ExpertSpec ours;
        ours.hidden_size = wanted.hidden_size;
        ours.expert_count = wanted.expert_count;
        ours.width = wanted.width;
        ours.activation = enum_of(wanted.activation, mixtura::ExpertActivation::relu, "spec.activation");
        ours.is_gated = wanted.gate != nullptr;
        ours.clamp_limit = wanted.clamp_limit;
        ours.clamp_alpha = wanted.clamp_alpha;
        ours.weight_at = enum_of(wanted.weight_at, mixtura::WeightAt::input, "spec.weight_at");
        ours.shared_width = wanted.shared_width;
        ours.is_shared_weighed = wanted.shared_score != nullptr;
        ours.shared_scale = wanted.shared_scale;

        Storage storage;
        const std::int64_t h = ours.hidden_size, f = ours.width, e_count = ours.expert_count, s = ours.shared_width;
        const auto gate = matrices(wanted, wanted.gate, f, h, "spec.gate", storage);
        const auto up = matrices(wanted, wanted.up, f, h, "spec.up", storage);
        const auto down = matrices(wanted, wanted.down, h, f, "spec.down", storage);
        const float* gate_bias = bias(wanted.gate_bias, e_count, f, "spec.gate_bias", storage);
        const float* up_bias = bias(wanted.up_bias, e_count, f, "spec.up_bias", storage);
        const float* down_bias = bias(wanted.down_bias, e_count, h, "spec.down_bias", storage);
        const auto row = [](const float* rows, std::size_t e, std::int64_t width) {
            return rows == nullptr ? nullptr : rows + e * static_cast<std::size_t>(width);
        };
        mixtura::ExpertWeights weights;
        for (std::size_t e = 0; e < gate.size(); ++e) {
            weights.experts.push_back(
                {gate[e], up[e], down[e], row(gate_bias, e, f), row(up_bias, e, f), row(down_bias, e, h)});
        }
        weights.shared.gate = matrix(wanted.shared_gate, s, h, "spec.shared_gate", storage);
        weights.shared.up = matrix(wanted.shared_up, s, h, "spec.shared_up", storage);
        weights.shared.down = matrix(wanted.shared_down, h, s, "spec.shared_down", storage);
        weights.shared_gate = matrix(wanted.shared_score, 1, h, "spec.shared_score", storage);

        auto made = std::make_unique<mixtura_expert_pool>();
        made->own = take(mixtura::ExpertPool::create(weights, ours, {.thread_count = wanted.thread_count}));
        made->pool = &*made->own;
        *pool = made.release();
    });
}

void mixtura_expert_pool_destroy(mixtura_expert_pool* pool) noexcept {
    if (pool != nullptr && pool->own) delete pool;
}

mixtura_status mixtura_expert_pool_get_stats(const mixtura_expert_pool* pool,
                                             mixtura_expert_pool_stats* stats) noexcept {
    return guard([&] {
        const mixtura::ExpertPool& p = *given(pool, "pool").pool;
        const mixtura::ExpertPoolCounters counters = p.counters();
        mixtura_expert_pool_stats out = MIXTURA_EXPERT_POOL_STATS_INIT;
        out.hidden_size = p.spec().hidden_size;
        out.expert_count = p.spec().expert_count;
        out.weight_bytes = p.weight_bytes();
        out.tokens = counters.tokens;
        out.expert_runs = counters.expert_runs;
        out.choices = counters.choices;
        give(stats, out, "stats");
    });
}

mixtura_status mixtura_expert_pool_run(const mixtura_expert_pool* pool, const float* hidden, size_t token_count,
                                       const mixtura_route_plan* plan, float* output) noexcept {
    return guard([&] {
        const mixtura::ExpertPool& p = *given(pool, "pool").pool;
        const auto width = static_cast<std::size_t>(p.spec().hidden_size);
        if (token_count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(float) / width)
            fail(StatusCode::invalid_argument, "token_count is impossible: " + std::to_string(token_count));
        check(p.run(array(hidden, token_count * width, "hidden"), given(plan, "plan").plan,
                    array(output, token_count * width, "output")));
    });
}

}  // extern "C"
