#include "support/header_bombs.hpp"

#include <unistd.h>

#include <limits>
#include <stdexcept>

#include "support/files.hpp"
#include "support/gguf_writer.hpp"
#include "support/safetensors_writer.hpp"

namespace mixtura::test {
namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30, kMiB = 1 << 20, k2to63 = std::uint64_t{1} << 63;

// The content, and zeros up to `size_bytes` that take no room on the disk.
void write_sparse(const std::string& path, std::string_view content, std::uint64_t size_bytes) {
    write_file(path, content);
    if (::truncate(path.c_str(), static_cast<off_t>(size_bytes)) != 0)
        throw std::runtime_error("cannot lengthen " + path);
}

HeaderBomb small(std::string name, std::string content) {
    return {std::move(name), [content = std::move(content)](const std::string& path) { write_file(path, content); }};
}

HeaderBomb sparse(std::string name, std::string content) {
    return {std::move(name),
            [content = std::move(content)](const std::string& path) { write_sparse(path, content, 8 * kGiB); }};
}

std::string preamble(std::uint64_t tensor_count, std::uint64_t metadata_count) {
    return "GGUF" + bytes_of<std::uint32_t>(3) + bytes_of(tensor_count) + bytes_of(metadata_count);
}

// A header with one metadata entry, whose value is all that follows.
std::string one_entry(std::string_view key, std::uint32_t type, std::string_view value) {
    return preamble(0, 1) + gguf_string(key) + bytes_of(type) + std::string(value);
}

std::string one_tensor(const std::function<void(GgufFile::Tensor&)>& change) {
    GgufFile file;
    file.add("general.architecture", "llama").tensor("token_embd.weight", DType::f32, {8, 8});
    change(file.tensors[0]);
    return file.bytes();
}

std::string with_metadata(const std::function<void(GgufFile&)>& change) {
    GgufFile file;
    file.add("general.architecture", "llama").tensor("token_embd.weight", DType::f32, {8, 8});
    change(file);
    return file.bytes();
}

// Metadata whose strings are all hole: each entry's bytes begin at its own offset of the sparse file.
void write_holes(const std::string& path, std::uint64_t entry_count, std::uint32_t type, const std::string& value_head,
                 std::uint64_t hole_bytes) {
    write_sparse(path, preamble(0, entry_count), 8 * kGiB);
    std::FILE* file = std::fopen(path.c_str(), "r+b");
    if (file == nullptr) throw std::runtime_error("cannot write " + path);
    std::uint64_t offset = 24;
    for (std::uint64_t i = 0; i < entry_count; ++i) {
        const std::string head = gguf_string("k" + std::to_string(i)) + bytes_of(type) + value_head;
        ::fseeko(file, static_cast<off_t>(offset), SEEK_SET);
        std::fwrite(head.data(), 1, head.size(), file);
        offset += head.size() + hole_bytes;
    }
    if (std::fclose(file) != 0) throw std::runtime_error("cannot write " + path);
}

std::string repeated(std::string_view part, std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += part;
    return out;
}

std::vector<HeaderBomb> make_bombs() {
    std::vector<HeaderBomb> bombs;
    const auto add = [&bombs](HeaderBomb bomb) { bombs.push_back(std::move(bomb)); };
    // GGUF: lies in small files.
    add(small("tensors-2^63.gguf", preamble(k2to63, 0)));
    add(small("tensors-wrap.gguf", preamble(~std::uint64_t{0} / 34 + 1, 0) + std::string(64, '\0')));
    add(small("metadata-2^63.gguf", preamble(0, k2to63)));
    add(small("key-1GiB.gguf", preamble(0, 1) + bytes_of(kGiB) + std::string(64, 'k')));
    add(small("string-1GiB.gguf", one_entry("k", kGgufString, bytes_of(kGiB) + "x")));
    add(small("array-2^61-u64.gguf", one_entry("k", kGgufArray, gguf_array(kGgufU64, std::uint64_t{1} << 61, "x"))));
    add(small("array-2^63-strings.gguf", one_entry("k", kGgufArray, gguf_array(kGgufString, k2to63, "x"))));
    add(small("array-10000-deep.gguf", one_entry("k", kGgufArray, repeated(gguf_array(kGgufArray, 1, ""), 10000))));
    add(small("alignment-2^30.gguf",
              with_metadata([](GgufFile& f) { f.add("general.alignment", std::uint32_t{1} << 30); })));
    add(small("dimensions-9.gguf", one_tensor([](auto& t) { t.rank = 9; })));
    add(small("dimensions-overflow.gguf", one_tensor([](auto& t) { t.extents = {k2to63 - 1, 3}; })));
    add(small("dimensions-wrap.gguf", one_tensor([](auto& t) {
                  t.extents = {std::uint64_t{1} << 32, std::uint64_t{1} << 32};
              })));
    add(small("offset-wrap.gguf", one_tensor([](auto& t) { t.offset = ~std::uint64_t{0} - 31; })));
    add(small("offset-2^62.gguf", one_tensor([](auto& t) { t.offset = k2to63 / 2; })));
    add(small("token-types-f32.gguf", with_metadata([](GgufFile& f) {
                  f.add_array<float>("tokenizer.ggml.token_type", {1, 1});
              })));
    add(small("vocabulary-2^31.gguf",
              with_metadata([](GgufFile& f) { f.add("llama.vocab_size", std::uint32_t{1} << 31); })));
    add(small("tokens-2^31.gguf",
              one_entry("tokenizer.ggml.tokens", kGgufArray, gguf_array(kGgufString, std::uint64_t{1} << 31, "x"))));
    // GGUF: lies that fit the bytes that are left, 8 GiB of them.
    add(sparse("sparse-tensors.gguf", preamble(8 * kGiB / 37 - 1, 0)));
    add(sparse("sparse-tensors-65536.gguf", preamble(65536, 0)));
    add(sparse("sparse-metadata.gguf", preamble(0, 8 * kGiB / 14 - 16)));
    add(sparse("sparse-metadata-4096.gguf", preamble(0, 4096)));
    add(sparse("sparse-key.gguf", preamble(0, 1) + bytes_of(7 * kGiB) + "k"));
    add(sparse("sparse-string.gguf", one_entry("k", kGgufString, bytes_of(7 * kGiB))));
    add(sparse("sparse-array-u8.gguf", one_entry("k", kGgufArray, gguf_array(kGgufU8, 7 * kGiB, ""))));
    add(sparse("sparse-array-u64.gguf", one_entry("k", kGgufArray, gguf_array(kGgufU64, kGiB - 64, ""))));
    add(sparse("sparse-array-strings.gguf", one_entry("k", kGgufArray, gguf_array(kGgufString, kGiB - 64, ""))));
    add(sparse("sparse-array-arrays.gguf", one_entry("k", kGgufArray, gguf_array(kGgufArray, 4 * kMiB, ""))));
    add(sparse("sparse-tensor-2^62.gguf", one_tensor([](auto& t) { t.extents = {std::uint64_t{1} << 60}; })));
    // GGUF: as much truth as the bounds let through, in holes: 48 MiB of metadata in all.
    add({"holes-strings.gguf",
         [](const auto& path) { write_holes(path, 100, kGgufString, bytes_of(16 * kMiB), 16 * kMiB); }, 48 * kMiB});
    add({"holes-u64.gguf",
         [](const auto& path) { write_holes(path, 100, kGgufArray, gguf_array(kGgufU64, 4 * kMiB, ""), 32 * kMiB); },
         48 * kMiB});
    add({"holes-empty-strings.gguf",
         [](const auto& path) { write_holes(path, 100, kGgufArray, gguf_array(kGgufString, 4 * kMiB, ""), 32 * kMiB); },
         48 * kMiB});
    // GGUF: full tables with one lie at their end.  A tensor's entry takes 136 bytes of memory, a vector that grows
    // half as much again, and so do the lists of names.
    add({"table-4096-entries.gguf",
         [](const auto& path) {
             write_file(path, with_metadata([](GgufFile& f) {
                            for (int i = 0; i < 4094; ++i) f.add("key." + std::to_string(i), std::uint8_t{1});
                            f.add("last", std::uint8_t{2}).metadata.back().type = kGgufBool;
                        }));
         },
         4096 * 250});
    add({"table-65536-tensors.gguf",
         [](const auto& path) {
             GgufFile file;
             for (int i = 0; i < 65536; ++i) file.tensor("blk.0." + std::to_string(i), DType::i8, {1}, "x");
             file.tensors.back().extents = {k2to63 - 1, 3};
             write_file(path, file.bytes());
         },
         65536 * 250});
    // safetensors
    add(small("header-2^63.safetensors", safetensors_bytes("{}", "", k2to63)));
    add(small("header-1GiB.safetensors", safetensors_bytes("{}", "", kGiB)));
    add(small("header-10000-deep.safetensors", safetensors_bytes("{\"a\":" + repeated("[", 10000), "")));
    add(small("dimensions-9.safetensors",
              safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,1]}})", "x")));
    add(small("shape-overflow.safetensors",
              safetensors_bytes(R"({"a":{"dtype":"U8","shape":[9223372036854775807,3],"data_offsets":[0,1]}})", "x")));
    add(small(
        "offsets-wrap.safetensors",
        safetensors_bytes(
            R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[18446744073709551615,18446744073709551616]}})", "x")));
    add(small("shape-1M-numbers.safetensors", safetensors_bytes(R"({"a":{"shape":[)" + repeated("1,", 1 << 20), "")));
    add(small("name-8MiB.safetensors", safetensors_bytes("{\"" + repeated("n", 8 * kMiB), "")));
    add(small("dtype-8MiB.safetensors", safetensors_bytes("{\"a\":{\"dtype\":\"" + repeated("F", 8 * kMiB), "")));
    add(small("metadata-1M-entries.safetensors",
              safetensors_bytes("{\"__metadata__\":{" + repeated(R"("":"",)", 1 << 20), "")));
    add(small("number-1MiB.safetensors", safetensors_bytes("{\"a\":{\"shape\":[" + repeated("9", kMiB), "")));
    add(sparse("sparse-header-8GiB.safetensors", bytes_of<std::uint64_t>(8 * kGiB - 8) + "{"));
    add(sparse("sparse-header-100MB.safetensors", bytes_of<std::uint64_t>(100'000'000) + "{"));
    return bombs;
}

}  // namespace

const std::vector<HeaderBomb>& header_bombs() {
    static const std::vector<HeaderBomb> bombs = make_bombs();
    return bombs;
}

}  // namespace mixtura::test
