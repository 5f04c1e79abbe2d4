// What is behind a Generation: one sequence and what computes it; and what Batch shares with it.
#pragma once

#include <mixtura/generation.hpp>
#include <mixtura/kv_cache.hpp>

#include <atomic>
#include <memory>
#include <vector>

#include "model/cache_of_model.hpp"
#include "model/forward.hpp"
#include "model/model_state.hpp"
#include "parallel/thread_pool.hpp"

namespace mixtura {

struct Generation::State {
    Model model;
    GenerationOptions options;
    std::unique_ptr<ThreadPool> threads;
    KVCache cache;
    ForwardPass pass;
    SequenceId sequence{};
    std::vector<TokenId> source = {};  // what the encoder read, if there is one
    std::vector<TokenId> tokens = {};  // of the sequence; their keys and values are in the cache
    std::vector<float> logits = {};    // [V] of the last of them, or empty
    ExpertLoad load = {};              // of the last answer
    // Lock-free, so that a signal handler may set it.
    std::unique_ptr<std::atomic<bool>> is_cancelled = std::make_unique<std::atomic<bool>>(false);

    // `is_prompt`: what may be cut off again soon, so recurrent layers keep their states in front of its last token.
    Status feed(std::span<const TokenId> added, const FeedOptions& options_of_feed, bool is_prompt = false);
    Status feed_step(std::span<const TokenId> part, bool is_last, const FeedOptions& feed);
    // Beside an encoder: reads a source into an empty sequence, and begins the decoder's; on failure there is neither.
    Status read_source(std::span<const TokenId> given, const FeedOptions& feed);
    Status encode(std::span<const TokenId> given, const FeedOptions& feed);
    Status feed_start(const FeedOptions& feed);
    // Brings the sequence to `prompt`, and says how much of it needed no computing.
    Result<std::int64_t> feed_prompt(std::span<const TokenId> prompt, const FeedOptions& feed);
    Status cut(std::int64_t length);
    Status compute_again(std::int64_t kept, std::int64_t length);
    Status restart();
    Result<std::int64_t> reuse(std::span<const TokenId> prompt);
    Result<GenerationResult> generate(const GenerationRequest& request);
    void count_route(std::int64_t layer, const RoutePlan& plan);
    std::vector<TokenId> end_tokens() const;
};

// Hands what a step shows to the callbacks of a feed, until one of them stops: then none is called any more.
void watch(Step& step, const FeedOptions& feed, std::int64_t position, bool& is_stopped);

// `options` checked, and with the model's own context where they name none.
Result<GenerationOptions> settled_options(const ModelSpec& spec, const GenerationOptions& options);

// The routers' policies in force, [L] (of a dense layer: the default); empty where the checkpoint's own are.
Result<std::vector<RouterPolicy>> settled_policies(const ModelSpec& spec, const GenerationOptions& options);

// Rows of the largest step: a source is one.
std::int64_t step_rows(const ModelSpec& spec, const GenerationOptions& settled) noexcept;

// The failure of a sequence whose numbers stopped being finite.
Status not_finite(const NonFinite& failure, std::int64_t layer_count);

static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace mixtura
