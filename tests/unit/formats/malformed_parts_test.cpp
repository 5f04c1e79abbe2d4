// Models in several files that do not belong together, or not all there.
#include <mixtura/checkpoint.hpp>

#include <catch2/catch.hpp>
#include <filesystem>

#include "support/gguf_writer.hpp"
#include "support/malformed.hpp"
#include "support/safetensors_writer.hpp"

using namespace mixtura;
using namespace mixtura::test;
using namespace std::string_literals;

namespace {

constexpr StatusCode kCorrupt = StatusCode::corrupt_file, kNotFound = StatusCode::not_found,
                     kForeign = StatusCode::unknown_format, kInvalid = StatusCode::invalid_argument;
constexpr const char* kLfsPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n";

using Files = std::vector<std::pair<std::string, std::string>>;

// Writes the files and opens the last one, or what `opened` names ("." is the folder).
Malformed files(std::string name, Files list, std::string message, StatusCode code = kCorrupt,
                std::string opened = {}) {
    if (opened.empty()) opened = list.back().first;
    const auto make = [list = std::move(list), opened](const TemporaryFolder& folder) {
        for (const auto& [file, content] : list) folder.write(file, content);
        return opened == "." ? folder.path() : folder.file(opened);
    };
    return {std::move(name), make, code, std::move(message)};
}

// ---- GGUF ----

std::string part_name(int number, int count = 3) {
    return "m-0000" + std::to_string(number) + "-of-0000" + std::to_string(count) + ".gguf";
}

std::vector<GgufFile> three_parts() {
    GgufFile model;
    model.add("general.architecture", "llama");
    model.tensor("a", DType::f32, {4}).tensor("b", DType::f32, {4}).tensor("c", DType::f32, {4});
    return split_gguf(model, 3);
}

// The three parts, changed, but for those left out.
Malformed split(std::string name, const std::function<void(std::vector<GgufFile>&)>& change, std::string message,
                StatusCode code = kCorrupt, std::vector<int> left_out = {}, std::string opened = part_name(1)) {
    std::vector<GgufFile> parts = three_parts();
    change(parts);
    Files list;
    for (int i = 1; i <= 3; ++i) {
        if (std::find(left_out.begin(), left_out.end(), i) == left_out.end())
            list.emplace_back(part_name(i), parts[i - 1].bytes());
    }
    return files(std::move(name), std::move(list), std::move(message), code, std::move(opened));
}
void as_they_are(std::vector<GgufFile>&) {}

// ---- safetensors ----

std::string shard(const std::vector<std::string>& names) {
    SafetensorsFile file;
    for (const std::string& name : names) file.tensor(name, "U8", {1}, "x");
    return file.bytes();
}

Files three_shards(std::string index) {
    return {{"s1.safetensors", shard({"a"})},
            {"s2.safetensors", shard({"b"})},
            {"s3.safetensors", shard({"c"})},
            {"model.safetensors.index.json", std::move(index)}};
}

Files without(Files list, std::string_view name) {
    list.erase(std::find_if(list.begin(), list.end(), [&](const auto& file) { return file.first == name; }));
    return list;
}

Files with(Files list, std::string_view name, std::string content) {
    for (auto& file : list) {
        if (file.first == name) file.second = content;
    }
    return list;
}

constexpr const char* kIndex =
    R"({"metadata":{"total_size":3},"weight_map":{"a":"s1.safetensors","b":"s2.safetensors","c":"s3.safetensors"}})";

}  // namespace

