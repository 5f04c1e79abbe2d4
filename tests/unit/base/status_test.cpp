#include "base/error.hpp"

#include <catch2/catch.hpp>
#include <memory>
#include <new>
#include <stdexcept>

using namespace mixtura;

namespace {
Result<int> half(int number) {
    if (number % 2 != 0) return error(StatusCode::invalid_argument, number, " is odd");
    return number / 2;
}
Result<int> quarter(int number) {
    MIXTURA_ASSIGN_OR_RETURN(const int halved, half(number));
    return half(halved);
}
Status check_half(int number) {
    MIXTURA_RETURN_IF_ERROR(half(number).status());
    return {};
}
}  // namespace

TEST_CASE("a lower error is passed on as it is", "[base][short]") {
    REQUIRE(quarter(8));
    CHECK(*quarter(8) == 2);
    CHECK(quarter(6).status().message() == "3 is odd");
    CHECK(quarter(6).status().code() == StatusCode::invalid_argument);
    CHECK(check_half(2).is_ok());
    CHECK_FALSE(check_half(1).is_ok());
}

TEST_CASE("an error without a sentence shows its code's name", "[base][short]") {
    CHECK(Status(StatusCode::out_of_host_memory, {}).message() == "OUT_OF_HOST_MEMORY");
    CHECK(Status().message().empty());
    CHECK(status_name(static_cast<StatusCode>(12345)) == "UNKNOWN");
}

TEST_CASE("what std throws becomes a status", "[base][short]") {
    CHECK(without_exceptions([]() -> Status { throw std::bad_alloc(); }).code() == StatusCode::out_of_host_memory);
    CHECK(without_exceptions([]() -> Result<int> { throw std::runtime_error("x"); }).status().code() ==
          StatusCode::internal);
}

TEST_CASE("results carry move-only values", "[base][short]") {
    Result<std::unique_ptr<int>> result(std::make_unique<int>(5));
    const std::unique_ptr<int> taken = *std::move(result);
    CHECK(*taken == 5);
}
