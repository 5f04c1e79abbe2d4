// The size of every structure with a struct_size when it was first released.  A line never changes: a caller built then
// still passes this many bytes.  (Pointers and size_t have 8 bytes on every machine this library is built for.)
#pragma once

#include <mixtura/mixtura.h>

#define MIXTURA_ENABLE_EXPERIMENTAL
#include <mixtura/mixtura_experimental.h>

namespace mixtura::capi {

#define MIXTURA_FIRST_SIZE(type, bytes) \
    template <>                         \
    inline constexpr std::size_t kFirstSize<type> = bytes

MIXTURA_FIRST_SIZE(mixtura_backend_info, 32);
MIXTURA_FIRST_SIZE(mixtura_model_facts, 128);
MIXTURA_FIRST_SIZE(mixtura_tensor_info, 104);
MIXTURA_FIRST_SIZE(mixtura_memory_forecast, 64);
MIXTURA_FIRST_SIZE(mixtura_forecast_options, 32);
MIXTURA_FIRST_SIZE(mixtura_model_options, 32);
MIXTURA_FIRST_SIZE(mixtura_weight_error, 64);
MIXTURA_FIRST_SIZE(mixtura_encode_options, 16);
MIXTURA_FIRST_SIZE(mixtura_special_tokens, 56);
MIXTURA_FIRST_SIZE(mixtura_render_options, 56);
MIXTURA_FIRST_SIZE(mixtura_sampling_options, 96);
MIXTURA_FIRST_SIZE(mixtura_sampled, 32);
MIXTURA_FIRST_SIZE(mixtura_router_policy, 96);
MIXTURA_FIRST_SIZE(mixtura_router_spec, 80);
MIXTURA_FIRST_SIZE(mixtura_route_view, 136);
MIXTURA_FIRST_SIZE(mixtura_expert_spec, 152);
MIXTURA_FIRST_SIZE(mixtura_expert_pool_stats, 56);
MIXTURA_FIRST_SIZE(mixtura_kv_cache_options, 56);
MIXTURA_FIRST_SIZE(mixtura_kv_view, 64);
MIXTURA_FIRST_SIZE(mixtura_kv_memory, 72);
MIXTURA_FIRST_SIZE(mixtura_generation_options, 32);
MIXTURA_FIRST_SIZE(mixtura_feed_options, 40);
MIXTURA_FIRST_SIZE(mixtura_request, 96);
MIXTURA_FIRST_SIZE(mixtura_answer, 80);
MIXTURA_FIRST_SIZE(mixtura_generation_memory, 32);
MIXTURA_FIRST_SIZE(mixtura_chat_options, 56);
MIXTURA_FIRST_SIZE(mixtura_x_machine_rates, 40);

#undef MIXTURA_FIRST_SIZE

}  // namespace mixtura::capi
