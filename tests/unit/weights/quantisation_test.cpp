// quantization_config: what is understood, and what is refused by its key.
#include "weights/quantisation.hpp"

#include <catch2/catch.hpp>

using namespace mixtura;

namespace {

Result<Quantisation> read(const std::string& config) {
    const auto document = JsonDocument::parse(config, "config");
    REQUIRE(document);
    return read_quantisation(document->root());
}
std::string refusal(const std::string& config) {
    const auto quantisation = read(config);
    return quantisation ? std::string() : std::string(quantisation.status().message());
}
const std::string kBegin = "the configuration's quantization_config.";

}  // namespace

TEST_CASE("published configurations of each scheme are understood without a warning", "[weights][short]") {
    CHECK(read("null")->method == QuantisationMethod::none);
    CHECK(read(R"({"quant_method":"mxfp4","modules_to_not_convert":["lm_head"]})")->method ==
          QuantisationMethod::mxfp4);
    const auto deepseek = read(R"({"quant_method":"fp8","fmt":"e4m3","activation_scheme":"dynamic",
                                   "weight_block_size":[128,64]})");
    REQUIRE(deepseek);
    CHECK(deepseek->method == QuantisationMethod::block_f8);
    CHECK(deepseek->block_rows == 128);
    CHECK(deepseek->block_columns == 64);
    const auto fbgemm = read(R"({"quant_method":"fbgemm_fp8","activation_scale_ub":1200.0,
                                 "modules_to_not_convert":["model.layers.0.feed_forward.router"]})");
    REQUIRE(fbgemm);
    CHECK(fbgemm->method == QuantisationMethod::block_f8);
    const auto compressed = read(R"({"quant_method":"compressed-tensors","format":"float-quantized",
        "config_groups":{"group_0":{"input_activations":{"dynamic":true,"num_bits":8,"type":"float"},"targets":["Linear"],
        "weights":{"actorder":null,"block_structure":[32,96],"dynamic":false,"group_size":null,"num_bits":8,
        "strategy":"block","symmetric":true,"type":"float"}}},"ignore":["lm_head"],"kv_cache_scheme":null,
        "quantization_status":"compressed","sparsity_config":{},"version":"0.12"})");
    REQUIRE(compressed);
    CHECK(compressed->block_columns == 96);
    const auto awq = read(R"({"quant_method":"awq","bits":4,"group_size":128,"version":"gemm","zero_point":true,
                              "modules_to_not_convert":null})");
    REQUIRE(awq);
    CHECK(awq->group_size == 128);
    const auto gptq = read(R"({"quant_method":"gptq","bits":4,"group_size":-1,"desc_act":true,"sym":true,
                               "damp_percent":0.1,"checkpoint_format":"gptq","is_marlin_format":false})");
    REQUIRE(gptq);
    CHECK(gptq->group_size == 0);
    CHECK(!gptq->is_ordered);  // one group has no order
    CHECK(gptq->zero_offset == 1);
    CHECK(read(R"({"quant_method":"gptq","bits":4,"group_size":64,"desc_act":true})")->is_ordered);
    CHECK(!read(R"({"quant_method":"gptq","bits":4,"group_size":64,"desc_act":false})")->is_ordered);
    CHECK(read(R"({"quant_method":"gptq","bits":4,"group_size":64,"checkpoint_format":"gptq_v2"})")->zero_offset == 0);
    const auto nf4 = read(R"({"quant_method":"bitsandbytes","_load_in_4bit":true,"_load_in_8bit":false,
        "load_in_4bit":true,"load_in_8bit":false,"bnb_4bit_quant_type":"nf4","bnb_4bit_use_double_quant":true,
        "bnb_4bit_compute_dtype":"bfloat16","bnb_4bit_quant_storage":"uint8","llm_int8_threshold":6.0})");
    REQUIRE(nf4);
    CHECK(nf4->method == QuantisationMethod::bnb_4bit);
    CHECK(read(R"({"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_quant_type":"fp4"})")->method ==
          QuantisationMethod::bnb_4bit);
    const auto int8 = read(R"({"quant_method":"bitsandbytes","_load_in_8bit":true,"load_in_8bit":true,
        "load_in_4bit":false,"llm_int8_threshold":6.0,"llm_int8_has_fp16_weight":false,"llm_int8_skip_modules":null,
        "bnb_4bit_quant_type":"fp4","bnb_4bit_quant_storage":"uint8","bnb_4bit_compute_dtype":"float32"})");
    REQUIRE(int8);
    CHECK(int8->method == QuantisationMethod::bnb_8bit);
    for (const auto* each : {&*deepseek, &*fbgemm, &*compressed, &*awq, &*gptq, &*nf4, &*int8})
        CHECK(each->warnings.empty());
}

