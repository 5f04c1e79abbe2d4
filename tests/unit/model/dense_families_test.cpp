// Every dense family against its owners' numbers and against itself, from each form of its files.
#include <catch2/catch.hpp>
#include <filesystem>

#include "support/files.hpp"
#include "support/model_harness.hpp"

using namespace mixtura;

namespace {

const char* const kFamilies[] = {"llama", "llama-linear", "llama3-rope", "qwen2", "qwen3", "gpt2", "bloom-alibi"};

// The checkpoint with its configuration in the published form.
void with_hub_config(const std::string& model, const test::TemporaryFolder& folder) {
    std::filesystem::create_symlink(test::golden("models/" + model + "/model.safetensors"),
                                    folder.file("model.safetensors"));
    folder.write("config.json", test::read_file(test::golden("models/" + model + "/config_hub.json")));
}

}  // namespace

TEST_CASE("dense families give their owners' numbers from safetensors, by both configurations, and from GGUF",
          "[model][short]") {
    for (const std::string model : kFamilies) {
        const test::TemporaryFolder folder;
        with_hub_config(model, folder);
        test::check_against_reference(model, test::golden("models/" + model));
        test::check_against_reference(model, folder.path());
        test::check_against_reference(model, test::golden("gguf/" + model + ".gguf"));
    }
}

TEST_CASE("dense families give one answer however they are fed", "[model][short]") {
    for (const std::string model : kFamilies) {
        test::check_one_answer(model, test::golden("models/" + model));
        test::check_one_answer(model, test::golden("gguf/" + model + ".gguf"));
    }
}
