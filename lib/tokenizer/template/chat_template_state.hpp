// What a ChatTemplate holds.
#pragma once

#include <mixtura/chat_template.hpp>

#include "tokenizer/template/ast.hpp"

namespace mixtura {

struct ChatTemplate::State {
    std::string source;
    JinjaProgram program;
    std::vector<TemplateVariable> special_tokens;
};

// INVALID_ARGUMENT for a broken template.
Result<std::shared_ptr<ChatTemplate::State>> parse_chat_template(std::string_view source);

}  // namespace mixtura