TEST_CASE("a split GGUF model whose parts do not fit is refused with the part", "[formats][short]") {
    const auto stated = [](int part, std::string_view key, auto value) {
        return [=](std::vector<GgufFile>& parts) {
            for (auto& entry : parts[part - 1].metadata) {
                if (entry.key == key) entry.value = bytes_of(value);
            }
        };
    };
    const std::string whole = three_parts()[0].bytes();
    check_malformed({
        split("the first part is missing", as_they_are,
              "part 1 of 3 of the split model is missing: '<folder>/m-00001-of-00003.gguf'", kNotFound, {1},
              part_name(2)),
        split("the middle part is missing", as_they_are,
              "part 2 of 3 of the split model is missing: '<folder>/m-00002-of-00003.gguf'", kNotFound, {2}),
        split("the last part is missing, opened by the folder", as_they_are,
              "part 3 of 3 of the split model is missing: '<folder>/m-00003-of-00003.gguf'", kNotFound, {3}, "."),
        split(
            "two parts have changed places", [](auto& parts) { std::swap(parts[1], parts[2]); },
            "'<folder>/m-00002-of-00003.gguf' says it is part 3 of 3, expected part 2 of 3"),
        split("a part says it is the 8th", stated(2, "split.no", std::uint16_t{7}),
              "'<folder>/m-00002-of-00003.gguf' says it is part 8 of 3, expected part 2 of 3"),
        split(
            "a part says it is the -2nd",
            [](auto& parts) {
                parts[1].metadata[0] = {"split.no", kGgufI16, bytes_of(std::int16_t{-3})};
            },
            "'<folder>/m-00002-of-00003.gguf' says it is part -2 of 3, expected part 2 of 3"),
        split("a part is of 4", stated(3, "split.count", std::uint16_t{4}),
              "'<folder>/m-00003-of-00003.gguf' says it is part 3 of 4, expected part 3 of 3"),
        split(
            "a part says nothing about parts", [](auto& parts) { parts[1].metadata.clear(); },
            "'<folder>/m-00002-of-00003.gguf' says it is part 1 of 1, expected part 2 of 3"),
        split(
            "a part has another alignment than it says", [](auto& parts) { parts[2].tensors[0].offset = 8; },
            "'<folder>/m-00003-of-00003.gguf': tensor 'c' begins at byte 8 of the data, expected a multiple of the "
            "alignment 32",
            kCorrupt, {}, part_name(3)),
        split(
            "a tensor in two parts", [](auto& parts) { parts[2].tensors[0].name = "a"; },
            "tensor 'a' is in both '<folder>/m-00001-of-00003.gguf' and '<folder>/m-00003-of-00003.gguf'"),
        split(
            "a tensor too few", [](auto& parts) { parts[2].tensors.clear(); },
            "'<folder>/m-00001-of-00003.gguf': the parts hold 2 tensors, expected 3"),
        split(
            "a cut middle part", [](auto& parts) { parts[1].tensors[0].bytes.resize(10); },
            "'<folder>/m-00002-of-00003.gguf' is cut short: tensor 'b' needs bytes 160 to 176, the file has 170; 6 "
            "bytes are missing"),
        files(
            "a part that is a git-LFS pointer", {{part_name(1), whole}, {part_name(2), kLfsPointer}},
            "'<folder>/m-00002-of-00003.gguf' is a git-LFS pointer, not the file itself; fetch it with 'git lfs pull'",
            kForeign, part_name(1)),
        files("a part that is safetensors", {{part_name(1), whole}, {part_name(2), shard({"b"})}},
              "'<folder>/m-00002-of-00003.gguf' is no GGUF file", kForeign, part_name(1)),
        files("a part under another name", {{"renamed.gguf", whole}},
              "'<folder>/renamed.gguf' is part 1 of a model in 3 parts, but its name does not end in "
              "-00001-of-0000N.gguf, so the others cannot be found"),
        files("a whole model under a part's name",
              {{part_name(1),
                [] {
                    GgufFile f;
                    return f.tensor("a", DType::f32, {4}).bytes();
                }()}},
              "'<folder>/m-00001-of-00003.gguf' says it is part 1 of 1, expected part 1 of 3"),
    });
}