TEST_CASE("keys nobody knows are warned of by name", "[weights][short]") {
    const auto awq = read(R"({"quant_method":"awq","bits":4,"group_size":128,"spiral":1})");
    REQUIRE(awq);
    CHECK(awq->warnings == std::vector<std::string>{kBegin + "spiral is not known and was ignored"});
}

TEST_CASE("values that change numbers are refused with the key, the value and what was expected", "[weights][short]") {
    CHECK(refusal(R"({"quant_method":"quip"})") == kBegin +
                                                       "quant_method is '\"quip\"', expected awq, bitsandbytes, "
                                                       "compressed-tensors, fbgemm_fp8, fp8, gptq or mxfp4");
    CHECK(refusal(R"({"bits":4})") == kBegin +
                                          "quant_method is 'missing', expected awq, bitsandbytes, compressed-tensors, "
                                          "fbgemm_fp8, fp8, gptq or mxfp4");
    CHECK(refusal(R"({"quant_method":"fp8","fmt":"e5m2"})") == kBegin + "fmt is '\"e5m2\"', expected \"e4m3\"");
    CHECK(refusal(R"({"quant_method":"fp8","weight_block_size":[128]})") ==
          kBegin + "weight_block_size is '[128]', expected two sizes of at least 1");
    CHECK(refusal(R"({"quant_method":"fp8","weight_block_size":[128,0]})") ==
          kBegin + "weight_block_size is '[128,0]', expected two sizes of at least 1");
    CHECK(refusal(R"({"quant_method":"awq","bits":3,"group_size":128})") == kBegin + "bits is '3', expected 4");
    CHECK(refusal(R"({"quant_method":"awq","group_size":128})") == kBegin + "bits is 'missing', expected 4");
    CHECK(refusal(R"({"quant_method":"awq","bits":4})") ==
          kBegin + "group_size is 'missing', expected -1 or a number of inputs");
    CHECK(refusal(R"({"quant_method":"awq","bits":4,"group_size":0})") ==
          kBegin + "group_size is '0', expected -1 or a number of inputs");
    CHECK(refusal(R"({"quant_method":"awq","bits":4,"group_size":128,"version":"gemv"})") ==
          kBegin + "version is '\"gemv\"', expected \"gemm\" or \"GEMM\"");
    CHECK(refusal(R"({"quant_method":"awq","bits":4,"group_size":128,"zero_point":false})") ==
          kBegin + "zero_point is 'false', expected true");
    CHECK(refusal(R"({"quant_method":"gptq","bits":8,"group_size":128})") == kBegin + "bits is '8', expected 4");
    CHECK(refusal(R"({"quant_method":"gptq","bits":4,"group_size":128,"checkpoint_format":"marlin"})") ==
          kBegin + "checkpoint_format is '\"marlin\"', expected \"gptq\" or \"gptq_v2\"");
    CHECK(refusal(R"({"quant_method":"gptq","bits":4,"group_size":128,"is_marlin_format":true})") ==
          kBegin + "is_marlin_format is 'true', expected false");
    CHECK(refusal(R"({"quant_method":"gptq","bits":4,"group_size":128,"desc_act":"yes"})") ==
          kBegin + "desc_act is '\"yes\"', expected true or false");
    CHECK(refusal(R"({"quant_method":"bitsandbytes"})") == kBegin + "load_in_4bit is 'missing', expected true");
    CHECK(refusal(R"({"quant_method":"bitsandbytes","load_in_8bit":true,"load_in_4bit":true})") ==
          kBegin + "load_in_4bit is 'true', expected false");
    CHECK(refusal(R"({"quant_method":"bitsandbytes","load_in_8bit":true,"llm_int8_has_fp16_weight":true})") ==
          kBegin + "llm_int8_has_fp16_weight is 'true', expected false");
    CHECK(refusal(R"({"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_quant_type":"af4"})") ==
          kBegin + "bnb_4bit_quant_type is '\"af4\"', expected \"nf4\" or \"fp4\"");
    CHECK(refusal(R"({"quant_method":"compressed-tensors","format":"pack-quantized"})") ==
          kBegin + "format is '\"pack-quantized\"', expected \"float-quantized\" or \"naive-quantized\"");
    CHECK(
        refusal(
            R"({"quant_method":"compressed-tensors","config_groups":{"g":{"weights":{"num_bits":8,"type":"int"}}}})") ==
        kBegin + "config_groups.g.weights.type is '\"int\"', expected \"float\"");
    CHECK(refusal(R"({"quant_method":"compressed-tensors","config_groups":{}})") ==
          kBegin + "config_groups is '{}', expected at least one group");
    CHECK(refusal(R"({"quant_method":"compressed-tensors","kv_cache_scheme":{"num_bits":8}})") ==
          kBegin + "kv_cache_scheme is '{\"num_bits\":8}', expected none");
}
