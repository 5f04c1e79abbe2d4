// Mixture families from GGUF files as published ones are, for the architectures without a file by llama.cpp's own
// converter.  Not among them: qwen3-moe-nonorm (no key of qwen3moe says norm_topk_prob false) and Llama 4 with the
// fixture's own chunks of 8 and layers without positions (no key says either; llama.cpp takes 8192 and every fourth
// layer), of which the last test takes the weights alone.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "support/files.hpp"
#include "support/gguf_of_model.hpp"
#include "support/model_harness.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

struct Case {
    const char* model;
    test::GgufForm form = {};
};
const Case kCases[] = {
    {"qwen2-moe"},
    {"qwen2-moe", {.has_joined_gate_and_up = true}},
    {"phimoe"},
    {"deepseek-v2"},
    {"deepseek-v2", {.has_joined_latent_heads = true}},
    {"deepseek-v2-lite"},
    {"deepseek-v2-lite", {.has_joined_latent_heads = true}},
    {"gpt-oss"},
    {"ernie4.5-moe"},
    {"hunyuan-moe"},
    {"dbrx"},
    {"minimax-m2"},
    {"qwen3-next"},
    {"qwen3-next", {.has_owners_projection = true}},
    {"mixtral"},
    {"mixtral", {.has_one_tensor_an_expert = true}},
};

std::string model_folder(const std::string& model) { return test::golden("models/" + model); }

std::string written(const test::TemporaryFolder& folder, const Case& which) {
    return folder.write(std::string(which.model) + ".gguf",
                        test::gguf_of_model(model_folder(which.model), which.form).bytes());
}

}  // namespace

TEST_CASE("mixture families give their owners' numbers and routes from files as GGUF publishes them",
          "[model][short]") {
    for (const Case& which : kCases) {
        const test::TemporaryFolder folder;
        test::check_against_reference(which.model, written(folder, which));
    }
}

TEST_CASE("mixture families give one answer from files as GGUF publishes them", "[model][short]") {
    for (const Case& which : kCases) {
        const test::TemporaryFolder folder;
        test::check_one_answer(which.model, written(folder, which));
    }
}
