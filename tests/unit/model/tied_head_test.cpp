// A head that is the token embedding: one matrix in memory, the bits of two.
#include <mixtura/model.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>

#include "kernels/quant/decode.hpp"
#include "kernels/quant/encode.hpp"
#include "support/gguf_of_model.hpp"
#include "support/hub_checkpoint.hpp"
#include "support/model_harness.hpp"
#include "support/tensors.hpp"

using namespace mixtura;
using test::forecast_of;
using test::GgufFile;
using test::HubCheckpoint;
using test::role_of;
using test::TemporaryFolder;

namespace {

// `tied` is the model of which `own` has a second copy of the embedding as its head.
void check_tied(const std::string& tied_path, const std::string& own_path) {
    const MemoryForecast tied = forecast_of(tied_path), own = forecast_of(own_path);
    CHECK(role_of(tied, "token_embedding").size_bytes == 0);
    CHECK(role_of(tied, "head.weight").size_bytes == role_of(own, "head.weight").size_bytes);
    CHECK(role_of(tied, "token_embedding").parameter_count == role_of(own, "token_embedding").parameter_count);
    CHECK(role_of(own, "token_embedding").size_bytes > 0);
    CHECK(own.weight_bytes - tied.weight_bytes == role_of(own, "token_embedding").size_bytes);
    CHECK(tied.token.multiplied_parameters == own.token.multiplied_parameters);

    const auto tied_core = test::load_core(tied_path), own_core = test::load_core(own_path);
    CHECK(tied_core->store.size_bytes() == tied.weight_bytes);
    CHECK(own_core->store.size_bytes() == own.weight_bytes);
    std::vector<TokenId> tokens;
    for (TokenId token = 0; token < tied_core->spec.vocabulary_size; token += 3) tokens.push_back(token);
    for (const Backend& backend : backends()) {
        if (!backend.is_supported) continue;
        INFO(backend.name);
        const test::FeedResult ours = test::feed(tied_core, tokens, {.chunk = 16, .backend = &backend}),
                               theirs = test::feed(own_core, tokens, {.chunk = 16, .backend = &backend});
        CHECK(test::first_difference(ours.hidden[0], theirs.hidden[0]) == ours.hidden[0].size());
        CHECK(test::first_difference(ours.logits, theirs.logits) == ours.logits.size());
    }
}

}  // namespace

TEST_CASE("a tied head and its embedding are held once and give the bits of two copies", "[model][short]") {
    for (const char* name : {"qwen2", "gpt2", "bloom-alibi"}) {
        INFO(name);
        HubCheckpoint model(test::golden(std::string("models/") + name));
        const auto embedding = std::find_if(model.tensors.begin(), model.tensors.end(), [](const auto& tensor) {
            return tensor.first.find("embed_tokens.weight") != std::string::npos ||
                   tensor.first.find("wte.weight") != std::string::npos ||
                   tensor.first.find("word_embeddings.weight") != std::string::npos;
        });
        REQUIRE(embedding != model.tensors.end());
        model.tensors["lm_head.weight"] = embedding->second;
        const TemporaryFolder own_folder, tied_folder;
        const std::string own_path = model.write(own_folder);
        model.tensors.erase("lm_head.weight");
        model.config["tie_word_embeddings"] = true;
        check_tied(model.write(tied_folder), own_path);
    }
}

TEST_CASE("a tied head of any format of a GGUF file is held once and gives the bits of two copies", "[model][short]") {
    GgufFile model = test::gguf_of_model(test::golden("models/mixtral"));
    const auto find = [&](std::string_view name) {
        return std::find_if(model.tensors.begin(), model.tensors.end(), [&](const auto& t) { return t.name == name; });
    };
    REQUIRE(find("output.weight") != model.tensors.end());
    model.tensors.erase(find("output.weight"));
    REQUIRE(find("token_embd.weight") != model.tensors.end());
    const GgufFile::Tensor stored = *find("token_embd.weight");
    REQUIRE(stored.type == test::gguf_element_type(DType::bf16));
    std::vector<float> numbers(stored.bytes.size() / 2);
    decoder(DType::bf16)(reinterpret_cast<const std::byte*>(stored.bytes.data()), numbers.data(), numbers.size());
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::q4_0, DType::q4_1, DType::q5_0, DType::q5_1,
                              DType::q8_0, DType::mxfp4}) {
        INFO(dtype_name(dtype));
        const std::size_t blocks = numbers.size() / static_cast<std::size_t>(dtype_info(dtype).block_elements);
        GgufFile::Tensor& embedding = *find("token_embd.weight");
        embedding.type = test::gguf_element_type(dtype);
        embedding.bytes.resize(blocks * static_cast<std::size_t>(dtype_info(dtype).block_bytes));
        encoder(dtype)(numbers.data(), reinterpret_cast<std::byte*>(embedding.bytes.data()), blocks);
        GgufFile own = model;
        own.tensors.push_back(embedding);
        own.tensors.back().name = "output.weight";
        const TemporaryFolder folder;
        const std::string tied_path = folder.write("tied.gguf", model.bytes());
        check_tied(tied_path, folder.write("own.gguf", own.bytes()));
    }
}
