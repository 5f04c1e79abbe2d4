// Every object of the C interface at its work, against references that others' code made.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "capi/support.hpp"

namespace mixtura::capi_test {
namespace {

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
    REQUIRE(a.size() == b.size());
    double difference = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        difference = std::max(difference, std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
        largest = std::max(largest, std::fabs(static_cast<double>(b[i])));
    }
    return difference / largest;
}

std::vector<float> numbers(std::size_t count, std::uint64_t seed) {
    std::vector<float> values(count);
    for (float& value : values) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        value = static_cast<float>(seed >> 40) * 0x1p-23F - 1.0F;
    }
    return values;
}

struct Watched {
    std::vector<float> logits;
    std::vector<std::vector<std::int32_t>> routes{3};  // of each layer, [T, K]
    std::size_t hidden_calls = 0;
};

mixtura_feed_options watch(Watched& watched) {
    mixtura_feed_options options = MIXTURA_FEED_OPTIONS_INIT;
    options.user_data = &watched;
    options.on_logits = [](std::int64_t, const float* logits, std::size_t count, void* data) {
        auto& all = static_cast<Watched*>(data)->logits;
        all.insert(all.end(), logits, logits + count);
        return 0;
    };
    options.on_route = [](std::int64_t, std::int64_t layer, const mixtura_route_view* view, void* data) {
        auto& ids = static_cast<Watched*>(data)->routes[static_cast<std::size_t>(layer)];
        ids.insert(ids.end(), view->expert_ids, view->expert_ids + view->token_count * view->choice_count);
        return 0;
    };
    options.on_hidden = [](std::int64_t, std::int64_t, const float*, std::size_t tokens, std::size_t width,
                           void* data) {
        static_cast<Watched*>(data)->hidden_calls += tokens == 24 && width == 64 ? 1 : 1000;
        return 0;
    };
    return options;
}

}  // namespace

TEST_CASE("A generation fed through C has the reference's logits and routes", "[capi][short]") {
    const Model model = open_model();
    const Generation generation = make_generation(model.get(), 2);
    const auto tokens = reference_tokens();
    Watched watched;
    const mixtura_feed_options options = watch(watched);
    must(mixtura_generation_feed(generation.get(), tokens.data(), tokens.size(), &options));
    auto expected = tensor<float>(tiny_model() + "/reference.safetensors", "logits");
    expected.resize(24 * 160);
    CHECK(relative_difference(watched.logits, expected) < 2e-5);
    CHECK(watched.hidden_calls == 4);
    for (int layer = 0; layer < 3; ++layer) {
        const auto ids = tensor<std::int64_t>(tiny_model() + "/reference.safetensors",
                                              "router.model.layers." + std::to_string(layer) + ".mlp.gate.2");
        auto& ours = watched.routes[static_cast<std::size_t>(layer)];
        REQUIRE(ours.size() == 24 * 4);
        for (std::size_t t = 0; t < 24; ++t) {
            std::vector<std::int64_t> theirs(ids.begin() + static_cast<std::ptrdiff_t>(4 * t),
                                             ids.begin() + static_cast<std::ptrdiff_t>(4 * t + 4));
            std::vector<std::int64_t> mine(ours.begin() + static_cast<std::ptrdiff_t>(4 * t),
                                           ours.begin() + static_cast<std::ptrdiff_t>(4 * t + 4));
            std::sort(theirs.begin(), theirs.end());
            std::sort(mine.begin(), mine.end());
            CHECK(mine == theirs);
        }
    }
    // Token by token, after a truncation: the same bits.
    must(mixtura_generation_truncate(generation.get(), 0));
    for (const std::int32_t token : tokens) must(mixtura_generation_feed(generation.get(), &token, 1, nullptr));
    CHECK(logits_of(generation.get()) == std::vector<float>(watched.logits.end() - 160, watched.logits.end()));
}

