// Where models lie: single files, folders, shards in a hub cache, split GGUF; and what is read beside them.
#include <mixtura/checkpoint.hpp>

#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <thread>

#include "support/files.hpp"
#include "support/gguf_writer.hpp"
#include "support/safetensors_writer.hpp"

using namespace mixtura;
using namespace mixtura::test;
namespace fs = std::filesystem;

namespace {

Checkpoint opened(const std::string& path) {
    auto checkpoint = Checkpoint::open(path);
    INFO(path);
    REQUIRE(std::string(checkpoint.status().message()).empty());
    return *std::move(checkpoint);
}

std::string warnings(const Checkpoint& checkpoint) {
    std::string all;
    for (const std::string& warning : checkpoint.warnings()) all += warning + "\n";
    return all;
}

std::string bytes_of_tensor(const Checkpoint& checkpoint, std::string_view name) {
    INFO(std::string(name));
    const TensorInfo* tensor = checkpoint.find(name);
    REQUIRE(tensor != nullptr);
    std::string bytes(tensor->size_bytes, '\0');
    REQUIRE(checkpoint.read(*tensor, std::as_writable_bytes(std::span(bytes))).is_ok());
    return bytes;
}

// A llama of eight tensors whose bytes differ from each other.
GgufFile llama() {
    GgufFile file;
    file.add("general.architecture", "llama").add("llama.block_count", std::uint32_t{2});
    for (int i = 0; i < 8; ++i) {
        const std::string name = "blk." + std::to_string(i / 4) + ".t" + std::to_string(i);
        file.tensor(name, DType::f32, {3, i + 1},
                    std::string(static_cast<std::size_t>(12 * (i + 1)), static_cast<char>('a' + i)));
    }
    return file;
}

std::string part_name(std::size_t number, std::size_t count) {
    return "llama-0000" + std::to_string(number) + "-of-0000" + std::to_string(count) + ".gguf";
}

constexpr const char* kLlamaConfig =
    R"({"model_type":"llama","num_hidden_layers":1,"hidden_size":2,"vocab_size":3,"num_attention_heads":1,"eos_token_id":2})";

std::string weights() {
    SafetensorsFile file;
    file.tensor("model.embed_tokens.weight", "BF16", {3, 2}, "embeddings!!")
        .tensor("model.layers.0.w", "F8_E4M3", {4}, "gate");
    return file.bytes();
}

// The layout huggingface_hub leaves behind: snapshots/<revision>/<name> -> ../../blobs/<hash>.  Returns the snapshot's
// folder.
std::string hub_cache(const TemporaryFolder& folder, const std::vector<std::pair<std::string, std::string>>& files) {
    const std::string snapshot = "models--org--name/snapshots/0123abcd/";
    for (std::size_t i = 0; i < files.size(); ++i) {
        const std::string hash = "blob" + std::to_string(i) + "f00d";
        folder.write("models--org--name/blobs/" + hash, files[i].second);
        fs::create_directories(folder.file(snapshot));
        fs::create_symlink("../../blobs/" + hash, folder.file(snapshot + files[i].first));
    }
    return folder.file(snapshot.substr(0, snapshot.size() - 1));
}

}  // namespace

