#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "doctor/checks.hpp"
#include "support/files.hpp"

using namespace mixtura;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

void check_refused(const std::string& path, const std::string& why) {
    const std::vector<HealthCheck> checks = check_path(path);
    REQUIRE(checks.size() == 1);
    CHECK(checks[0].name == "path");
    CHECK(checks[0].verdict == HealthVerdict::failure);
    INFO(checks[0].found);
    CHECK(has(checks[0].found, why));
    CHECK_FALSE(checks[0].remedy.empty());
}

}  // namespace

TEST_CASE("a folder is looked at, and nothing is left in it", "[doctor][short]") {
    const test::TemporaryFolder folder;
    const std::vector<HealthCheck> checks = check_path(folder.path());
    REQUIRE(checks.size() == 3);
    CHECK(checks[0].name == "path");
    CHECK(checks[0].verdict != HealthVerdict::failure);
    CHECK(has(checks[0].found, "a folder, on "));
    CHECK(checks[1].name == "free_space");
    CHECK(has(checks[1].found, " GB"));
    CHECK(checks[2].name == "direct_reads");
    CHECK(::rmdir(folder.path().c_str()) == 0);  // only an empty folder goes
    CHECK(::mkdir(folder.path().c_str(), 0700) == 0);
}

TEST_CASE("a file is looked at, an empty one has nothing to read", "[doctor][short]") {
    const test::TemporaryFolder folder;
    const std::vector<HealthCheck> checks = check_path(folder.write("model.gguf", "not much"));
    REQUIRE(checks.size() == 3);
    CHECK(has(checks[0].found, "a file, on "));
    CHECK(checks[2].name == "direct_reads");
    const std::vector<HealthCheck> empty = check_path(folder.write("empty", ""));
    REQUIRE(empty.size() == 3);
    CHECK(empty[2].verdict != HealthVerdict::ok);
    CHECK_FALSE(empty[2].remedy.empty());
}

TEST_CASE("a path that is not there, or no file, is a failure that shows it safely", "[doctor][short]") {
    const test::TemporaryFolder folder;
    check_refused(folder.file("no\x1bsuch"), "no\\x1bsuch': No such file");
    check_refused(folder.write("file", "x") + "/below", "Not a directory");
    check_refused("/dev/null", "is no file and no folder");
    check_refused(folder.path() + std::string("\0x", 2), "zero byte");
    check_refused(std::string(100'000, 'a'), "File name too long");
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    check_refused(pipe, "is no file and no folder");
}
