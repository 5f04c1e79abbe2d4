#include <mixtura/doctor.hpp>

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/text.hpp"
#include "kernels/backend.hpp"
#include "support/files.hpp"

using namespace mixtura;

namespace {

std::vector<HealthCheck> health_of(const HealthOptions& options) {
    auto checks = check_health(options);
    REQUIRE(checks);
    return *std::move(checks);
}

bool is_named(const std::vector<HealthCheck>& checks, std::string_view name) {
    return std::any_of(checks.begin(), checks.end(), [&](const HealthCheck& check) { return check.name == name; });
}

}  // namespace

TEST_CASE("every check is one line of its own name, and what is wrong has a remedy", "[doctor][short]") {
    const test::TemporaryFolder folder;
    HealthOptions options;
    options.path = folder.path();
    const std::vector<HealthCheck> checks = health_of(options);
    std::set<std::string> names;
    for (const HealthCheck& check : checks) {
        INFO(check.name << ": " << check.found);
        CHECK(names.insert(check.name).second);
        CHECK(check.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.") == std::string::npos);
        CHECK_FALSE(check.found.empty());
        for (const std::string& text : {check.found, check.remedy}) {
            CHECK(is_utf8(text));
            CHECK(text.find_first_of("\n\r\x1b") == std::string::npos);
        }
        if (check.verdict >= HealthVerdict::warning) CHECK_FALSE(check.remedy.empty());
        if (check.verdict == HealthVerdict::ok) CHECK(check.remedy.empty());
    }
    for (const Backend& backend : backends()) CHECK(is_named(checks, "answers." + std::string(backend.name)));
}

TEST_CASE("the path and the known answers are looked at where that is asked for", "[doctor][short]") {
    HealthOptions options;
    options.has_known_answers = false;
    const std::vector<HealthCheck> few = health_of(options);
    CHECK_FALSE(is_named(few, "path"));
    CHECK_FALSE(is_named(few, "answers.ref"));
    options.path = "/no/such/path";
    const std::vector<HealthCheck> more = health_of(options);
    CHECK(more.size() == few.size() + 1);
    CHECK(worst_verdict(more) == HealthVerdict::failure);
}

TEST_CASE("a check reads as one line", "[doctor][short]") {
    CHECK(*health_line({"memory", HealthVerdict::ok, "16.4 GB", ""}) == "ok       memory: 16.4 GB");
    CHECK(*health_line({"huge_pages", HealthVerdict::warning, "never", "turn them on"}) ==
          "warning  huge_pages: never; turn them on");
    CHECK(verdict_name(static_cast<HealthVerdict>(9)) == "unknown");
}

TEST_CASE("the worst verdict counts", "[doctor][short]") {
    CHECK(worst_verdict({}) == HealthVerdict::ok);
    const std::vector<HealthCheck> checks{
        {"a", HealthVerdict::note, "", ""}, {"b", HealthVerdict::warning, "", ""}, {"c", HealthVerdict::ok, "", ""}};
    CHECK(worst_verdict(checks) == HealthVerdict::warning);
}