TEST_CASE("a split GGUF model indexes as the whole one, opened by any part or by its folder", "[formats][short]") {
    for (const std::uint32_t alignment : {32, 8, 4096}) {
        GgufFile model = llama();
        model.set_alignment(alignment);
        const TemporaryFolder folder;
        const Checkpoint whole = opened(folder.write("whole/llama.gguf", model.bytes()));
        const std::vector<GgufFile> parts = split_gguf(model, 3);
        for (std::size_t i = 0; i < 3; ++i) {
            GgufFile part = parts[i];
            if (i > 0) part.add("general.alignment", alignment);
            folder.write("split/" + part_name(i + 1, 3), part.bytes());
        }
        for (const std::string& path :
             {folder.file("split"), folder.file("split/" + part_name(1, 3)), folder.file("split/" + part_name(3, 3))}) {
            const Checkpoint split = opened(path);
            CHECK(split.format_name() == "GGUF v3, 3 parts");
            CHECK(split.files().size() == 3);
            CHECK(split.facts().architecture == "llama");
            CHECK(split.facts().layer_count == 2);
            CHECK(split.parameter_count() == whole.parameter_count());
            REQUIRE(split.tensors().size() == 8);
            for (std::size_t i = 0; i < 8; ++i) {
                const TensorInfo& tensor = split.tensors()[i];
                CHECK(tensor.name == whole.tensors()[i].name);
                CHECK(tensor.shape == whole.tensors()[i].shape);
                CHECK(tensor.file == i * 3 / 8);
                CHECK(bytes_of_tensor(split, tensor.name) == bytes_of_tensor(whole, tensor.name));
            }
        }
    }
}

TEST_CASE("a golden GGUF file, split in two, still is the golden file", "[formats][short]") {
    const Checkpoint golden_file = opened(golden("gguf/mixtral.gguf"));
    GgufFile model;
    model.add("general.architecture", "llama");
    for (const TensorInfo& tensor : golden_file.tensors()) {
        model.tensor(tensor.name, tensor.dtype, {tensor.shape.extents().begin(), tensor.shape.extents().end()},
                     bytes_of_tensor(golden_file, tensor.name));
    }
    const TemporaryFolder folder;
    const std::vector<GgufFile> parts = split_gguf(model, 2);
    for (std::size_t i = 0; i < 2; ++i) folder.write(part_name(i + 1, 2), parts[i].bytes());
    const Checkpoint split = opened(folder.path());
    REQUIRE(split.tensors().size() == golden_file.tensors().size());
    for (const TensorInfo& tensor : golden_file.tensors()) {
        CHECK(split.find(tensor.name)->shape == tensor.shape);
        const bool is_same = bytes_of_tensor(split, tensor.name) == bytes_of_tensor(golden_file, tensor.name);
        CHECK(is_same);
    }
}

TEST_CASE("a model alone under a part's name, one of one, opens", "[formats][short]") {
    const TemporaryFolder folder;
    CHECK(opened(folder.write("llama-00001-of-00001.gguf", llama().bytes())).format_name() == "GGUF v3");
}

TEST_CASE("a sharded model opens through a hub cache's symbolic links", "[formats][short]") {
    SafetensorsFile first, second;
    first.tensor("model.embed_tokens.weight", "BF16", {3, 2}, "embeddings!!");
    second.tensor("model.layers.0.w", "F8_E4M3", {4}, "gate").tensor("model.norm.weight", "F32", {1}, "norm");
    const TemporaryFolder folder;
    const std::string snapshot = hub_cache(
        folder,
        {{"model-00001-of-00002.safetensors", first.bytes()},
         {"model-00002-of-00002.safetensors", second.bytes()},
         {"model.safetensors.index.json",
          R"({"metadata":{"total_size":20},"weight_map":{"model.embed_tokens.weight":"model-00001-of-00002.safetensors",
            "model.layers.0.w":"model-00002-of-00002.safetensors","model.norm.weight":"model-00002-of-00002.safetensors"}})"},
         {"config.json", kLlamaConfig},
         {"tokenizer.json", "{}"},
         {"generation_config.json", R"({"eos_token_id":[2,1]})"},
         {"tokenizer_config.json", R"({"chat_template":"{{ messages }}"})"}});
    for (const std::string& path :
         {snapshot, snapshot + "/", snapshot + "//", snapshot + "/model.safetensors.index.json"}) {
        const Checkpoint checkpoint = opened(path);
        CHECK(checkpoint.format_name() == "safetensors, 2 parts");
        CHECK(warnings(checkpoint).empty());
        REQUIRE(checkpoint.tensors().size() == 3);
        CHECK(bytes_of_tensor(checkpoint, "model.embed_tokens.weight") == "embeddings!!");
        CHECK(bytes_of_tensor(checkpoint, "model.layers.0.w") == "gate");
        CHECK(bytes_of_tensor(checkpoint, "model.norm.weight") == "norm");
        CHECK(checkpoint.find("model.norm.weight")->file == 1);
        CHECK(checkpoint.facts().architecture == "llama");
        CHECK(checkpoint.facts().tokenizer == "tokenizer.json");
        CHECK(checkpoint.facts().has_chat_template);
        CHECK(checkpoint.facts().end_tokens == std::vector<TokenId>{1, 2});
        CHECK(checkpoint.parameter_count() == 11);
        CHECK(checkpoint.weight_bytes() == 20);
    }
    // One shard by itself is opened as asked, with a word about the rest.
    const std::string shard = snapshot + "/model-00002-of-00002.safetensors";
    const Checkpoint part = opened(shard);
    CHECK(part.tensors().size() == 2);
    CHECK(warnings(part) ==
          "'" + shard +
              "' is part 2 of 2 of a model, and only its tensors are listed; open the folder for all of them\n");
}

