// What configurations and tensors of mixtures may claim and not get: each refused in a sentence that names it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "support/gguf_of_model.hpp"
#include "support/hub_checkpoint.hpp"
#include "support/model_harness.hpp"

using namespace mixtura;
using test::HubCheckpoint;
using test::TemporaryFolder;

namespace {

std::string model_folder(const std::string& model) { return test::golden("models/" + model); }

std::string refusal_of(const std::string& path) {
    try {
        test::load_core(path);
    } catch (const std::exception& failure) {
        return failure.what();
    }
    return "it was loaded";
}

template <class Change>
std::string refusal(const std::string& model, Change change) {
    HubCheckpoint checkpoint(model_folder(model));
    change(checkpoint);
    const TemporaryFolder folder;
    return refusal_of(checkpoint.write(folder));
}

// With one key of the configuration changed, as "ffn_config.moe_top_k" one level down.
std::string refusal_with(const std::string& model, const std::string& key, const nlohmann::json& value) {
    return refusal(model, [&](HubCheckpoint& checkpoint) {
        const std::size_t dot = key.find('.');
        auto& object = dot == std::string::npos ? checkpoint.config : checkpoint.config.at(key.substr(0, dot));
        object[key.substr(dot == std::string::npos ? 0 : dot + 1)] = value;
    });
}

std::string gguf_refusal(const std::string& model, const std::string& key, std::uint32_t value) {
    test::GgufFile file = test::gguf_of_model(model_folder(model));
    auto& metadata = file.metadata;
    metadata.erase(
        std::remove_if(metadata.begin(), metadata.end(), [&](const auto& entry) { return entry.key == key; }),
        metadata.end());
    file.add(key, value);
    const TemporaryFolder folder;
    return refusal_of(folder.write("model.gguf", file.bytes()));
}

}  // namespace

TEST_CASE("a rope scaling that is not known is refused by name", "[model][short]") {
    CHECK(refusal_with("mixtral", "rope_parameters", {{"rope_type", "spiral"}, {"rope_theta", 10000.0}}) ==
          "the rope scaling 'spiral' is not known for mixtral, expected default, linear, llama3, yarn, longrope or "
          "dynamic");
}

TEST_CASE("a rope scaling by length without what it is made of is refused", "[model][short]") {
    test::GgufFile file = test::gguf_of_model(model_folder("phimoe"));
    file.tensor("rope_factors_long.weight", DType::f32, {8});
    const TemporaryFolder folder;
    CHECK(refusal_of(folder.write("model.gguf", file.bytes())) ==
          "the model has no tensor 'rope_factors_short.weight', needed for rope.0.factors");
    for (const auto& list : {nlohmann::json(nullptr), nlohmann::json::array(), nlohmann::json{1, 1, 1, 1, 1, 1, 1},
                             nlohmann::json{1, 1, 1, 1, 1, 1, 1, 1, 1}, nlohmann::json{1, 1, 1, 0, 1, 1, 1, 1},
                             nlohmann::json{1, 1, 1, "1", 1, 1, 1, 1}, nlohmann::json("all")}) {
        INFO(list);
        CHECK(refusal_with("phimoe-longrope", "rope_parameters.long_factor", list) ==
              "the configuration's 'rope_parameters.long_factor' is no list of 8 positive numbers, one for each pair "
              "that is rotated");
    }
    CHECK(refusal_with("phimoe-longrope", "rope_parameters.original_max_position_embeddings", 1) ==
          "the configuration's 'original_max_position_embeddings' is 1, expected at least 2");
    CHECK(refusal_with("llama-dynamic-ntk", "rope_parameters.factor", 0.5) ==
          "the configuration's 'rope_parameters' of type dynamic need factor >= 1, max_position_embeddings >= 1 and at "
          "least 4 rotated elements");
}

TEST_CASE("a router that its experts cannot satisfy is refused", "[model][short]") {
    CHECK(refusal_with("mixtral", "num_experts_per_tok", 0) ==
          "router policy: top_k is 0, expected 1 to 8, the number of experts");
    CHECK(refusal_with("mixtral", "num_experts_per_tok", 9) ==
          "router policy: top_k is 9, expected 1 to 8, the number of experts");
    CHECK(refusal_with("deepseek-v2", "n_group", 5) ==
          "router policy: group_count is 5, expected a divisor of 16 experts");
    CHECK(refusal_with("deepseek-v3", "topk_group", 5) ==
          "router policy: groups_kept is 5, expected 1 to group_count, 4");
    CHECK(gguf_refusal("deepseek-v2", "deepseek2.expert_gating_func", 4) ==
          "the file's 'expert_gating_func' is 4, expected 1 (softmax), 2 (sigmoid) or 3 (softmax of the chosen)");
    CHECK(gguf_refusal("mixtral", "llama.expert_gating_func", 4) ==
          "the file's 'expert_gating_func' is 4, expected 1 (softmax), 2 (sigmoid) or 3 (softmax of the chosen)");
}