TEST_CASE("an index that does not fit its shards is refused with the tensor and the shard", "[formats][short]") {
    check_malformed({
        files("the first shard is missing", without(three_shards(kIndex), "s1.safetensors"),
              "part 1 of 3 of the model is missing: '<folder>/s1.safetensors'", kNotFound),
        files("the middle shard is missing", without(three_shards(kIndex), "s2.safetensors"),
              "part 2 of 3 of the model is missing: '<folder>/s2.safetensors'", kNotFound),
        files("the last shard is missing, opened by the folder", without(three_shards(kIndex), "s3.safetensors"),
              "part 3 of 3 of the model is missing: '<folder>/s3.safetensors'", kNotFound, "."),
        files(
            "a tensor that no shard holds",
            three_shards(R"({"weight_map":{"a":"s1.safetensors","z":"s2.safetensors"}})"),
            "'<folder>/model.safetensors.index.json': tensor 'z' should be in 's2.safetensors', but no part holds it"),
        files("a tensor that another shard holds",
              three_shards(R"({"weight_map":{"a":"s1.safetensors","b":"s1.safetensors","c":"s2.safetensors"}})"),
              "'<folder>/model.safetensors.index.json': tensor 'b' should be in 's1.safetensors', but another part "
              "holds it"),
        files("a tensor in two shards", with(three_shards(kIndex), "s3.safetensors", shard({"c", "a"})),
              "tensor 'a' is in both '<folder>/s1.safetensors' and '<folder>/s3.safetensors'"),
        files("a tensor twice in the index",
              three_shards(R"({"weight_map":{"a":"s1.safetensors","a":"s1.safetensors"}})"),
              "'<folder>/model.safetensors.index.json' has the key 'a' twice in one object"),
        files("a shard in the folder above", three_shards(R"({"weight_map":{"a":"../s1.safetensors"}})"),
              "'<folder>/model.safetensors.index.json': tensor 'a' is placed in '../s1.safetensors', expected a file "
              "name"),
        files("a shard in a folder below", three_shards(R"({"weight_map":{"a":"x/s1.safetensors"}})"),
              "'<folder>/model.safetensors.index.json': tensor 'a' is placed in 'x/s1.safetensors', expected a file "
              "name"),
        files("a shard by an absolute path", three_shards(R"({"weight_map":{"a":"/etc/passwd"}})"),
              "'<folder>/model.safetensors.index.json': tensor 'a' is placed in '/etc/passwd', expected a file name"),
        files("a shard that is the folder itself", three_shards(R"({"weight_map":{"a":"."}})"),
              "'<folder>/model.safetensors.index.json': tensor 'a' is placed in '.', expected a file name"),
        files("a shard that is the folder above", three_shards(R"({"weight_map":{"a":".."}})"),
              "'<folder>/model.safetensors.index.json': tensor 'a' is placed in '..', expected a file name"),
        files("a shard with a NUL in its name", three_shards(R"({"weight_map":{"a":"s1.safetensors\u0000"}})"),
              "'<folder>/model.safetensors.index.json': tensor 'a' is placed in 's1.safetensors\\x00', expected a file "
              "name"),
        files("a shard without a name", three_shards(R"({"weight_map":{"a":""}})"),
              "'<folder>/model.safetensors.index.json': tensor 'a' is placed in '', expected a file name"),
        files("a shard that is a number", three_shards(R"({"weight_map":{"a":1}})"),
              "'<folder>/model.safetensors.index.json': tensor 'a' is placed in something that is no string, expected "
              "a file name"),
        files("a shard that is a list", three_shards(R"({"weight_map":{"a":["s1.safetensors"]}})"),
              "'<folder>/model.safetensors.index.json': tensor 'a' is placed in something that is no string, expected "
              "a file name"),
        files("no weight_map", three_shards(R"({"metadata":{}})"),
              "'<folder>/model.safetensors.index.json' has no object 'weight_map'"),
        files("a weight_map that is a list", three_shards(R"({"weight_map":["a"]})"),
              "'<folder>/model.safetensors.index.json' has no object 'weight_map'"),
        files("an empty weight_map", three_shards(R"({"weight_map":{}})"),
              "'<folder>/model.safetensors.index.json' names no tensor"),
        files("an index that is a list", three_shards("[]"),
              "'<folder>/model.safetensors.index.json' has no object 'weight_map'"),
        files("an index that is no JSON", three_shards("{\"weight_map\":"),
              "'<folder>/model.safetensors.index.json' cannot be read as JSON at byte 14: expected a value, found the "
              "end"),
        files("an empty index", three_shards(""),
              "'<folder>/model.safetensors.index.json' is empty; the download or the disk failed", kForeign),
        files("an index that is a git-LFS pointer", three_shards(kLfsPointer),
              "'<folder>/model.safetensors.index.json' is a git-LFS pointer, not the file itself; fetch it with 'git "
              "lfs pull'",
              kForeign),
        files("an index that is a web page", three_shards("<!DOCTYPE html><html>"),
              "'<folder>/model.safetensors.index.json' is a web page, not a model; the download went wrong (a login "
              "page or an error page)",
              kForeign),
        files("an index 10,000 deep", three_shards("{\"weight_map\":" + std::string(10000, '[')),
              "'<folder>/model.safetensors.index.json' cannot be read as JSON at byte 77: nests deeper than the 64 "
              "levels allowed"),
        files("a shard that is a git-LFS pointer", with(three_shards(kIndex), "s2.safetensors", kLfsPointer),
              "'<folder>/s2.safetensors' is a git-LFS pointer, not the file itself; fetch it with 'git lfs pull'",
              kForeign),
        files("a shard that is GGUF", with(three_shards(kIndex), "s2.safetensors", three_parts()[0].bytes()),
              "'<folder>/s2.safetensors' is a GGUF file, expected safetensors", kForeign),
        files("a shard that is cut",
              with(three_shards(kIndex), "s2.safetensors", shard({"b", "d"}).substr(0, shard({"b", "d"}).size() - 1)),
              "'<folder>/s2.safetensors' is cut short: tensor 'd' needs bytes 1 to 2 of the data, the file has 1 of "
              "them; 1 bytes are missing"),
        {"a shard that is a folder",
         [](const TemporaryFolder& folder) {
             for (const auto& [file, content] : without(three_shards(kIndex), "s2.safetensors"))
                 folder.write(file, content);
             folder.write("s2.safetensors/x", "");
             return folder.path();
         },
         kInvalid, "'<folder>/s2.safetensors' is a folder, expected a regular file"},
        {"a shard that is a dangling symbolic link",
         [](const TemporaryFolder& folder) {
             for (const auto& [file, content] : without(three_shards(kIndex), "s2.safetensors"))
                 folder.write(file, content);
             std::filesystem::create_symlink("../../blobs/gone", folder.file("s2.safetensors"));
             return folder.path();
         },
         kNotFound, "part 2 of 3 of the model is missing: '<folder>/s2.safetensors'"},
    });
}