TEST_CASE("A callback that stops a feed leaves the sequence as it was", "[capi][short]") {
    const Model model = open_model();
    const Generation generation = make_generation(model.get());
    const auto tokens = reference_tokens();
    must(mixtura_generation_feed(generation.get(), tokens.data(), 4, nullptr));
    const std::vector<float> before = logits_of(generation.get());
    int calls = 0;
    const auto feed = [&](mixtura_feed_options options) {
        options.user_data = &calls;
        calls = 0;
        CHECK(mixtura_generation_feed(generation.get(), tokens.data() + 4, 4, &options) == MIXTURA_CALLBACK_STOPPED);
        CHECK(calls == 1);
        const std::int32_t* kept = nullptr;
        std::size_t count = 0;
        must(mixtura_generation_tokens(generation.get(), &kept, &count));
        CHECK(count == 4);
        CHECK(logits_of(generation.get()) == before);
    };
    mixtura_feed_options options = MIXTURA_FEED_OPTIONS_INIT;
    options.on_logits = [](std::int64_t, const float*, std::size_t, void* data) { return ++*static_cast<int*>(data); };
    feed(options);
    options = MIXTURA_FEED_OPTIONS_INIT;
    options.on_hidden = [](std::int64_t, std::int64_t, const float*, std::size_t, std::size_t, void* data) {
        return ++*static_cast<int*>(data);
    };
    feed(options);
    options = MIXTURA_FEED_OPTIONS_INIT;
    options.on_route = [](std::int64_t, std::int64_t, const mixtura_route_view*, void* data) {
        return ++*static_cast<int*>(data);
    };
    feed(options);
}

TEST_CASE("A run answers greedily as the reference, streams, counts and can be stopped", "[capi][short]") {
    const Model model = open_model();
    const Generation generation = make_generation(model.get());
    const auto prompt = reference_tokens();
    struct Seen {
        std::vector<std::int32_t> tokens;
        std::size_t routes = 0;
        std::size_t stop_after = 1000;
    } seen;
    mixtura_sampling_options sampling = MIXTURA_SAMPLING_OPTIONS_INIT;
    sampling.temperature = 0;
    sampling.logprobs = 3;
    mixtura_request request = MIXTURA_REQUEST_INIT;
    request.prompt = prompt.data();
    request.prompt_count = prompt.size();
    request.sampling = &sampling;
    request.tokens_max = 8;
    static const std::int32_t none = 0;
    request.stop_tokens = &none;  // a count of 0: the answer may hold end tokens
    request.user_data = &seen;
    request.on_piece = [](const char*, std::size_t, const mixtura_sampled* sampled, void* data) {
        auto* all = static_cast<Seen*>(data);
        all->tokens.push_back(sampled->token);
        CHECK(sampled->likeliest_count == 3);
        CHECK(sampled->likeliest[0].token == sampled->token);
        CHECK(sampled->likeliest[0].logprob == sampled->logprob);
        return all->tokens.size() >= all->stop_after ? 1 : 0;
    };
    request.on_route = [](std::int64_t, std::int64_t, const mixtura_route_view* view, void* data) {
        static_cast<Seen*>(data)->routes += static_cast<std::size_t>(view->token_count);
        return 0;
    };
    mixtura_answer answer = MIXTURA_ANSWER_INIT;
    must(mixtura_generation_run(generation.get(), &request, &answer));
    CHECK(answer.finish == MIXTURA_FINISH_MAX_TOKENS);
    CHECK(answer.token_count == 8);
    CHECK(std::vector<std::int32_t>(answer.tokens, answer.tokens + answer.token_count) == seen.tokens);
    CHECK(answer.prompt_tokens == 24);
    CHECK(seen.routes == 3 * (24 + 7));  // the last token is not fed
    const std::vector<std::int32_t> whole = seen.tokens;

    std::vector<std::int64_t> load(16);
    std::size_t needed = 0;
    must(mixtura_generation_expert_load(generation.get(), 1, load.data(), load.size(), &needed));
    CHECK(needed == 16);
    std::int64_t choices = 0;
    for (const std::int64_t count : load) choices += count;
    CHECK(choices == 7 * 4);

    seen = {};
    seen.stop_after = 2;
    must(mixtura_generation_run(generation.get(), &request, &answer));
    CHECK(answer.finish == MIXTURA_FINISH_CALLBACK);
    CHECK(answer.reused_tokens == 23);
    CHECK(seen.tokens == std::vector<std::int32_t>(whole.begin(), whole.begin() + 2));

    mixtura_generation_memory memory = MIXTURA_GENERATION_MEMORY_INIT;
    must(mixtura_generation_get_memory(generation.get(), &memory));
    CHECK(memory.cache_bytes > 0);
    CHECK(memory.scratch_bytes > 0);
    CHECK(memory.thread_count == 1);
}

