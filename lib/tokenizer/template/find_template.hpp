// Where models keep their chat templates.
#pragma once

#include <mixtura/chat_template.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

struct FoundChatTemplate {
    std::string where;  // the file, for messages
    std::string source;
    std::vector<TemplateVariable> special_tokens;
};

// In a checkpoint folder chat_template.jinja and additional_chat_templates/<name>.jinja come before
// tokenizer_config.json and chat_template.json, as in Hugging Face's reader; a folder with nothing but GGUF files is
// read like its GGUF.  NOT_FOUND says which names there are.
Result<FoundChatTemplate> find_chat_template(const std::string& path, std::string_view name);

}  // namespace mixtura
