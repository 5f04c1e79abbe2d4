#include <mixtura/generation.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/error.hpp"
#include "engine/generation_state.hpp"
#include "observe/log.hpp"

namespace mixtura {
namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Status check_options(const GenerationOptions& options) {
    if (options.context_tokens < 0) {
        return error(StatusCode::invalid_argument, "context_tokens is ", options.context_tokens,
                     ", expected 0 or more");
    }
    constexpr std::int64_t kStepMax = 65536;
    if (options.step_tokens < 1 || options.step_tokens > kStepMax) {
        return error(StatusCode::invalid_argument, "step_tokens is ", options.step_tokens, ", expected 1 to ",
                     kStepMax);
    }
    return {};
}

}  // namespace

void watch(Step& step, const FeedOptions& feed, std::int64_t position, bool& is_stopped) {
    if (feed.on_hidden)
        step.on_hidden = [&feed, position, &is_stopped](std::int64_t layer, std::span<const float> hidden) {
            is_stopped = is_stopped || feed.on_hidden(position, layer, hidden) == Flow::stop;
        };
    if (feed.on_route)
        step.on_route = [&feed, position, &is_stopped](std::int64_t layer, const RoutePlan& plan) {
            is_stopped = is_stopped || feed.on_route(position, layer, plan) == Flow::stop;
        };
}

Status not_finite(const NonFinite& failure, std::int64_t layer_count) {
    const std::string where = failure.layer < 0              ? "the embedding"
                              : failure.layer == layer_count ? "the logits"
                                                             : text("layer ", failure.layer);
    return error(StatusCode::internal, "the numbers stopped being finite in ", where, " at position ", failure.position,
                 "; the weights are damaged or the model does not fit its configuration");
}

Result<GenerationOptions> settled_options(const ModelSpec& spec, const GenerationOptions& options) {
    MIXTURA_RETURN_IF_ERROR(check_options(options));
    MIXTURA_RETURN_IF_ERROR(check_cache_dtypes(spec, options.cache_dtype));
    GenerationOptions settled = options;
    if (settled.context_tokens == 0) settled.context_tokens = spec.context_tokens;
    if (spec.learned_positions > 0 && settled.context_tokens > spec.learned_positions) {
        return error(StatusCode::out_of_range, "context_tokens is ", settled.context_tokens, ", but ",
                     spec.architecture, " has learned only ", spec.learned_positions, " positions");
    }
    settled.step_tokens = std::min(settled.step_tokens, settled.context_tokens);
    return settled;
}

std::int64_t step_rows(const ModelSpec& spec, const GenerationOptions& settled) noexcept {
    return spec.has_encoder() ? settled.context_tokens : settled.step_tokens;
}

Result<Generation> Generation::create(const Model& model, const GenerationOptions& options) noexcept {
    return without_exceptions([&]() -> Result<Generation> {
        const ModelSpec& spec = model.state()->core->spec;
        MIXTURA_ASSIGN_OR_RETURN(const GenerationOptions settled, settled_options(spec, options));
        MIXTURA_ASSIGN_OR_RETURN(std::unique_ptr<ThreadPool> threads, ThreadPool::create(options.thread_count));
        MIXTURA_ASSIGN_OR_RETURN(KVCache cache,
                                 KVCache::create(cache_description(spec, settled.cache_dtype, settled.context_tokens)));
        MIXTURA_ASSIGN_OR_RETURN(std::vector<RouterPolicy> policies, settled_policies(spec, options));
        MIXTURA_ASSIGN_OR_RETURN(ForwardPass pass, ForwardPass::create(model.state()->core, step_rows(spec, settled),
                                                                       nullptr, settled.op_times, std::move(policies)));
        auto state =
            std::make_unique<State>(State{model, settled, std::move(threads), std::move(cache), std::move(pass)});
        MIXTURA_ASSIGN_OR_RETURN(state->sequence, state->cache.create_sequence());
        MIXTURA_LOG(debug, "engine", "generation with ", state->threads->thread_count(), " threads, a context of ",
                    settled.context_tokens, " tokens and ", cache_dtypes_name(settled.cache_dtype), " keys and values");
        return Generation(std::move(state));
    });
}

Status Generation::State::restart() {
    MIXTURA_ASSIGN_OR_RETURN(const SequenceId fresh, cache.create_sequence());
    MIXTURA_RETURN_IF_ERROR(cache.free_sequence(sequence));
    sequence = fresh;
    source.clear();
    tokens.clear();
    logits.clear();
    return {};
}

