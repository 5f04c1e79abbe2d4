// JSON documents and both forms of config.json: whatever parses, its canonical form parses again to the same text.
#include <cstdint>
#include <string_view>

#include "formats/model_config.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const auto document = mixtura::JsonDocument::parse(text, "fuzz.json");
    if (!document) return 0;
    const std::string canonical = mixtura::canonical_json(document->root());
    const auto again = mixtura::JsonDocument::parse(canonical, "canonical");
    if (!again || mixtura::canonical_json(again->root()) != canonical) __builtin_trap();
    // 4 bytes of ours for one of the file's, and room for the smallest documents.
    if (document->memory_bytes() > 4 * size + 64) __builtin_trap();
    (void)mixtura::hub_model_config(text, text, "fuzz");
    return 0;
}