TEST_CASE("A router and an expert pool made of bare, strided tensors agree with float64", "[capi][short]") {
    constexpr std::int64_t kH = 48, kE = 6, kF = 32, kT = 9, kK = 2;
    // The gate as a framework may hold it: transposed, [H, E] in memory.
    const auto gate = numbers(kH * kE, 1), up = numbers(kE * kF * kH, 2), gates = numbers(kE * kF * kH, 3),
               down = numbers(kE * kH * kF, 4), hidden = numbers(kT * kH, 5);
    const mixtura_tensor gate_tensor = {gate.data(), MIXTURA_DTYPE_F32, 2, {kE, kH, 0, 0}, {4, 4 * kE, 0, 0}};
    mixtura_router_policy policy = MIXTURA_ROUTER_POLICY_INIT;
    policy.top_k = kK;
    policy.renormalise = 1;
    mixtura_router_spec router_spec = MIXTURA_ROUTER_SPEC_INIT;
    router_spec.hidden_size = kH;
    router_spec.expert_count = kE;
    router_spec.policy = &policy;
    router_spec.gate = &gate_tensor;
    mixtura_router* made = nullptr;
    must(mixtura_router_create(&router_spec, &made));
    const Router router(made);
    CHECK(mixtura_router_expert_count(made) == kE);
    CHECK(mixtura_router_hidden_size(made) == kH);

    std::vector<float> logits(kT * kE);
    must(mixtura_router_logits(made, hidden.data(), kT, logits.data()));
    for (std::int64_t t = 0; t < kT; ++t) {
        for (std::int64_t e = 0; e < kE; ++e) {
            double sum = 0;
            for (std::int64_t h = 0; h < kH; ++h)
                sum += static_cast<double>(hidden[static_cast<std::size_t>(t * kH + h)]) *
                       static_cast<double>(gate[static_cast<std::size_t>(h * kE + e)]);
            CHECK(logits[static_cast<std::size_t>(t * kE + e)] == Approx(sum).margin(1e-5));
        }
    }
    const Plan plan = make_plan();
    must(mixtura_router_route(made, hidden.data(), kT, nullptr, nullptr, plan.get()));
    mixtura_route_view view = MIXTURA_ROUTE_VIEW_INIT;
    must(mixtura_route_plan_view(plan.get(), &view));
    REQUIRE(view.token_count == kT);
    REQUIRE(view.choice_count == kK);
    CHECK(view.slot_count == kT * kK);

    // The same choice from the logits, and from a plan written by hand.
    const Plan again = make_plan();
    must(mixtura_route_logits(logits.data(), kT, kE, nullptr, &policy, nullptr, again.get()));
    mixtura_route_view second = MIXTURA_ROUTE_VIEW_INIT;
    must(mixtura_route_plan_view(again.get(), &second));
    CHECK(std::equal(view.expert_ids, view.expert_ids + kT * kK, second.expert_ids));
    const Plan copied = make_plan();
    must(mixtura_route_plan_set(copied.get(), kT, kK, kE, view.expert_ids, view.weights));

    // Up and gate as views of one [E, F, 2, H] tensor would be strided; here each has its own with a gap behind a row.
    std::vector<float> padded(kE * kF * (kH + 8));
    for (std::int64_t row = 0; row < kE * kF; ++row)
        std::copy_n(up.data() + row * kH, kH, padded.data() + row * (kH + 8));
    const mixtura_tensor up_tensor = {
        padded.data(), MIXTURA_DTYPE_F32, 3, {kE, kF, kH, 0}, {4 * kF * (kH + 8), 4 * (kH + 8), 4, 0}};
    std::vector<mixtura_tensor> gate_list, up_list, down_list;
    const mixtura_tensor gates_tensor = {gates.data(), MIXTURA_DTYPE_F32, 3, {kE, kF, kH, 0}, {0, 0, 0, 0}};
    const mixtura_tensor down_tensor = {down.data(), MIXTURA_DTYPE_F32, 3, {kE, kH, kF, 0}, {0, 0, 0, 0}};
    mixtura_expert_spec spec = MIXTURA_EXPERT_SPEC_INIT;
    spec.hidden_size = kH;
    spec.expert_count = kE;
    spec.width = kF;
    spec.tensor_count = 1;
    spec.gate = &gates_tensor;
    spec.up = &up_tensor;
    spec.down = &down_tensor;
    mixtura_expert_pool* pool = nullptr;
    must(mixtura_expert_pool_create(&spec, &pool));
    const Pool stacked(pool);
    std::vector<float> output(kT * kH);
    must(mixtura_expert_pool_run(pool, hidden.data(), kT, copied.get(), output.data()));

    for (std::int64_t t = 0; t < kT; ++t) {
        std::vector<double> expected(kH);
        for (std::int64_t k = 0; k < kK; ++k) {
            const std::int64_t e = view.expert_ids[t * kK + k];
            for (std::int64_t f = 0; f < kF; ++f) {
                double g = 0, u = 0;
                for (std::int64_t h = 0; h < kH; ++h) {
                    const auto at = static_cast<std::size_t>((e * kF + f) * kH + h);
                    const double x = static_cast<double>(hidden[static_cast<std::size_t>(t * kH + h)]);
                    g += static_cast<double>(gates[at]) * x;
                    u += static_cast<double>(up[at]) * x;
                }
                const double a = g / (1 + std::exp(-g)) * u;
                for (std::int64_t h = 0; h < kH; ++h)
                    expected[static_cast<std::size_t>(h)] +=
                        static_cast<double>(view.weights[t * kK + k]) * a *
                        static_cast<double>(down[static_cast<std::size_t>((e * kH + h) * kF + f)]);
            }
        }
        for (std::int64_t h = 0; h < kH; ++h)
            CHECK(output[static_cast<std::size_t>(t * kH + h)] ==
                  Approx(expected[static_cast<std::size_t>(h)]).margin(2e-3));
    }

    // The same experts as E matrices a role: the same bits.
    for (std::int64_t e = 0; e < kE; ++e) {
        gate_list.push_back({gates.data() + e * kF * kH, MIXTURA_DTYPE_F32, 2, {kF, kH, 0, 0}, {0, 0, 0, 0}});
        up_list.push_back({up.data() + e * kF * kH, MIXTURA_DTYPE_F32, 2, {kF, kH, 0, 0}, {0, 0, 0, 0}});
        down_list.push_back({down.data() + e * kH * kF, MIXTURA_DTYPE_F32, 2, {kH, kF, 0, 0}, {0, 0, 0, 0}});
    }
    spec.tensor_count = kE;
    spec.gate = gate_list.data();
    spec.up = up_list.data();
    spec.down = down_list.data();
    must(mixtura_expert_pool_create(&spec, &pool));
    const Pool listed(pool);
    std::vector<float> same(kT * kH);
    must(mixtura_expert_pool_run(pool, hidden.data(), kT, plan.get(), same.data()));
    CHECK(same == output);
    mixtura_expert_pool_stats stats = MIXTURA_EXPERT_POOL_STATS_INIT;
    must(mixtura_expert_pool_get_stats(pool, &stats));
    CHECK(stats.hidden_size == kH);
    CHECK(stats.expert_count == kE);
    CHECK(stats.tokens == kT);
    CHECK(stats.choices == kT * kK);
    CHECK(stats.weight_bytes == 3 * kE * kF * kH * sizeof(float));

    // What is wrong with a tensor is said by its name.
    up_list[3].shape[1] = kH + 1;
    CHECK(mixtura_expert_pool_create(&spec, &pool) == MIXTURA_INVALID_ARGUMENT);
    CHECK(std::string(mixtura_last_error_message()) == "spec.up[3] has shape [32, 49], expected [32, 48]");
    CHECK(pool == listed.get());
}

