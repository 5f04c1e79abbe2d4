// The policies of every mixture family against the router outputs that the owners' code recorded: the same experts,
// weights within 1e-6.  A policy is read from the family's config.json as its code reads it.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "formats/json.hpp"
#include "kernels/quant/decode.hpp"
#include "support/files.hpp"
#include "unit/router/routed.hpp"

using namespace mixtura;
using test::Floats;
using test::Ids;

namespace {

std::int64_t integer(JsonValue config, std::string_view key) {
    const std::optional<JsonValue> value = config.find(key);
    INFO("key " << key);
    REQUIRE(value);
    REQUIRE(value->as_integer());
    return *value->as_integer();
}

float real(JsonValue config, std::string_view key) { return static_cast<float>(config.find(key)->as_real().value()); }
bool boolean(JsonValue config, std::string_view key) { return config.find(key)->as_boolean().value(); }

JsonValue element(JsonValue list, std::int64_t index) {
    auto it = list.elements().begin();
    for (std::int64_t i = 0; i < index; ++i) ++it;
    return *it;
}

void read_groups(JsonValue config, RouterPolicy& policy) {
    policy.group_count = integer(config, "n_group");
    policy.groups_kept = integer(config, "topk_group");
}

RouterPolicy policy_of(JsonValue config, std::int64_t layer) {
    const std::string family(config.find("model_type")->as_string().value());
    RouterPolicy policy;
    if (config.find("num_experts_per_tok")) policy.top_k = integer(config, "num_experts_per_tok");
    if (family == "mixtral" || family == "minimax_m2") policy.renormalise = true;
    if (config.find("norm_topk_prob")) policy.renormalise = boolean(config, "norm_topk_prob");
    if (family == "deepseek_v2") {
        if (config.find("topk_method")->as_string() == "group_limited_greedy") read_groups(config, policy);
        policy.renormalise = false;  // the owners' code never reads norm_topk_prob here
        policy.routed_scale = real(config, "routed_scaling_factor");
    } else if (family == "deepseek_v3" || family == "deepseek_v32" || family == "glm4_moe" ||
               family == "glm4_moe_lite" || family == "exaone_moe" || family == "bailing_moe") {
        policy.scoring = RouterScoring::sigmoid;
        policy.renormalise_bias = 1e-20F;
        policy.routed_scale = real(config, "routed_scaling_factor");
        policy.group_score = GroupScore::sum_of_top_two;
        read_groups(config, policy);
    } else if (family == "afmoe") {
        policy.scoring = RouterScoring::sigmoid;
        policy.renormalise = true;
        policy.routed_scale = real(config, "route_scale");
    } else if (family == "minimax_m2" || family == "llama4_text") {
        policy.scoring = RouterScoring::sigmoid;
    } else if (family == "ernie4_5_moe") {
        policy.top_k = integer(config, "moe_k");
        policy.renormalise = true;
        policy.renormalise_floor = real(config, "moe_norm_min");
    } else if (family == "gpt_oss" || family == "jetmoe" || family == "granitemoe" || family == "granitemoeshared") {
        policy.scoring = RouterScoring::softmax_of_chosen;
    } else if (family == "phimoe") {
        policy.scoring = RouterScoring::sparsemixer;
        policy.sparsemixer_epsilon = real(config, "router_jitter_noise");
    } else if (family == "hunyuan_v1_moe") {
        policy.top_k = element(*config.find("moe_topk"), layer).as_integer().value();
        policy.renormalise = true;
    } else if (family == "dbrx") {
        const JsonValue ffn = *config.find("ffn_config");
        policy.top_k = integer(ffn, "moe_top_k");
        REQUIRE(real(ffn, "moe_normalize_expert_weights") == 1.0F);  // the 1-norm: the sum
        policy.renormalise = true;
    } else if (family == "mixtura") {
        const JsonValue ffn = *element(*config.find("layers"), layer).find("ffn");
        const JsonValue router = *ffn.find("router");
        policy.top_k = integer(ffn, "top_k");
        policy.renormalise = boolean(router, "renormalise");
        policy.temperature = real(router, "temperature");
        if (!router.find("clamp")->is_null()) policy.logit_clamp = real(router, "clamp");
    }
    return policy;
}

// The family's bias, which lies in the model's own file in bf16, or nothing.
Floats selection_bias(const test::Tensors& model, const std::string& layer) {
    for (const char* const name : {".mlp.gate.e_score_correction_bias", ".mlp.moe_statics.e_score_correction_bias",
                                   ".block_sparse_moe.e_score_correction_bias", ".mlp.e_score_correction_bias",
                                   ".mlp.gate.expert_bias", ".mlp.expert_bias"}) {
        const std::string tensor = "model.layers." + layer + name;
        if (!model.has(tensor)) continue;
        const std::vector<std::byte> bytes = model.bytes(tensor);
        Floats bias(static_cast<std::size_t>(model.info(tensor).shape.element_count()));
        decoder(model.info(tensor).dtype)(bytes.data(), bias.data(), bias.size());
        CHECK(std::any_of(bias.begin(), bias.end(), [](float b) { return b != 0.0F; }));
        return bias;
    }
    return {};
}

// What the owners' code recorded of one router.
struct Recorded {
    std::int64_t experts = 0;
    Floats logits;
    std::vector<std::map<std::int32_t, float>> weight_of_expert;  // of each token; empty: only logits were recorded
};

std::vector<std::int64_t> integers(const test::Tensors& tensors, const std::string& name) {
    REQUIRE(tensors.info(name).dtype == DType::i64);
    const std::vector<std::byte> bytes = tensors.bytes(name);
    std::vector<std::int64_t> values(bytes.size() / 8);
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::uint64_t value = 0;
        for (std::size_t k = 0; k < 8; ++k) value |= std::to_integer<std::uint64_t>(bytes[8 * i + k]) << 8 * k;
        values[i] = static_cast<std::int64_t>(value);
    }
    return values;
}

