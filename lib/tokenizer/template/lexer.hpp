// Splits a template's source into tokens, white space control included: Jinja's lexer with trim_blocks and
// lstrip_blocks, the setting chat templates are written for.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/template/run.hpp"

namespace mixtura {

enum class JinjaTokenKind : std::uint8_t {
    data,
    variable_begin,
    variable_end,
    block_begin,
    block_end,
    name,
    string,
    integer,
    real,
    operation,
    end,
};

struct JinjaToken {
    JinjaTokenKind kind = JinjaTokenKind::end;
    JinjaPosition at;
    std::string text;  // of data, name and operation as written; of string with its escapes resolved
    std::int64_t integer = 0;
    double real = 0;
};

// The last token is `end`.  INVALID_ARGUMENT with line and column.
Result<std::vector<JinjaToken>> jinja_tokens(std::string_view source);

// Inside a string literal, quotes left out: backslash escapes as Python reads them.  Nothing on success, else what is
// wrong.
std::string unescape_jinja_string(std::string_view literal, std::string& out);

}  // namespace mixtura