TEST_CASE("The router and the experts that a model lends are its own", "[capi][short]") {
    const Model model = open_model();
    mixtura_model_facts facts = MIXTURA_MODEL_FACTS_INIT;
    must(mixtura_model_get_facts(model.get(), &facts));
    CHECK(facts.layer_count == 3);
    CHECK(facts.expert_count == 16);
    CHECK(facts.has_tokenizer == 0);
    CHECK(mixtura_model_router(model.get(), 3) == nullptr);
    CHECK(mixtura_model_experts(model.get(), -1) == nullptr);
    const mixtura_router* router = mixtura_model_router(model.get(), 1);
    const mixtura_expert_pool* experts = mixtura_model_experts(model.get(), 1);
    REQUIRE(router != nullptr);
    REQUIRE(experts != nullptr);
    mixtura_router_policy policy = MIXTURA_ROUTER_POLICY_INIT;
    must(mixtura_router_get_policy(router, &policy));
    CHECK(policy.top_k == 4);
    CHECK(policy.renormalise == 1);
    const auto hidden = numbers(5 * 64, 9);
    const Plan plan = make_plan();
    policy.top_k = 2;
    std::vector<std::uint8_t> mask(16);
    mask[3] = 1;
    policy.is_masked = mask.data();
    policy.is_masked_count = mask.size();
    const std::uint8_t padding[5] = {1, 1, 0, 1, 1};
    must(mixtura_router_route(router, hidden.data(), 5, &policy, padding, plan.get()));
    mixtura_route_view view = MIXTURA_ROUTE_VIEW_INIT;
    must(mixtura_route_plan_view(plan.get(), &view));
    CHECK(view.choice_count == 2);
    CHECK(view.load[3] == 0);
    CHECK(view.padding == 1);
    CHECK(view.experts_of_token[2] == 0);
    std::vector<float> output(5 * 64, 7.0F);
    must(mixtura_expert_pool_run(experts, hidden.data(), 5, plan.get(), output.data()));
    CHECK(std::all_of(output.begin() + 128, output.begin() + 192, [](float y) { return y == 0.0F; }));
    CHECK(text_from([&](char* text, std::size_t capacity, std::size_t* needed) {
              return mixtura_model_text(model.get(), MIXTURA_ABOUT_ARCHITECTURE, text, capacity, needed);
          }) == "qwen3_moe");
}

