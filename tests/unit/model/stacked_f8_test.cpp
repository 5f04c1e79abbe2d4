// Checkpoints whose experts are one tensor of 8-bit floats a projection, as two publishers lay them out, against logits
// of their decoded weights by code that shares nothing with ours (golden/make/make_stacked_fp8.py).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "support/files.hpp"
#include "support/model_harness.hpp"
#include "support/tensors.hpp"

using namespace mixtura;

namespace {

struct StackedModel {
    std::string name, golden_model;
    std::string path() const { return test::golden("packed-models/" + name); }
};
const StackedModel kModels[] = {{"granitemoe-fp8", "granitemoe"}, {"llama4-fp8", "llama4"}};

}  // namespace

TEST_CASE("stacked experts of 8-bit floats give the logits of their decoded weights", "[model][short]") {
    for (const StackedModel& model : kModels) {
        INFO(model.name);
        const auto core = test::load_core(model.path());
        CHECK(core->warnings == std::vector<std::string>());
        for (const ExpertView& expert : core->weights.layers[1].experts) {
            for (const PackedMatrix* matrix : {&expert.gate, &expert.up, &expert.down})
                CHECK(matrix->dtype == DType::f8_e4m3_32);
        }
        const test::Tensors reference("packed-models/" + model.name + "/reference.safetensors");
        const std::vector<std::byte> ids = reference.bytes("input_ids");  // [2, 24] i64
        const std::vector<float> expected = reference.floats("logits");   // [2, 24, 160]
        constexpr std::size_t kTokens = 24, kVocabulary = 160;
        for (std::size_t row = 0; row < 2; ++row) {
            std::vector<TokenId> tokens;
            for (std::size_t t = 0; t < kTokens; ++t) {
                std::int64_t id = 0;
                std::memcpy(&id, ids.data() + (row * kTokens + t) * 8, 8);
                tokens.push_back(static_cast<TokenId>(id));
            }
            const test::FeedResult ours = test::feed(core, tokens, {});
            const auto wanted = expected.begin() + static_cast<std::ptrdiff_t>(row * kTokens * kVocabulary);
            double difference = 0, largest = 0;
            REQUIRE(ours.logits.size() == kTokens * kVocabulary);
            for (std::size_t i = 0; i < ours.logits.size(); ++i) {
                const double value = wanted[static_cast<std::ptrdiff_t>(i)];
                difference = std::max(difference, std::abs(ours.logits[i] - value));
                largest = std::max(largest, std::abs(value));
            }
            CHECK(difference / largest < 2e-5);
        }
    }
}

TEST_CASE("stacked experts of 8-bit floats give one answer however they are fed, in the memory that was forecast",
          "[model][short]") {
    for (const StackedModel& model : kModels) {
        test::check_one_answer(model.golden_model, model.path());
        const MemoryForecast forecast = test::forecast_of(model.path());
        CHECK(forecast.weight_bytes == test::load_core(model.path())->store.size_bytes());
        const RoleMemory& down = test::role_of(forecast, "layers.#.experts.down.weight");
        CHECK(down.size_bytes == down.parameter_count * 9 / 8);
    }
}
