// Checkpoints in the forms they are published in where the golden ones are plainer: gpt-oss with MXFP4 experts, Llama 4
// inside a model that also sees, DeepSeek-V3 and GLM-4.5 with their heads for further tokens.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <set>

#include "support/gguf_of_model.hpp"
#include "support/hub_checkpoint.hpp"
#include "support/model_harness.hpp"
#include "support/tensors.hpp"

using namespace mixtura;
using test::Array;
using test::HubCheckpoint;
using test::TemporaryFolder;

namespace {

std::string model_folder(const std::string& model) { return test::golden("models/" + model); }

std::vector<TokenId> some_tokens() {
    std::vector<TokenId> tokens;
    for (TokenId i = 0; i < 40; ++i) tokens.push_back(5 + i * 37 % 150);
    return tokens;
}

std::vector<float> logits_of(const std::string& path) {
    return test::feed(test::load_core(path), some_tokens(), {}).logits;
}

void check_same_bits(const std::string& path, const std::string& as) {
    const std::vector<float> logits = logits_of(path);
    CHECK(test::first_difference(logits, logits_of(as)) == logits.size());
}

std::string refusal(const HubCheckpoint& model) {
    const TemporaryFolder folder;
    try {
        test::load_core(model.write(folder));
    } catch (const std::exception& failure) {
        return failure.what();
    }
    return {};
}

// Whether token t went to the same experts in every layer.
bool has_same_routes(const test::FeedResult& a, const test::FeedResult& b, std::size_t t) {
    const auto k = static_cast<std::size_t>(a.choices);
    return std::all_of(a.experts.begin(), a.experts.end(), [&](const auto& layer) {
        const std::vector<std::int32_t>& others = b.experts.at(layer.first);
        const std::multiset<std::int32_t> mine(layer.second.begin() + static_cast<std::ptrdiff_t>(t * k),
                                               layer.second.begin() + static_cast<std::ptrdiff_t>((t + 1) * k));
        return mine == std::multiset<std::int32_t>(others.begin() + static_cast<std::ptrdiff_t>(t * k),
                                                   others.begin() + static_cast<std::ptrdiff_t>((t + 1) * k));
    });
}

// ---- MXFP4: blocks of 32 numbers ±{0, 0.5, 1, 1.5, 2, 3, 4, 6} · 2^(exponent - 127) ------------------------------

constexpr float kMagnitudes[] = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};

struct Mxfp4 {
    Array blocks, scales;  // [.., in / 32, 16] with elements 2i and 2i + 1 a byte, and [.., in / 32]
    Array decoded;         // f32 [.., in]
};

Mxfp4 encoded(const Array& matrix) {
    const Array values = test::as_f32(matrix);
    Mxfp4 out{{DType::u8, matrix.shape, {}}, {DType::u8, matrix.shape, {}}, {DType::f32, matrix.shape, {}}};
    out.blocks.shape.back() /= 32;
    out.blocks.shape.push_back(16);
    out.scales.shape.back() /= 32;
    for (std::size_t block = 0; block < values.bytes.size() / 128; ++block) {
        float element[32];
        std::memcpy(element, values.bytes.data() + block * 128, sizeof element);
        float largest = 0;
        for (const float x : element) largest = std::max(largest, std::abs(x));
        const int exponent = largest > 0 ? std::ilogb(largest) - 2 : 0;
        out.scales.bytes += static_cast<char>(exponent + 127);
        unsigned codes[32];
        for (std::size_t i = 0; i < 32; ++i) {
            unsigned nearest = 0;
            for (unsigned code = 1; code < 8; ++code) {
                const float x = std::ldexp(std::abs(element[i]), -exponent);
                if (std::abs(kMagnitudes[code] - x) < std::abs(kMagnitudes[nearest] - x)) nearest = code;
            }
            codes[i] = nearest | (element[i] < 0 ? 8U : 0U);
            const float value = std::ldexp(element[i] < 0 ? -kMagnitudes[nearest] : kMagnitudes[nearest], exponent);
            out.decoded.bytes += test::bytes_of(value);
        }
        for (std::size_t i = 0; i < 16; ++i)
            out.blocks.bytes += static_cast<char>(codes[2 * i] | codes[2 * i + 1] << 4U);
    }
    return out;
}

