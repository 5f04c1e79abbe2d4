// What configurations and tensors of models with states may claim and not get: each refused in a sentence.
#include <catch2/catch.hpp>

#include "support/gguf_of_model.hpp"
#include "support/hub_checkpoint.hpp"
#include "support/model_harness.hpp"

using namespace mixtura;
using test::HubCheckpoint;
using test::TemporaryFolder;

namespace {

std::string refusal_of(const std::string& path) {
    try {
        test::load_core(path);
    } catch (const std::exception& failure) {
        // What cannot be loaded cannot be forecast either, with the same words.
        CHECK(Model::forecast(path, 64, DType::f16).status().message() == failure.what());
        return failure.what();
    }
    return "it was loaded";
}

template <class Change>
std::string refusal(Change change) {
    HubCheckpoint checkpoint(test::golden("models/qwen3-next"));
    change(checkpoint);
    const TemporaryFolder folder;
    return refusal_of(checkpoint.write(folder));
}

std::string refusal_with(const std::string& key, const nlohmann::json& value) {
    return refusal([&](HubCheckpoint& checkpoint) { checkpoint.config[key] = value; });
}

}  // namespace

TEST_CASE("widths of recurrent layers that no state could have are refused", "[model][short]") {
    CHECK(refusal_with("linear_num_key_heads", 0) ==
          "the configuration has 0 recurrent key heads and 4 value heads, expected at least 1 of each");
    CHECK(refusal_with("linear_num_value_heads", -4) ==
          "the configuration has 2 recurrent key heads and -4 value heads, expected at least 1 of each");
    CHECK(refusal_with("linear_num_value_heads", 3) ==
          "the configuration's recurrent value head count is 3, expected a multiple of the 2 key heads, at most 65536");
    CHECK(
        refusal_with("linear_num_value_heads", 1 << 30) ==
        "the configuration's recurrent value head count is 1073741824, expected a multiple of the 2 key heads, at most "
        "65536");
    CHECK(refusal_with("linear_key_head_dim", 0) == "the configuration's recurrent key width is 0, expected 1 to 1024");
    CHECK(refusal_with("linear_key_head_dim", 1025) ==
          "the configuration's recurrent key width is 1025, expected 1 to 1024");
    CHECK(refusal_with("linear_value_head_dim", 1 << 30) ==
          "the configuration's recurrent value width is 1073741824, expected 1 to 1024");
    CHECK(refusal_with("linear_conv_kernel_dim", 0) ==
          "the configuration's convolution kernel is 0, expected 1 to 16 tokens");
    CHECK(refusal_with("linear_conv_kernel_dim", 17) ==
          "the configuration's convolution kernel is 17, expected 1 to 16 tokens");
    CHECK(refusal([](HubCheckpoint& model) {
              model.config["linear_num_value_heads"] = 65536;
              model.config["linear_value_head_dim"] = 1024;
          }) == "the configuration's recurrent width is 67108928, expected at most 2^24");
    CHECK(refusal_with("linear_num_key_heads", (std::int64_t{1} << 30) + 1) ==
          "the configuration's 'linear_num_key_heads' is 1073741825, expected at most 2^30");
}

TEST_CASE("kinds of layers that are not known, and too few of them, are refused", "[model][short]") {
    CHECK(refusal_with("layer_types", {"linear_attention", "ring", "linear_attention", "full_attention"}) ==
          "the configuration's 'layer_types' has 'ring', expected linear_attention or full_attention for qwen3_next");
    CHECK(refusal_with("layer_types", {"linear_attention", "full_attention"}) ==
          "the configuration's 'layer_types' has 2 entries, expected 4, the number of layers");
}

TEST_CASE("tensors of recurrent layers that are missing or have other shapes are refused by role", "[model][short]") {
    const std::string stem = "model.layers.1.linear_attn.";
    CHECK(refusal([&](HubCheckpoint& model) { model.tensors.erase(stem + "conv1d.weight"); }) ==
          "the model has no tensor '" + stem + "conv1d.weight', needed for layers.1.attention.convolution");
    CHECK(refusal([&](HubCheckpoint& model) { model.tensors.erase(stem + "A_log"); }) ==
          "the model has no tensor '" + stem + "A_log', needed for layers.1.attention.decay_factor");
    CHECK(refusal_with("linear_conv_kernel_dim", 3) ==
          "tensor 'model.layers.0.linear_attn.conv1d.weight' is [128, 1, 4], expected [3, 128] for "
          "layers.0.attention.convolution");
    CHECK(refusal_with("linear_key_head_dim", 24) ==
          "tensor 'model.layers.0.linear_attn.in_proj_qkvz.weight' is [192, 64], expected [224, 64] for "
          "layers.0.attention.output_gate.weight");
}

TEST_CASE("the convolution's kernel may be of any length up to 16", "[model][short]") {
    for (const std::int64_t taps : {1, 2, 16}) {
        HubCheckpoint checkpoint(test::golden("models/qwen3-next"));
        checkpoint.config["linear_conv_kernel_dim"] = taps;
        for (auto& [name, array] : checkpoint.tensors) {
            if (name.find("conv1d") == std::string::npos) continue;
            const std::string tap = array.bytes.substr(0, 128 * 2);
            array.shape[2] = taps;
            array.bytes.clear();
            for (std::int64_t w = 0; w < taps; ++w) array.bytes += tap;
        }
        const TemporaryFolder folder;
        const auto core = test::load_core(checkpoint.write(folder));
        const std::vector<TokenId> tokens = {5, 9, 2, 77, 31, 8, 150, 42, 13, 99, 64, 3, 21, 7, 120, 11, 18, 90, 55, 1};
        const test::FeedResult whole = test::feed(core, tokens, {.backend = &backends().front()});
        for (const std::int64_t chunk : {1, 3, 16})
            CHECK(test::is_equal(test::feed(core, tokens, {.chunk = chunk, .threads = 2, .has_company = true}), whole));
    }
}
