// The 15 files of tests/golden/data/gguf, made by llama.cpp's converter from golden checkpoints: the index against the
// files' own bytes, read here by other code, against sizes written down by hand, and against the checkpoint's numbers.
#include <mixtura/checkpoint.hpp>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>

#include "support/files.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

struct Expected {
    std::string name, architecture, title, label;
    std::int64_t layers, heads, kv_heads, head_size, ffn, experts, per_token, shared, expert_ffn;
    std::string embedding, projection,
        experts_down;  // the checkpoint's names of three of its matrices; {} is the expert
    std::int64_t context = 256;
};

constexpr const char* kEmbed = "model.embed_tokens.weight";
constexpr const char* kOutput = "model.layers.1.self_attn.o_proj.weight";
constexpr const char* kDown = "model.layers.1.mlp.experts.{}.down_proj.weight";

const std::vector<Expected> kFiles{
    {"bloom-alibi", "bloom", "Bloom Alibi", "171K", 3, 4, 4, 16, 256, 0, 0, 0, 0, "transformer.word_embeddings.weight",
     "transformer.h.1.self_attention.dense.weight", "", 64},
    {"deepseek-moe", "deepseek", "Deepseek Moe", "16x134K", 3, 4, 4, 16, 128, 16, 4, 2, 32, kEmbed, kOutput, kDown},
    // Latent attention in the form for absorption: one key/value head of 32 + 16.
    {"deepseek-v3", "deepseek2", "Deepseek v3", "16x168K", 3, 4, 1, 48, 128, 16, 4, 1, 32, kEmbed, kOutput, kDown},
    {"glm4-moe", "glm4moe", "Glm4 Moe", "16x146K", 3, 4, 2, 32, 128, 16, 4, 1, 32, kEmbed, kOutput, kDown},
    // The checkpoint stores its projections transposed (Conv1D), so only the embedding has the same bytes.
    {"gpt2", "gpt2", "Gpt2", "187K", 3, 4, 4, 16, 256, 0, 0, 0, 0, "transformer.wte.weight", "", ""},
    {"granitemoe-shared", "granitemoe", "Granitemoe Shared", "8x96K", 3, 4, 2, 16, 32, 8, 2, 0, 32, kEmbed, kOutput,
     "model.layers.1.block_sparse_moe.output_linear.weight"},
    {"granitemoe", "granitemoe", "Granitemoe", "8x78K", 3, 4, 2, 16, 32, 8, 2, 0, 32, kEmbed, kOutput,
     "model.layers.1.block_sparse_moe.output_linear.weight"},
    {"llama-linear", "llama", "Llama Linear", "132K", 3, 4, 2, 16, 128, 0, 0, 0, 0, kEmbed, kOutput, ""},
    {"llama", "llama", "Llama", "132K", 3, 4, 2, 16, 128, 0, 0, 0, 0, kEmbed, kOutput, ""},
    {"llama3-rope", "llama", "Llama3 Rope", "132K", 3, 4, 2, 16, 128, 0, 0, 0, 0, kEmbed, kOutput, ""},
    {"mixtral", "llama", "Mixtral", "8x78K", 3, 4, 2, 16, 32, 8, 2, 0, 32, kEmbed, kOutput,
     "model.layers.1.block_sparse_moe.experts.{}.w2.weight"},
    {"olmoe", "olmoe", "Olmoe", "16x92K", 3, 4, 4, 16, 32, 16, 4, 0, 32, kEmbed, kOutput, kDown},
    {"qwen2", "qwen2", "Qwen2", "132K", 3, 4, 2, 16, 128, 0, 0, 0, 0, kEmbed, kOutput, ""},
    {"qwen3-moe", "qwen3moe", "Qwen3 Moe", "16x116K", 3, 4, 2, 32, 128, 16, 4, 0, 32, kEmbed, kOutput, kDown},
    {"qwen3", "qwen3", "Qwen3", "169K", 3, 4, 2, 32, 128, 0, 0, 0, 0, kEmbed, kOutput, ""},
};

// Walks a GGUF header without any check, which is all that files known to be good need.
class Walker {
  public:
    explicit Walker(const std::string& bytes) : bytes_(bytes) {}
    template <class T>
    T take() {
        T value{};
        std::memcpy(&value, bytes_.data() + at_, sizeof value);
        at_ += sizeof value;
        return value;
    }
    std::string string() {
        const auto length = take<std::uint64_t>();
        at_ += length;
        return bytes_.substr(at_ - length, length);
    }
    void skip_value(std::uint32_t type) {
        constexpr std::size_t kBytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
        if (type == 8) {
            string();
        } else if (type == 9) {
            const auto element = take<std::uint32_t>();
            for (auto left = take<std::uint64_t>(); left > 0; --left) skip_value(element);
        } else {
            at_ += kBytes[type];
        }
    }
    std::size_t at() const { return at_; }

  private:
    const std::string& bytes_;
    std::size_t at_ = 0;
};

std::string bytes_of_tensor(const Checkpoint& checkpoint, const std::string& name) {
    INFO(name);
    const TensorInfo* tensor = checkpoint.find(name);
    REQUIRE(tensor != nullptr);
    CHECK(tensor->dtype == DType::bf16);
    std::string bytes(tensor->size_bytes, '\0');
    REQUIRE(checkpoint.read(*tensor, std::as_writable_bytes(std::span(bytes))).is_ok());
    return bytes;
}

