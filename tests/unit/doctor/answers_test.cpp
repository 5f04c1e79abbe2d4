#include <mixtura/doctor.hpp>

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <ctime>

#include "doctor/checks.hpp"
#include "doctor/known_answers.hpp"
#include "kernels/quant/decode.hpp"
#include "support/fp_modes.hpp"

using namespace mixtura;

namespace {

std::vector<Backend> usable_backends() {
    const auto testable = testable_backends(std::nullopt);
    REQUIRE(testable);
    return *testable;
}

std::vector<Status> answers_of(const std::vector<Backend>& tested) {
    const auto answers = check_known_answers(tested, *backends()[0].table);
    REQUIRE(answers);
    return *answers;
}

// Panel products of one format with the lowest bit of their first number turned.
PanelProductFunction broken_base = nullptr;
void broken_product(const PanelProduct& product) noexcept {
    broken_base(product);
    product.y[0][0] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(product.y[0][0]) ^ 1U);
}

void (*right_norm)(const float*, const float*, float, std::int64_t, float*) noexcept = nullptr;
void broken_norm(const float* x, const float* weight, float epsilon, std::int64_t columns, float* y) noexcept {
    right_norm(x, weight, 2 * epsilon, columns, y);
}

// What is wrong with the answers to one case of the reference, and of a back-end named "lame" whose table `hurt` has
// changed.
template <class Hurt>
std::vector<Status> answers_with(const Result<KnownCase>& known, const Hurt& hurt) {
    REQUIRE(known);
    KernelTable table = *backends()[0].table;
    hurt(table);
    Backend lame = backends()[0];
    lame.name = "lame";
    lame.table = &table;
    std::vector<Status> statuses(2);
    REQUIRE(check_known_case(*known, std::vector<Backend>{backends()[0], lame}, *backends()[0].table, statuses));
    return statuses;
}

}  // namespace

TEST_CASE("every back-end of this machine gives the answers that are written down", "[doctor][short]") {
    const std::vector<Backend> tested = usable_backends();
    const std::vector<Status> answers = answers_of(tested);
    REQUIRE(answers.size() == tested.size());
    for (std::size_t i = 0; i < tested.size(); ++i) {
        INFO(tested[i].name << ": " << answers[i].message());
        CHECK(answers[i].is_ok());
    }
}

TEST_CASE("the answers do not depend on the floating-point mode of the host", "[doctor][short]") {
    for (const test::FpMode mode : {test::FpMode::flush_to_zero, test::FpMode::upward}) {
        const test::HostFpMode host(mode);
        const Status status = self_test();
        REQUIRE(host.is_in_force());
        INFO(status.message());
        CHECK(status.is_ok());
    }
}

TEST_CASE("a wrong product of any format is found, with the back-end, the case and the number", "[doctor][short]") {
    for (const KnownFormat& format : known_formats()) {
        const auto index = static_cast<std::size_t>(product_index(format.dtype));
        const auto answers = answers_with(known_mixture(format), [&](KernelTable& table) {
            broken_base = table.product[index];
            table.product[index] = broken_product;
        });
        CHECK(answers[0].is_ok());
        REQUIRE_FALSE(answers[1].is_ok());
        CHECK(answers[1].code() == StatusCode::internal);
        const std::string message(answers[1].message());
        INFO(message);
        CHECK(message.find("back-end lame: number ") == 0);
        CHECK(message.find(" of a mixture in " + std::string(dtype_name(format.dtype)) + " is 0x") !=
              std::string::npos);
        CHECK(message.find(", the scalar reference gives 0x") != std::string::npos);
    }
}

TEST_CASE("a wrong norm is found by the attention", "[doctor][short]") {
    const auto known = known_attention(known_caches()[0]);
    const auto answers = answers_with(known, [](KernelTable& table) {
        right_norm = table.rms_norm_row;
        table.rms_norm_row = broken_norm;
    });
    CHECK(std::string(answers[1].message()).find("attention over a cache in f32") != std::string::npos);
}

