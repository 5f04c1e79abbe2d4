// Models whose weights lie on several NUMA nodes, on machines that do not exist.
#include <mixtura/model.hpp>

#include <catch2/catch.hpp>

#include "model/arch/family.hpp"
#include "support/files.hpp"
#include "support/model_harness.hpp"
#include "support/tensors.hpp"
#include "support/topologies.hpp"

using namespace mixtura;

namespace {

bool agree(std::span<std::byte>, int) { return true; }
bool refuse(std::span<std::byte>, int) { return false; }

std::uint64_t total(std::span<const NodeMemory> nodes) {
    std::uint64_t bytes = 0;
    for (const NodeMemory& node : nodes) bytes += node.size_bytes;
    return bytes;
}

std::vector<TokenId> some_tokens(std::size_t count) {
    std::vector<TokenId> tokens;
    for (std::size_t i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>((7 * i * i + 3 * i + 2) % 97));
    return tokens;
}

}  // namespace

TEST_CASE("a model cut over nodes gives the one answer, whatever the threads know of it", "[model][short][threads]") {
    // Experts alone, with biases in MXFP4, with a shared expert and latent attention, with shared matrices,
    // dense, and with a head that is the token embedding.
    for (const char* name : {"qwen3-moe", "gpt-oss", "deepseek-v3", "hybrid-120", "llama", "gpt2"}) {
        INFO(name);
        const std::string path = test::golden(std::string("models/") + name);
        const std::vector<TokenId> tokens = some_tokens(40);
        const auto whole = test::load_core(path);
        CHECK(whole->nodes.empty());
        const test::FeedResult expected = test::feed(whole, tokens, {.backend = &backends().front()});
        for (const Topology& topology : test::made_up_topologies()) {
            for (const PlaceMemory& place : {PlaceMemory(agree), PlaceMemory(refuse), PlaceMemory(place_on_node)}) {
                const auto core = test::load_core(path, {topology, place});
                CHECK(test::is_equal(test::feed(core, tokens, {.threads = 3, .topology = topology}), expected));
            }
            const auto core = test::load_core(path, {topology, agree});
            for (const std::int64_t chunk : {1, 7, 33}) {
                CHECK(test::is_equal(
                    test::feed(core, tokens,
                               {.chunk = chunk, .threads = 2, .has_company = chunk == 7, .topology = topology}),
                    expected));
            }
            CHECK(test::is_equal(test::feed(core, tokens, {.threads = 2}), expected));
            CHECK(test::is_equal(test::feed(core, tokens, {.threads = 1}), expected));
            CHECK(test::is_equal(
                test::feed(core, tokens, {.threads = 3, .topology = test::made_up_nodes({1, 1, 1, 1})}), expected));
        }
    }
}

TEST_CASE("bytes by node add up, as forecast, and count what the system agreed to", "[model][short]") {
    for (const char* name : {"qwen3-moe", "hybrid-120"}) {
        INFO(name);
        const std::string path = test::golden(std::string("models/") + name);
        auto files = ModelFiles::open(path);
        REQUIRE(files);
        const auto architecture = describe_architecture(*files);
        REQUIRE(architecture);
        for (const Topology& topology : test::made_up_topologies()) {
            const auto core = test::load_core(path, {topology, agree});
            REQUIRE(core->nodes.size() == static_cast<std::size_t>(topology.node_count()));
            CHECK(total(core->nodes) == core->store.size_bytes());
            const auto forecast = predict_weights(*files, *architecture, topology);
            REQUIRE(forecast);
            REQUIRE(forecast->nodes.size() == core->nodes.size());
            for (std::size_t i = 0; i < core->nodes.size(); ++i) {
                CHECK(core->nodes[i].node == topology.nodes()[i].id);
                CHECK(core->nodes[i].node == forecast->nodes[i].node);
                CHECK(core->nodes[i].size_bytes == forecast->nodes[i].size_bytes);
                CHECK(core->nodes[i].size_bytes > 0);
            }
            CHECK(total(test::load_core(path, {topology, refuse})->nodes) == 0);
        }
        const auto plain = predict_weights(*files, *architecture);
        REQUIRE(plain);
        CHECK(plain->nodes.empty());
    }
}

TEST_CASE("a model on this machine tells of nodes when it has several", "[model][short]") {
    const std::string path = test::golden("models/qwen3-moe");
    const auto model = Model::open(path, {.thread_count = 2});
    REQUIRE(model);
    const auto forecast = Model::forecast(path);
    REQUIRE(forecast);
    const bool has_several = Topology::of_machine().node_count() > 1;
    CHECK(model->weight_nodes().empty() == !has_several);
    CHECK(forecast->nodes.empty() == !has_several);
    CHECK(total(model->weight_nodes()) <= model->weight_bytes());
    if (has_several) CHECK(total(forecast->nodes) == forecast->weight_bytes);
}