void check_table(const Checkpoint& checkpoint, const std::string& path) {
    const std::string bytes = read_file(path);
    Walker walker(bytes);
    REQUIRE(walker.take<std::uint32_t>() == 0x46554747);
    REQUIRE(walker.take<std::uint32_t>() == 3);
    const auto tensor_count = walker.take<std::uint64_t>(), metadata_count = walker.take<std::uint64_t>();
    for (std::uint64_t i = 0; i < metadata_count; ++i) {
        CHECK(walker.string() != "general.alignment");
        walker.skip_value(walker.take<std::uint32_t>());
    }
    REQUIRE(checkpoint.tensors().size() == tensor_count);
    std::vector<std::uint64_t> offsets;
    for (const TensorInfo& tensor : checkpoint.tensors()) {
        INFO(tensor.name);
        CHECK(walker.string() == tensor.name);
        std::vector<std::int64_t> shape(walker.take<std::uint32_t>());
        for (std::int64_t& extent : shape) extent = static_cast<std::int64_t>(walker.take<std::uint64_t>());
        std::reverse(shape.begin(), shape.end());
        CHECK(std::vector<std::int64_t>(tensor.shape.extents().begin(), tensor.shape.extents().end()) == shape);
        const auto type = walker.take<std::uint32_t>();
        CHECK(tensor.dtype == (type == 30 ? DType::bf16 : DType::f32));
        CHECK((type == 30 || type == 0));
        CHECK(tensor.size_bytes == static_cast<std::uint64_t>(tensor.shape.element_count()) * (type == 30 ? 2 : 4));
        offsets.push_back(walker.take<std::uint64_t>());
    }
    const std::size_t data_begin = (walker.at() + 31) / 32 * 32;
    for (std::size_t i = 0; i < offsets.size(); ++i)
        CHECK(checkpoint.tensors()[i].offset_bytes == data_begin + offsets[i]);
    const TensorInfo& last = checkpoint.tensors().back();
    CHECK(last.offset_bytes + last.size_bytes <= bytes.size());
    CHECK(bytes.size() - (last.offset_bytes + last.size_bytes) < 32);
}

}  // namespace

TEST_CASE("all 15 golden GGUF files index with the tensors and sizes they hold", "[formats][short]") {
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(golden("gguf"))) ++files;
    CHECK(files == 15);
    REQUIRE(kFiles.size() == 15);
    for (const Expected& expected : kFiles) {
        INFO(expected.name);
        const std::string path = golden("gguf/" + expected.name + ".gguf");
        const auto checkpoint = Checkpoint::open(path);
        REQUIRE(std::string(checkpoint.status().message()).empty());
        CHECK(checkpoint->format() == CheckpointFormat::gguf);
        CHECK(checkpoint->format_name() == "GGUF v3");
        CHECK(std::vector<std::string>(checkpoint->warnings().begin(), checkpoint->warnings().end()).empty());
        const ModelFacts& facts = checkpoint->facts();
        CHECK(facts.architecture == expected.architecture);
        CHECK(facts.name == expected.title);
        CHECK(facts.declared_size == expected.label);
        CHECK(facts.layer_count == expected.layers);
        CHECK(facts.hidden_size == 64);
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
        CHECK(facts.tokenizer_token_count == 0);  // converted without a vocabulary
        check_table(*checkpoint, path);
    }
}

TEST_CASE("a GGUF file's matrices are the checkpoint's, extent by extent and byte by byte", "[formats][short]") {
    for (const Expected& expected : kFiles) {
        INFO(expected.name);
        const auto gguf = Checkpoint::open(golden("gguf/" + expected.name + ".gguf"));
        const auto hub = Checkpoint::open(golden("models/" + expected.name));
        REQUIRE(gguf.is_ok());
        REQUIRE(hub.is_ok());
        const auto check_same = [&](const std::string& name, const std::string& hub_name) {
            INFO(name << " and " << hub_name);
            const bool is_same = bytes_of_tensor(*gguf, name) == bytes_of_tensor(*hub, hub_name);
            CHECK(is_same);
            CHECK(gguf->find(name)->shape == hub->find(hub_name)->shape);
        };
        check_same("token_embd.weight", expected.embedding);
        if (!expected.projection.empty()) check_same("blk.1.attn_output.weight", expected.projection);
        const std::size_t mark = expected.experts_down.find("{}");
        if (expected.experts_down.empty()) continue;
        if (mark == std::string::npos) {
            check_same("blk.1.ffn_down_exps.weight", expected.experts_down);
            continue;
        }
        std::string stacked;
        for (std::int64_t expert = 0; expert < expected.experts; ++expert) {
            std::string name = expected.experts_down;
            stacked += bytes_of_tensor(*hub, name.replace(mark, 2, std::to_string(expert)));
        }
        const bool is_same = bytes_of_tensor(*gguf, "blk.1.ffn_down_exps.weight") == stacked;
        CHECK(is_same);
        CHECK(gguf->find("blk.1.ffn_down_exps.weight")->shape.to_string() ==
              "[" + std::to_string(expected.experts) + ", 64, " + std::to_string(expected.expert_ffn) + "]");
    }
}