TEST_CASE("where the reference itself is wrong, it is named, and those that are right are not", "[doctor][short]") {
    KernelTable table = *backends()[0].table;
    const auto index = static_cast<std::size_t>(product_index(DType::q6_k));
    broken_base = table.product[index];
    table.product[index] = broken_product;
    Backend lame = backends()[0];
    lame.table = &table;
    Backend sound = backends()[0];
    sound.name = "sound";
    for (const KnownFormat& format : known_formats()) {
        if (format.dtype != DType::q6_k) continue;
        const auto known = known_mixture(format);
        REQUIRE(known);
        std::vector<Status> statuses(2);
        REQUIRE(check_known_case(*known, std::vector<Backend>{lame, sound}, table, statuses));
        CHECK(std::string(statuses[0].message()).find("back-end ref: the checksum of a mixture in q6_k is 0x") == 0);
        CHECK(statuses[1].is_ok());
    }
}

TEST_CASE("every format with a kernel has a known answer, of numbers that mean something", "[doctor][short]") {
    std::size_t kernels = 0;
    for (const DTypeInfo& info : all_dtypes()) kernels += product_index(info.dtype) >= 0 ? 1 : 0;
    CHECK(known_formats().size() == kernels);
    for (const KnownFormat& format : known_formats()) {
        INFO(dtype_name(format.dtype));
        REQUIRE(product_index(format.dtype) >= 0);
        const std::vector<std::byte> bytes = known_weights(format.dtype, 16, 256, KnownNumbers(1, 2));
        std::vector<float> weights(16 * 256);
        decoder(format.dtype)(bytes.data(), weights.data(),
                              weights.size() / static_cast<std::size_t>(dtype_info(format.dtype).block_elements));
        double sum = 0, squares = 0;
        for (const float weight : weights) {
            sum += weight;
            squares += static_cast<double>(weight) * weight;
        }
        CHECK(std::abs(sum) / 4096 < 0.06);
        CHECK(std::sqrt(squares / 4096) > 0.02);
        CHECK(std::sqrt(squares / 4096) < 0.2);

        const auto known = known_mixture(format);
        REQUIRE(known);
        KnownAnswer answer;
        REQUIRE(known->run(*backends()[0].table, answer).is_ok());
        std::size_t common = 0;
        for (std::size_t i = 28; i < answer.size(); ++i) {  // behind 14 ids and 14 weights
            const float number = std::bit_cast<float>(answer[i]);
            REQUIRE(std::isfinite(number));
            common += std::abs(number) > 1e-4F && std::abs(number) < 1e3F ? 1 : 0;
        }
        CHECK(common * 10 > (answer.size() - 28) * 9);
    }
}

// In processor time, since tests share their machine; a build for debugging has no say in it.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
TEST_CASE("all known answers take well under a second", "[doctor][short]") {
    const std::clock_t begin = std::clock();
    CHECK(self_test().is_ok());
    CHECK(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC < 1.0);
}
#endif

TEST_CASE("nothing above the instruction set that is forced is run", "[doctor][short]") {
    const auto lowest = testable_backends("ref");
    REQUIRE(lowest);
    REQUIRE(lowest->size() == 1);
    CHECK((*lowest)[0].name == "ref");
    CHECK(testable_backends("sse9").status().code() == StatusCode::invalid_argument);

    Surroundings here;
    here.forced_isa = "scalar";
    const auto checks = check_answers(here);
    REQUIRE(checks);
    REQUIRE(checks->size() == backends().size());
    CHECK((*checks)[0].name == "answers.ref");
    CHECK((*checks)[0].verdict == HealthVerdict::ok);
    for (std::size_t i = 1; i < checks->size(); ++i) {
        CHECK((*checks)[i].verdict == HealthVerdict::note);
        CHECK((*checks)[i].found.find("not run: ") == 0);
    }
    here.forced_isa = "sse9";
    CHECK(check_answers(here)->empty());
}
