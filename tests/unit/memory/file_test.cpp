#include "memory/file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "support/files.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

std::string read_text(const ByteSource& source, std::uint64_t offset, std::size_t size) {
    std::string text(size, '?');
    const Status status = source.read_at(offset, std::as_writable_bytes(std::span(text)));
    return status.is_ok() ? text : std::string(status.message());
}

std::shared_ptr<const File> opened(const std::string& path) {
    auto file = File::open(path);
    REQUIRE(std::string(file.status().message()).empty());
    return *std::move(file);
}

std::size_t open_descriptors() {
    std::size_t count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
    return count;
}

}  // namespace

TEST_CASE("a file is read at any place within it and nowhere else", "[memory][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "0123456789");
    const auto file = opened(path);
    CHECK(file->size_bytes() == 10);
    CHECK(file->name() == path);
    CHECK(read_text(*file, 0, 10) == "0123456789");
    CHECK(read_text(*file, 7, 3) == "789");
    CHECK(read_text(*file, 10, 0).empty());
    CHECK(read_text(*file, 7, 4) == "'" + path + "' ends at byte 10, but 4 bytes at byte 7 are needed");
    CHECK(read_text(*file, 11, 0) == "'" + path + "' ends at byte 10, but 0 bytes at byte 11 are needed");
    CHECK(read_text(*file, ~std::uint64_t{0}, 2) ==
          "'" + path + "' ends at byte 10, but 2 bytes at byte 18446744073709551615 are needed");
    const std::string bytes = "abc";
    const MemorySource memory(std::as_bytes(std::span(bytes)), "memory");
    CHECK(read_text(memory, 1, 2) == "bc");
    CHECK(read_text(memory, 2, 2) == "'memory' ends at byte 3, but 2 bytes at byte 2 are needed");
    CHECK(read_text(memory, ~std::uint64_t{0}, 2) ==
          "'memory' ends at byte 3, but 2 bytes at byte 18446744073709551615 are needed");
}

TEST_CASE("a file's descriptor is closed when a process starts another, and when the file goes", "[memory][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "x");
    const std::size_t before = open_descriptors();
    {
        const auto file = opened(path);
        CHECK((::fcntl(file->descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
        CHECK((::fcntl(file->descriptor(), F_GETFL) & O_ACCMODE) == O_RDONLY);
        CHECK(open_descriptors() == before + 1);
    }
    CHECK(open_descriptors() == before);
    // Nor does one stay open where opening fails late.
    REQUIRE(::mkfifo(folder.file("pipe").c_str(), 0600) == 0);
    CHECK_FALSE(File::open(folder.file("pipe")).is_ok());
    CHECK_FALSE(File::open(folder.path()).is_ok());
    CHECK(open_descriptors() == before);
}

TEST_CASE("a file that shrinks while it is open gives an error, not a signal", "[memory][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", std::string(100000, 'x'));
    const auto file = opened(path);
    REQUIRE(::truncate(path.c_str(), 50000) == 0);
    CHECK(read_text(*file, 0, 10) == std::string(10, 'x'));
    std::string text(20, '?');
    const Status status = file->read_at(49990, std::as_writable_bytes(std::span(text)));
    CHECK(status.code() == StatusCode::corrupt_file);
    CHECK(status.message() == "'" + path + "' ends at byte 50000, but 20 bytes at byte 49990 are needed");
}

TEST_CASE("a file that grows while it is open keeps the size it was opened with", "[memory][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "12345");
    const auto file = opened(path);
    write_file(path, "1234567890");
    CHECK(file->size_bytes() == 5);
    CHECK(read_text(*file, 3, 3) == "'" + path + "' ends at byte 5, but 3 bytes at byte 3 are needed");
}

TEST_CASE("a file that is replaced or deleted is still read as it was", "[memory][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "old bytes");
    const auto file = opened(path);
    std::filesystem::rename(folder.write("new", "new bytes"), path);
    CHECK(read_file(path) == "new bytes");
    CHECK(read_text(*file, 0, 9) == "old bytes");
    std::filesystem::remove(path);
    CHECK(read_text(*file, 0, 9) == "old bytes");
}

TEST_CASE("reads go on where a signal interrupts them", "[memory][short]") {
    // 2,000 signals a second, without SA_RESTART, while 64 MiB are read over and over.
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "start");
    REQUIRE(::truncate(path.c_str(), 64 << 20) == 0);
    const auto file = opened(path);
    std::vector<std::byte> bytes(64 << 20);
    static std::atomic<int> signals;
    signals = 0;
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) { ++signals; };
    REQUIRE(::sigaction(SIGALRM, &action, &before) == 0);
    const itimerval often{{0, 500}, {0, 500}}, never{};
    REQUIRE(::setitimer(ITIMER_REAL, &often, nullptr) == 0);
    int failures = 0, reads = 0;
    while (signals < 50 && reads < 1000) {
        failures += file->read_at(0, bytes).is_ok() ? 0 : 1;
        ++reads;
    }
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    CHECK(signals >= 50);
    CHECK(failures == 0);
    CHECK(std::memcmp(bytes.data(), "start", 5) == 0);
}

TEST_CASE("many threads read one file at once", "[memory][short]") {
    const TemporaryFolder folder;
    std::string content;
    for (int i = 0; i < 100000; ++i) content += static_cast<char>('a' + i % 23);
    const auto file = opened(folder.write("f", content));
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 8; ++t) {
        threads.emplace_back([&, t] {
            for (std::size_t i = 0; i < 500; ++i) {
                const std::size_t offset = (t * 7919 + i * 104729) % 99000;
                if (read_text(*file, offset, 1000) != content.substr(offset, 1000)) ++wrong;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}

TEST_CASE("a file of more than 4 GiB is read behind its 32-bit offsets", "[memory][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "start");
    constexpr std::uint64_t kSize = (std::uint64_t{5} << 30) + 3;
    REQUIRE(::truncate(path.c_str(), static_cast<off_t>(kSize)) == 0);  // sparse
    {
        const int descriptor = ::open(path.c_str(), O_WRONLY);
        REQUIRE(::pwrite(descriptor, "end", 3, static_cast<off_t>(kSize - 3)) == 3);
        ::close(descriptor);
    }
    const auto file = opened(path);
    CHECK(file->size_bytes() == kSize);
    CHECK(read_text(*file, kSize - 3, 3) == "end");
    CHECK(read_text(*file, kSize - 3 - (std::uint64_t{1} << 32), 3) == std::string(3, '\0'));
}

TEST_CASE("a small file is read whole, one above the bound is not", "[memory][short]") {
    const TemporaryFolder folder;
    const std::string path = folder.write("f", "12345");
    CHECK(*read_whole_file(path, 5) == "12345");
    const auto refused = read_whole_file(path, 4);
    CHECK(refused.status().code() == StatusCode::out_of_range);
    CHECK(refused.status().message() == "'" + path + "' holds 5 bytes, expected at most 4");
    CHECK((*read_whole_file(folder.write("empty", ""), 0)).empty());
}