TEST_CASE("A key/value cache keeps, shares, shows, exports and imports rows", "[capi][short]") {
    const mixtura_kv_plane planes[2] = {{2, 16, MIXTURA_DTYPE_F32, 0}, {2, 16, MIXTURA_DTYPE_F16, 0}};
    const mixtura_kv_layer layers[2] = {{planes, 2, 0}, {planes, 2, 0}};
    mixtura_kv_cache_options options = MIXTURA_KV_CACHE_OPTIONS_INIT;
    options.layers = layers;
    options.layer_count = 2;
    options.bytes_max = 1 << 20;
    mixtura_kv_cache* made = nullptr;
    must(mixtura_kv_cache_create(&options, &made));
    const Cache cache(made);
    mixtura_sequence sequence = 0, fork = 0;
    must(mixtura_kv_cache_create_sequence(made, &sequence));
    std::int64_t first = -1;
    must(mixtura_kv_cache_append(made, sequence, 40, &first));
    CHECK(first == 0);
    const auto rows = numbers(40 * 32, 3);
    must(mixtura_kv_cache_write(made, sequence, 1, 0, 0, 40, rows.data()));
    std::vector<float> back(40 * 32);
    must(mixtura_kv_cache_read(made, sequence, 1, 0, 0, 40, back.data()));
    CHECK(back == rows);
    mixtura_kv_view view = MIXTURA_KV_VIEW_INIT;
    must(mixtura_kv_cache_view(made, sequence, 1, &view));
    mixtura_kv_plane_view plane = {};
    must(mixtura_kv_cache_plane(made, sequence, 1, 0, &plane));
    const std::int64_t position = 35, head = 1;
    const auto* block =
        static_cast<const char*>(view.base) +
        static_cast<std::size_t>(view.block_table[position / MIXTURA_KV_BLOCK_TOKENS]) * view.block_stride_bytes +
        plane.offset_bytes + static_cast<std::size_t>(head) * plane.head_stride_bytes +
        static_cast<std::size_t>(position % MIXTURA_KV_BLOCK_TOKENS) * plane.row_stride_bytes;
    CHECK(std::memcmp(block, rows.data() + position * 32 + head * 16, 16 * sizeof(float)) == 0);
    must(mixtura_kv_cache_fork(made, sequence, &fork));
    mixtura_kv_memory memory = MIXTURA_KV_MEMORY_INIT;
    must(mixtura_kv_cache_get_memory(made, &memory));
    CHECK(memory.sequences == 2);
    CHECK(memory.blocks_shared == 2);
    must(mixtura_kv_cache_truncate(made, fork, 8));
    std::int64_t length = 0;
    must(mixtura_kv_cache_length(made, fork, &length));
    CHECK(length == 8);
    const std::string bytes = text_from([&](char* out, std::size_t capacity, std::size_t* needed) {
        return mixtura_kv_cache_export(made, sequence, out, capacity, needed);
    });
    mixtura_sequence imported = 0;
    must(mixtura_kv_cache_import(made, bytes.data(), bytes.size(), &imported));
    must(mixtura_kv_cache_read(made, imported, 1, 0, 0, 40, back.data()));
    CHECK(back == rows);
    must(mixtura_kv_cache_free_sequence(made, sequence));
    CHECK(mixtura_kv_cache_length(made, sequence, &length) == MIXTURA_NOT_FOUND);
    CHECK(mixtura_kv_cache_append(made, fork, 1 << 20, &first) == MIXTURA_BUDGET_EXCEEDED);
    CHECK(first == 0);
    mixtura_kv_cache_trim(made);
}