Recorded read_recorded(const test::Tensors& reference, const std::string& router, const std::string& family) {
    const bool is_llama4 = family == "llama4_text";  // records scores [T, E] and then the logits
    Recorded recorded;
    const std::string logits = "router." + router + (is_llama4 ? ".1" : ".0");
    const std::size_t experts = static_cast<std::size_t>(reference.info(logits).shape[1]);
    recorded.experts = static_cast<std::int64_t>(experts);
    recorded.logits = reference.floats(logits);
    if (is_llama4) {
        const Floats scores = reference.floats("router." + router + ".0");
        recorded.weight_of_expert.resize(scores.size() / experts);
        for (std::size_t i = 0; i < scores.size(); ++i) {
            if (scores[i] != 0.0F)
                recorded.weight_of_expert[i / experts][static_cast<std::int32_t>(i % experts)] = scores[i];
        }
    } else if (reference.has("router." + router + ".2")) {
        const Floats weights = reference.floats("router." + router + ".1");
        const std::vector<std::int64_t> ids = integers(reference, "router." + router + ".2");
        REQUIRE(weights.size() == ids.size());
        const std::size_t tokens = recorded.logits.size() / experts, choices = ids.size() / tokens;
        recorded.weight_of_expert.resize(tokens);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            recorded.weight_of_expert[i / choices][static_cast<std::int32_t>(ids[i])] = weights[i];
        }
    }
    return recorded;
}

// dbrx recorded logits only: its code, softmax, top-k, division by the sum, in double.
void fill_from_softmax(Recorded& recorded, std::int64_t top_k) {
    const auto experts = static_cast<std::size_t>(recorded.experts);
    for (std::size_t t = 0; t < recorded.logits.size() / experts; ++t) {
        const float* const x = recorded.logits.data() + t * experts;
        std::vector<std::int32_t> order(experts);
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(), [x](std::int32_t a, std::int32_t b) { return x[a] > x[b]; });
        order.resize(static_cast<std::size_t>(top_k));
        double sum = 0;
        for (const std::int32_t e : order) sum += std::exp(static_cast<double>(x[e]));
        auto& weights = recorded.weight_of_expert.emplace_back();
        for (const std::int32_t e : order) weights[e] = static_cast<float>(std::exp(static_cast<double>(x[e])) / sum);
    }
}

