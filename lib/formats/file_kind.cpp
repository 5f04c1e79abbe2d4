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
    {"<!DOCTYPE"sv, "is a web page, not a model; the download went wrong (a login page or an error page)"},
    {"<!doctype"sv, "is a web page, not a model; the download went wrong (a login page or an error page)"},
    {"<html"sv, "is a web page, not a model; the download went wrong (a login page or an error page)"},
    {"<?xml"sv, "is an XML document, not a model; the download went wrong"},
    {"\x80\x02"sv, kPickle},
    {"\x80\x03"sv, kPickle},
    {"\x80\x04"sv, kPickle},
    {"\x80\x05"sv, kPickle},
    {"\x1f\x8b"sv, "is compressed with gzip; unpack it first"},
    {"\x28\xb5\x2f\xfd"sv, "is compressed with zstd; unpack it first"},
    {"\xfd"
     "7zXZ"sv,
     "is compressed with xz; unpack it first"},
    {"\x89HDF"sv, "is a Keras HDF5 file, which is not read; use the model's safetensors or GGUF files"},
    {"lmgg"sv, "is in the GGML format of before August 2023, which is not read; convert the model to GGUF anew"},
    {"tjgg"sv, "is in the GGJT format of before August 2023, which is not read; convert the model to GGUF anew"},
    {"fmgg"sv, "is in the GGMF format of before August 2023, which is not read; convert the model to GGUF anew"},
    {"FUGG"sv, "is a byte-swapped GGUF file"},
};

bool contains(std::string_view bytes, std::string_view part) { return bytes.find(part) != std::string_view::npos; }

std::string zip_text(std::string_view head) {
    // torch.save writes a zip whose first entries are <name>/data.pkl and <name>/byteorder or version.
    if (contains(head, "data.pkl")) return std::string(kPickle);
    if (contains(head, ".npy"))
        return "is a NumPy archive (.npz), which is not read; use the model's safetensors or GGUF files";
    return "is a zip archive; unpack it first";
}

}  // namespace

Result<FileKindFacts> file_kind(const ByteSource& source) {
    std::string head(static_cast<std::size_t>(std::min<std::uint64_t>(source.size_bytes(), 1024)), '\0');
    MIXTURA_RETURN_IF_ERROR(source.read_at(0, std::as_writable_bytes(std::span(head))));
    const std::string_view bytes = head;
    if (bytes.empty()) return FileKindFacts{FileKind::foreign, "is empty; the download or the disk failed"};
    if (bytes.substr(0, 4) == "GGUF") return FileKindFacts{FileKind::gguf, {}};
    if (bytes.substr(0, 4) == "PK\x03\x04") return FileKindFacts{FileKind::foreign, zip_text(bytes)};
    for (const Signature& signature : kSignatures) {
        if (bytes.substr(0, signature.bytes.size()) == signature.bytes) {
            return FileKindFacts{FileKind::foreign, std::string(signature.what)};
        }
    }
    if (bytes.size() >= 9 && bytes[8] == '{') return FileKindFacts{FileKind::safetensors, {}};
    const std::size_t first = bytes.find_first_not_of(" \t\r\n");
    if (first != std::string_view::npos && bytes[first] == '{') return FileKindFacts{FileKind::json, {}};
    const bool is_zero = std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == 0; });
    if (is_zero) return FileKindFacts{FileKind::foreign, "starts with zeros only; the download or the disk failed"};
    return FileKindFacts{FileKind::unknown, "is neither GGUF nor safetensors"};
}

}  // namespace mixtura
