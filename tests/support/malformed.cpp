#include "support/malformed.hpp"

#include <mixtura/checkpoint.hpp>

#include <catch2/catch.hpp>

#include "base/text.hpp"

namespace mixtura::test {
namespace {

std::string replaced(std::string text, std::string_view mark, std::string_view value) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size())) {
        text.replace(at, mark.size(), value);
    }
    return text;
}

}  // namespace

std::function<std::string(const TemporaryFolder&)> only(std::string file_name, std::string content) {
    return [file_name = std::move(file_name), content = std::move(content)](const TemporaryFolder& folder) {
        return folder.write(file_name, content);
    };
}

void check_malformed(const std::vector<Malformed>& cases) {
    for (const Malformed& malformed : cases) {
        INFO(malformed.name);
        const TemporaryFolder folder;
        const std::string path = malformed.make(folder);
        const auto checkpoint = Checkpoint::open(path);
        const std::string expected =
            replaced(replaced(malformed.message, "<file>", quoted(path, 400)), "<folder>", folder.path());
        CHECK(std::string(checkpoint.status().message()) == expected);
        CHECK(status_name(checkpoint.status().code()) == status_name(malformed.code));
    }
}

}  // namespace mixtura::test
