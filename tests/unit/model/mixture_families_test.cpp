// Every mixture family against its owners' numbers and against itself, from each form of its files.
#include <catch2/catch.hpp>
#include <filesystem>

#include "support/files.hpp"
#include "support/model_harness.hpp"

using namespace mixtura;

namespace {

const char* const kFamilies[] = {
    "mixtral",     "qwen2-moe",         "qwen3-moe",       "qwen3-moe-nonorm", "olmoe",         "phimoe",
    "granitemoe",  "granitemoe-shared", "phimoe-longrope", "deepseek-moe",     "deepseek-v2",   "deepseek-v2-lite",
    "deepseek-v3", "gpt-oss",           "glm4-moe",        "ernie4.5-moe",     "hunyuan-moe",   "llama4",
    "dbrx",        "minimax-m2",        "qwen3-next",      "hybrid-16",        "glm4-moe-lite", "deepseek-v3.2",
    "exaone-moe",  "bailing-moe",       "afmoe",           "jetmoe",           "hybrid-120"};
// Those that llama.cpp's converter wrote.
const char* const kGgufFamilies[] = {"mixtral",           "qwen3-moe",    "olmoe",       "granitemoe",
                                     "granitemoe-shared", "deepseek-moe", "deepseek-v3", "glm4-moe"};

std::string model_folder(const std::string& model) { return test::golden("models/" + model); }

}  // namespace

TEST_CASE("mixture families give their owners' numbers and routes from safetensors", "[model][short]") {
    for (const std::string model : kFamilies) test::check_against_reference(model, model_folder(model));
}

TEST_CASE("mixture families give their owners' numbers from the configurations that the hub has", "[model][short]") {
    for (const std::string model : kFamilies) {
        const std::string config = model_folder(model) + "/config_hub.json";
        // The hybrids are in no published form, and DeepSeek-MoE's only form is the published one.
        if (!std::filesystem::exists(config)) {
            CHECK((model == "hybrid-16" || model == "hybrid-120" || model == "deepseek-moe"));
            continue;
        }
        const test::TemporaryFolder folder;
        std::filesystem::create_symlink(model_folder(model) + "/model.safetensors", folder.file("model.safetensors"));
        folder.write("config.json", test::read_file(config));
        test::check_against_reference(model, folder.path());
    }
}

TEST_CASE("mixture families give their owners' numbers from GGUF files", "[model][short]") {
    for (const std::string model : kGgufFamilies)
        test::check_against_reference(model, test::golden("gguf/" + model + ".gguf"));
}

TEST_CASE("mixture families give one answer however they are fed", "[model][short]") {
    for (const std::string model : kFamilies) test::check_one_answer(model, model_folder(model));
    for (const std::string model : kGgufFamilies)
        test::check_one_answer(model, test::golden("gguf/" + model + ".gguf"));
}

TEST_CASE("no key of eight golden configurations is left unread", "[model][short]") {
    for (const std::string model : {"phimoe-longrope", "glm4-moe-lite", "deepseek-v3.2", "exaone-moe", "bailing-moe",
                                    "afmoe", "jetmoe", "switch"}) {
        for (const char* form : {"/config.json", "/config_hub.json"}) {
            INFO(model << form);
            const test::TemporaryFolder folder;
            std::filesystem::create_symlink(model_folder(model) + "/model.safetensors",
                                            folder.file("model.safetensors"));
            folder.write("config.json", test::read_file(model_folder(model) + form));
            CHECK(test::load_core(folder.path())->warnings == std::vector<std::string>{});
        }
    }
}
