// Where chat templates are found: files, folders, GGUF.
#include <mixtura/chat_template.hpp>

#include <catch2/catch.hpp>

#include "support/files.hpp"
#include "support/gguf_writer.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

// What the template at `path` renders, or the message of its failure.
std::string rendering(const std::string& path, std::string_view name = "default", std::string_view json = "{}") {
    const Result<ChatTemplate> opened = ChatTemplate::open(path, name);
    if (!opened) return std::string(opened.status().message());
    TemplateInput input;
    input.json = json;
    const Result<RenderedPrompt> prompt = opened->render(input);
    return prompt ? prompt->text() : std::string(prompt.status().message());
}

StatusCode code(const std::string& path, std::string_view name = "default") {
    return ChatTemplate::open(path, name).status().code();
}

}  // namespace

TEST_CASE("tokenizer_config.json holds a template or a list of named ones, and the special tokens",
          "[tokenizer][short]") {
    const TemporaryFolder folder;
    const std::string one =
        folder.write("one/tokenizer_config.json", R"({"chat_template": "{{ bos_token }}one{{ eos_token }}",
        "bos_token": "<s>", "eos_token": {"content": "</s>", "lstrip": false}, "unk_token": null, "add_bos_token": true})");
    CHECK(rendering(one) == "<s>one</s>");
    CHECK(rendering(folder.path() + "/one") == "<s>one</s>");
    CHECK(rendering(one, "default", R"({"bos_token": "<b>"})") == "<b>one</s>");  // data of that name hides it
    CHECK(ChatTemplate::open(one)->special_tokens().size() == 2);
    CHECK(ChatTemplate::open(one)->source() == "{{ bos_token }}one{{ eos_token }}");

    const std::string several = folder.write(
        "several/tokenizer_config.json",
        R"({"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t{{ tools }}"}]})");
    CHECK(rendering(several) == "d");
    CHECK(rendering(several, "tool_use", R"({"tools": "x"})") == "tx");
    CHECK(code(several, "rag") == StatusCode::not_found);
    CHECK(rendering(several, "rag") ==
          "'" + several + "' holds no chat template named 'rag', it has 'default', 'tool_use'");
}

TEST_CASE("chat_template.jinja comes before the configuration, with further templates beside it",
          "[tokenizer][short]") {
    const TemporaryFolder folder;
    folder.write("tokenizer_config.json", R"({"chat_template": "config", "bos_token": "<s>"})");
    folder.write("chat_template.jinja", "file {{ bos_token }}\n");
    folder.write("additional_chat_templates/rag.jinja", "rag");
    CHECK(rendering(folder.path()) == "file <s>");
    CHECK(rendering(folder.path(), "rag") == "rag");
    CHECK(rendering(folder.file("chat_template.jinja")) == "file ");
    CHECK(rendering(folder.path(), "../rag") ==
          "'" + folder.path() + "' holds no chat template named '../rag', it has 'default', 'rag'");
}

TEST_CASE("processors keep it in chat_template.json, tokens in special_tokens_map.json", "[tokenizer][short]") {
    const TemporaryFolder folder;
    folder.write("chat_template.json", R"({"chat_template": "p{{ eos_token }}"})");
    folder.write("special_tokens_map.json", R"({"eos_token": "</s>"})");
    CHECK(rendering(folder.path()) == "p</s>");
}

TEST_CASE("GGUF metadata hold the template, named ones and the ids of the special tokens", "[tokenizer][short]") {
    GgufFile file;
    file.add("general.architecture", "llama").add("tokenizer.chat_template", "{{ bos_token }}g{{ eos_token }}");
    file.add("tokenizer.chat_template.tool_use", "tools").add("tokenizer.chat_templates_x", "no");
    file.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"<unk>", "<s>", "</s>"});
    file.add("tokenizer.ggml.bos_token_id", std::uint32_t{1}).add("tokenizer.ggml.eos_token_id", std::uint32_t{2});
    file.add("tokenizer.ggml.padding_token_id", std::uint32_t{99});  // beyond the vocabulary: no token
    const TemporaryFolder folder;
    const std::string path = folder.write("model.gguf", file.bytes());
    CHECK(rendering(path) == "<s>g</s>");
    CHECK(rendering(path, "tool_use") == "tools");
    CHECK(ChatTemplate::open(path)->special_tokens().size() == 2);
    CHECK(code(path, "rag") == StatusCode::not_found);
}

TEST_CASE("what holds no template is told apart from what is broken", "[tokenizer][short]") {
    const TemporaryFolder folder;
    CHECK(code(folder.path()) != StatusCode::ok);
    CHECK(code(folder.file("nowhere")) == StatusCode::not_found);
    CHECK(code(std::string("a\0b", 3)) == StatusCode::invalid_argument);

    const std::string without = folder.write("without/tokenizer_config.json", R"({"bos_token": "<s>"})");
    CHECK(code(without) == StatusCode::not_found);
    CHECK(code(folder.path() + "/without") == StatusCode::not_found);
    CHECK(rendering(without).find("holds no chat template") != std::string::npos);

    const std::string broken = folder.write("broken.jinja", "\n{{ x");
    CHECK(code(broken) == StatusCode::corrupt_file);
    CHECK(rendering(broken) ==
          "'" + broken + "': chat template line 2, column 5: found the end of the template, expected '}}'");

    CHECK(code(folder.write("a/tokenizer_config.json", "{")) == StatusCode::corrupt_file);
    CHECK(code(folder.write("b/tokenizer_config.json", R"({"chat_template": 5})")) == StatusCode::corrupt_file);
    CHECK(code(folder.write("c/tokenizer_config.json", R"({"chat_template": [{"name": "x"}]})")) ==
          StatusCode::corrupt_file);
    CHECK(code(folder.write("d/tokenizer_config.json", R"({"chat_template": "{% include 'x' %}"})")) ==
          StatusCode::unsupported);
    CHECK(code(folder.write("e.jinja", "<!DOCTYPE html>")) == StatusCode::unknown_format);
    CHECK(rendering(folder.write("f.jinja", "{{- bos}{")) != "");  // a brace where safetensors' headers have theirs
}

TEST_CASE("one template renders in many threads' hands and outlives its copies", "[tokenizer][short]") {
    Result<ChatTemplate> parsed = ChatTemplate::parse("{{ x }}");
    const ChatTemplate copy = *parsed;
    parsed = Status(StatusCode::internal, "gone");
    TemplateInput input;
    input.json = R"({"x": 1})";
    CHECK(copy.render(input)->text() == "1");
    CHECK(copy.render(input)->text() == "1");
}