Status Generation::State::cut(std::int64_t length) {
    if (length < 0 || length > static_cast<std::int64_t>(tokens.size())) {
        return error(StatusCode::out_of_range, "cannot keep ", length, " tokens of a sequence of ", tokens.size());
    }
    if (length == static_cast<std::int64_t>(tokens.size())) return {};
    if (length == 0 && !source.empty()) return restart();
    MIXTURA_ASSIGN_OR_RETURN(const std::int64_t kept, cache.restorable_length(sequence, length));
    if (kept < length) return compute_again(kept, length);
    MIXTURA_RETURN_IF_ERROR(cache.truncate(sequence, length));
    tokens.resize(static_cast<std::size_t>(length));
    logits.clear();
    return {};
}

// Cuts to `length` where the states of recurrent layers are kept at `kept`, below it, only.  On a fork, so that
// everything is as before where it fails.
Status Generation::State::compute_again(std::int64_t kept, std::int64_t length) {
    const std::vector<TokenId> wanted(tokens.begin(), tokens.begin() + length);
    std::vector<TokenId> own_tokens(tokens.begin(), tokens.begin() + kept);
    MIXTURA_ASSIGN_OR_RETURN(SequenceId other, cache.fork(sequence));
    std::vector<float> own_logits;
    std::swap(sequence, other);
    std::swap(tokens, own_tokens);
    std::swap(logits, own_logits);
    const Status status = without_exceptions([&]() -> Status {
        MIXTURA_RETURN_IF_ERROR(cache.truncate(sequence, kept));
        return feed(std::span(wanted).subspan(static_cast<std::size_t>(kept)), {});
    });
    if (!status.is_ok()) {
        std::swap(sequence, other);
        std::swap(tokens, own_tokens);
        std::swap(logits, own_logits);
    } else {
        logits.clear();
    }
    MIXTURA_RETURN_IF_ERROR(cache.free_sequence(other));
    return status;
}

// One step: a part of the tokens, at most step_tokens of them.
Status Generation::State::feed_step(std::span<const TokenId> part, bool is_last, const FeedOptions& feed) {
    const ModelSpec& spec = model.state()->core->spec;
    MIXTURA_ASSIGN_OR_RETURN(const std::int64_t position,
                             cache.append(sequence, static_cast<std::int64_t>(part.size())));
    const StepSequence row{sequence, 0, static_cast<std::int64_t>(part.size()), position, options.context_tokens};
    std::vector<std::int64_t> wanted;
    for (std::int64_t i = feed.on_logits ? 0 : row.row_count - 1; i < row.row_count && (feed.on_logits || is_last); ++i)
        wanted.push_back(i);
    std::vector<float> computed(wanted.size() * static_cast<std::size_t>(spec.vocabulary_size));
    Step step{part, {&row, 1}, wanted, {}};
    bool is_stopped = false;  // by a callback: none is called any more
    watch(step, feed, position, is_stopped);
    std::vector<NonFinite> failed;
    MIXTURA_RETURN_IF_ERROR(pass.run(step, cache, *threads, computed, failed));
    if (!failed.empty()) return not_finite(failed[0], static_cast<std::int64_t>(spec.layers.size()));
    tokens.insert(tokens.end(), part.begin(), part.end());
    const auto width = static_cast<std::size_t>(spec.vocabulary_size);
    for (std::size_t i = 0; feed.on_logits && !is_stopped && i < wanted.size(); ++i) {
        is_stopped = feed.on_logits(position + static_cast<std::int64_t>(i),
                                    std::span(computed).subspan(i * width, width)) == Flow::stop;
    }
    if (is_stopped) return error(StatusCode::callback_stopped, "a callback stopped the feed");
    if (is_last) logits.assign(computed.end() - static_cast<std::ptrdiff_t>(width), computed.end());
    // Blocks that no later query can see go back to the cache.
    for (std::size_t group = 0; group < cache.description().groups.size(); ++group) {
        MIXTURA_ASSIGN_OR_RETURN(const std::int64_t visible, cache.first_visible(sequence, group));
        MIXTURA_RETURN_IF_ERROR(cache.release_before(sequence, group, visible));
    }
    return {};
}

