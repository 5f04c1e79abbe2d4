#include <catch2/catch.hpp>

#include "formats/model_files.hpp"

using namespace mixtura;

namespace {

WeightIndex index_of(const std::vector<std::pair<std::string, std::vector<std::int64_t>>>& tensors) {
    WeightIndex index;
    for (const auto& [name, shape] : tensors) {
        index.tensors.push_back({name, DType::bf16, *Shape::from(shape), 0, 0, 0});
    }
    return index;
}

std::string warnings(const ModelFacts& facts, const WeightIndex& index) {
    std::string all;
    for (const std::string& warning : weight_warnings(facts, index)) all += warning + "\n";
    return all;
}

ModelFacts facts_with(std::int64_t ModelFacts::*fact, std::int64_t value) {
    ModelFacts facts;
    facts.*fact = value;
    return facts;
}

}  // namespace

TEST_CASE("fewer layers of tensors than the configuration states are warned about, more are not", "[formats][short]") {
    const ModelFacts three = facts_with(&ModelFacts::layer_count, 3);
    for (const char* name : {"model.layers.{}.mlp.up_proj.weight", "blk.{}.ffn_up.weight", "h.{}.mlp.c_fc.weight",
                             "transformer.h.{}.ln_1.weight", "transformer.blocks.{}.norm.weight",
                             "decoder.block.{}.layer.0.weight", "model.language_model.layers.{}.x"}) {
        INFO(name);
        std::string first = name;
        const std::size_t mark = first.find("{}");
        const auto with = [&](const char* number) {
            return index_of({{std::string(name).replace(mark, 2, number), {1}}});
        };
        CHECK(warnings(three, with("2")).empty());
        CHECK(warnings(three, with("3")).empty());
        CHECK(warnings(three, with("1")) == "the configuration states 3 layers, the tensors have 2\n");
    }
    // Names without a layer, and numbers that no layer can have, say nothing.
    for (const char* name : {"model.norm.weight", "layers", "layers.", "layers.x.1", "my_layers.0.w", "path.h",
                             "model.layers.4294967296.w", "model.layers.9223372036854775807.w", "model.layers.-1.w",
                             "model.layers.+1.w", "", ".", "..."}) {
        INFO(name);
        CHECK(warnings(three, index_of({{name, {1}}})).empty());
    }
}

TEST_CASE("an embedding of another width or of too few rows is warned about", "[formats][short]") {
    ModelFacts facts;
    facts.hidden_size = 64;
    facts.vocabulary_size = 160;
    for (const std::string name : {"model.embed_tokens.weight", "token_embd.weight", "transformer.wte.weight",
                                   "transformer.word_embeddings.weight"}) {
        CHECK(warnings(facts, index_of({{name, {160, 64}}})).empty());
        CHECK(warnings(facts, index_of({{name, {192, 64}}})).empty());  // padded
        CHECK(warnings(facts, index_of({{name, {128, 64}}})) ==
              "the configuration states a vocabulary of 160, '" + name + "' is [128, 64]\n");
        CHECK(warnings(facts, index_of({{name, {160, 32}}})) ==
              "the configuration states a hidden size of 64, '" + name + "' is [160, 32]\n");
        CHECK(warnings(facts, index_of({{name, {64}}})).empty());
        CHECK(warnings({}, index_of({{name, {1, 1}}})).empty());
    }
}

TEST_CASE("another number of experts than the configuration states is warned about", "[formats][short]") {
    const ModelFacts eight = facts_with(&ModelFacts::expert_count, 8);
    CHECK(warnings(eight, index_of({{"model.layers.0.mlp.experts.7.up_proj.weight", {1}}})).empty());
    CHECK(warnings(eight, index_of({{"blk.0.ffn_up_exps.weight", {8, 4, 4}}})).empty());
    CHECK(warnings(eight, index_of({{"blk.0.ffn_up_exps.weight", {16, 4, 4}}})) ==
          "the configuration states 8 experts, the tensors have 16\n");
    CHECK(warnings(eight, index_of({{"model.layers.0.mlp.experts.3.up_proj.weight", {1}}})) ==
          "the configuration states 8 experts, the tensors have 4\n");
    CHECK(warnings({}, index_of({{"model.layers.0.mlp.experts.0.up_proj.weight", {1}}})) ==
          "the configuration states 0 experts, the tensors have 1\n");
    // Shared experts are counted apart, and numbers that no expert can have say nothing.
    CHECK(warnings(eight, index_of({{"model.layers.0.mlp.shared_experts.9.w", {1}},
                                    {"experts.9223372036854775807.w", {1}},
                                    {"experts.", {1}},
                                    {"x.experts.gate.w", {1}}}))
              .empty());
    ModelFacts greedy = eight;
    greedy.experts_per_token = 9;
    CHECK(warnings(greedy, {}) == "the configuration states 9 experts a token of 8\n");
}

TEST_CASE("a size label that the tensors contradict is warned about, names are taken loosely", "[formats][short]") {
    const auto labelled = [](const std::string& label, std::int64_t parameters) {
        ModelFacts facts;
        facts.declared_size = label;
        return warnings(facts, index_of({{"w", {parameters}}}));
    };
    constexpr std::int64_t kM = 1'000'000, kB = 1000 * kM;
    CHECK(labelled("7B", 6'740 * kM).empty());
    CHECK(labelled("7B", 7'800 * kM).empty());
    CHECK(labelled("135M", 134'515'008).empty());
    CHECK(labelled("8x7B", 46'700 * kM).empty());
    CHECK(labelled("30B-A3B", 30'530 * kM).empty());
    CHECK(labelled("16x134K", 317'888).empty());
    CHECK(labelled("0.5B", 494 * kM).empty());
    CHECK(labelled("1T", 1'026 * kB).empty());
    CHECK(labelled("7B", 70 * kB) == "the file calls its size '7B', its tensors have 70000000000 parameters\n");
    CHECK(labelled("8x7B", 7 * kM) == "the file calls its size '8x7B', its tensors have 7000000 parameters\n");
    CHECK(labelled("70B\x1b[2J", kB).empty());
    for (const char* odd : {"", "B", "x", "xB", "7", "large", "-7B", "0B", "8xB", "-8x7B", "7B7", "x7B", "1e999B"}) {
        INFO(odd);
        CHECK(labelled(odd, kM).empty());
    }
    CHECK(labelled("7B", 0).empty());  // a file of a vocabulary alone
}

TEST_CASE("sums of sizes that 64 bits cannot count stop at the largest they can", "[formats][short]") {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    WeightIndex index = index_of({{"a", {kMost}}, {"b", {kMost}}, {"c", {kMost}}});
    for (TensorInfo& tensor : index.tensors) tensor.size_bytes = static_cast<std::uint64_t>(kMost);
    CHECK(index.parameter_count() == std::numeric_limits<std::uint64_t>::max());
    CHECK(index.weight_bytes() == std::numeric_limits<std::uint64_t>::max());
}
