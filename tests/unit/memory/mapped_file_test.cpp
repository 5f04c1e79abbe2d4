#include "memory/mapped_file.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>

#include "support/files.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

std::string text_of(const MappedFile& mapping) {
    return std::string(reinterpret_cast<const char*>(mapping.bytes().data()), mapping.bytes().size());
}

std::shared_ptr<const File> opened(const std::string& path) {
    auto file = File::open(path);
    REQUIRE(std::string(file.status().message()).empty());
    return *std::move(file);
}

std::size_t mapping_count(const std::string& path) {
    const std::string maps = read_file("/proc/self/maps");
    std::size_t count = 0;
    for (std::size_t at = maps.find(path); at != std::string::npos; at = maps.find(path, at + 1)) ++count;
    return count;
}

}  // namespace

TEST_CASE("a mapping shows a byte range of a file wherever it begins", "[memory][short]") {
    const TemporaryFolder folder;
    std::string content;
    for (int i = 0; i < 20000; ++i) content += static_cast<char>('a' + i % 23);
    const auto file = opened(folder.write("f", content));
    for (const std::size_t offset : {0, 1, 4095, 4096, 4097, 19999}) {
        const std::size_t size = std::min<std::size_t>(5000, content.size() - offset);
        const auto mapping = MappedFile::map(file, offset, size);
        REQUIRE(mapping.is_ok());
        CHECK(text_of(*mapping) == content.substr(offset, size));
    }
    const auto empty = MappedFile::map(file, 20000, 0);
    REQUIRE(empty.is_ok());
    CHECK(empty->bytes().empty());
}

TEST_CASE("a mapping beyond the file is refused, also when the file shrank", "[memory][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", std::string(10000, 'x'));
    const auto file = opened(path);
    for (const auto& [offset, size] : {std::pair<std::uint64_t, std::size_t>{0, 10001},
                                       {10001, 0},
                                       {9999, 2},
                                       {~std::uint64_t{0}, 2},
                                       {2, ~std::size_t{0}}}) {
        CHECK(MappedFile::map(file, offset, size).status().code() == StatusCode::corrupt_file);
    }
    CHECK(MappedFile::map(file, 9999, 2).status().message() ==
          "'" + path + "' ends at byte 10000, but 2 bytes at byte 9999 are to be mapped");
    REQUIRE(::truncate(path.c_str(), 5000) == 0);
    CHECK(MappedFile::map(file, 0, 10000).status().code() == StatusCode::corrupt_file);
    CHECK(MappedFile::map(file, 0, 5000).is_ok());
}

TEST_CASE("a mapping lives until its last owner goes, also when the file is deleted", "[memory][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("mapped-file", "0123456789");
    {
        auto first = MappedFile::map(opened(path), 2, 5);
        auto second = MappedFile::map(opened(path), 0, 3);
        REQUIRE(first.is_ok());
        REQUIRE(second.is_ok());
        CHECK(mapping_count(path) == 2);
        MappedFile moved = *std::move(first);
        std::filesystem::remove(path);
        CHECK(text_of(moved) == "23456");
        moved = *std::move(second);
        CHECK(text_of(moved) == "012");
    }
    CHECK(mapping_count(path) == 0);
}

TEST_CASE("a file that shrinks under its mapping raises SIGBUS, which is why mapping is opt-in", "[memory][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", std::string(100000, 'x'));
    const auto mapping = MappedFile::map(opened(path), 0, 100000);
    REQUIRE(mapping.is_ok());
    REQUIRE(::truncate(path.c_str(), 100) == 0);
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGBUS, SIG_DFL);  // whatever a sanitizer would do instead
        const volatile std::byte touched = mapping->bytes()[99999];
        (void)touched;
        ::_exit(0);
    }
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status));
    CHECK(WTERMSIG(status) == SIGBUS);
}
