// Golden errors of vocabularies: broken files and the status and sentence that Tokenizer::open must give.
#pragma once

#include <mixtura/status.hpp>

#include <string>
#include <vector>

namespace mixtura::test {

struct Refusal {
    std::string name;
    std::string file_name;
    std::string content;
    StatusCode code = StatusCode::corrupt_file;
    std::string message;  // the whole of it; <file> stands for the path opened, in quotes
};

void check_refusals(const std::vector<Refusal>& refusals);

}  // namespace mixtura::test
