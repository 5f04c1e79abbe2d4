// A mixture in DeepSeek-MoE's form with real weights: eight dense layers, then one shared and twelve routed experts,
// six of them chosen, by a router so flat that integer activations change its mind.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "real/real_models.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

constexpr std::size_t kDense = 8, kMixtures = 22, kChosen = 6;
constexpr float kScale = 9.0F;  // of the weights; the references keep probabilities

std::vector<std::int32_t> integers(const test::Tensors& reference, const std::string& name) {
    const std::vector<std::byte> bytes = reference.bytes(name);
    std::vector<std::int32_t> values(bytes.size() / 4);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
}

// Tokens and layers whose experts are the reference's, as sets, by how many there are.  `slack`: by so much,
// relatively, may an expert that only one side chose be above that side's last one; it was on the brink then.
double same_routes(const test::Fed& fed, const test::Tensors& reference, const std::string& name, float slack) {
    const std::vector<std::int32_t> ids = integers(reference, name + ".experts");
    const std::vector<float> probabilities = reference.floats(name + ".expert_probs");
    const std::size_t tokens = fed.logits.size();
    std::size_t same = 0;
    for (std::size_t l = 0; l < kMixtures; ++l) {
        REQUIRE(fed.ids[kDense + l].size() == tokens);
        for (std::size_t t = 0; t < tokens; ++t) {
            const auto* expected = &ids[(l * tokens + t) * kChosen];
            const auto* expected_weights = &probabilities[(l * tokens + t) * kChosen];
            const std::vector<std::int32_t>& found = fed.ids[kDense + l][t];
            const std::vector<float>& weights = fed.weights[kDense + l][t];
            REQUIRE(found.size() == kChosen);
            bool is_same = true;
            for (std::size_t k = 0; k < kChosen; ++k) {
                INFO(name << ", layer " << kDense + l << ", token " << t << ", choice " << k);
                if (std::find(found.begin(), found.end(), expected[k]) == found.end()) {
                    is_same = false;
                    CHECK(expected_weights[k] <= expected_weights[kChosen - 1] * (1 + slack));
                }
                if (std::find(expected, expected + kChosen, found[k]) == expected + kChosen)
                    CHECK(weights[k] <= weights[kChosen - 1] * (1 + slack));
                if (slack == 0) CHECK(weights[k] == Approx(kScale * expected_weights[k]).epsilon(1e-3));
            }
            same += is_same ? 1 : 0;
        }
    }
    return static_cast<double>(same) / static_cast<double>(kMixtures * tokens);
}

// Calls check(prompt, fed) for each prompt of the references.
template <class Check>
void for_each_prompt(const Model& model, Check check) {
    const nlohmann::json golden = test::golden_json("fine-grained-model/golden-q8_0.json");
    for (const auto& prompt : golden.at("prompts")) {
        const std::vector<TokenId> ids = prompt.at("tokens");
        INFO(prompt.at("name").get<std::string>());
        CHECK(test::must(test::must(Result(model.tokenizer())).encode(prompt.at("text").get<std::string>())) == ids);
        check(prompt, test::feed(model, ids));
    }
}

std::vector<float> joined(const std::vector<std::vector<float>>& rows) {
    std::vector<float> out;
    for (const auto& row : rows) out.insert(out.end(), row.begin(), row.end());
    return out;
}

}  // namespace

TEST_CASE("the fine-grained model gives the reference's logits and routes with f32 arithmetic", "[real][short]") {
    const Model model = test::open_real("fine-grained-f32.gguf");  // the numbers of the q8_0 file
    const test::Tensors reference("fine-grained-model/golden-q8_0.safetensors");
    for_each_prompt(model, [&](const nlohmann::json& prompt, const test::Fed& fed) {
        const std::string name = prompt.at("name");
        CHECK(same_routes(fed, reference, name, 0) == 1.0);
        const std::vector<std::int32_t> best = integers(reference, name + ".top20_ids");
        std::vector<float> found;
        for (const std::int32_t id : best) found.push_back(fed.logits.back()[static_cast<std::size_t>(id)]);
        CHECK(test::relative_difference(found, reference.floats(name + ".top20_logits")) < 2e-5);
        CHECK(test::best(fed.logits.back()) == best[0]);
        if (prompt.at("full_logits"))
            CHECK(test::relative_difference(joined(fed.logits), reference.floats(name + ".logits")) < 2e-5);
    });
}

TEST_CASE("the fine-grained model keeps its top tokens and distributions with integer activations", "[real][short]") {
    const Model model = test::open_real("fine-grained.gguf");
    const test::Tensors reference("fine-grained-model/golden-q8_0.safetensors");
    for_each_prompt(model, [&](const nlohmann::json& prompt, const test::Fed& fed) {
        const std::string name = prompt.at("name");
        const double same = same_routes(fed, reference, name, 0.25F);
        INFO(same << " of its routes are the reference's");
        CHECK(same > 0.8);
        // llama.cpp differs by up to 2.5 in the last position; a smaller lead decides nothing.
        if (prompt.at("top2_margin") > 1.0)
            CHECK(test::best(fed.logits.back()) == prompt.at("top20_ids")[0].get<TokenId>());
        if (!prompt.at("full_logits")) return;
        const std::vector<float> expected = reference.floats(name + ".logits");
        const std::size_t width = fed.logits[0].size();
        double squares = 0, largest = 0, nats = 0;
        for (std::size_t t = 0; t < fed.logits.size(); ++t) {
            const auto row = std::span(expected).subspan(t * width, width);
            for (std::size_t i = 0; i < width; ++i) {
                const double difference = static_cast<double>(fed.logits[t][i]) - row[i];
                squares += difference * difference;
                largest = std::max(largest, std::abs(difference));
            }
            nats = std::max(nats, test::divergence(fed.logits[t], row));
        }
        const double rms = std::sqrt(squares / static_cast<double>(expected.size()));
        INFO("rms " << rms << ", largest " << largest << ", divergence " << nats);
        CHECK(rms < 0.5);
        CHECK(largest < 2.7);
        CHECK(nats < 0.2);
    });
}