TEST_CASE("a single file opens by its own name, by its folder and by a relative path", "[formats][short]") {
    const TemporaryFolder folder;
    folder.write("hub/config.json", kLlamaConfig);
    folder.write("hub/model.safetensors", weights());
    folder.write("gguf/anything.gguf", llama().bytes());
    CHECK(opened(folder.file("hub")).facts().architecture == "llama");
    CHECK(opened(folder.file("hub/model.safetensors")).facts().architecture == "llama");
    CHECK(opened(folder.file("gguf")).tensors().size() == 8);
    const std::string before = fs::current_path().string();
    fs::current_path(folder.file("hub"));
    CHECK(opened("model.safetensors").facts().architecture == "llama");
    CHECK(opened(".").files()[0].path == "./model.safetensors");
    fs::current_path(before);
}

TEST_CASE("of several files the usual name is the model", "[formats][short]") {
    const TemporaryFolder folder;
    folder.write("model.safetensors", weights());
    folder.write("adapter.safetensors", weights());
    folder.write("model.gguf", llama().bytes());
    folder.write("pytorch_model.bin", "pickle");
    CHECK(opened(folder.path()).files()[0].path == folder.file("model.safetensors"));
}

TEST_CASE("what lies beside the weights is found, and null is nothing", "[formats][short]") {
    const auto facts_with = [](const std::vector<std::pair<std::string, std::string>>& files) {
        const TemporaryFolder folder;
        folder.write("model.safetensors", weights());
        folder.write("config.json", kLlamaConfig);
        for (const auto& [name, content] : files) folder.write(name, content);
        return opened(folder.path()).facts();
    };
    CHECK(facts_with({}).tokenizer.empty());
    CHECK_FALSE(facts_with({}).has_chat_template);
    CHECK(facts_with({{"tokenizer.model", "x"}}).tokenizer == "tokenizer.model");
    CHECK(facts_with({{"tokenizer.model", "x"}, {"tokenizer.json", "{}"}}).tokenizer == "tokenizer.json");
    CHECK(facts_with({{"chat_template.jinja", "x"}}).has_chat_template);
    CHECK(facts_with({{"chat_template.json", "{}"}}).has_chat_template);
    CHECK(facts_with({{"tokenizer_config.json", R"({"chat_template":[{"name":"default","template":"x"}]})"}})
              .has_chat_template);
    CHECK_FALSE(facts_with({{"tokenizer_config.json", R"({"chat_template":null})"}}).has_chat_template);
    CHECK_FALSE(facts_with({{"tokenizer_config.json", "{}"}}).has_chat_template);
}

TEST_CASE("a model without config.json opens with a warning", "[formats][short]") {
    const TemporaryFolder folder;
    const Checkpoint checkpoint = opened(folder.write("model.safetensors", weights()));
    CHECK(checkpoint.facts().architecture.empty());
    CHECK(warnings(checkpoint) ==
          "there is no config.json in '" + folder.path() + "', so the architecture is unknown\n");
}