Status Generation::State::feed(std::span<const TokenId> added, const FeedOptions& options_of_feed, bool is_prompt) {
    const auto before = static_cast<std::int64_t>(tokens.size()), count = static_cast<std::int64_t>(added.size());
    if (model.has_encoder() && source.empty()) return read_source(added, options_of_feed);
    if (count > options.context_tokens - before) {
        return error(StatusCode::out_of_range, before + count, " tokens are more than the context of ",
                     options.context_tokens, " holds");
    }
    const std::vector<float> logits_before = logits;
    // One token can be taken back; more may be more appends, and are a turn.
    if (count > 1) MIXTURA_RETURN_IF_ERROR(cache.snapshot(sequence));
    const bool is_marked = is_prompt && cache.has_states();
    for (std::int64_t done = 0; done < count;) {
        std::int64_t part = std::min(count - done, options.step_tokens);
        if (is_marked && done + part == count && part > 1) --part;
        const bool is_last = done + part == count;
        Status status = is_marked && done == count - 1 ? cache.snapshot(sequence) : Status();
        if (is_cancelled->load(std::memory_order_relaxed))
            status = error(StatusCode::cancelled, "the request was cancelled");
        if (status.is_ok()) {
            status = feed_step(added.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(part)), is_last,
                               options_of_feed);
        }
        if (!status.is_ok()) {
            // As before: what the steps added goes again (what a window let go of is gone for good, then so is the
            // sequence).
            tokens.resize(static_cast<std::size_t>(before));
            if (cache.truncate(sequence, before).is_ok())
                logits = logits_before;
            else
                MIXTURA_RETURN_IF_ERROR(restart());
            return status;
        }
        done += part;
    }
    return {};
}

Status Generation::feed(std::span<const TokenId> tokens, const FeedOptions& options) noexcept {
    return without_exceptions([&] {
        state_->is_cancelled->store(false);
        return state_->feed(tokens, options);
    });
}

Status Generation::truncate(std::int64_t length) noexcept {
    return without_exceptions([&] {
        state_->is_cancelled->store(false);
        return state_->cut(length);
    });
}

// Keeps the longest common beginning of the sequence and `prompt`, but for the prompt's last token, whose logits are
// needed; of recurrent layers, up to where their states are kept: in front of the last token of each of the last
// prompts.
Result<std::int64_t> Generation::State::reuse(std::span<const TokenId> prompt) {
    const auto common =
        std::mismatch(tokens.begin(), tokens.end(), prompt.begin(), prompt.end()).first - tokens.begin();
    const auto wanted = std::min<std::int64_t>(common, static_cast<std::int64_t>(prompt.size()) - 1);
    const Result<std::int64_t> kept = cache.restorable_length(sequence, wanted);
    if (kept && cut(*kept).is_ok()) return *kept;
    MIXTURA_RETURN_IF_ERROR(restart());  // a window has let go of what the kept part would need
    return std::int64_t{0};
}

Result<std::int64_t> Generation::State::feed_prompt(std::span<const TokenId> prompt, const FeedOptions& feed_options) {
    if (!model.has_encoder()) {
        MIXTURA_ASSIGN_OR_RETURN(const std::int64_t reused, reuse(prompt));
        MIXTURA_RETURN_IF_ERROR(feed(prompt.subspan(static_cast<std::size_t>(reused)), feed_options, true));
        return reused;
    }
    if (!std::equal(source.begin(), source.end(), prompt.begin(), prompt.end())) {
        MIXTURA_RETURN_IF_ERROR(restart());
        MIXTURA_RETURN_IF_ERROR(read_source(prompt, feed_options));
        return std::int64_t{0};
    }
    MIXTURA_RETURN_IF_ERROR(cache.truncate(sequence, 0));
    tokens.clear();
    MIXTURA_RETURN_IF_ERROR(feed_start(feed_options));
    return static_cast<std::int64_t>(source.size());
}

void Generation::State::count_route(std::int64_t layer, const RoutePlan& plan) {
    std::vector<std::int64_t>& counts = load.layers[static_cast<std::size_t>(layer)];
    counts.resize(static_cast<std::size_t>(plan.experts));
    for (std::size_t e = 0; e < counts.size(); ++e) counts[e] += plan.offsets[e + 1] - plan.offsets[e];
}

