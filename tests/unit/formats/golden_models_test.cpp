// The 38 checkpoints of tests/golden/data/models: what Checkpoint says of them against what their files say, read here
// by other code, and against sizes written down by hand from their configurations.
#include <mixtura/checkpoint.hpp>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "formats/model_config.hpp"
#include "support/files.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

struct Expected {
    std::string folder, architecture;
    std::int64_t layers, hidden, heads, kv_heads, head_size, ffn, experts, per_token, shared, expert_ffn;
    std::vector<TokenId> end_tokens;
    std::int64_t context = 256;
};

const std::vector<Expected> kModels{
    //                      architecture     L  H   heads  D   ffn  E  K  sh F
    {"afmoe", "afmoe", /*              */ 3, 64, 4, 2, 16, 64, 8, 2, 1, 32, {2}},
    {"bailing-moe", "bailing_moe", /*  */ 3, 64, 4, 2, 32, 64, 8, 2, 1, 32, {2}},
    {"bloom-alibi", "bloom", /*        */ 3, 64, 4, 4, 16, 0, 0, 0, 0, 0, {2}},
    {"dbrx", "dbrx", /*                */ 3, 64, 4, 2, 16, 32, 8, 2, 0, 32, {}},
    {"deepseek-moe", "deepseek", /*    */ 3, 64, 4, 4, 16, 128, 16, 4, 2, 32, {2}},
    {"deepseek-v2", "deepseek_v2", /*  */ 3, 64, 4, 4, 16, 128, 16, 4, 2, 32, {2}},
    {"deepseek-v2-lite", "deepseek_v2", 3, 64, 4, 4, 16, 128, 16, 4, 2, 32, {2}},
    {"deepseek-v3", "deepseek_v3", /*  */ 3, 64, 4, 4, 16, 128, 16, 4, 1, 32, {2}},
    {"deepseek-v3.2", "deepseek_v32", /**/ 3, 64, 4, 4, 16, 64, 8, 2, 1, 32, {2}},
    {"ernie4.5-moe", "ernie4_5_moe", /**/ 3, 64, 4, 2, 16, 128, 16, 4, 1, 32, {2}},
    {"exaone-moe", "exaone_moe", /*    */ 3, 64, 4, 2, 16, 64, 8, 2, 1, 32, {2}},
    {"glm4-moe-lite", "glm4_moe_lite", 3, 64, 4, 4, 16, 64, 8, 2, 1, 32, {2}},
    {"glm4-moe", "glm4_moe", /*        */ 3, 64, 4, 2, 32, 128, 16, 4, 1, 32, {2}},
    {"gpt-oss", "gpt_oss", /*          */ 3, 64, 4, 2, 16, 32, 8, 4, 0, 32, {2}},
    {"gpt2", "gpt2", /*                */ 3, 64, 4, 4, 16, 0, 0, 0, 0, 0, {2}},
    {"granitemoe", "granitemoe", /*    */ 3, 64, 4, 2, 16, 32, 8, 2, 0, 32, {2}},
    {"granitemoe-shared", "granitemoeshared", 3, 64, 4, 2, 16, 32, 8, 2, 0, 32, {2}},
    {"hunyuan-moe", "hunyuan_v1_moe", /**/ 3, 64, 4, 2, 16, 32, 8, 2, 0, 32, {2}},
    {"hybrid-120", "mixtura", /*       */ 6, 32, 4, 1, 8, 32, 120, 4, 0, 32, {}},
    {"hybrid-16", "mixtura", /*        */ 24, 32, 4, 1, 8, 136, 16, 2, 0, 136, {}},
    {"jetmoe", "jetmoe", /*            */ 3, 64, 4, 2, 16, 32, 8, 2, 0, 32, {2}},
    {"llama", "llama", /*              */ 3, 64, 4, 2, 16, 128, 0, 0, 0, 0, {2}},
    {"llama-dynamic-ntk", "llama", /*  */ 2, 64, 4, 2, 16, 64, 0, 0, 0, 0, {2}, 64},
    {"llama-linear", "llama", /*       */ 3, 64, 4, 2, 16, 128, 0, 0, 0, 0, {2}},
    {"llama3-rope", "llama", /*        */ 3, 64, 4, 2, 16, 128, 0, 0, 0, 0, {2}},
    {"llama4", "llama4_text", /*       */ 3, 64, 4, 2, 16, 64, 8, 1, 0, 32, {2}},
    {"minimax-m2", "minimax_m2", /*    */ 3, 64, 4, 2, 32, 32, 8, 2, 0, 32, {2}},
    {"mixtral", "mixtral", /*          */ 3, 64, 4, 2, 16, 32, 8, 2, 0, 32, {2}},
    {"olmoe", "olmoe", /*              */ 3, 64, 4, 4, 16, 32, 16, 4, 0, 32, {2}},
    {"phimoe", "phimoe", /*            */ 3, 64, 4, 2, 16, 32, 8, 2, 0, 32, {2}},
    {"phimoe-longrope", "phimoe", /*   */ 3, 64, 4, 2, 16, 32, 8, 2, 0, 32, {2}},
    {"qwen2", "qwen2", /*              */ 3, 64, 4, 2, 16, 128, 0, 0, 0, 0, {2}},
    {"qwen2-moe", "qwen2_moe", /*      */ 3, 64, 4, 2, 16, 128, 12, 4, 0, 32, {2}},
    {"qwen3", "qwen3", /*              */ 3, 64, 4, 2, 32, 128, 0, 0, 0, 0, {2}},
    {"qwen3-moe", "qwen3_moe", /*      */ 3, 64, 4, 2, 32, 128, 16, 4, 0, 32, {2}},
    {"qwen3-moe-nonorm", "qwen3_moe", /**/ 3, 64, 4, 2, 32, 128, 16, 4, 0, 32, {2}},
    {"qwen3-next", "qwen3_next", /*    */ 4, 64, 4, 2, 32, 128, 16, 4, 0, 32, {2}},
    // Encoder-decoder: one expert a token and 512 positions are nowhere in its configuration.
    {"switch", "switch_transformers", 2, 64, 4, 4, 16, 64, 8, 0, 0, 64, {1}, 0},
};