// gpt-oss with its experts rounded to MXFP4: as published, and as f32 in the form of the golden checkpoint.
struct RoundedExperts {
    HubCheckpoint packed{model_folder("gpt-oss"), "config_hub.json"}, plain = packed;

    RoundedExperts() {
        packed.config["quantization_config"] = {
            {"quant_method", "mxfp4"},
            {"modules_to_not_convert", {"model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"}}};
        for (const auto& [name, array] : HubCheckpoint(packed).tensors) {
            if (name.find("experts.") == std::string::npos || name.find("_bias") != std::string::npos) continue;
            const Mxfp4 rounded = encoded(test::swapped(array));  // stored [in, out] in bf16
            plain.tensors[name] = test::swapped(rounded.decoded);
            packed.tensors.erase(name);
            packed.tensors[name + "_blocks"] = rounded.blocks;
            packed.tensors[name + "_scales"] = rounded.scales;
        }
    }
};

}  // namespace

TEST_CASE("gpt-oss gives the same bits from MXFP4 in safetensors and in GGUF, and nearly those of its decoded values",
          "[model][short]") {
    const RoundedExperts rounded;
    const TemporaryFolder packed, plain, gguf;
    rounded.packed.write(packed);
    // The converter reads the configuration as transformers 5 writes it.
    HubCheckpoint today = rounded.packed;
    today.config = HubCheckpoint(model_folder("gpt-oss")).config;
    const TemporaryFolder source;
    gguf.write("model.gguf", test::gguf_of_model(today.write(source)).bytes());
    check_same_bits(packed.path(), gguf.file("model.gguf"));
    test::check_one_answer("gpt-oss", packed.path());

    // MXFP4 weights meet activations rounded to 8 bit, to 1/254 of a block's largest: through three layers 0.6 to 2.7 %
    // of a token's largest logit.  Where that changes the choice of an expert it is more, so these tokens are left out.
    const test::FeedResult rough = test::feed(test::load_core(packed.path()), some_tokens(), {}),
                           exact = test::feed(test::load_core(rounded.plain.write(plain)), some_tokens(), {});
    constexpr std::size_t kVocabulary = 160;
    const std::size_t count = some_tokens().size();
    std::size_t compared = 0;
    for (std::size_t t = 0; t < count; ++t) {
        if (!has_same_routes(rough, exact, t)) continue;
        ++compared;
        double difference = 0, largest = 0;
        for (std::size_t i = t * kVocabulary; i < (t + 1) * kVocabulary; ++i) {
            difference = std::max(difference, std::abs(static_cast<double>(rough.logits[i]) - exact.logits[i]));
            largest = std::max(largest, std::abs(static_cast<double>(exact.logits[i])));
        }
        INFO("token " << t << ": " << difference / largest);
        CHECK(difference / largest < 0.04);
        CHECK(difference > 0);  // so that the two were not the same thing
    }
    CHECK(compared >= 35);
}

TEST_CASE("weights quantised by a scheme nobody here knows are refused by its name", "[model][short]") {
    HubCheckpoint model(model_folder("qwen3-moe"));
    const std::string expected = ", expected awq, bitsandbytes, compressed-tensors, fbgemm_fp8, fp8, gptq or mxfp4",
                      key = "the configuration's quantization_config.quant_method is ";
    model.config["quantization_config"] = {{"quant_method", "hqq"}};
    CHECK(refusal(model) == key + "'\"hqq\"'" + expected);
    model.config["quantization_config"] = "all of it";
    CHECK(refusal(model) == key + "'missing'" + expected);
    model.config["quantization_config"] = nullptr;
    CHECK(refusal(model).empty());
}