TEST_CASE("a folder that does not hold exactly one model is refused with what it holds", "[formats][short]") {
    const std::string gguf = three_parts()[0].bytes();
    check_malformed({
        files("an empty folder", {{"README.md", "# Model"}},
              "the folder '<folder>' holds no .safetensors and no .gguf file", kNotFound, "."),
        files("two GGUF files", {{"a.gguf", gguf}, {"b.gguf", gguf}},
              "the folder '<folder>' holds 2 models ('a.gguf', 'b.gguf'); name the file to open", kInvalid, "."),
        files("three GGUF files", {{"a.gguf", gguf}, {"b.gguf", gguf}, {"c.gguf", gguf}},
              "the folder '<folder>' holds 3 models ('a.gguf', 'b.gguf' …); name the file to open", kInvalid, "."),
        files("two safetensors files", {{"a.safetensors", shard({"a"})}, {"b.safetensors", shard({"a"})}},
              "the folder '<folder>' holds 2 models ('a.safetensors', 'b.safetensors'); name the file to open",
              kInvalid, "."),
        files("two indices", {{"a.safetensors.index.json", kIndex}, {"b.safetensors.index.json", kIndex}},
              "the folder '<folder>' holds 2 models ('a.safetensors.index.json', 'b.safetensors.index.json'); name the "
              "file to open",
              kInvalid, "."),
        files("shards without an index",
              {{"model-00001-of-00002.safetensors", shard({"a"})}, {"model-00002-of-00002.safetensors", shard({"b"})}},
              "the folder '<folder>' holds parts of a model ('model-00001-of-00002.safetensors' …), but no "
              "*.safetensors.index.json that says which belong together",
              kNotFound, "."),
        files("pickles", {{"pytorch_model.bin", "\x80\x02."}, {"config.json", "{}"}},
              "the folder '<folder>' holds its weights only as Python pickles ('pytorch_model.bin'), which can run "
              "code when they are read and are never opened here; use the model's safetensors or GGUF files, or "
              "convert it where you trust it",
              kForeign, "."),
        files("the second part of a GGUF model", {{part_name(2), gguf}},
              "part 1 of 3 of the split model is missing: '<folder>/m-00001-of-00003.gguf'", kNotFound, "."),
    });
}
