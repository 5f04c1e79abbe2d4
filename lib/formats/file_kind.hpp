// What a file is by its first bytes, whatever its name says: people's downloads go wrong in a few known ways, and each
// deserves to be told apart from a broken model.
#pragma once

#include <string>

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

}  // namespace mixtura