TEST_CASE("Llama 4 gives the same bits inside the model that also sees", "[model][short]") {
    const HubCheckpoint plain(model_folder("llama4"), "config_hub.json");
    HubCheckpoint nested = plain;
    nested.config = {{"architectures", {"Llama4ForConditionalGeneration"}},
                     {"boi_token_index", 200080},
                     {"eoi_token_index", 200081},
                     {"image_token_index", 200092},
                     {"model_type", "llama4"},
                     {"text_config", plain.config},
                     {"tie_word_embeddings", false},
                     {"torch_dtype", "bfloat16"},
                     {"transformers_version", "4.51.0.dev0"},
                     {"vision_config", {{"hidden_size", 1408}, {"model_type", "llama4_vision_model"}}}};
    nested.tensors.clear();
    for (const auto& [name, array] : plain.tensors) nested.tensors["language_model." + name] = array;
    nested.tensors["multi_modal_projector.linear_1.weight"] = plain.tensors.at("lm_head.weight");
    nested.tensors["vision_model.layernorm_pre.weight"] = plain.tensors.at("model.norm.weight");
    const TemporaryFolder folder;
    check_same_bits(nested.write(folder), model_folder("llama4"));
    const auto core = test::load_core(folder.path());
    CHECK(core->facts.architecture == "llama4_text");
    CHECK(core->warnings.empty());
}

TEST_CASE("Llama 4 gives the same bits from GGUF, which has its own chunks and layers without positions",
          "[model][short]") {
    HubCheckpoint model(model_folder("llama4"));
    model.config["attention_chunk_size"] = 8192;
    model.config.erase("no_rope_layers");  // every fourth has no positions, which is none of three
    const TemporaryFolder folder, gguf;
    test::GgufFile file = test::gguf_of_model(model.write(folder));
    check_same_bits(gguf.write("chunks.gguf", file.bytes()), folder.path());
    // A window of 0 says that every layer sees all.
    file.add("llama4.attention.sliding_window", std::uint32_t{0});
    const auto core = test::load_core(gguf.write("whole.gguf", file.bytes()));
    for (const LayerSpec& layer : core->spec.layers) {
        CHECK(layer.attention.chunk_tokens == 0);
        CHECK(layer.attention.position == PositionKind::rope);
    }
}

TEST_CASE("heads for further tokens behind the last layer change neither numbers nor warnings", "[model][short]") {
    for (const std::string name : {"deepseek-v3", "glm4-moe"}) {
        INFO(name);
        HubCheckpoint model(model_folder(name), "config_hub.json");
        const TemporaryFolder plain, predicting;
        const auto before = test::load_core(model.write(plain));
        const auto count = model.config.at("num_hidden_layers").get<int>();
        const std::string last = "model.layers." + std::to_string(count - 1) + ".",
                          head = "model.layers." + std::to_string(count) + ".";
        for (const auto& [tensor, array] : HubCheckpoint(model).tensors) {
            if (tensor.rfind(last, 0) == 0) model.tensors[head + tensor.substr(last.size())] = array;
        }
        const Array norm = model.tensors.at("model.norm.weight"), table = model.tensors.at("model.embed_tokens.weight");
        for (const char* stem : {"enorm", "hnorm", "shared_head.norm"}) model.tensors[head + stem + ".weight"] = norm;
        for (const char* stem : {"embed_tokens", "shared_head.head"}) model.tensors[head + stem + ".weight"] = table;
        model.tensors[head + "eh_proj.weight"] =
            test::reshaped({DType::bf16, {64, 128}, std::string(64 * 128 * 2, '\0')}, {64, 128});
        model.config["num_nextn_predict_layers"] = 1;
        check_same_bits(model.write(predicting), plain.path());
        const auto after = test::load_core(predicting.path());
        CHECK(after->warnings == before->warnings);
        CHECK(after->store.size_bytes() == before->store.size_bytes());
    }
}
