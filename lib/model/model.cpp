#include <mixtura/model.hpp>

#include <algorithm>
#include <set>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "experts/pool_state.hpp"
#include "model/arch/family.hpp"
#include "model/cache_of_model.hpp"
#include "model/forward.hpp"
#include "model/model_state.hpp"
#include "observe/log.hpp"
#include "parallel/thread_pool.hpp"
#include "router/router_state.hpp"

namespace mixtura {
namespace {

SamplingOptions sampling_from(const GenerationDefaults& stated) {
    SamplingOptions sampling;
    // A file that says nothing, or says not to sample, means the likeliest token: Hugging Face's default, and the only
    // choice that needs no seed to be repeatable.
    if (!stated.do_sample.value_or(false)) {
        sampling.temperature = 0.0F;
        return sampling;
    }
    const auto real = [](const std::optional<double>& value) {
        return value ? std::optional(static_cast<float>(*value)) : std::nullopt;
    };
    sampling.temperature = real(stated.temperature);
    sampling.top_p = real(stated.top_p);
    sampling.min_p = real(stated.min_p);
    sampling.typical_p = real(stated.typical_p);
    sampling.repetition_penalty = real(stated.repetition_penalty);
    if (stated.top_k) sampling.top_k = checked_cast<std::int32_t>(*stated.top_k);
    return sampling;
}

// Routers and pools over the model's own weights.
void add_mixtures(const std::shared_ptr<const ModelCore>& core, const std::shared_ptr<ParallelFor>& threads,
                  Model::State& state) {
    const KernelTable* kernels = core->backend->table;
    for (std::size_t l = 0; l < core->spec.layers.size(); ++l) {
        state.routers.emplace_back();
        state.experts.emplace_back();
        const auto& mixture = core->spec.layers[l].mixture;
        if (!mixture) continue;
        const LayerWeights& weights = core->weights.layers[l];
        state.routers.back().emplace(make_router(mixture->router, weights.router, kernels, core));
        std::set<const std::byte*> counted;  // experts may share a matrix
        std::uint64_t bytes = 0;
        const auto count = [&](const PackedMatrix& matrix) {
            if (matrix.data != nullptr && counted.insert(matrix.data).second)
                bytes += packed_bytes(matrix.dtype, matrix.rows, matrix.columns).value_or(0) + order_bytes(matrix);
        };
        const auto count_expert = [&](const ExpertView& expert) {
            for (const PackedMatrix* matrix : {&expert.gate, &expert.up, &expert.down}) count(*matrix);
        };
        for (const ExpertView& expert : weights.experts) count_expert(expert);
        count_expert(weights.shared);
        count(weights.shared_gate);
        state.experts.back().emplace(make_expert_pool(mixture->experts, weights.experts, weights.shared,
                                                      weights.shared_gate, kernels, threads, core, bytes));
    }
}

}  // namespace

Result<Model> Model::open(const std::string& path, const ModelOptions& options) noexcept {
    return without_exceptions([&]() -> Result<Model> {
        MIXTURA_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> threads, ThreadPool::create(options.thread_count));
        const LoadProgress progress = [&](std::uint64_t done, std::uint64_t total) {
            return !options.on_progress || options.on_progress(done, total) == Flow::go_on;
        };
        MIXTURA_ASSIGN_OR_RETURN(
            std::shared_ptr<const ModelCore> core,
            ModelCore::load(path, *threads, progress, {.topology = threads->topology()}, options.weights));
        SamplingOptions sampling = sampling_from(core->generation);
        MIXTURA_RETURN_IF_ERROR(sampling.check(core->spec.vocabulary_size));
        auto state =
            std::make_shared<State>(State{core, Tokenizer::open(path), ChatTemplate::open(path), std::move(sampling)});
        // A model may lack a vocabulary or a template, but not because memory was short just now.
        for (const Status* status : {&state->tokenizer.status(), &state->chat_template.status()})
            if (status->code() == StatusCode::out_of_host_memory) return *status;
        add_mixtures(core, std::shared_ptr<ParallelFor>(std::move(threads)), *state);
        Model model(std::move(state));
        for (const std::string& warning : model.warnings()) MIXTURA_LOG(warning, "model", path, ": ", warning);
        MIXTURA_LOG(info, "model", "model opened from ", path, ": ", core->spec.architecture, ", ",
                    model.weight_bytes(), " bytes of weights, kernels ", model.backend());
        return model;
    });
}

