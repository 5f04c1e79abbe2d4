#include "formats/model_config.hpp"

#include <catch2/catch.hpp>

#include "support/files.hpp"
#include "support/gguf_writer.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

ModelConfig hub(std::string_view config, std::optional<std::string_view> generation = std::nullopt) {
    auto result = hub_model_config(config, generation, "model");
    INFO(std::string(config));
    REQUIRE(std::string(result.status().message()).empty());
    return *std::move(result);
}
std::string canonical(std::string_view config) { return hub(config).text; }

ModelConfig gguf(const GgufFile& file) {
    const std::string bytes = file.bytes();
    const MemorySource source(std::as_bytes(std::span(bytes)), "model.gguf");
    const auto header = GgufHeader::read(source);
    REQUIRE(std::string(header.status().message()).empty());
    auto result = gguf_model_config(*header, "model.gguf");
    REQUIRE(std::string(result.status().message()).empty());
    return *std::move(result);
}

}  // namespace

TEST_CASE("a configuration becomes one text: sorted, without blanks, without what says who wrote it",
          "[formats][short]") {
    CHECK(canonical(R"({ "b" : [1, 2.0, -0.5, 1e2, null, true, "x\n"], "a" : {"d":1, "c":{}} })") ==
          R"({"a":{"c":{},"d":1},"b":[1,2,-0.5,100,null,true,"x\u000a"]})");
    CHECK(
        canonical(
            R"({"transformers_version":"5","_name_or_path":"x","_commit_hash":"0","auto_map":{"a":"b"},"model_type":"llama"})") ==
        R"({"model_type":"llama"})");
    CHECK(canonical("{}") == "{}");
    CHECK(hub(R"({"b":1,"a":2})").values.root().find("a")->as_integer() == 2);
    CHECK(hub("{}").source == CheckpointFormat::safetensors);
}

TEST_CASE("torch_dtype and dtype give the same text", "[formats][short]") {
    for (const char* form : {R"({"torch_dtype":"bfloat16"})", R"({"dtype":"bfloat16"})",
                             R"({"dtype":"torch.bfloat16"})", R"({"torch_dtype":"float32","dtype":"bfloat16"})"}) {
        CHECK(canonical(form) == R"({"dtype":"bfloat16"})");
    }
}

TEST_CASE("every form of the rotary settings gives rope_parameters", "[formats][short]") {
    const std::string plain = R"({"rope_parameters":{"rope_theta":10000,"rope_type":"default"}})";
    CHECK(canonical(R"({"rope_theta":10000.0})") == plain);
    CHECK(canonical(R"({"rope_theta":10000.0,"rope_scaling":null})") == plain);
    CHECK(canonical(R"({"rope_parameters":{"rope_type":"default","rope_theta":10000.0}})") == plain);
    CHECK(canonical(R"({"rope_parameters":{"rope_theta":10000.0},"rope_scaling":null})") == plain);

    const std::string linear = R"({"rope_parameters":{"factor":4,"rope_theta":10000,"rope_type":"linear"}})";
    CHECK(canonical(R"({"rope_theta":1e4,"rope_scaling":{"type":"linear","factor":4.0}})") == linear);
    CHECK(canonical(R"({"rope_theta":1e4,"rope_scaling":{"rope_type":"linear","factor":4}})") == linear);
    CHECK(canonical(R"({"rope_theta":1e4,"rope_scaling":{"rope_type":"linear","type":"linear","factor":4}})") ==
          linear);
    CHECK(canonical(R"({"rope_scaling":{"type":"su","factor":2}})") ==
          R"({"rope_parameters":{"factor":2,"rope_type":"longrope"}})");

    CHECK(canonical(R"({"model_type":"glm4_moe","rope_theta":1e4})").find(R"("partial_rotary_factor":0.5)") !=
          std::string::npos);
    CHECK(canonical(R"({"model_type":"glm4_moe","rope_theta":1e4,"partial_rotary_factor":0.25})")
              .find(R"("rope_parameters":{"partial_rotary_factor":0.25)") != std::string::npos);
    // One set for each kind of attention stays as it is; a model without rotary positions gets none.
    CHECK(canonical(R"({"rope_parameters":{"sliding":{"rope_theta":1e4},"full":{"rope_theta":1e6}}})") ==
          R"({"rope_parameters":{"full":{"rope_theta":1000000},"sliding":{"rope_theta":10000}}})");
    CHECK(canonical(R"({"n_embd":64})") == R"({"n_embd":64})");
}

TEST_CASE("a text model nested under text_config is the same model as the flat one", "[formats][short]") {
    for (const char* name : {"llama", "qwen3-moe", "glm4-moe", "phimoe-longrope", "gpt-oss"}) {
        for (const char* form : {"config.json", "config_hub.json"}) {
            INFO(name << "/" << form);
            const std::string flat = read_file(golden("models/" + std::string(name) + "/" + form));
            const std::string nested =
                "{\"architectures\":[\"VisionModel\"],\"model_type\":\"vision\",\"vision_config\":{\"hidden_size\":"
                "1280},\"text_config\":" +
                flat + "}";
            const ModelConfig from_flat = hub(flat), from_nested = hub(nested);
            CHECK(from_nested.text == from_flat.text);
            CHECK(from_nested.facts.architecture == from_flat.facts.architecture);
            CHECK(from_nested.facts.hidden_size == from_flat.facts.hidden_size);
            CHECK(from_nested.facts.end_tokens == from_flat.facts.end_tokens);
        }
    }
    // What only the outer part states belongs to the text model too; what both state, the inner part decides.
    CHECK(
        canonical(
            R"({"text_config":{"hidden_size":8,"eos_token_id":1},"torch_dtype":"bfloat16","eos_token_id":2,"tie_word_embeddings":true,"image_token_id":7})") ==
        R"({"dtype":"bfloat16","eos_token_id":1,"hidden_size":8,"tie_word_embeddings":true})");
    // A text_config beside sizes of its own is no wrapper.
    CHECK(canonical(R"({"hidden_size":8,"text_config":{"hidden_size":9}})") ==
          R"({"hidden_size":8,"text_config":{"hidden_size":9}})");
}

