// What people open by mistake: each is told what it is, not that it is a broken model.
#include <mixtura/checkpoint.hpp>

#include <sys/stat.h>
#include <unistd.h>
#include <catch2/catch.hpp>
#include <filesystem>

#include "support/gguf_writer.hpp"
#include "support/malformed.hpp"
#include "support/safetensors_writer.hpp"

using namespace mixtura;
using namespace mixtura::test;
using namespace std::string_literals;

namespace {

constexpr StatusCode kForeign = StatusCode::unknown_format;

Malformed file(std::string name, std::string content, std::string message, StatusCode code = kForeign) {
    return {std::move(name), only("model.gguf", std::move(content)), code, std::move(message)};
}

// The first bytes of a zip whose first entry has this name.
std::string zip(std::string_view entry) {
    return "PK\3\4\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"s +
           bytes_of(static_cast<std::uint16_t>(entry.size())) + "\0\0"s + std::string(entry) + "content";
}

}  // namespace

TEST_CASE("a file that is no model is refused with what it is", "[formats][short]") {
    check_malformed({
        file("an empty file", "", "<file> is empty; the download or the disk failed"),
        file("zeros", std::string(4096, '\0'), "<file> starts with zeros only; the download or the disk failed"),
        file("a git-LFS pointer", "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4221\n",
             "<file> is a git-LFS pointer, not the file itself; fetch it with 'git lfs pull'"),
        file("a web page", "<!DOCTYPE html>\n<html><body>Sign in</body></html>",
             "<file> is a web page, not a model; the download went wrong (a login page or an error page)"),
        file("a web page in capitals behind blank lines", "\r\n\r\n  <HTML><HEAD>",
             "<file> is a web page, not a model; the download went wrong (a login page or an error page)"),
        file("a web page behind a byte order mark", "\xEF\xBB\xBF<!doctype html>",
             "<file> is a web page, not a model; the download went wrong (a login page or an error page)"),
        file("an XML error", "<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>",
             "<file> is an XML document, not a model; the download went wrong"),
        file("a server's answer", "Entry not found",
             "<file> is plain text that starts with 'Entry not found', not a model"),
        file("a text with escapes", "Access denied\x1b[2J", "<file> is neither GGUF nor safetensors"),
        file("a JSON error", "{\"error\":\"Repository not found\"}",
             "<file> is a JSON document, not a model; name the model's folder, its .safetensors or its .gguf file"),
        file("a torch checkpoint", zip("archive/data.pkl"),
             "<file> is a Python pickle, which can run code when it is read and is never opened here; use the model's "
             "safetensors or GGUF files, or convert it where you trust it"),
        file("a NumPy archive", zip("arr_0.npy"),
             "<file> is a NumPy archive (.npz), which is not read; use the model's safetensors or GGUF files"),
        file("a zip archive", zip("model.gguf"), "<file> is a zip archive; unpack it first"),
        file("a pickle of protocol 2", "\x80\x02}q\0X\5\0\0\0"s,
             "<file> is a Python pickle, which can run code when it is read and is never opened here; use the model's "
             "safetensors or GGUF files, or convert it where you trust it"),
        file("a pickle of protocol 3", "\x80\x03}q\0."s,
             "<file> is a Python pickle, which can run code when it is read and is never opened here; use the model's "
             "safetensors or GGUF files, or convert it where you trust it"),
        file("a pickle of protocol 4", "\x80\x04\x95\x1f\0\0\0\0\0\0\0}"s,
             "<file> is a Python pickle, which can run code when it is read and is never opened here; use the model's "
             "safetensors or GGUF files, or convert it where you trust it"),
        file("a pickle of protocol 5", "\x80\x05\x95\x1f\0\0\0\0\0\0\0}"s,
             "<file> is a Python pickle, which can run code when it is read and is never opened here; use the model's "
             "safetensors or GGUF files, or convert it where you trust it"),
        file("gzip", "\x1f\x8b\x08\0\0\0\0\0\0\3GGUF"s, "<file> is compressed with gzip; unpack it first"),
        file("zstd", "\x28\xb5\x2f\xfd\x24\5\0"s, "<file> is compressed with zstd; unpack it first"),
        file("xz",
             "\xfd"
             "7zXZ\0\0\4"s,
             "<file> is compressed with xz; unpack it first"),
        file("bzip2", "BZh91AY&SY", "<file> is compressed with bzip2; unpack it first"),
        file("7z", "7z\xbc\xaf\x27\x1c\0\4"s, "<file> is a 7z archive; unpack it first"),
        file("tar", "model.gguf" + std::string(247, '\0') + "ustar\0"s + "00" + std::string(504, '\0'),
             "<file> is a tar archive; unpack it first"),
        file("Keras", "\x89HDF\r\n\x1a\n",
             "<file> is a Keras HDF5 file, which is not read; use the model's safetensors or GGUF files"),
        file("GGML", "lmgg" + std::string(60, '\1'),
             "<file> is in the GGML format of before August 2023, which is not read; convert the model to GGUF anew"),
        file("GGMF", "fmgg\1\0\0\0"s,
             "<file> is in the GGMF format of before August 2023, which is not read; convert the model to GGUF anew"),
        file("GGJT", "tjgg\3\0\0\0"s,
             "<file> is in the GGJT format of before August 2023, which is not read; convert the model to GGUF anew"),
        file("GGUF with its letters reversed", "FUGG\3\0\0\0"s,
             "<file> is GGUF with its bytes in the wrong order, which is not read; convert the model anew"),
        file("something else",
             "\x7f"
             "ELF\2\1\1\0\0\0"s,
             "<file> is neither GGUF nor safetensors"),
        file("three letters of GGUF", "GGU", "<file> is plain text that starts with 'GGU', not a model"),
        {"a web page named .safetensors", only("model.safetensors", "<html>"), kForeign,
         "<file> is a web page, not a model; the download went wrong (a login page or an error page)"},
        {"a pickle named .safetensors", only("model.safetensors", "\x80\x02}q\0."s), kForeign,
         "<file> is a Python pickle, which can run code when it is read and is never opened here; use the model's "
         "safetensors or GGUF files, or convert it where you trust it"},
        {"a pickle under its own name", only("pytorch_model.bin", zip("pytorch_model/data.pkl")), kForeign,
         "<file> is a Python pickle, which can run code when it is read and is never opened here; use the model's "
         "safetensors or GGUF files, or convert it where you trust it"},
        {"a tokenizer", only("tokenizer.json", "{\"version\":\"1.0\"}"), kForeign,
         "<file> is a JSON document, not a model; name the model's folder, its .safetensors or its .gguf file"},
    });
}

