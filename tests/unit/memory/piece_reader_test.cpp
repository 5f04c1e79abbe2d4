#include <catch2/catch.hpp>
#include <cstring>
#include <limits>

#include "memory/piece_reader.hpp"
#include "support/files.hpp"

using namespace mixtura;

TEST_CASE("a piece reader gives what the file holds, past the page cache or through it, at any offset",
          "[memory][short]") {
    const test::TemporaryFolder folder;
    std::string content((3U << 20) + 123, '\0');
    for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>((i * 2654435761U) >> 13);
    folder.write("weights", content);
    const auto file = File::open(folder.file("weights"));
    REQUIRE(file);
    constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
    for (const std::uint64_t direct_from : {std::uint64_t{0}, kNever}) {
        const PieceReader reader(*file, direct_from);
        AlignedBuffer scratch;
        for (const std::size_t offset : {0U, 1U, 511U, 4095U, 4096U, 70'000U, 3U << 20, (3U << 20) + 122}) {
            for (const std::size_t size : {0U, 1U, 4095U, 4097U, 1'000'000U}) {
                if (offset + size > content.size()) {
                    CHECK(reader.read(offset, size, scratch).status().code() == StatusCode::corrupt_file);
                    continue;
                }
                const auto piece = reader.read(offset, size, scratch);
                REQUIRE(piece);
                CHECK(piece->size() == size);
                CHECK((size == 0 || std::memcmp(piece->data(), content.data() + offset, size) == 0));
            }
        }
        CHECK(!reader.read(kNever, 1, scratch));
    }
}

TEST_CASE("a piece reader says so when the file was truncated behind its back", "[memory][short]") {
    const test::TemporaryFolder folder;
    folder.write("weights", std::string(1U << 20, 'x'));
    const auto file = File::open(folder.file("weights"));
    REQUIRE(file);
    const PieceReader reader(*file, 0);
    folder.write("weights", "short");
    AlignedBuffer scratch;
    CHECK(reader.read(8192, 65536, scratch).status().code() == StatusCode::corrupt_file);
}