void check_router(const Recorded& recorded, const RouterPolicy& policy, const Floats& bias) {
    const RoutePlan plan = test::routed(recorded.logits, policy, recorded.experts, bias);
    REQUIRE(plan.tokens == static_cast<std::int64_t>(recorded.weight_of_expert.size()));
    const auto choices = static_cast<std::size_t>(policy.top_k);
    for (std::size_t t = 0; t < recorded.weight_of_expert.size(); ++t) {
        INFO("token " << t);
        const auto& expected = recorded.weight_of_expert[t];
        CHECK(expected.size() == choices);
        for (std::size_t j = 0; j < choices; ++j) {
            const auto found = expected.find(plan.expert_ids[t * choices + j]);
            REQUIRE(found != expected.end());
            CHECK(std::abs(plan.weights[t * choices + j] - found->second) <= 1e-6F);
        }
    }
}

}  // namespace

TEST_CASE("every family's policy gives the experts and weights that its owners' code gave", "[router][short]") {
    const std::map<std::string, int> kRouters{{"afmoe", 2},
                                              {"bailing-moe", 2},
                                              {"dbrx", 3},
                                              {"deepseek-moe", 2},
                                              {"deepseek-v2", 2},
                                              {"deepseek-v2-lite", 2},
                                              {"deepseek-v3", 2},
                                              {"deepseek-v3.2", 2},
                                              {"ernie4.5-moe", 2},
                                              {"exaone-moe", 2},
                                              {"glm4-moe", 2},
                                              {"glm4-moe-lite", 2},
                                              {"gpt-oss", 3},
                                              {"granitemoe", 3},
                                              {"granitemoe-shared", 3},
                                              {"hunyuan-moe", 3},
                                              {"hybrid-120", 3},
                                              {"hybrid-16", 12},
                                              {"jetmoe", 3},
                                              {"llama4", 3},
                                              {"minimax-m2", 3},
                                              {"mixtral", 3},
                                              {"olmoe", 3},
                                              {"phimoe", 3},
                                              {"phimoe-longrope", 3},
                                              {"qwen2-moe", 2},
                                              {"qwen3-moe", 3},
                                              {"qwen3-moe-nonorm", 1},
                                              {"qwen3-next", 4}};
    for (const auto& [model, routers] : kRouters) {
        INFO("model " << model);
        const std::string folder = "models/" + model;
        const auto config = JsonDocument::parse(test::read_file(test::golden(folder + "/config.json")), "config");
        const auto report = JsonDocument::parse(test::read_file(test::golden(folder + "/reference.json")), "report");
        REQUIRE(config);
        REQUIRE(report);
        const test::Tensors reference(folder + "/reference.safetensors"), weights(folder + "/model.safetensors");
        const std::string family(config->root().find("model_type")->as_string().value());
        int count = 0, biased = 0;
        bool has_sigmoid = false;
        for (const auto [router, records] : report->root().find("routers")->members()) {
            INFO("router " << router);
            const std::size_t first_digit = router.find_first_of("0123456789");
            const std::string layer(router.substr(first_digit, router.find('.', first_digit) - first_digit));
            const RouterPolicy policy = policy_of(config->root(), std::stoll(layer));
            Recorded recorded = read_recorded(reference, std::string(router), family);
            if (family == "dbrx") fill_from_softmax(recorded, policy.top_k);
            const Floats bias = selection_bias(weights, layer);
            check_router(recorded, policy, bias);
            has_sigmoid = policy.scoring == RouterScoring::sigmoid;
            ++count;
            biased += bias.empty() ? 0 : 1;
        }
        CHECK(count == routers);
        const bool has_bias = family == "ernie4_5_moe" || (has_sigmoid && family != "llama4_text");
        CHECK(biased == (has_bias ? routers : 0));
    }
}

TEST_CASE("the Switch router's one expert and its probability are those recorded", "[router][short]") {
    const test::Tensors reference("models/switch/reference.safetensors");
    for (const std::string router :
         {"router.encoder.block.1.layer.1.mlp.router", "router.decoder.block.1.layer.2.mlp.router"}) {
        const Floats logits = reference.floats(router + ".2"), weights = reference.floats(router + ".1");
        const std::vector<std::int64_t> is_chosen = integers(reference, router + ".0");
        const RoutePlan plan = test::routed(logits, {}, 8);
        test::check_weights(plan, weights);
        for (std::size_t i = 0; i < is_chosen.size(); ++i) {
            CHECK((plan.expert_ids[i / 8] == static_cast<std::int32_t>(i % 8)) == (is_chosen[i] != 0));
        }
    }
}