TEST_CASE("A tokenizer, its stream decoder and a template work alone", "[capi][short]") {
    mixtura_tokenizer* made = nullptr;
    must(mixtura_tokenizer_open(golden("tokenizers/bpe-qwen2").c_str(), &made));
    const Tokenizer tokenizer(made);
    const std::string text = "The caf\xC3\xA9 \xF0\x9F\x98\x80 costs 12 euro.";
    std::size_t needed = 0;
    must(mixtura_tokenizer_encode(made, text.data(), text.size(), nullptr, nullptr, 0, &needed));
    std::vector<std::int32_t> tokens(needed);
    must(mixtura_tokenizer_encode(made, text.data(), text.size(), nullptr, tokens.data(), tokens.size(), &needed));
    CHECK(text_from([&](char* out, std::size_t capacity, std::size_t* size) {
              return mixtura_tokenizer_decode(made, tokens.data(), tokens.size(), 1, out, capacity, size);
          }) == text);
    mixtura_stream_decoder* decoder = nullptr;
    must(mixtura_stream_decoder_create(made, 1, &decoder));
    const Decoder owned(decoder);
    std::string streamed;
    mixtura_text piece = {nullptr, 0};
    for (const std::int32_t token : tokens) {
        must(mixtura_stream_decoder_push(decoder, token, &piece));
        streamed.append(piece.utf8, piece.bytes);
    }
    must(mixtura_stream_decoder_finish(decoder, &piece));
    streamed.append(piece.utf8, piece.bytes);
    CHECK(streamed == text);
    CHECK(mixtura_tokenizer_size(made) > 256);
    const std::string spelled = text_from([&](char* out, std::size_t capacity, std::size_t* size) {
        return mixtura_tokenizer_token_text(made, tokens[0], out, capacity, size);
    });
    CHECK(mixtura_tokenizer_find(made, spelled.data(), spelled.size()) == tokens[0]);
    std::int64_t elements = 0, block_bytes = 0;
    must(mixtura_dtype_block(MIXTURA_DTYPE_Q4_K, &elements, &block_bytes));
    CHECK(elements == 256);
    CHECK(block_bytes == 144);
    CHECK(mixtura_dtype_block(9999, &elements, &block_bytes) == MIXTURA_INVALID_ARGUMENT);
    std::vector<std::int32_t> small(1, -7);
    CHECK(mixtura_tokenizer_encode(made, text.data(), text.size(), nullptr, small.data(), 1, &needed) ==
          MIXTURA_BUFFER_TOO_SMALL);
    CHECK(small[0] == -7);
    CHECK(needed == tokens.size());

    const std::string source = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}";
    mixtura_template* layout = nullptr;
    must(mixtura_template_parse(source.data(), source.size(), &layout));
    const Template owned_layout(layout);
    const std::string json = R"({"messages": [{"role": "user", "content": "<|user|>hi"}]})";
    const char* roles[] = {"user"};
    mixtura_render_options render = MIXTURA_RENDER_OPTIONS_INIT;
    render.trusted_roles = roles;
    render.trusted_role_count = 1;
    mixtura_prompt* rendered = nullptr;
    must(mixtura_template_render(layout, json.data(), json.size(), &render, &rendered));
    const Prompt prompt(rendered);
    CHECK(text_from([&](char* out, std::size_t capacity, std::size_t* size) {
              return mixtura_prompt_text(rendered, out, capacity, size);
          }) == "<|user|><|user|>hi\n");
    mixtura_text_span spans[3] = {};
    must(mixtura_prompt_spans(rendered, spans, 3, &needed));
    REQUIRE(needed == 3);
    CHECK(spans[0].is_trusted == 1);
    CHECK(std::string(spans[1].utf8, spans[1].bytes) == "<|user|>hi");
    CHECK(spans[1].is_trusted == 0);
}

