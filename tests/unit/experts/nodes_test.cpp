// Experts whose rows lie on several NUMA nodes, on machines that do not exist: the formulas' bits, as with one node.
#include <catch2/catch.hpp>
#include <numeric>

#include "experts/pack_experts.hpp"
#include "experts/pool_state.hpp"
#include "kernels/backend.hpp"
#include "parallel/thread_pool.hpp"
#include "support/tensors.hpp"
#include "support/topologies.hpp"
#include "unit/experts/mixture_case.hpp"

using namespace mixtura;

namespace {

constexpr std::int64_t kExperts = 5, kChoices = 3;

struct Form {
    DType dtype;
    ExpertSpec sizes;
};
// Whole panels; widths that are none, of which one node's share is empty; a format that stays as the file has it.
const std::vector<Form> kForms{
    {DType::q4_k, {.hidden_size = 256, .expert_count = kExperts, .width = 512, .shared_width = 256}},
    {DType::q8_0, {.hidden_size = 352, .expert_count = kExperts, .width = 224, .shared_width = 32}},
    {DType::f32, {.hidden_size = 250, .expert_count = kExperts, .width = 137, .shared_width = 21}},
    {DType::iq4_nl, {.hidden_size = 224, .expert_count = kExperts, .width = 160, .shared_width = 64}},
    {DType::q5_0, {.hidden_size = 224, .expert_count = kExperts, .width = 160, .shared_width = 64}}};

std::vector<float> run_on(const PackedExperts& packed, const ExpertSpec& spec, const KernelTable& kernels,
                          ParallelFor& threads, const std::vector<float>& hidden, const RoutePlan& plan) {
    MixtureScratch scratch;
    REQUIRE(scratch.reserve(spec, plan.tokens, plan.choices));
    std::vector<float> output(hidden.size(), -77.0F);
    const MixtureView view{packed.experts, packed.shared, packed.shared_gate};
    run_mixture(kernels, threads, spec, view, hidden.data(), plan, scratch, output.data());
    return output;
}

}  // namespace

TEST_CASE("a mixture cut over nodes has the formulas' bits", "[experts][short][threads]") {
    std::uint64_t seed = 0;
    for (const Form& form : kForms) {
        for (const WeightAt weight_at : {WeightAt::output, WeightAt::input}) {
            const test::MixtureVariant variant{.is_gated = seed % 3 != 2,
                                               .has_bias = true,
                                               .weight_at = weight_at,
                                               .shared = test::SharedKind::weighed};
            const test::MixtureCase mixture = test::random_mixture(form.sizes, variant, {form.dtype}, ++seed);
            const std::vector<float> all = test::gaussian_rows(40, mixture.spec.hidden_size, seed);
            const RoutePlan whole_plan = test::random_plan(40, kChoices, kExperts, seed);
            const std::vector<float> expected = test::expected_output(mixture, all, whole_plan);
            for (const std::int64_t tokens : {1, 7, 40}) {
                std::vector<std::int64_t> chosen(static_cast<std::size_t>(tokens));
                std::iota(chosen.begin(), chosen.end(), 0);
                const auto first_rows = [&](const std::vector<float>& rows) {
                    return test::rows_of(rows, mixture.spec.hidden_size, chosen);
                };
                const std::vector<float> hidden = first_rows(all), want = first_rows(expected);
                const RoutePlan plan = test::plan_of(whole_plan, chosen);
                for (const Topology& topology : test::made_up_topologies()) {
                    const auto packed = pack_experts(mixture.bare(), mixture.spec, {topology});
                    REQUIRE(packed);
                    const auto same = *ThreadPool::create(3, topology), other = *ThreadPool::create(2, Topology());
                    SerialFor alone;
                    for (ParallelFor* threads : std::initializer_list<ParallelFor*>{same.get(), other.get(), &alone}) {
                        for (const Backend& backend : backends()) {
                            if (!backend.is_supported) continue;
                            const std::vector<float> got =
                                run_on(*packed, mixture.spec, *backend.table, *threads, hidden, plan);
                            INFO(dtype_name(form.dtype) << " " << backend.name << ", " << tokens << " tokens, "
                                                        << topology.node_count() << " nodes");
                            REQUIRE(test::first_difference(got, want) == want.size());
                        }
                    }
                }
            }
        }
    }
}

TEST_CASE("each panel of an expert lies on one node, an even number on all but the last", "[experts][short]") {
    const test::MixtureCase mixture =
        test::random_mixture(kForms[0].sizes, {.shared = test::SharedKind::weighed}, {DType::q4_k}, 9);
    for (const Topology& topology : test::made_up_topologies()) {
        std::uint64_t accepted = 0;
        const auto packed =
            pack_experts(mixture.bare(), mixture.spec, {topology, [&](std::span<std::byte> memory, int) {
                                                            accepted += memory.size();
                                                            return true;
                                                        }});
        REQUIRE(packed);
        CHECK(accepted >= packed->memory.size_bytes());
        const auto bytes = packed->memory.node_bytes();
        CHECK(std::accumulate(bytes.begin(), bytes.end(), std::uint64_t{0}) == packed->memory.size_bytes());
        const auto nodes = static_cast<std::size_t>(topology.node_count());
        for (const ExpertView& expert : packed->experts) {
            for (const PackedMatrix* matrix : {&expert.gate, &expert.up, &expert.down}) {
                REQUIRE(matrix->parts.size() == nodes);
                std::int64_t next = 0;
                for (std::size_t node = 0; node < nodes; ++node) {
                    const PanelShare share = panels_of_node(*matrix, node, nodes);
                    CHECK(share.begin == next);
                    CHECK(share.begin % 2 == 0);
                    next = share.end;
                }
                CHECK(next == panel_count(matrix->rows));
            }
            CHECK(panels_of_node(expert.gate, 1, nodes).begin == panels_of_node(expert.up, 1, nodes).begin);
        }
    }
}
