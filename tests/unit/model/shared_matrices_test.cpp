// hybrid-120's pairs of experts share their gates and ups: one stored tensor, one matrix in memory.
#include <mixtura/model.hpp>

#include <algorithm>
#include <catch2/catch.hpp>

#include "support/hub_checkpoint.hpp"
#include "support/model_harness.hpp"
#include "support/tensors.hpp"

using namespace mixtura;
using test::forecast_of;
using test::HubCheckpoint;
using test::role_of;
using test::TemporaryFolder;

namespace {}  // namespace

TEST_CASE("experts that share matrices are held, and forecast, once", "[model][short]") {
    const std::string shared_path = test::golden("models/hybrid-120");
    // The same numbers with a matrix of its own for each expert.
    HubCheckpoint own(shared_path);
    for (std::size_t l = 0; l < own.config.at("layers").size(); ++l) {
        auto& ffn = own.config["layers"][l]["ffn"];
        if (!ffn.contains("shared_first_matrix")) continue;
        for (const auto& group : ffn["shared_first_matrix"]) {
            const auto stem = [&](const nlohmann::json& expert) {
                return "layers." + std::to_string(l) + ".experts." + std::to_string(expert.get<int>()) + ".";
            };
            REQUIRE(group.size() == 2);
            for (const char* matrix : {"gate.weight", "up.weight"}) {
                REQUIRE(own.tensors.count(stem(group[1]) + matrix) == 0);
                own.tensors[stem(group[1]) + matrix] = own.tensors.at(stem(group[0]) + matrix);
            }
        }
        ffn.erase("shared_first_matrix");
    }
    const TemporaryFolder folder;
    const std::string own_path = own.write(folder);

    const MemoryForecast shared = forecast_of(shared_path), separate = forecast_of(own_path);
    for (const char* matrix : {"gate", "up", "down"}) {
        INFO(matrix);
        const std::string role = "layers.#.experts." + std::string(matrix) + ".weight";
        const int factor = std::string_view(matrix) == "down" ? 1 : 2;
        CHECK(role_of(shared, role).size_bytes > 0);
        CHECK(role_of(separate, role).size_bytes == factor * role_of(shared, role).size_bytes);
    }
    const std::uint64_t saved = role_of(shared, "layers.#.experts.gate.weight").size_bytes +
                                role_of(shared, "layers.#.experts.up.weight").size_bytes;
    CHECK(separate.weight_bytes - shared.weight_bytes == saved);

    const auto core = test::load_core(shared_path), other = test::load_core(own_path);
    CHECK(core->store.size_bytes() == shared.weight_bytes);
    CHECK(other->store.size_bytes() == separate.weight_bytes);
    const std::vector<TokenId> tokens{5, 9, 33, 120, 7, 64, 2, 91};
    const std::vector<float> logits = test::feed(core, tokens, {}).logits;
    CHECK(test::first_difference(logits, test::feed(other, tokens, {}).logits) == logits.size());
}