TEST_CASE("A sampler draws what its options allow, and says what it drew from", "[capi][short]") {
    const std::vector<float> logits = {0.0F, 2.0F, 1.0F, -1.0F};
    mixtura_sampling_options options = MIXTURA_SAMPLING_OPTIONS_INIT;
    const mixtura_logit_bias bias = {1, -1e9F};
    options.logit_bias = &bias;
    options.logit_bias_count = 1;
    options.top_k = 1;
    options.logprobs = 2;
    mixtura_sampler* made = nullptr;
    must(mixtura_sampler_create(4, &options, &made));
    const Sampler sampler(made);
    mixtura_sampled sampled = MIXTURA_SAMPLED_INIT;
    must(mixtura_sampler_sample(made, logits.data(), 4, nullptr, 0, 0, &sampled));
    CHECK(sampled.token == 2);
    CHECK(sampled.probability == 1.0F);
    REQUIRE(sampled.likeliest_count == 2);
    CHECK(sampled.likeliest[0].token == 1);
    std::vector<float> probabilities(4);
    must(mixtura_sampler_probabilities(made, logits.data(), 4, nullptr, 0, 0, probabilities.data()));
    CHECK(probabilities == std::vector<float>{0, 0, 1, 0});

    // A zero is not "unset": temperature 0 is the likeliest token, and a top_k of 0 switches a default off.
    const Model model = open_model();
    mixtura_sampling_options defaults = MIXTURA_SAMPLING_OPTIONS_INIT;
    must(mixtura_model_get_sampling_defaults(model.get(), &defaults));
    CHECK(defaults.temperature == 0.0F);
    CHECK(defaults.top_k == MIXTURA_UNSET_INT32);
}

TEST_CASE("The library's own check of this machine names each thing once, and its known answers hold",
          "[capi][short]") {
    must(mixtura_self_test());
    struct Seen {
        std::vector<std::string> names;
        std::int32_t worst_answer = 0;
    } seen;
    const auto on_health = [](const char* name, std::int32_t verdict, const char* found, const char*, void* data) {
        auto* all = static_cast<Seen*>(data);
        all->names.emplace_back(name);
        CHECK(std::strlen(found) > 0);
        if (std::string(name).starts_with("answers.")) all->worst_answer = std::max(all->worst_answer, verdict);
    };
    must(mixtura_check_health(MIXTURA_GOLDEN_DIR, on_health, &seen));
    CHECK(seen.worst_answer <= MIXTURA_HEALTH_NOTE);  // a back-end that was not run is a note
    CHECK(std::count(seen.names.begin(), seen.names.end(), "answers.ref") == 1);
    CHECK(std::count(seen.names.begin(), seen.names.end(), "memory_limits") == 1);
    CHECK(std::count(seen.names.begin(), seen.names.end(), "free_space") == 1);
}

TEST_CASE("The log tells a sink of a model that was opened, and nothing once it is gone", "[capi][short]") {
    std::vector<std::string> lines;
    const auto sink = [](std::int32_t level, const char* room, const char* message, const char*, std::int32_t,
                         void* data) {
        static_cast<std::vector<std::string>*>(data)->push_back(std::to_string(level) + " " + room + " " + message);
    };
    mixtura_log_set(sink, &lines, MIXTURA_LOG_INFO);
    const Model model = open_model();
    mixtura_log_set(nullptr, nullptr, MIXTURA_LOG_NONE);
    REQUIRE_FALSE(lines.empty());
    CHECK(lines.back().find("3 model model opened from ") == 0);
    const std::size_t count = lines.size();
    const Model second = open_model();
    CHECK(lines.size() == count);
}

}  // namespace mixtura::capi_test