std::string model_file(const std::string& folder, const std::string& name) {
    return golden("models/" + folder + "/" + name);
}

void check_facts(const ModelFacts& facts, const Expected& expected) {
    CHECK(facts.architecture == expected.architecture);
    CHECK(facts.layer_count == expected.layers);
    CHECK(facts.hidden_size == expected.hidden);
    CHECK(facts.head_count == expected.heads);
    CHECK(facts.kv_head_count == expected.kv_heads);
    CHECK(facts.head_size == expected.head_size);
    CHECK(facts.ffn_size == expected.ffn);
    CHECK(facts.expert_count == expected.experts);
    CHECK(facts.experts_per_token == expected.per_token);
    CHECK(facts.shared_expert_count == expected.shared);
    CHECK(facts.expert_ffn_size == expected.expert_ffn);
    CHECK(facts.vocabulary_size == 160);
    CHECK(facts.context_tokens == expected.context);
    CHECK(facts.end_tokens == expected.end_tokens);
}

// Every tensor of the file, as another JSON reader finds it in the header, against the checkpoint's index; and the
// bytes.
void check_tensors(const Checkpoint& checkpoint, const std::string& path) {
    const std::string file = read_file(path);
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, file.data(), sizeof header_bytes);
    auto header = nlohmann::json::parse(file.substr(8, header_bytes));
    header.erase("__metadata__");
    CHECK(checkpoint.tensors().size() == header.size());
    std::uint64_t parameters = 0;
    for (const auto& [name, entry] : header.items()) {
        INFO(name);
        const TensorInfo* tensor = checkpoint.find(name);
        REQUIRE(tensor != nullptr);
        const std::vector<std::int64_t> shape(tensor->shape.extents().begin(), tensor->shape.extents().end());
        CHECK(shape == entry["shape"].get<std::vector<std::int64_t>>());
        CHECK(entry["dtype"] == "BF16");
        CHECK(tensor->dtype == DType::bf16);
        const std::uint64_t begin = entry["data_offsets"][0], end = entry["data_offsets"][1];
        CHECK(tensor->offset_bytes == 8 + header_bytes + begin);
        REQUIRE(tensor->size_bytes == end - begin);
        std::string bytes(tensor->size_bytes, '\0');
        REQUIRE(checkpoint.read(*tensor, std::as_writable_bytes(std::span(bytes))).is_ok());
        const bool is_same = bytes == file.substr(tensor->offset_bytes, tensor->size_bytes);
        CHECK(is_same);
        parameters += (end - begin) / 2;
    }
    CHECK(checkpoint.parameter_count() == parameters);
    CHECK(checkpoint.weight_bytes() == 2 * parameters);
}

}  // namespace

TEST_CASE("all 38 golden checkpoints index with the tensors their files hold", "[formats][short]") {
    std::size_t folders = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(golden("models"))) ++folders;
    CHECK(folders == 38);
    REQUIRE(kModels.size() == 38);
    for (const Expected& expected : kModels) {
        INFO(expected.folder);
        const auto checkpoint = Checkpoint::open(golden("models/" + expected.folder));
        REQUIRE(std::string(checkpoint.status().message()).empty());
        CHECK(checkpoint->format() == CheckpointFormat::safetensors);
        CHECK(checkpoint->format_name() == "safetensors");
        CHECK(checkpoint->files().size() == 1);
        CHECK(std::vector<std::string>(checkpoint->warnings().begin(), checkpoint->warnings().end()).empty());
        check_facts(checkpoint->facts(), expected);
        check_tensors(*checkpoint, model_file(expected.folder, "model.safetensors"));
    }
}

TEST_CASE("the published form of each configuration gives the same model and the same text as today's",
          "[formats][short]") {
    std::size_t both = 0;
    for (const Expected& expected : kModels) {
        INFO(expected.folder);
        const std::string published = model_file(expected.folder, "config_hub.json");
        if (!std::filesystem::exists(published)) continue;
        ++both;
        const TemporaryFolder folder;
        std::filesystem::create_symlink(model_file(expected.folder, "model.safetensors"),
                                        folder.file("model.safetensors"));
        std::filesystem::create_symlink(published, folder.file("config.json"));
        const auto checkpoint = Checkpoint::open(folder.path());
        REQUIRE(std::string(checkpoint.status().message()).empty());
        CHECK(checkpoint->warnings().empty());
        check_facts(checkpoint->facts(), expected);
        check_tensors(*checkpoint, model_file(expected.folder, "model.safetensors"));

        const auto today = hub_model_config(read_file(model_file(expected.folder, "config.json")), std::nullopt, "m");
        const auto then = hub_model_config(read_file(published), std::nullopt, "m");
        REQUIRE(today.is_ok());
        REQUIRE(then.is_ok());
        CHECK(today->text == then->text);
    }
    CHECK(both == 35);  // not deepseek-moe, which transformers never had, nor the two free forms
}