TEST_CASE("a safetensors header as long as another format's magic number is still safetensors", "[formats][short]") {
    for (const std::size_t length : {640, 896, 1152, 1408, 35615}) {  // 80 02, 80 03, 80 04, 80 05, 1f 8b
        const TemporaryFolder folder;
        std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
        header.resize(length, ' ');
        const auto checkpoint = Checkpoint::open(folder.write("model.safetensors", safetensors_bytes(header, "x")));
        REQUIRE(std::string(checkpoint.status().message()).empty());
        CHECK(checkpoint->tensors().size() == 1);
    }
}

TEST_CASE("a model's content counts, not its name", "[formats][short]") {
    const TemporaryFolder folder;
    GgufFile gguf;
    const std::string bytes = gguf.tensor("a", DType::f32, {4}).bytes();
    for (const char* name : {"model", "model.bin", "model.safetensors", "model.GGUF.part"}) {
        const auto checkpoint = Checkpoint::open(folder.write(name, bytes));
        REQUIRE(std::string(checkpoint.status().message()).empty());
        CHECK(checkpoint->format() == CheckpointFormat::gguf);
    }
}

TEST_CASE("a path that is no readable file is refused with what it is", "[formats][short]") {
    std::vector<Malformed> cases{
        {"nothing there", [](const TemporaryFolder& folder) { return folder.file("model.gguf"); },
         StatusCode::not_found, "cannot open <file>: No such file or directory"},
        {"an empty path", [](const TemporaryFolder&) { return ""s; }, StatusCode::not_found,
         "cannot open '': No such file or directory"},
        {"below a file", [](const TemporaryFolder& folder) { return folder.write("a", "x") + "/model.gguf"; },
         StatusCode::not_found, "cannot open '<folder>/a/model.gguf': Not a directory"},
        {"a dangling symbolic link",
         [](const TemporaryFolder& folder) {
             std::filesystem::create_symlink("gone", folder.file("model.gguf"));
             return folder.file("model.gguf");
         },
         StatusCode::not_found, "cannot open <file>: No such file or directory"},
        {"a symbolic link to itself",
         [](const TemporaryFolder& folder) {
             std::filesystem::create_symlink("model.gguf", folder.file("model.gguf"));
             return folder.file("model.gguf");
         },
         StatusCode::io, "cannot open <file>: Too many levels of symbolic links"},
        {"a pipe nobody writes to",
         [](const TemporaryFolder& folder) {
             REQUIRE(::mkfifo(folder.file("model.gguf").c_str(), 0600) == 0);
             return folder.file("model.gguf");
         },
         StatusCode::invalid_argument, "<file> is a pipe, socket or device, expected a regular file"},
        {"a device", [](const TemporaryFolder&) { return "/dev/zero"s; }, StatusCode::invalid_argument,
         "'/dev/zero' is a pipe, socket or device, expected a regular file"},
        {"a path with a NUL", [](const TemporaryFolder& folder) { return folder.write("model.gguf", "x") + "\0.bin"s; },
         StatusCode::invalid_argument, "the path <file> holds a NUL byte"},
        {"a folder's path with a NUL", [](const TemporaryFolder& folder) { return folder.path() + "\0/model.gguf"s; },
         StatusCode::invalid_argument, "the path '<folder>\\x00/model.gguf' holds a NUL byte"},
        {"a name longer than names can be",
         [](const TemporaryFolder& folder) { return folder.file(std::string(300, 'n')); }, StatusCode::io,
         "cannot open <file>: File name too long"},
        {"a name that would drive the terminal",
         [](const TemporaryFolder& folder) { return folder.file("\x1b[2Jmodel\xff.gguf"); }, StatusCode::not_found,
         "cannot open <file>: No such file or directory"},
    };
    if (::geteuid() != 0) {  // nothing is unreadable to root
        cases.push_back({"a file without permission",
                         [](const TemporaryFolder& folder) {
                             const std::string path = folder.write("model.gguf", "GGUF");
                             ::chmod(path.c_str(), 0);
                             return path;
                         },
                         StatusCode::io, "cannot open <file>: Permission denied"});
    }
    check_malformed(cases);
}