TEST_CASE("what a family's owners do otherwise than here is refused by its key", "[model][short]") {
    CHECK(refusal_with("bailing-moe", "score_function", nullptr) ==
          "the configuration's 'score_function' is 'softmax', expected sigmoid: of bailing_moe only the second "
          "generation "
          "is known");
    CHECK(refusal_with("bailing-moe", "norm_head", true) ==
          "the configuration's 'norm_head' is 'true', expected false for bailing_moe");
    CHECK(refusal_with("afmoe", "num_expert_groups", 2) ==
          "the configuration's 'num_expert_groups' is '2', expected 1 for afmoe");
    CHECK(refusal_with("exaone-moe", "scoring_func", "softmax") ==
          "the configuration's 'scoring_func' is '\"softmax\"', expected \"sigmoid\" for exaone_moe");
    CHECK(refusal_with("glm4-moe-lite", "rope_interleave", false) ==
          "the configuration's 'rope_interleave' is 'false', expected true for glm4_moe_lite");
    CHECK(refusal_with("jetmoe", "num_attention_heads", 8) ==
          "the configuration's head count is 8, expected 4, the key heads of each chosen expert");
}

TEST_CASE("DeepSeek-V3.2 says where it sees more than its owners' code", "[model][short]") {
    HubCheckpoint model(model_folder("deepseek-v3.2"));
    const TemporaryFolder folder;
    CHECK(test::load_core(model.write(folder))->warnings.empty());
    model.config["index_topk"] = 64;
    CHECK(test::load_core(model.write(folder))->warnings ==
          std::vector<std::string>{"attention sees every token, not the 64 that the model's indexer would choose "
                                   "(index_topk): beyond so many tokens answers differ from its owners' code"});
}

TEST_CASE("an expert that is missing or has another shape is refused by its tensor and its role", "[model][short]") {
    const std::string stem = "model.layers.1.block_sparse_moe.experts.5.";
    CHECK(refusal("mixtral", [&](HubCheckpoint& model) { model.tensors.erase(stem + "w3.weight"); }) ==
          "the model has no tensor '" + stem + "w3.weight', needed for layers.1.experts.5.up.weight");
    CHECK(refusal("mixtral", [&](HubCheckpoint& model) { model.tensors.erase(stem + "w2.weight"); }) ==
          "the model has no tensor '" + stem + "w2.weight', needed for layers.1.experts.5.down.weight");
    CHECK(refusal("mixtral", [&](HubCheckpoint& model) {
              test::Array& down = model.tensors.at(stem + "w2.weight");
              down = test::taken(down, 1, 0, 16);
          }) == "tensor '" + stem + "w2.weight' is [64, 16], expected [64, 32] for layers.1.experts.5.down.weight");
    // Stacked experts: fewer than the configuration states.
    CHECK(refusal("gpt-oss",
                  [&](HubCheckpoint& model) {
                      test::Array& down = model.tensors.at("model.layers.2.mlp.experts.down_proj");
                      down = test::taken(down, 3, 0, 7);
                  }) ==
          "tensor 'model.layers.2.mlp.experts.down_proj' is [7, 32, 64], expected at least 8 stacked matrices for "
          "layers.2.experts.7.down.weight");
    CHECK(gguf_refusal("qwen2-moe", "qwen2moe.expert_count", 13) ==
          "tensor 'blk.1.ffn_gate_inp.weight' is [12, 64], expected [13, 64] for layers.1.router.gate.weight");
}

TEST_CASE("a key that the free form does not know is refused with its place", "[model][short]") {
    const auto with_key = [](nlohmann::json& object) { object["colour"] = "red"; };
    const std::string rest = " has the key 'colour', which the free form does not know";
    CHECK(refusal("hybrid-120", [&](HubCheckpoint& model) { with_key(model.config); }) ==
          "the configuration's root" + rest);
    CHECK(refusal("hybrid-120", [&](HubCheckpoint& model) { with_key(model.config["final_norm"]); }) ==
          "the configuration's final_norm" + rest);
    CHECK(refusal("hybrid-120", [&](HubCheckpoint& model) { with_key(model.config["rope"]); }) ==
          "the configuration's rope" + rest);
    CHECK(refusal("hybrid-120", [&](HubCheckpoint& model) { with_key(model.config["layers"][1]); }) ==
          "the configuration's layers[1]" + rest);
    for (const char* part : {"attention", "norm", "ffn"}) {
        CHECK(refusal("hybrid-120", [&](HubCheckpoint& model) { with_key(model.config["layers"][1][part]); }) ==
              "the configuration's layers[1]." + std::string(part) + rest);
    }
    CHECK(refusal("hybrid-120", [&](HubCheckpoint& model) { with_key(model.config["layers"][1]["ffn"]["router"]); }) ==
          "the configuration's layers[1].ffn.router" + rest);
}

