// What the opaque handles hold.  Each keeps the C++ object, which shares what it needs of its parents, so handles may
// be destroyed in any order.
#pragma once

#include <mixtura/mixtura.h>
#include <mixtura/mixtura.hpp>

#include <deque>
#include <optional>
#include <string>
#include <vector>

struct mixtura_checkpoint {
    mixtura::Checkpoint checkpoint;
};

struct mixtura_tokenizer {
    mixtura::Tokenizer tokenizer;
};

struct mixtura_stream_decoder {
    mixtura::StreamDecoder decoder;
};

struct mixtura_template {
    mixtura::ChatTemplate layout;
};

struct mixtura_prompt {
    mixtura::RenderedPrompt prompt;
};

struct mixtura_sampler {
    mixtura::Sampler sampler;
    std::vector<mixtura_token_logprob> likeliest = {};  // lent to the caller
};

// The policy's mask as bytes, since the C++ one is a bit vector; lent with the policy.
struct mixtura_router {
    std::optional<mixtura::Router> own = {};  // empty: the model's
    const mixtura::Router* router = nullptr;
    std::vector<std::uint8_t> mask = {};
};

struct mixtura_expert_pool {
    std::optional<mixtura::ExpertPool> own = {};  // empty: the model's
    const mixtura::ExpertPool* pool = nullptr;
};

struct mixtura_route_plan {
    mixtura::RoutePlan plan = {};
};

struct mixtura_model {
    mixtura::Model model;
    std::vector<mixtura_router> routers = {};       // [L], lent
    std::vector<mixtura_expert_pool> experts = {};  // [L], lent
};

struct mixtura_kv_cache {
    mixtura::KVCache cache;
};

struct mixtura_generation {
    std::optional<mixtura::Generation> own = {};  // empty: a chat's
    const mixtura::Generation* generation = nullptr;
    mixtura::GenerationResult result = {};              // of the last run, lent to the caller
    std::vector<mixtura_token_logprob> likeliest = {};  // of the last piece, likewise
};

struct mixtura_chat {
    mixtura::Chat chat;
    mixtura_generation generation = {};  // lent
    mixtura::GenerationResult result = {};
};

struct mixtura_x_batch {
    mixtura::Batch batch;
};
