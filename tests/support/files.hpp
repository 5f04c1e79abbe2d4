// Files for tests: the golden data, and a folder that is gone when the test ends.
#pragma once

#include <string>
#include <string_view>

namespace mixtura::test {

// Absolute path of tests/golden/data/<relative>.
std::string golden(std::string_view relative);

// The whole file as bytes; fails the test (throws) when it cannot be read, so that missing data is never a silent pass.
std::string read_file(const std::string& path);
void write_file(const std::string& path, std::string_view content);

class TemporaryFolder {
  public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& path() const { return path_; }
    std::string file(std::string_view relative) const { return path_ + "/" + std::string(relative); }
    // Writes a file below the folder, with the folders it needs; returns its path.
    std::string write(std::string_view relative, std::string_view content) const;

  private:
    std::string path_;
};

}  // namespace mixtura::test
