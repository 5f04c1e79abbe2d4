// Golden errors: broken files and the status and sentence each must give when a host opens them.
#pragma once

#include <mixtura/status.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "support/files.hpp"

namespace mixtura::test {

struct Malformed {
    std::string name;
    std::function<std::string(const TemporaryFolder&)> make;  // writes it; returns the path to open
    StatusCode code;
    std::string
        message;  // the whole of it; <file> stands for the path opened in quotes, <folder> for the folder's, without
};

// `make` for a single file of the given name and content.
std::function<std::string(const TemporaryFolder&)> only(std::string file_name, std::string content);

// Opens each in a folder of its own through Checkpoint::open and compares code and message.
void check_malformed(const std::vector<Malformed>& cases);

}  // namespace mixtura::test
