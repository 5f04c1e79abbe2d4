// What the tests of the C interface share: the tiny mixture every one of them opens, and golden tensors read through
// the interface itself.
#pragma once

#include <mixtura/mixtura.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mixtura::capi_test {

inline std::string golden(const std::string& name) { return std::string(MIXTURA_GOLDEN_DIR "/") + name; }
inline std::string tiny_model() { return golden("models/qwen3-moe"); }  // 3 layers, H 64, 16 experts, 4 a token, V 160

// A call that must work; the library's own sentence where it does not.
inline void must(mixtura_status status) {
    INFO(mixtura_status_name(status) << ": " << mixtura_last_error_message());
    REQUIRE(status == MIXTURA_OK);
}

template <class Handle, void (*destroy)(Handle*)>
struct Destroyer {
    void operator()(Handle* handle) const noexcept { destroy(handle); }
};
template <class Handle, void (*destroy)(Handle*)>
using Owned = std::unique_ptr<Handle, Destroyer<Handle, destroy>>;

using Model = Owned<mixtura_model, mixtura_model_destroy>;
using Checkpoint = Owned<mixtura_checkpoint, mixtura_checkpoint_destroy>;
using Tokenizer = Owned<mixtura_tokenizer, mixtura_tokenizer_destroy>;
using Decoder = Owned<mixtura_stream_decoder, mixtura_stream_decoder_destroy>;
using Template = Owned<mixtura_template, mixtura_template_destroy>;
using Prompt = Owned<mixtura_prompt, mixtura_prompt_destroy>;
using Sampler = Owned<mixtura_sampler, mixtura_sampler_destroy>;
using Router = Owned<mixtura_router, mixtura_router_destroy>;
using Plan = Owned<mixtura_route_plan, mixtura_route_plan_destroy>;
using Pool = Owned<mixtura_expert_pool, mixtura_expert_pool_destroy>;
using Cache = Owned<mixtura_kv_cache, mixtura_kv_cache_destroy>;
using Generation = Owned<mixtura_generation, mixtura_generation_destroy>;
using Chat = Owned<mixtura_chat, mixtura_chat_destroy>;

inline Model open_model(const std::string& path = tiny_model()) {
    mixtura_model* model = nullptr;
    must(mixtura_model_open(path.c_str(), nullptr, &model));
    return Model(model);
}

inline Generation make_generation(const mixtura_model* model, int threads = 1) {
    mixtura_generation_options options = MIXTURA_GENERATION_OPTIONS_INIT;
    options.thread_count = threads;
    options.cache_dtype = MIXTURA_DTYPE_F32;
    mixtura_generation* generation = nullptr;
    must(mixtura_generation_create(model, &options, &generation));
    return Generation(generation);
}

inline Plan make_plan() {
    mixtura_route_plan* plan = nullptr;
    must(mixtura_route_plan_create(&plan));
    return Plan(plan);
}

// One layer of one plane of `heads` rows of `size` elements, in at most 1 MiB.
class SmallCache {
  public:
    SmallCache(std::int64_t heads, std::int64_t size, std::int32_t dtype) : plane_{heads, size, dtype, 0} {
        options.layers = &layer_;
        options.layer_count = 1;
        options.bytes_max = 1 << 20;
    }
    SmallCache(const SmallCache&) = delete;
    SmallCache& operator=(const SmallCache&) = delete;

    mixtura_kv_cache_options options = MIXTURA_KV_CACHE_OPTIONS_INIT;

  private:
    mixtura_kv_plane plane_;
    mixtura_kv_layer layer_ = {&plane_, 1, 0};
};

// One tensor of a checkpoint, as T.
template <class T>
std::vector<T> tensor(const std::string& path, const std::string& name) {
    mixtura_checkpoint* opened = nullptr;
    must(mixtura_checkpoint_open(path.c_str(), &opened));
    const Checkpoint checkpoint(opened);
    std::size_t index = 0;
    must(mixtura_checkpoint_find(opened, name.c_str(), &index));
    mixtura_tensor_info info = MIXTURA_TENSOR_INFO_INIT;
    must(mixtura_checkpoint_tensor(opened, index, &info));
    std::vector<T> values(info.size_bytes / sizeof(T));
    must(mixtura_checkpoint_read(opened, index, values.data(), info.size_bytes));
    return values;
}

inline std::vector<std::int32_t> reference_tokens(const std::string& name = "input_ids", std::size_t count = 24) {
    const auto ids = tensor<std::int64_t>(tiny_model() + "/reference.safetensors", name);
    return {ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count)};
}

inline std::vector<float> logits_of(const mixtura_generation* generation) {
    const float* logits = nullptr;
    std::size_t count = 0;
    must(mixtura_generation_logits(generation, &logits, &count));
    return {logits, logits + count};
}

// A text that a function writes to the caller's buffer, asked for its size first.
template <class Call>
std::string text_from(const Call& call) {
    std::size_t needed = 0;
    must(call(nullptr, 0, &needed));
    std::string text(needed, '\0');
    must(call(text.data(), text.size(), &needed));
    REQUIRE(needed == text.size());
    return text;
}

}  // namespace mixtura::capi_test