TEST_CASE("experts that share a matrix with one that is none of theirs are refused", "[model][short]") {
    for (const int stranger : {120, -1, 2'000'000'000}) {
        CHECK(
            refusal("hybrid-120", [&](HubCheckpoint& model) {
                model.config["layers"][3]["ffn"]["shared_first_matrix"][7][1] = stranger;
            }) == "the configuration's layers[3].ffn names an expert in 'shared_first_matrix' that is none of its 120");
    }
}

TEST_CASE("sizes below 0 and beyond all sense are refused before anything is built for them", "[model][short]") {
    struct Family {
        const char *model, *experts;
    };
    for (const Family& family : {Family{"mixtral", "num_local_experts"},
                                 Family{"qwen2-moe", "num_experts"},
                                 Family{"qwen3-moe", "num_local_experts"},
                                 Family{"olmoe", "num_local_experts"},
                                 Family{"phimoe", "num_local_experts"},
                                 Family{"granitemoe", "num_local_experts"},
                                 Family{"deepseek-v3", "n_routed_experts"},
                                 Family{"glm4-moe", "n_routed_experts"},
                                 Family{"ernie4.5-moe", "moe_num_experts"},
                                 Family{"hunyuan-moe", "num_experts"},
                                 Family{"gpt-oss", "num_local_experts"},
                                 Family{"llama4", "num_local_experts"},
                                 Family{"dbrx", "ffn_config.moe_num_experts"},
                                 Family{"minimax-m2", "num_local_experts"},
                                 Family{"glm4-moe-lite", "n_routed_experts"},
                                 Family{"deepseek-v3.2", "n_routed_experts"},
                                 Family{"exaone-moe", "num_experts"},
                                 Family{"bailing-moe", "num_experts"},
                                 Family{"afmoe", "num_experts"},
                                 Family{"jetmoe", "num_local_experts"}}) {
        INFO(family.model);
        CHECK(refusal_with(family.model, family.experts, 1'000'000'000) ==
              "the configuration's expert count is 1000000000, expected 1 to 65536");
        const std::string negative = refusal_with(family.model, family.experts, -1);
        CHECK(negative.find(": '" + std::string(family.experts) + "' is '-1', expected a whole number from 0 to") !=
              std::string::npos);
        CHECK(refusal_with(family.model, family.experts, 0) != "it was loaded");
    }
    CHECK(refusal("hybrid-120", [](HubCheckpoint& model) {
              model.config["layers"][1]["ffn"]["experts"] = 1'000'000'000;
          }) == "the configuration's expert count is 1000000000, expected 1 to 65536");
    CHECK(refusal_with("qwen3-moe", "head_dim", std::int64_t{1} << 39) ==
          "the configuration's 'head_dim' is 549755813888, expected at most 2^30");
    CHECK(refusal_with("qwen3-moe", "moe_intermediate_size", 1 << 25) ==
          "the configuration's feed-forward width is 33554432, expected 1 to 2^24");
    CHECK(refusal_with("deepseek-v3", "qk_nope_head_dim", -16) ==
          "the configuration's head width is 0, expected 1 to 1024");
    CHECK(refusal_with("deepseek-v3", "num_attention_heads", 1'000'000'000) ==
          "the configuration's head count is 1000000000, expected 1 to 65536");
    for (const auto& [model, key] : std::map<std::string, std::string>{{"qwen3-moe", "num_hidden_layers"},
                                                                       {"bloom-alibi", "n_layer"},
                                                                       {"gpt2", "n_layer"},
                                                                       {"dbrx", "n_layers"}}) {
        INFO(model);
        CHECK(refusal_with(model, key, 1'000'000'000) ==
              "the configuration's layer count is 1000000000, expected 1 to 4096");
        CHECK(refusal_with(model, key, 0) == "the configuration's layer count is 0, expected 1 to 4096");
        CHECK(refusal_with(model, key, 4096)
                  .find("the configuration states 4096 layers, more than the model has tensors (") == 0);
    }
}
