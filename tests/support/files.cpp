#include "support/files.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace mixtura::test {

std::string golden(std::string_view relative) { return std::string(MIXTURA_GOLDEN_DIR) + "/" + std::string(relative); }

std::string read_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    if (!stream) throw std::runtime_error("test data is missing: " + path);
    return std::string(std::istreambuf_iterator<char>(stream), {});
}

void write_file(const std::string& path, std::string_view content) {
    std::ofstream stream(path, std::ios::binary);
    stream.write(content.data(), static_cast<std::streamsize>(content.size()));
    if (!stream.flush()) throw std::runtime_error("cannot write " + path);
}

TemporaryFolder::TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "mixtura-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
    path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(std::string_view relative, std::string_view content) const {
    const std::string path = file(relative);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    write_file(path, content);
    return path;
}

}  // namespace mixtura::test
