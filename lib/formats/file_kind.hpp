// What a file is by its first bytes, whatever its name says: people's downloads go wrong in a few known ways, and each
// deserves to be told apart from a broken model.
#pragma once

#include <string>
#include <string_view>

#include "formats/json.hpp"
#include "memory/byte_source.hpp"

namespace mixtura {

// foreign: something known that is no model; unknown: nothing known.
enum class FileKind { gguf, safetensors, json, foreign, unknown };

struct FileKindFacts {
    FileKind kind = FileKind::unknown;
    std::string
        what;  // of a foreign or unknown file: "is a git-LFS pointer, not the file itself; …", the end of a sentence
};

Result<FileKindFacts> file_kind(const ByteSource& source);

// A model's JSON file.  Where the content is no JSON but something known (a git-LFS pointer, a web page),
// UNKNOWN_FORMAT and what it is; else as JsonDocument::parse.
Result<JsonDocument> parse_json_file(std::string_view content, std::string_view path);

}  // namespace mixtura
