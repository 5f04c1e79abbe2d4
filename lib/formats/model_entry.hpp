// Which file a model is opened by: the naming of parts, and the choice among a folder's files.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mixtura {

constexpr std::string_view kIndexSuffix = ".safetensors.index.json";

// "model-00002-of-00005.gguf": the converters' own naming of parts, the same for GGUF and safetensors.
struct PartName {
    std::string stem;
    std::int64_t number = 0, count = 0;
    std::string suffix;  // ".gguf"

    std::string of(std::int64_t part) const;  // the name of another part
};

// Nothing where `name` does not end in -NNNNN-of-NNNNN and `suffix`, or the numbers make no sense.
std::optional<PartName> parse_part_name(std::string_view name, std::string_view suffix);

// The one file of a folder that a model is opened by: an index, a single safetensors file or a GGUF file, in that order
// of preference.  NOT_FOUND, INVALID_ARGUMENT where there are several models, UNKNOWN_FORMAT where there are only
// pickles.
Result<std::string> entry_of_folder(const std::string& folder);

}  // namespace mixtura