Result<GenerationResult> Generation::State::generate(const GenerationRequest& request) {
    const ModelSpec& spec = model.state()->core->spec;
    if (request.prompt.empty())
        return error(StatusCode::invalid_argument, "the prompt is empty, expected at least one token");
    if (static_cast<std::int64_t>(request.prompt.size()) > options.context_tokens) {
        return error(StatusCode::out_of_range, "the prompt has ", request.prompt.size(),
                     " tokens, more than the context of ", options.context_tokens, " holds");
    }
    SamplingOptions sampling = request.sampling;
    sampling.fill_unset(model.sampling_defaults());
    MIXTURA_ASSIGN_OR_RETURN(Sampler sampler, Sampler::create(spec.vocabulary_size, std::move(sampling)));
    StopOptions stop = request.stop;
    if (!stop.tokens) stop.tokens = end_tokens();
    const bool needs_text = !stop.strings.empty();
    MIXTURA_ASSIGN_OR_RETURN(StopMatcher matcher, StopMatcher::create(std::move(stop)));
    std::optional<StreamDecoder> decoder;
    if (model.tokenizer()) {
        MIXTURA_ASSIGN_OR_RETURN(decoder, StreamDecoder::create(*model.tokenizer()));
    } else if (needs_text) {
        return error(StatusCode::unsupported,
                     "stop strings need a tokenizer, and this model has none: ", model.tokenizer().status().message());
    }

    load = {0, std::vector<std::vector<std::int64_t>>(spec.layers.size())};
    FeedOptions counted;
    counted.on_route = [&](std::int64_t position, std::int64_t layer, const RoutePlan& plan) {
        count_route(layer, plan);
        return request.on_route ? request.on_route(position, layer, plan) : Flow::go_on;
    };
    FeedOptions of_prompt;
    of_prompt.on_route = request.on_route;

    const auto begin = std::chrono::steady_clock::now();
    GenerationResult result;
    result.prompt_tokens = static_cast<std::int64_t>(request.prompt.size());
    MIXTURA_ASSIGN_OR_RETURN(result.reused_tokens, feed_prompt(request.prompt, of_prompt));
    result.prefill_seconds = seconds_since(begin);
    const auto decode_begin = std::chrono::steady_clock::now();

    std::vector<TokenId> history = tokens;
    const std::size_t given = history.size();
    Sampled sampled;
    const auto show = [&](std::string_view piece) {
        result.text += piece;
        return !request.on_piece || request.on_piece({piece, sampled}) == Flow::go_on;
    };
    result.reason = matcher.reason();
    while (result.reason == FinishReason::none) {
        if (is_cancelled->load(std::memory_order_relaxed)) {
            result.reason = FinishReason::cancelled;
            break;
        }
        MIXTURA_ASSIGN_OR_RETURN(sampled, sampler.sample(logits, {history, given}));
        std::string_view piece;
        if (decoder && !matcher.is_stop_token(sampled.token)) {
            MIXTURA_ASSIGN_OR_RETURN(piece, decoder->push(sampled.token));
        }
        MIXTURA_ASSIGN_OR_RETURN(const StopMatcher::Step step, matcher.accept(sampled.token, piece));
        result.reason = step.reason;
        if (step.reason != FinishReason::stop_token) {
            history.push_back(sampled.token);
            result.tokens.push_back(sampled.token);
            if (!show(step.text) && result.reason == FinishReason::none) result.reason = FinishReason::callback;
        }
        if (result.reason != FinishReason::none) break;
        if (static_cast<std::int64_t>(tokens.size()) >= options.context_tokens) {
            result.reason = FinishReason::context_full;
            break;
        }
        if (Status status = feed({&sampled.token, 1}, counted); !status.is_ok()) {
            if (status.code() == StatusCode::cancelled)
                result.reason = FinishReason::cancelled;
            else if (status.code() == StatusCode::callback_stopped)
                result.reason = FinishReason::callback;
            else
                return status;
            break;
        }
        ++load.token_count;
    }
    // What a decoder or a possible stop string held back.
    std::string_view last;
    if (decoder) {
        MIXTURA_ASSIGN_OR_RETURN(last, decoder->finish());
    }
    MIXTURA_ASSIGN_OR_RETURN(const StopMatcher::Step rest, matcher.finish(last));
    if (!rest.text.empty()) (void)show(rest.text);
    result.decode_seconds = seconds_since(decode_begin);
    return result;
}

std::vector<TokenId> Generation::State::end_tokens() const {
    std::vector<TokenId> ends = model.facts().end_tokens;
    if (model.tokenizer()) {
        const auto more = model.tokenizer()->end_tokens();
        ends.insert(ends.end(), more.begin(), more.end());
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    return ends;
}

Result<GenerationResult> Generation::generate(const GenerationRequest& request) noexcept {
    return without_exceptions([&] {
        state_->is_cancelled->store(false);
        return state_->generate(request);
    });
}

void Generation::cancel() noexcept { state_->is_cancelled->store(true, std::memory_order_relaxed); }

std::span<const float> Generation::logits() const noexcept { return state_->logits; }
const ExpertLoad& Generation::expert_load() const noexcept { return state_->load; }
std::span<const TokenId> Generation::tokens() const noexcept { return state_->tokens; }
std::uint64_t Generation::cache_bytes() const noexcept { return state_->cache.memory().bytes_held; }
std::uint64_t Generation::scratch_bytes() const noexcept {
    const ModelSpec& spec = state_->model.state()->core->spec;
    return ForwardPass::scratch_bytes(spec, step_rows(spec, state_->options));
}
int Generation::thread_count() const noexcept { return state_->threads->thread_count(); }
const Model& Generation::model() const noexcept { return state_->model; }

Generation::Generation(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Generation::Generation(Generation&&) noexcept = default;
Generation& Generation::operator=(Generation&&) noexcept = default;
Generation::~Generation() = default;

}  // namespace mixtura
