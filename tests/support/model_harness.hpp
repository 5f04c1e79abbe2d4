// What every family must pass: a model against its owners' reference, and against itself fed in every other way.  One
// function; a new family is one call more.
#pragma once

#include <mixtura/model.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/core.hpp"
#include "model/forward.hpp"

namespace mixtura::test {

// Loads a checkpoint; throws what the library says.
std::shared_ptr<const ModelCore> load_core(const std::string& path, const Placement& placement = {});

// Runs of a model, each from an empty cache.
struct FeedPlan {
    std::int64_t chunk = 1'000'000;  // tokens a step
    int threads = 1;
    CacheDTypes cache_dtype = DType::f32;
    const Backend* backend = nullptr;
    bool has_company = false;          // other sequences of other lengths ride in the same steps
    Topology topology = {};            // of the threads
    std::vector<TokenId> source = {};  // what an encoder reads, where there is one; its company reads others
};
struct FeedResult {
    std::vector<std::vector<float>> hidden;  // [L + 1] of [T, H]
    std::vector<float> logits;               // [T, V]
    // Of each mixture layer: the experts of each token, [T, K], and their weights.
    std::map<std::int64_t, std::vector<std::int32_t>> experts;
    std::map<std::int64_t, std::vector<float>> weights;
    std::int64_t choices = 0;  // K
};
// Each sequence is admitted for as many tokens as it gets: what the owners' code takes a length-dependent scaling from.
FeedResult feed(const std::shared_ptr<const ModelCore>& core, const std::vector<TokenId>& tokens, const FeedPlan& plan);
// Every logit, hidden state and route, bit for bit.
bool is_equal(const FeedResult& a, const FeedResult& b);

// `golden_model`: a folder under golden/models, whose reference counts; `path`: the checkpoint to load (that folder,
// the same with config_hub.json, a GGUF file of the same numbers).  Checks hidden states and logits within 2e-5
// (largest difference by largest value; qwen3-next 4e-5, model_harness.cpp says why), the long row too, the experts
// that each router chose, as sets, and the greedy continuation, of which a model with an encoder has no reference.
void check_against_reference(const std::string& golden_model, const std::string& path);

// Checks that logits, hidden states and routes are the same bits fed token by token, in chunks, with 1 to 3 threads, in
// company, on every back-end of this machine, for each type of cache, and with the host in other floating-point modes.
// An encoder reads the sequence's tokens from the last to the first.
void check_one_answer(const std::string& golden_model, const std::string& path);

// What the headers at `path` predict for 64 tokens of f16 cache, and one role's part of it; both must be there.
MemoryForecast forecast_of(const std::string& path);
const RoleMemory& role_of(const MemoryForecast& forecast, std::string_view name);

}  // namespace mixtura::test
