/* The frozen layout of every public structure and the value of every constant, as numbers: what a program compiled years
 * ago has in it.  Generated once; regenerate with "tests/capi/abi_print.py cc include > tests/capi/abi_test.c", which says
 * that the ABI changed.  From 0.2 on only lines for new things and for tails that grew may come. */
#define MIXTURA_ENABLE_EXPERIMENTAL 1
#include <mixtura/mixtura_experimental.h>

#include <stdio.h>
#include <string.h>

#define SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), "size of " #type)
#define FIELD(type, field, at, bytes)                                                  \
    _Static_assert(offsetof(type, field) == (at), "offset of " #type "." #field);      \
    _Static_assert(sizeof(((type *)0)->field) == (bytes), "size of " #type "." #field)
#define VALUE(name, number) _Static_assert((name) == (number), "value of " #name)

_Static_assert(sizeof(void *) == 8 && sizeof(size_t) == 8, "these are the numbers of 64-bit machines");
_Static_assert(sizeof(mixtura_status) == 4 && (mixtura_status)-1 < 0, "mixtura_status is int32_t");
_Static_assert(sizeof(mixtura_sequence) == 8 && (mixtura_sequence)-1 > 0, "mixtura_sequence is uint64_t");

SIZE(mixtura_backend_info, 32);
FIELD(mixtura_backend_info, struct_size, 0, 8);
FIELD(mixtura_backend_info, name, 8, 8);
FIELD(mixtura_backend_info, description, 16, 8);
FIELD(mixtura_backend_info, is_deterministic, 24, 1);
FIELD(mixtura_backend_info, is_supported, 25, 1);
FIELD(mixtura_backend_info, is_chosen, 26, 1);
FIELD(mixtura_backend_info, reserved, 27, 5);

SIZE(mixtura_tensor, 80);
FIELD(mixtura_tensor, data, 0, 8);
FIELD(mixtura_tensor, dtype, 8, 4);
FIELD(mixtura_tensor, rank, 12, 4);
FIELD(mixtura_tensor, shape, 16, 32);
FIELD(mixtura_tensor, stride_bytes, 48, 32);

SIZE(mixtura_text, 16);
FIELD(mixtura_text, utf8, 0, 8);
FIELD(mixtura_text, bytes, 8, 8);

SIZE(mixtura_model_facts, 128);
FIELD(mixtura_model_facts, struct_size, 0, 8);
FIELD(mixtura_model_facts, layer_count, 8, 8);
FIELD(mixtura_model_facts, hidden_size, 16, 8);
FIELD(mixtura_model_facts, head_count, 24, 8);
FIELD(mixtura_model_facts, kv_head_count, 32, 8);
FIELD(mixtura_model_facts, head_size, 40, 8);
FIELD(mixtura_model_facts, ffn_size, 48, 8);
FIELD(mixtura_model_facts, expert_count, 56, 8);
FIELD(mixtura_model_facts, experts_per_token, 64, 8);
FIELD(mixtura_model_facts, shared_expert_count, 72, 8);
FIELD(mixtura_model_facts, expert_ffn_size, 80, 8);
FIELD(mixtura_model_facts, vocabulary_size, 88, 8);
FIELD(mixtura_model_facts, context_tokens, 96, 8);
FIELD(mixtura_model_facts, parameter_count, 104, 8);
FIELD(mixtura_model_facts, weight_bytes, 112, 8);
FIELD(mixtura_model_facts, has_tokenizer, 120, 1);
FIELD(mixtura_model_facts, has_chat_template, 121, 1);
FIELD(mixtura_model_facts, reserved, 122, 6);

SIZE(mixtura_tensor_info, 104);
FIELD(mixtura_tensor_info, struct_size, 0, 8);
FIELD(mixtura_tensor_info, dtype, 8, 4);
FIELD(mixtura_tensor_info, rank, 12, 4);
FIELD(mixtura_tensor_info, shape, 16, 64);
FIELD(mixtura_tensor_info, file_index, 80, 4);
FIELD(mixtura_tensor_info, reserved, 84, 4);
FIELD(mixtura_tensor_info, offset_bytes, 88, 8);
FIELD(mixtura_tensor_info, size_bytes, 96, 8);

SIZE(mixtura_memory_forecast, 64);
FIELD(mixtura_memory_forecast, struct_size, 0, 8);
FIELD(mixtura_memory_forecast, weight_bytes, 8, 8);
FIELD(mixtura_memory_forecast, cache_bytes, 16, 8);
FIELD(mixtura_memory_forecast, scratch_bytes, 24, 8);
FIELD(mixtura_memory_forecast, context_tokens, 32, 8);
FIELD(mixtura_memory_forecast, routed_parameters, 40, 8);
FIELD(mixtura_memory_forecast, multiplied_parameters, 48, 8);
FIELD(mixtura_memory_forecast, read_bytes, 56, 8);

SIZE(mixtura_forecast_options, 32);
FIELD(mixtura_forecast_options, struct_size, 0, 8);
FIELD(mixtura_forecast_options, context_tokens, 8, 8);
FIELD(mixtura_forecast_options, cache_dtype, 16, 4);
FIELD(mixtura_forecast_options, reserved, 20, 4);
FIELD(mixtura_forecast_options, weights, 24, 8);

SIZE(mixtura_model_options, 40);
FIELD(mixtura_model_options, struct_size, 0, 8);
FIELD(mixtura_model_options, thread_count, 8, 4);
FIELD(mixtura_model_options, reserved, 12, 4);
FIELD(mixtura_model_options, on_progress, 16, 8);
FIELD(mixtura_model_options, user_data, 24, 8);
FIELD(mixtura_model_options, weights, 32, 8);

SIZE(mixtura_weight_error, 64);
FIELD(mixtura_weight_error, struct_size, 0, 8);
FIELD(mixtura_weight_error, role, 8, 8);
FIELD(mixtura_weight_error, kind, 16, 8);
FIELD(mixtura_weight_error, parameter_count, 24, 8);
FIELD(mixtura_weight_error, error_sum, 32, 8);
FIELD(mixtura_weight_error, square_sum, 40, 8);
FIELD(mixtura_weight_error, largest, 48, 8);
FIELD(mixtura_weight_error, from, 56, 4);
FIELD(mixtura_weight_error, to, 60, 4);

SIZE(mixtura_encode_options, 16);
FIELD(mixtura_encode_options, struct_size, 0, 8);
FIELD(mixtura_encode_options, added_tokens, 8, 4);
FIELD(mixtura_encode_options, add_bos, 12, 4);

SIZE(mixtura_text_span, 24);
FIELD(mixtura_text_span, utf8, 0, 8);
FIELD(mixtura_text_span, bytes, 8, 8);
FIELD(mixtura_text_span, is_trusted, 16, 1);
FIELD(mixtura_text_span, reserved, 17, 7);

SIZE(mixtura_special_tokens, 56);
FIELD(mixtura_special_tokens, struct_size, 0, 8);
FIELD(mixtura_special_tokens, bos, 8, 4);
FIELD(mixtura_special_tokens, eos, 12, 4);
FIELD(mixtura_special_tokens, eot, 16, 4);
FIELD(mixtura_special_tokens, eom, 20, 4);
FIELD(mixtura_special_tokens, unk, 24, 4);
FIELD(mixtura_special_tokens, pad, 28, 4);
FIELD(mixtura_special_tokens, sep, 32, 4);
FIELD(mixtura_special_tokens, mask, 36, 4);
FIELD(mixtura_special_tokens, fim_prefix, 40, 4);
FIELD(mixtura_special_tokens, fim_suffix, 44, 4);
FIELD(mixtura_special_tokens, fim_middle, 48, 4);
FIELD(mixtura_special_tokens, reserved, 52, 4);

SIZE(mixtura_variable, 24);
FIELD(mixtura_variable, name, 0, 8);
FIELD(mixtura_variable, value, 8, 16);

SIZE(mixtura_render_options, 56);
FIELD(mixtura_render_options, struct_size, 0, 8);
FIELD(mixtura_render_options, trusted, 8, 8);
FIELD(mixtura_render_options, trusted_count, 16, 8);
FIELD(mixtura_render_options, trusted_roles, 24, 8);
FIELD(mixtura_render_options, trusted_role_count, 32, 8);
FIELD(mixtura_render_options, now, 40, 8);
FIELD(mixtura_render_options, add_generation_prompt, 48, 4);
FIELD(mixtura_render_options, reserved, 52, 4);

SIZE(mixtura_logit_bias, 8);
FIELD(mixtura_logit_bias, token, 0, 4);
FIELD(mixtura_logit_bias, bias, 4, 4);

SIZE(mixtura_sampling_options, 96);
FIELD(mixtura_sampling_options, struct_size, 0, 8);
FIELD(mixtura_sampling_options, logit_bias, 8, 8);
FIELD(mixtura_sampling_options, logit_bias_count, 16, 8);
FIELD(mixtura_sampling_options, repetition_penalty, 24, 4);
FIELD(mixtura_sampling_options, presence_penalty, 28, 4);
FIELD(mixtura_sampling_options, frequency_penalty, 32, 4);
FIELD(mixtura_sampling_options, no_repeat_ngram, 36, 4);
FIELD(mixtura_sampling_options, edit_logits, 40, 8);
FIELD(mixtura_sampling_options, edit_logits_user_data, 48, 8);
FIELD(mixtura_sampling_options, temperature, 56, 4);
FIELD(mixtura_sampling_options, top_k, 60, 4);
FIELD(mixtura_sampling_options, top_p, 64, 4);
FIELD(mixtura_sampling_options, min_p, 68, 4);
FIELD(mixtura_sampling_options, typical_p, 72, 4);
FIELD(mixtura_sampling_options, logprobs, 76, 4);
FIELD(mixtura_sampling_options, seed, 80, 8);
FIELD(mixtura_sampling_options, completion, 88, 8);

SIZE(mixtura_token_logprob, 8);
FIELD(mixtura_token_logprob, token, 0, 4);
FIELD(mixtura_token_logprob, logprob, 4, 4);

SIZE(mixtura_sampled, 32);
FIELD(mixtura_sampled, struct_size, 0, 8);
FIELD(mixtura_sampled, token, 8, 4);
FIELD(mixtura_sampled, probability, 12, 4);
FIELD(mixtura_sampled, logprob, 16, 4);
FIELD(mixtura_sampled, likeliest_count, 20, 4);
FIELD(mixtura_sampled, likeliest, 24, 8);

SIZE(mixtura_router_policy, 96);
FIELD(mixtura_router_policy, struct_size, 0, 8);
FIELD(mixtura_router_policy, top_k, 8, 8);
FIELD(mixtura_router_policy, group_count, 16, 8);
FIELD(mixtura_router_policy, groups_kept, 24, 8);
FIELD(mixtura_router_policy, is_masked, 32, 8);
FIELD(mixtura_router_policy, is_masked_count, 40, 8);
FIELD(mixtura_router_policy, scoring, 48, 4);
FIELD(mixtura_router_policy, group_score, 52, 4);
FIELD(mixtura_router_policy, overflow, 56, 4);
FIELD(mixtura_router_policy, routed_scale, 60, 4);
FIELD(mixtura_router_policy, temperature, 64, 4);
FIELD(mixtura_router_policy, renormalise_floor, 68, 4);
FIELD(mixtura_router_policy, renormalise_bias, 72, 4);
FIELD(mixtura_router_policy, sparsemixer_epsilon, 76, 4);
FIELD(mixtura_router_policy, logit_clamp, 80, 4);
FIELD(mixtura_router_policy, cumulative_probability, 84, 4);
FIELD(mixtura_router_policy, capacity_factor, 88, 4);
FIELD(mixtura_router_policy, renormalise, 92, 1);
FIELD(mixtura_router_policy, renormalise_after_drop, 93, 1);
FIELD(mixtura_router_policy, reserved, 94, 2);

SIZE(mixtura_router_spec, 80);
FIELD(mixtura_router_spec, struct_size, 0, 8);
FIELD(mixtura_router_spec, hidden_size, 8, 8);
FIELD(mixtura_router_spec, expert_count, 16, 8);
FIELD(mixtura_router_spec, gate_width, 24, 8);
FIELD(mixtura_router_spec, is_inner_silu, 32, 1);
FIELD(mixtura_router_spec, reserved, 33, 7);
FIELD(mixtura_router_spec, policy, 40, 8);
FIELD(mixtura_router_spec, gate, 48, 8);
FIELD(mixtura_router_spec, inner_gate, 56, 8);
FIELD(mixtura_router_spec, gate_bias, 64, 8);
FIELD(mixtura_router_spec, selection_bias, 72, 8);

SIZE(mixtura_route_view, 136);
FIELD(mixtura_route_view, struct_size, 0, 8);
FIELD(mixtura_route_view, token_count, 8, 8);
FIELD(mixtura_route_view, choice_count, 16, 8);
FIELD(mixtura_route_view, expert_count, 24, 8);
FIELD(mixtura_route_view, slot_count, 32, 8);
FIELD(mixtura_route_view, expert_ids, 40, 8);
FIELD(mixtura_route_view, weights, 48, 8);
FIELD(mixtura_route_view, experts_of_token, 56, 8);
FIELD(mixtura_route_view, offsets, 64, 8);
FIELD(mixtura_route_view, token_of_slot, 72, 8);
FIELD(mixtura_route_view, slot_of_token_choice, 80, 8);
FIELD(mixtura_route_view, load, 88, 8);
FIELD(mixtura_route_view, dropped, 96, 8);
FIELD(mixtura_route_view, rerouted, 104, 8);
FIELD(mixtura_route_view, clamped, 112, 8);
FIELD(mixtura_route_view, non_finite, 120, 8);
FIELD(mixtura_route_view, padding, 128, 8);

SIZE(mixtura_expert_spec, 152);
FIELD(mixtura_expert_spec, struct_size, 0, 8);
FIELD(mixtura_expert_spec, hidden_size, 8, 8);
FIELD(mixtura_expert_spec, expert_count, 16, 8);
FIELD(mixtura_expert_spec, width, 24, 8);
FIELD(mixtura_expert_spec, shared_width, 32, 8);
FIELD(mixtura_expert_spec, activation, 40, 4);
FIELD(mixtura_expert_spec, weight_at, 44, 4);
FIELD(mixtura_expert_spec, clamp_limit, 48, 4);
FIELD(mixtura_expert_spec, clamp_alpha, 52, 4);
FIELD(mixtura_expert_spec, shared_scale, 56, 4);
FIELD(mixtura_expert_spec, thread_count, 60, 4);
FIELD(mixtura_expert_spec, tensor_count, 64, 8);
FIELD(mixtura_expert_spec, gate, 72, 8);
FIELD(mixtura_expert_spec, up, 80, 8);
FIELD(mixtura_expert_spec, down, 88, 8);
FIELD(mixtura_expert_spec, gate_bias, 96, 8);
FIELD(mixtura_expert_spec, up_bias, 104, 8);
FIELD(mixtura_expert_spec, down_bias, 112, 8);
FIELD(mixtura_expert_spec, shared_gate, 120, 8);
FIELD(mixtura_expert_spec, shared_up, 128, 8);
FIELD(mixtura_expert_spec, shared_down, 136, 8);
FIELD(mixtura_expert_spec, shared_score, 144, 8);

SIZE(mixtura_expert_pool_stats, 56);
FIELD(mixtura_expert_pool_stats, struct_size, 0, 8);
FIELD(mixtura_expert_pool_stats, hidden_size, 8, 8);
FIELD(mixtura_expert_pool_stats, expert_count, 16, 8);
FIELD(mixtura_expert_pool_stats, weight_bytes, 24, 8);
FIELD(mixtura_expert_pool_stats, tokens, 32, 8);
FIELD(mixtura_expert_pool_stats, expert_runs, 40, 8);
FIELD(mixtura_expert_pool_stats, choices, 48, 8);

SIZE(mixtura_kv_plane, 24);
FIELD(mixtura_kv_plane, head_count, 0, 8);
FIELD(mixtura_kv_plane, size, 8, 8);
FIELD(mixtura_kv_plane, dtype, 16, 4);
FIELD(mixtura_kv_plane, reserved, 20, 4);

SIZE(mixtura_kv_layer, 24);
FIELD(mixtura_kv_layer, planes, 0, 8);
FIELD(mixtura_kv_layer, plane_count, 8, 8);
FIELD(mixtura_kv_layer, group, 16, 8);

SIZE(mixtura_kv_group, 16);
FIELD(mixtura_kv_group, window_tokens, 0, 8);
FIELD(mixtura_kv_group, chunk_tokens, 8, 8);

SIZE(mixtura_kv_cache_options, 56);
FIELD(mixtura_kv_cache_options, struct_size, 0, 8);
FIELD(mixtura_kv_cache_options, layers, 8, 8);
FIELD(mixtura_kv_cache_options, layer_count, 16, 8);
FIELD(mixtura_kv_cache_options, groups, 24, 8);
FIELD(mixtura_kv_cache_options, group_count, 32, 8);
FIELD(mixtura_kv_cache_options, tokens_max, 40, 8);
FIELD(mixtura_kv_cache_options, bytes_max, 48, 8);

SIZE(mixtura_kv_plane_view, 48);
FIELD(mixtura_kv_plane_view, offset_bytes, 0, 8);
FIELD(mixtura_kv_plane_view, head_stride_bytes, 8, 8);
FIELD(mixtura_kv_plane_view, row_stride_bytes, 16, 8);
FIELD(mixtura_kv_plane_view, head_count, 24, 8);
FIELD(mixtura_kv_plane_view, size, 32, 8);
FIELD(mixtura_kv_plane_view, dtype, 40, 4);
FIELD(mixtura_kv_plane_view, reserved, 44, 4);

SIZE(mixtura_kv_view, 64);
FIELD(mixtura_kv_view, struct_size, 0, 8);
FIELD(mixtura_kv_view, base, 8, 8);
FIELD(mixtura_kv_view, block_stride_bytes, 16, 8);
FIELD(mixtura_kv_view, block_table, 24, 8);
FIELD(mixtura_kv_view, block_count, 32, 8);
FIELD(mixtura_kv_view, first_block, 40, 8);
FIELD(mixtura_kv_view, length_tokens, 48, 8);
FIELD(mixtura_kv_view, plane_count, 56, 8);

SIZE(mixtura_kv_memory, 72);
FIELD(mixtura_kv_memory, struct_size, 0, 8);
FIELD(mixtura_kv_memory, bytes_max, 8, 8);
FIELD(mixtura_kv_memory, bytes_held, 16, 8);
FIELD(mixtura_kv_memory, bytes_used, 24, 8);
FIELD(mixtura_kv_memory, blocks_used, 32, 8);
FIELD(mixtura_kv_memory, blocks_shared, 40, 8);
FIELD(mixtura_kv_memory, blocks_free, 48, 8);
FIELD(mixtura_kv_memory, sequences, 56, 8);
FIELD(mixtura_kv_memory, tokens, 64, 8);

SIZE(mixtura_generation_options, 48);
FIELD(mixtura_generation_options, struct_size, 0, 8);
FIELD(mixtura_generation_options, context_tokens, 8, 8);
FIELD(mixtura_generation_options, step_tokens, 16, 8);
FIELD(mixtura_generation_options, thread_count, 24, 4);
FIELD(mixtura_generation_options, cache_dtype, 28, 4);
FIELD(mixtura_generation_options, change_router, 32, 8);
FIELD(mixtura_generation_options, user_data, 40, 8);

SIZE(mixtura_feed_options, 40);
FIELD(mixtura_feed_options, struct_size, 0, 8);
FIELD(mixtura_feed_options, on_logits, 8, 8);
FIELD(mixtura_feed_options, on_hidden, 16, 8);
FIELD(mixtura_feed_options, on_route, 24, 8);
FIELD(mixtura_feed_options, user_data, 32, 8);

SIZE(mixtura_request, 96);
FIELD(mixtura_request, struct_size, 0, 8);
FIELD(mixtura_request, prompt, 8, 8);
FIELD(mixtura_request, prompt_count, 16, 8);
FIELD(mixtura_request, sampling, 24, 8);
FIELD(mixtura_request, stop_tokens, 32, 8);
FIELD(mixtura_request, stop_token_count, 40, 8);
FIELD(mixtura_request, stop_strings, 48, 8);
FIELD(mixtura_request, stop_string_count, 56, 8);
FIELD(mixtura_request, tokens_max, 64, 8);
FIELD(mixtura_request, on_piece, 72, 8);
FIELD(mixtura_request, on_route, 80, 8);
FIELD(mixtura_request, user_data, 88, 8);

SIZE(mixtura_answer, 80);
FIELD(mixtura_answer, struct_size, 0, 8);
FIELD(mixtura_answer, utf8, 8, 8);
FIELD(mixtura_answer, bytes, 16, 8);
FIELD(mixtura_answer, tokens, 24, 8);
FIELD(mixtura_answer, token_count, 32, 8);
FIELD(mixtura_answer, prompt_tokens, 40, 8);
FIELD(mixtura_answer, reused_tokens, 48, 8);
FIELD(mixtura_answer, prefill_seconds, 56, 8);
FIELD(mixtura_answer, decode_seconds, 64, 8);
FIELD(mixtura_answer, finish, 72, 4);
FIELD(mixtura_answer, reserved, 76, 4);

SIZE(mixtura_generation_memory, 32);
FIELD(mixtura_generation_memory, struct_size, 0, 8);
FIELD(mixtura_generation_memory, cache_bytes, 8, 8);
FIELD(mixtura_generation_memory, scratch_bytes, 16, 8);
FIELD(mixtura_generation_memory, thread_count, 24, 4);
FIELD(mixtura_generation_memory, reserved, 28, 4);

SIZE(mixtura_chat_options, 56);
FIELD(mixtura_chat_options, struct_size, 0, 8);
FIELD(mixtura_chat_options, generation, 8, 8);
FIELD(mixtura_chat_options, request, 16, 8);
FIELD(mixtura_chat_options, chat_template, 24, 8);
FIELD(mixtura_chat_options, variables_json, 32, 16);
FIELD(mixtura_chat_options, now, 48, 8);

SIZE(mixtura_x_machine_rates, 40);
FIELD(mixtura_x_machine_rates, struct_size, 0, 8);
FIELD(mixtura_x_machine_rates, read_bytes_per_s, 8, 8);
FIELD(mixtura_x_machine_rates, integer_ops_per_s, 16, 8);
FIELD(mixtura_x_machine_rates, float_ops_per_s, 24, 8);
FIELD(mixtura_x_machine_rates, thread_count, 32, 4);
FIELD(mixtura_x_machine_rates, reserved, 36, 4);

VALUE(MIXTURA_OK, 0);
VALUE(MIXTURA_END_OF_STREAM, 1);
VALUE(MIXTURA_WOULD_BLOCK, 2);
VALUE(MIXTURA_INTERNAL, -1);
VALUE(MIXTURA_OUT_OF_HOST_MEMORY, -2);
VALUE(MIXTURA_OUT_OF_DEVICE_MEMORY, -3);
VALUE(MIXTURA_BUDGET_EXCEEDED, -4);
VALUE(MIXTURA_INVALID_ARGUMENT, -10);
VALUE(MIXTURA_OUT_OF_RANGE, -11);
VALUE(MIXTURA_BUFFER_TOO_SMALL, -12);
VALUE(MIXTURA_UNSUPPORTED, -13);
VALUE(MIXTURA_VERSION_MISMATCH, -14);
VALUE(MIXTURA_IO, -20);
VALUE(MIXTURA_NOT_FOUND, -21);
VALUE(MIXTURA_CORRUPT_FILE, -22);
VALUE(MIXTURA_UNKNOWN_FORMAT, -23);
VALUE(MIXTURA_UNKNOWN_ARCHITECTURE, -24);
VALUE(MIXTURA_BAD_STATE, -30);
VALUE(MIXTURA_CANCELLED, -31);
VALUE(MIXTURA_CALLBACK_STOPPED, -32);
VALUE(MIXTURA_TIMEOUT, -33);
VALUE(MIXTURA_DEVICE, -40);
VALUE(MIXTURA_DEVICE_LOST, -41);
VALUE(MIXTURA_NO_BACKEND, -42);
VALUE(MIXTURA_COMM, -50);
VALUE(MIXTURA_PEER_LOST, -51);
VALUE(MIXTURA_FEATURE_AVX2, 1);
VALUE(MIXTURA_FEATURE_AVX_VNNI, 2);
VALUE(MIXTURA_FEATURE_AVX512_VNNI, 3);
VALUE(MIXTURA_FEATURE_AMX, 4);
VALUE(MIXTURA_FEATURE_NEON_DOTPROD, 5);
VALUE(MIXTURA_FEATURE_CUDA, 6);
VALUE(MIXTURA_FEATURE_NCCL, 7);
VALUE(MIXTURA_FEATURE_MPI, 8);
VALUE(MIXTURA_HEALTH_OK, 0);
VALUE(MIXTURA_HEALTH_NOTE, 1);
VALUE(MIXTURA_HEALTH_WARNING, 2);
VALUE(MIXTURA_HEALTH_FAILURE, 3);
VALUE(MIXTURA_LOG_NONE, 0);
VALUE(MIXTURA_LOG_ERROR, 1);
VALUE(MIXTURA_LOG_WARNING, 2);
VALUE(MIXTURA_LOG_INFO, 3);
VALUE(MIXTURA_LOG_DEBUG, 4);
VALUE(MIXTURA_LOG_TRACE, 5);
VALUE(MIXTURA_DTYPE_UNKNOWN, 0);
VALUE(MIXTURA_DTYPE_F64, 1);
VALUE(MIXTURA_DTYPE_F32, 2);
VALUE(MIXTURA_DTYPE_F16, 3);
VALUE(MIXTURA_DTYPE_BF16, 4);
VALUE(MIXTURA_DTYPE_F8_E4M3, 5);
VALUE(MIXTURA_DTYPE_F8_E5M2, 6);
VALUE(MIXTURA_DTYPE_F8_E8M0, 7);
VALUE(MIXTURA_DTYPE_F8_E4M3FNUZ, 8);
VALUE(MIXTURA_DTYPE_F8_E5M2FNUZ, 9);
VALUE(MIXTURA_DTYPE_F6_E2M3, 10);
VALUE(MIXTURA_DTYPE_F6_E3M2, 11);
VALUE(MIXTURA_DTYPE_F4_E2M1, 12);
VALUE(MIXTURA_DTYPE_C64, 13);
VALUE(MIXTURA_DTYPE_I64, 20);
VALUE(MIXTURA_DTYPE_I32, 21);
VALUE(MIXTURA_DTYPE_I16, 22);
VALUE(MIXTURA_DTYPE_I8, 23);
VALUE(MIXTURA_DTYPE_U64, 24);
VALUE(MIXTURA_DTYPE_U32, 25);
VALUE(MIXTURA_DTYPE_U16, 26);
VALUE(MIXTURA_DTYPE_U8, 27);
VALUE(MIXTURA_DTYPE_BOOLEAN, 28);
VALUE(MIXTURA_DTYPE_Q4_0, 40);
VALUE(MIXTURA_DTYPE_Q4_1, 41);
VALUE(MIXTURA_DTYPE_Q5_0, 42);
VALUE(MIXTURA_DTYPE_Q5_1, 43);
VALUE(MIXTURA_DTYPE_Q8_0, 44);
VALUE(MIXTURA_DTYPE_Q8_1, 45);
VALUE(MIXTURA_DTYPE_Q2_K, 46);
VALUE(MIXTURA_DTYPE_Q3_K, 47);
VALUE(MIXTURA_DTYPE_Q4_K, 48);
VALUE(MIXTURA_DTYPE_Q5_K, 49);
VALUE(MIXTURA_DTYPE_Q6_K, 50);
VALUE(MIXTURA_DTYPE_Q8_K, 51);
VALUE(MIXTURA_DTYPE_IQ1_S, 52);
VALUE(MIXTURA_DTYPE_IQ1_M, 53);
VALUE(MIXTURA_DTYPE_IQ2_XXS, 54);
VALUE(MIXTURA_DTYPE_IQ2_XS, 55);
VALUE(MIXTURA_DTYPE_IQ2_S, 56);
VALUE(MIXTURA_DTYPE_IQ3_XXS, 57);
VALUE(MIXTURA_DTYPE_IQ3_S, 58);
VALUE(MIXTURA_DTYPE_IQ4_NL, 59);
VALUE(MIXTURA_DTYPE_IQ4_XS, 60);
VALUE(MIXTURA_DTYPE_TQ1_0, 61);
VALUE(MIXTURA_DTYPE_TQ2_0, 62);
VALUE(MIXTURA_DTYPE_MXFP4, 63);
VALUE(MIXTURA_DTYPE_NVFP4, 64);
VALUE(MIXTURA_DTYPE_F8_E4M3_32, 80);
VALUE(MIXTURA_DTYPE_F8_E4M3_128, 81);
VALUE(MIXTURA_DTYPE_INT4_32, 82);
VALUE(MIXTURA_DTYPE_INT4_64, 83);
VALUE(MIXTURA_DTYPE_INT4_128, 84);
VALUE(MIXTURA_DTYPE_NF4, 85);
VALUE(MIXTURA_ABOUT_PATH, 1);
VALUE(MIXTURA_ABOUT_ARCHITECTURE, 2);
VALUE(MIXTURA_ABOUT_NAME, 3);
VALUE(MIXTURA_ABOUT_DECLARED_SIZE, 4);
VALUE(MIXTURA_ABOUT_FORMAT, 5);
VALUE(MIXTURA_ABOUT_TOKENIZER, 6);
VALUE(MIXTURA_ABOUT_BACKEND, 7);
VALUE(MIXTURA_CACHE_F32, 2);
VALUE(MIXTURA_CACHE_F16, 3);
VALUE(MIXTURA_CACHE_BF16, 4);
VALUE(MIXTURA_CACHE_F8, 5);
VALUE(MIXTURA_CACHE_Q8, 44);
VALUE(MIXTURA_CACHE_F16_F8, 327683);
VALUE(MIXTURA_CACHE_BF16_F8, 327684);
VALUE(MIXTURA_CACHE_F16_Q8, 2883587);
VALUE(MIXTURA_CACHE_BF16_Q8, 2883588);
VALUE(MIXTURA_ADDED_TOKENS_ALL, 0);
VALUE(MIXTURA_ADDED_TOKENS_SPECIAL_ONLY, 1);
VALUE(MIXTURA_ADDED_TOKENS_NONE, 2);
VALUE(MIXTURA_ADD_BOS_MODEL_DEFAULT, 0);
VALUE(MIXTURA_ADD_BOS_YES, 1);
VALUE(MIXTURA_ADD_BOS_NO, 2);
VALUE(MIXTURA_TOKEN_IS_END, 1);
VALUE(MIXTURA_TOKEN_IS_SPECIAL, 2);
VALUE(MIXTURA_TOKEN_IS_ADDED, 4);
VALUE(MIXTURA_SCORING_SOFTMAX, 0);
VALUE(MIXTURA_SCORING_SIGMOID, 1);
VALUE(MIXTURA_SCORING_SOFTMAX_OF_CHOSEN, 2);
VALUE(MIXTURA_SCORING_SPARSEMIXER, 3);
VALUE(MIXTURA_GROUP_SCORE_LARGEST, 0);
VALUE(MIXTURA_GROUP_SCORE_SUM_OF_TOP_TWO, 1);
VALUE(MIXTURA_OVERFLOW_NEXT_BEST, 0);
VALUE(MIXTURA_OVERFLOW_DROP, 1);
VALUE(MIXTURA_ACTIVATION_SILU, 0);
VALUE(MIXTURA_ACTIVATION_GELU, 1);
VALUE(MIXTURA_ACTIVATION_GELU_TANH, 2);
VALUE(MIXTURA_ACTIVATION_QUICK_GELU, 3);
VALUE(MIXTURA_ACTIVATION_RELU, 4);
VALUE(MIXTURA_WEIGHT_AT_OUTPUT, 0);
VALUE(MIXTURA_WEIGHT_AT_INPUT, 1);
VALUE(MIXTURA_FINISH_NONE, 0);
VALUE(MIXTURA_FINISH_STOP_TOKEN, 1);
VALUE(MIXTURA_FINISH_STOP_STRING, 2);
VALUE(MIXTURA_FINISH_MAX_TOKENS, 3);
VALUE(MIXTURA_FINISH_CONTEXT_FULL, 4);
VALUE(MIXTURA_FINISH_CANCELLED, 5);
VALUE(MIXTURA_FINISH_CALLBACK, 6);
VALUE(MIXTURA_UNSET_INT32, -2147483647 - 1);
VALUE(MIXTURA_UNSET_SEED, 0xFFFFFFFFFFFFFFFFU);
VALUE(MIXTURA_TENSOR_RANK_MAX, 0x4);
VALUE(MIXTURA_NO_TOKEN, -1);
VALUE(MIXTURA_KV_BLOCK_TOKENS, 0x20);

static int failures = 0;

static void expect(int is_so, const char *what) {
    if (is_so) return;
    printf("%s\n", what);
    ++failures;
}

int main(void) {
    expect(MIXTURA_UNSET_FLOAT == -0x1.fffffep+127F && sizeof(MIXTURA_UNSET_FLOAT) == sizeof(float), "MIXTURA_UNSET_FLOAT");
    expect(strcmp(MIXTURA_ROLE_SYSTEM, "system") == 0, "MIXTURA_ROLE_SYSTEM");
    expect(strcmp(MIXTURA_ROLE_USER, "user") == 0, "MIXTURA_ROLE_USER");
    expect(strcmp(MIXTURA_ROLE_ASSISTANT, "assistant") == 0, "MIXTURA_ROLE_ASSISTANT");
    expect(strcmp(MIXTURA_ROLE_TOOL, "tool") == 0, "MIXTURA_ROLE_TOOL");
    /* Every _INIT names all fields (a missing one is a warning, an error here) and states the structure's size. */
    {
        const mixtura_backend_info fresh = MIXTURA_BACKEND_INFO_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_BACKEND_INFO_INIT");
    }
    {
        const mixtura_model_facts fresh = MIXTURA_MODEL_FACTS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_MODEL_FACTS_INIT");
    }
    {
        const mixtura_tensor_info fresh = MIXTURA_TENSOR_INFO_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_TENSOR_INFO_INIT");
    }
    {
        const mixtura_memory_forecast fresh = MIXTURA_MEMORY_FORECAST_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_MEMORY_FORECAST_INIT");
    }
    {
        const mixtura_forecast_options fresh = MIXTURA_FORECAST_OPTIONS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_FORECAST_OPTIONS_INIT");
    }
    {
        const mixtura_model_options fresh = MIXTURA_MODEL_OPTIONS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_MODEL_OPTIONS_INIT");
    }
    {
        const mixtura_weight_error fresh = MIXTURA_WEIGHT_ERROR_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_WEIGHT_ERROR_INIT");
    }
    {
        const mixtura_encode_options fresh = MIXTURA_ENCODE_OPTIONS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_ENCODE_OPTIONS_INIT");
    }
    {
        const mixtura_special_tokens fresh = MIXTURA_SPECIAL_TOKENS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_SPECIAL_TOKENS_INIT");
    }
    {
        const mixtura_render_options fresh = MIXTURA_RENDER_OPTIONS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_RENDER_OPTIONS_INIT");
    }
    {
        const mixtura_sampling_options fresh = MIXTURA_SAMPLING_OPTIONS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_SAMPLING_OPTIONS_INIT");
    }
    {
        const mixtura_sampled fresh = MIXTURA_SAMPLED_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_SAMPLED_INIT");
    }
    {
        const mixtura_router_policy fresh = MIXTURA_ROUTER_POLICY_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_ROUTER_POLICY_INIT");
    }
    {
        const mixtura_router_spec fresh = MIXTURA_ROUTER_SPEC_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_ROUTER_SPEC_INIT");
    }
    {
        const mixtura_route_view fresh = MIXTURA_ROUTE_VIEW_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_ROUTE_VIEW_INIT");
    }
    {
        const mixtura_expert_spec fresh = MIXTURA_EXPERT_SPEC_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_EXPERT_SPEC_INIT");
    }
    {
        const mixtura_expert_pool_stats fresh = MIXTURA_EXPERT_POOL_STATS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_EXPERT_POOL_STATS_INIT");
    }
    {
        const mixtura_kv_cache_options fresh = MIXTURA_KV_CACHE_OPTIONS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_KV_CACHE_OPTIONS_INIT");
    }
    {
        const mixtura_kv_view fresh = MIXTURA_KV_VIEW_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_KV_VIEW_INIT");
    }
    {
        const mixtura_kv_memory fresh = MIXTURA_KV_MEMORY_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_KV_MEMORY_INIT");
    }
    {
        const mixtura_generation_options fresh = MIXTURA_GENERATION_OPTIONS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_GENERATION_OPTIONS_INIT");
    }
    {
        const mixtura_feed_options fresh = MIXTURA_FEED_OPTIONS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_FEED_OPTIONS_INIT");
    }
    {
        const mixtura_request fresh = MIXTURA_REQUEST_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_REQUEST_INIT");
    }
    {
        const mixtura_answer fresh = MIXTURA_ANSWER_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_ANSWER_INIT");
    }
    {
        const mixtura_generation_memory fresh = MIXTURA_GENERATION_MEMORY_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_GENERATION_MEMORY_INIT");
    }
    {
        const mixtura_chat_options fresh = MIXTURA_CHAT_OPTIONS_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_CHAT_OPTIONS_INIT");
    }
    {
        const mixtura_x_machine_rates fresh = MIXTURA_X_MACHINE_RATES_INIT;
        expect(fresh.struct_size == sizeof fresh, "MIXTURA_X_MACHINE_RATES_INIT");
    }
    return failures == 0 ? 0 : 1;
}
