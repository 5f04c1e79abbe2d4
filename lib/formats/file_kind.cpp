#include "formats/file_kind.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/error.hpp"

namespace mixtura {
namespace {

using namespace std::string_view_literals;

struct Signature {
    std::string_view bytes;
    std::string_view what;
};

constexpr std::string_view kPickle =
    "is a Python pickle, which can run code when it is read and is never opened here; use the model's safetensors or "
    "GGUF "
    "files, or convert it where you trust it";

constexpr Signature kSignatures[] = {
    {"version https://git-lfs", "is a git-LFS pointer, not the file itself; fetch it with 'git lfs pull'"},
    {"\x80\x02"sv, kPickle},
    {"\x80\x03"sv, kPickle},
    {"\x80\x04"sv, kPickle},
    {"\x80\x05"sv, kPickle},
    {"\x1f\x8b"sv, "is compressed with gzip; unpack it first"},
    {"\x28\xb5\x2f\xfd"sv, "is compressed with zstd; unpack it first"},
    {"\xfd"
     "7zXZ"sv,
     "is compressed with xz; unpack it first"},
    {"BZh"sv, "is compressed with bzip2; unpack it first"},
    {"7z\xbc\xaf"sv, "is a 7z archive; unpack it first"},
    {"\x89HDF"sv, "is a Keras HDF5 file, which is not read; use the model's safetensors or GGUF files"},
    {"lmgg"sv, "is in the GGML format of before August 2023, which is not read; convert the model to GGUF anew"},
    {"tjgg"sv, "is in the GGJT format of before August 2023, which is not read; convert the model to GGUF anew"},
    {"fmgg"sv, "is in the GGMF format of before August 2023, which is not read; convert the model to GGUF anew"},
    {"FUGG"sv, "is GGUF with its bytes in the wrong order, which is not read; convert the model anew"},
};

// Compared in lower case, behind blanks and a byte order mark.
constexpr std::string_view kWebPage =
    "is a web page, not a model; the download went wrong (a login page or an error page)";
constexpr Signature kMarkup[] = {
    {"<!doctype", kWebPage},
    {"<html", kWebPage},
    {"<head", kWebPage},
    {"<?xml", "is an XML document, not a model; the download went wrong"},
};

std::string_view without_leading_blanks(std::string_view text) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    return text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

bool starts_with_ignoring_case(std::string_view text, std::string_view lower) {
    const auto to_lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return text.size() >= lower.size() &&
           std::equal(lower.begin(), lower.end(), text.begin(), [&](char a, char b) { return a == to_lower(b); });
}

// A length that the format allows, and the brace behind it.  To be asked first: a header of 640 bytes starts with the
// same two bytes as a pickle, one of 35,615 like gzip.
bool is_safetensors(std::string_view bytes) {
    if (bytes.size() < 9 || bytes[8] != '{') return false;
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof length);
    return length >> 32 == 0;
}

std::string zip_text(std::string_view head) {
    // torch.save writes a zip whose first entry is <name>/data.pkl.
    if (head.find("data.pkl") != std::string_view::npos) return std::string(kPickle);
    if (head.find(".npy") != std::string_view::npos)
        return "is a NumPy archive (.npz), which is not read; use the model's safetensors or GGUF files";
    return "is a zip archive; unpack it first";
}

// What servers answer instead of a file: "Entry not found", "Access to model … is restricted".
bool is_plain_text(std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(),
                       [](char c) { return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\r' || c == '\t'; });
}

}  // namespace

Result<FileKindFacts> file_kind(const ByteSource& source) {
    const auto foreign = [](std::string_view what) { return FileKindFacts{FileKind::foreign, std::string(what)}; };
    std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(source.size_bytes(), 1024)), '\0');
    MIXTURA_RETURN_IF_ERROR(source.read_at(0, std::as_writable_bytes(std::span(head))));
    const std::string_view bytes = head;
    if (bytes.empty()) return foreign("is empty; the download or the disk failed");
    if (bytes.starts_with("GGUF")) return FileKindFacts{FileKind::gguf, {}};
    if (is_safetensors(bytes)) return FileKindFacts{FileKind::safetensors, {}};
    if (bytes.starts_with("PK\x03\x04")) return foreign(zip_text(bytes));
    for (const Signature& signature : kSignatures) {
        if (bytes.starts_with(signature.bytes)) return foreign(signature.what);
    }
    const std::string_view visible = without_leading_blanks(bytes);
    for (const Signature& signature : kMarkup) {
        if (starts_with_ignoring_case(visible, signature.bytes)) return foreign(signature.what);
    }
    if (visible.starts_with("{")) return FileKindFacts{FileKind::json, {}};
    constexpr std::size_t kTarMagicOffset = 257;
    if (bytes.size() > kTarMagicOffset && bytes.substr(kTarMagicOffset).starts_with("ustar"))
        return foreign("is a tar archive; unpack it first");
    if (std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; })) {
        return foreign("starts with zeros only; the download or the disk failed");
    }
    if (is_plain_text(bytes)) {
        return FileKindFacts{FileKind::unknown,
                             text("is plain text that starts with ",
                                  quoted(visible.substr(0, visible.find_first_of("\r\n")), 60), ", not a model")};
    }
    return FileKindFacts{FileKind::unknown, "is neither GGUF nor safetensors"};
}

Result<JsonDocument> parse_json_file(std::string_view content, std::string_view path) {
    auto document = JsonDocument::parse(content, path);
    if (document) return document;
    const MemorySource source(std::as_bytes(std::span(content)), std::string(path));
    MIXTURA_ASSIGN_OR_RETURN(const FileKindFacts kind, file_kind(source));
    if (kind.kind != FileKind::foreign) return document;
    return error(StatusCode::unknown_format, quoted(path, 400), " ", kind.what);
}

}  // namespace mixtura