TEST_CASE("tensors that an index does not list are there all the same, with a warning", "[formats][short]") {
    const TemporaryFolder folder;
    folder.write("config.json", kLlamaConfig);
    folder.write("a.safetensors", weights());
    const std::string index =
        folder.write("model.safetensors.index.json", R"({"weight_map":{"model.layers.0.w":"a.safetensors"}})");
    const Checkpoint checkpoint = opened(folder.path());
    CHECK(checkpoint.tensors().size() == 2);
    CHECK(warnings(checkpoint) == "1 tensors of the files are not listed in '" + index + "'\n");
}

TEST_CASE("a GGUF file's own vocabulary and template are seen", "[formats][short]") {
    GgufFile file = llama();
    file.add("tokenizer.ggml.model", "gpt2")
        .add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b"})
        .add("tokenizer.chat_template", "{{ x }}");
    const TemporaryFolder folder;
    const Checkpoint checkpoint = opened(folder.write("m.gguf", file.bytes()));
    CHECK(checkpoint.facts().tokenizer == "GGUF (gpt2)");
    CHECK(checkpoint.facts().tokenizer_token_count == 2);
    CHECK(checkpoint.facts().has_chat_template);
    for (const char* name : {"bpe-llama3", "spm-bpe", "unigram"}) {
        const Checkpoint vocabulary = opened(golden("tokenizers/" + std::string(name) + "/vocab.gguf"));
        CHECK(vocabulary.tensors().empty());
        CHECK(vocabulary.facts().tokenizer_token_count > 0);
    }
}

TEST_CASE("reading a tensor wants a buffer of its size, and gives an error where the file shrank", "[formats][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("m.gguf", llama().bytes());
    const Checkpoint checkpoint = opened(path);
    const TensorInfo& last = checkpoint.tensors().back();
    std::string buffer(last.size_bytes - 1, '\0');
    const Status small = checkpoint.read(last, std::as_writable_bytes(std::span(buffer)));
    CHECK(small.code() == StatusCode::invalid_argument);
    CHECK(small.message() == "tensor 'blk.1.t7' takes 96 bytes, the buffer holds 95");
    TensorInfo forged = last;
    forged.file = 7;
    buffer.resize(last.size_bytes);
    CHECK(checkpoint.read(forged, std::as_writable_bytes(std::span(buffer))).code() == StatusCode::invalid_argument);
    forged = last;
    forged.offset_bytes = ~std::uint64_t{0};
    CHECK(checkpoint.read(forged, std::as_writable_bytes(std::span(buffer))).code() == StatusCode::corrupt_file);
    REQUIRE(::truncate(path.c_str(), static_cast<off_t>(last.offset_bytes + 10)) == 0);
    const Status shrunk = checkpoint.read(last, std::as_writable_bytes(std::span(buffer)));
    CHECK(shrunk.code() == StatusCode::corrupt_file);
    CHECK(shrunk.message() == "'" + path + "' ends at byte " + std::to_string(last.offset_bytes + 10) +
                                  ", but 96 bytes at byte " + std::to_string(last.offset_bytes) + " are needed");
}

TEST_CASE("a checkpoint outlives its files' names, is copied freely and read from many threads", "[formats][short]") {
    Checkpoint copy = [] {
        const TemporaryFolder folder;
        return opened(folder.write("m.gguf", llama().bytes()));
    }();
    const Checkpoint other = copy;
    copy = opened(golden("gguf/llama.gguf"));
    std::vector<std::thread> threads;
    std::vector<std::string> read(8);
    for (std::size_t i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            const TensorInfo& tensor = other.tensors()[i];
            read[i].resize(tensor.size_bytes);
            (void)other.read(tensor, std::as_writable_bytes(std::span(read[i])));
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (std::size_t i = 0; i < 8; ++i) CHECK(read[i] == std::string(12 * (i + 1), static_cast<char>('a' + i)));
    CHECK(other.find("blk.1.t7") != nullptr);
    CHECK(other.find("missing") == nullptr);
    CHECK(other.find("") == nullptr);
}