Result<MemoryForecast> Model::forecast(const std::string& path, std::int64_t context_tokens, CacheDTypes cache_dtype,
                                       const WeightMix& mix) noexcept {
    return without_exceptions([&]() -> Result<MemoryForecast> {
        MIXTURA_ASSIGN_OR_RETURN(ModelFiles files, ModelFiles::open(path));
        MIXTURA_ASSIGN_OR_RETURN(const Architecture architecture, describe_architecture(files));
        MIXTURA_RETURN_IF_ERROR(check_cache_dtypes(architecture.spec, cache_dtype));
        MIXTURA_ASSIGN_OR_RETURN(const WeightForecast weights,
                                 predict_weights(files, architecture, Topology::of_machine(), mix));
        MemoryForecast forecast;
        forecast.token = weights.token;
        forecast.nodes = weights.nodes;
        for (const RoleBytes& role : weights.roles) {
            forecast.roles.push_back(
                {role.role, role.tensor_count, role.parameter_count, role.integer_parameter_count, role.size_bytes});
            forecast.weight_bytes += role.size_bytes;
        }
        forecast.context_tokens = context_tokens > 0 ? context_tokens : architecture.spec.context_tokens;
        constexpr std::int64_t kStepTokensMax = 2048;  // GenerationOptions' default
        const std::int64_t step_tokens = std::min(kStepTokensMax, forecast.context_tokens);
        const KVDescription cache = cache_description(architecture.spec, cache_dtype, forecast.context_tokens);
        MIXTURA_ASSIGN_OR_RETURN(forecast.cache_bytes,
                                 KVCache::bytes_needed(cache, forecast.context_tokens, step_tokens));
        // A source is one step.
        forecast.scratch_bytes = ForwardPass::scratch_bytes(
            architecture.spec, architecture.spec.has_encoder() ? forecast.context_tokens : step_tokens);
        return forecast;
    });
}

const std::string& Model::path() const noexcept { return state_->core->path; }
const ModelFacts& Model::facts() const noexcept { return state_->core->facts; }
std::span<const std::string> Model::warnings() const noexcept { return state_->core->warnings; }
std::uint64_t Model::weight_bytes() const noexcept { return state_->core->store.size_bytes(); }
std::span<const NodeMemory> Model::weight_nodes() const noexcept { return state_->core->nodes; }
std::span<const WeightError> Model::weight_errors() const noexcept { return state_->core->weight_errors; }
std::string_view Model::backend() const noexcept { return state_->core->backend->name; }
std::int64_t Model::layer_count() const noexcept { return static_cast<std::int64_t>(state_->core->spec.layers.size()); }
bool Model::has_encoder() const noexcept { return state_->core->spec.has_encoder(); }
const Router* Model::router(std::int64_t layer) const noexcept {
    if (layer < 0 || layer >= layer_count()) return nullptr;
    const auto& router = state_->routers[static_cast<std::size_t>(layer)];
    return router ? &*router : nullptr;
}
const ExpertPool* Model::experts(std::int64_t layer) const noexcept {
    if (layer < 0 || layer >= layer_count()) return nullptr;
    const auto& experts = state_->experts[static_cast<std::size_t>(layer)];
    return experts ? &*experts : nullptr;
}
const SamplingOptions& Model::sampling_defaults() const noexcept { return state_->sampling_defaults; }
const Result<Tokenizer>& Model::tokenizer() const noexcept { return state_->tokenizer; }
const Result<ChatTemplate>& Model::chat_template() const noexcept { return state_->chat_template; }

}  // namespace mixtura
