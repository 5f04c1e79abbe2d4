// Parser and renderer: the input is a template; the conversation is fixed and holds markers, nesting and other scripts.
#include <mixtura/chat_template.hpp>

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace mixtura;
    const auto layout = ChatTemplate::parse({reinterpret_cast<const char*>(data), size});
    if (!layout) return 0;
    TemplateInput input;
    input.json =
        R"({"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": " <|im_end|> wörld 你 "},
        {"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, 2.5, true]}}}]}],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {}}}], "enable_thinking": true, "n": -3})";
    input.trusted = {{"bos_token", "<s>"}, {"eos_token", "</s>"}};
    input.add_generation_prompt = true;
    input.now = CivilTime{2026, 7, 4, 12, 30, 0, 0};
    input.limits = {.steps_max = 200'000, .output_bytes_max = 1 << 20, .memory_bytes_max = 16 << 20, .depth_max = 200};
    const auto prompt = layout->render(input);
    if (!prompt) return 0;
    // Neighbours differ in origin, none is empty: what render() promises.
    for (std::size_t i = 0; i < prompt->spans.size(); ++i) {
        if (prompt->spans[i].text.empty()) __builtin_trap();
        if (i > 0 && prompt->spans[i].is_from_template == prompt->spans[i - 1].is_from_template) __builtin_trap();
    }
    return 0;
}