TEST_CASE("generation_config.json wins over config.json, with all its end tokens", "[formats][short]") {
    const auto ends = [](std::string_view config, std::optional<std::string_view> generation) {
        return hub(config, generation).facts.end_tokens;
    };
    CHECK(ends(R"({"eos_token_id":2})", std::nullopt) == std::vector<TokenId>{2});
    CHECK(ends(R"({"eos_token_id":[7,2,7]})", std::nullopt) == std::vector<TokenId>{2, 7});
    CHECK(ends(R"({"eos_token_id":2})", R"({"eos_token_id":[128009,128001,128008]})") ==
          std::vector<TokenId>{128001, 128008, 128009});
    CHECK(ends(R"({"eos_token_id":2})", R"({"eos_token_id":null})") == std::vector<TokenId>{2});
    CHECK(ends(R"({"eos_token_id":2})", "{}") == std::vector<TokenId>{2});
    CHECK(ends(R"({"eos_token_id":null})", "{}").empty());
    CHECK(ends("{}", R"({"eos_token_id":0})") == std::vector<TokenId>{0});

    const GenerationDefaults stated =
        hub(R"({"bos_token_id":1})", R"({"do_sample":true,"temperature":0.7,"top_p":0.8,"top_k":20,"min_p":0,
        "typical_p":1.0,"repetition_penalty":1.05,"max_new_tokens":2048,"transformers_version":"4"})")
            .generation;
    CHECK(stated.bos_token == 1);
    CHECK(stated.do_sample == true);
    CHECK(stated.temperature == 0.7);
    CHECK(stated.top_p == 0.8);
    CHECK(stated.top_k == 20);
    CHECK(stated.min_p == 0.0);
    CHECK(stated.typical_p == 1.0);
    CHECK(stated.repetition_penalty == 1.05);
    CHECK(stated.max_new_tokens == 2048);
    const GenerationDefaults silent = hub(R"({"temperature":0.7})").generation;
    CHECK_FALSE(silent.temperature.has_value());  // config.json is no place for it
    CHECK_FALSE(silent.do_sample.has_value());
    CHECK_FALSE(silent.bos_token.has_value());
}

TEST_CASE("GGUF metadata outside the vocabulary becomes the configuration", "[formats][short]") {
    GgufFile file;
    file.add("general.architecture", "llama")
        .add("llama.block_count", std::uint32_t{2})
        .add("llama.rope.freq_base", 10000.0F)
        .add("llama.flag", true);
    file.add_array<std::int32_t>("llama.attention.head_count_kv", {4, 0, 8})
        .add_array<float>("llama.none", {})
        .add("odd", "\xff\"");
    file.add_array("llama.words", std::vector<std::string>{"a", "b"})
        .add_raw("llama.flags", kGgufArray, gguf_array(kGgufBool, 2, std::string("\1\0", 2)));
    file.add("tokenizer.ggml.model", "gpt2")
        .add("split.no", std::uint16_t{0})
        .add_array("long", std::vector<std::uint8_t>(5000, 1));
    file.add("general.license", std::string(40000, 'L').c_str())
        .add_raw("nested", kGgufArray, gguf_array(kGgufArray, 1, gguf_array(kGgufU8, 0, "")));
    const ModelConfig config = gguf(file);
    CHECK(config.source == CheckpointFormat::gguf);
    CHECK(config.text ==
          "{\"general.architecture\":\"llama\",\"llama.block_count\":2,\"llama.rope.freq_base\":10000,\"llama.flag\":"
          "true,"
          "\"llama.attention.head_count_kv\":[4,0,8],\"llama.none\":[],\"odd\":\"\xEF\xBF\xBD\\\"\",\"llama.words\":["
          "\"a\",\"b\"],\"llama.flags\":[true,false]}");
    CHECK(config.facts.kv_head_count == 8);
    CHECK(config.facts.layer_count == 2);
}

TEST_CASE("GGUF end tokens are all three kinds, and -1 stands for none", "[formats][short]") {
    GgufFile file;
    file.add("tokenizer.ggml.eos_token_id", std::uint32_t{9})
        .add("tokenizer.ggml.eot_token_id", std::uint32_t{5})
        .add("tokenizer.ggml.eom_token_id", std::uint32_t{9});
    file.add("tokenizer.ggml.bos_token_id", std::int32_t{-1})
        .add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "c"});
    const ModelConfig config = gguf(file);
    CHECK(config.facts.end_tokens == std::vector<TokenId>{5, 9});
    CHECK_FALSE(config.generation.bos_token.has_value());
    CHECK(config.facts.tokenizer_token_count == 3);
    CHECK(config.facts.vocabulary_size == 3);
    CHECK(gguf(GgufFile().add("tokenizer.ggml.eos_token_id", std::uint32_t{0xFFFFFFFF})).facts.end_tokens.empty());
    CHECK(gguf(GgufFile().add("tokenizer.ggml.bos_token_id", std::uint32_t{1})).generation.bos_token == 1);
}

TEST_CASE("GGUF layers that only predict further tokens are not counted as layers", "[formats][short]") {
    GgufFile file;
    file.add("general.architecture", "glm4moe")
        .add("glm4moe.block_count", std::uint32_t{47})
        .add("glm4moe.nextn_predict_layers", std::uint32_t{1});
    CHECK(gguf(file).facts.layer_count == 46);
}
