// Broken GGUF headers: what each states, and the sentence a user reads.
#include <mixtura/checkpoint.hpp>

#include <catch2/catch.hpp>
#include <filesystem>
#include <limits>

#include "support/gguf_writer.hpp"
#include "support/header_bombs.hpp"
#include "support/malformed.hpp"

using namespace mixtura;
using namespace mixtura::test;
using namespace std::string_literals;

namespace {

constexpr StatusCode kCorrupt = StatusCode::corrupt_file, kUnsupported = StatusCode::unsupported;
constexpr std::uint64_t k2to63 = std::uint64_t{1} << 63, k2to64Less1 = ~std::uint64_t{0};

GgufFile good() {
    GgufFile file;
    file.add("general.architecture", "llama").add("llama.block_count", std::uint32_t{2});
    file.tensor("a", DType::f32, {4, 8}).tensor("b", DType::bf16, {8, 4});
    return file;
}

using Change = std::function<void(GgufFile&)>;

// The good file, changed.
Malformed broken(std::string name, const Change& change, std::string message, StatusCode code = kCorrupt) {
    GgufFile file = good();
    change(file);
    return {std::move(name), only("model.gguf", file.bytes()), code, std::move(message)};
}

// The good file with one more metadata entry.
Malformed entry(const std::string& key, std::uint32_t type, const std::string& value, std::string message) {
    return broken(
        key, [&](GgufFile& file) { file.add_raw(key, type, value); }, std::move(message));
}

Malformed raw(std::string name, std::string content, std::string message) {
    return {std::move(name), only("model.gguf", std::move(content)), kCorrupt, std::move(message)};
}

std::string preamble(std::uint64_t tensor_count, std::uint64_t metadata_count) {
    return "GGUF" + bytes_of<std::uint32_t>(3) + bytes_of(tensor_count) + bytes_of(metadata_count);
}

// The good file with another first tensor.
Malformed tensor(std::string name, const std::function<void(GgufFile::Tensor&)>& change, std::string message,
                 StatusCode code = kCorrupt) {
    return broken(
        std::move(name), [&](GgufFile& file) { change(file.tensors[0]); }, std::move(message), code);
}

}  // namespace

TEST_CASE("a broken GGUF preamble is refused with what it states", "[formats][short]") {
    const std::string start = good().bytes().substr(0, 24);
    check_malformed({
        raw("the magic number alone", "GGUF",
            "<file> is cut short or lies about its sizes: the version needs 4 bytes at byte 4, the file has 4"),
        raw("cut in the version", start.substr(0, 6),
            "<file> is cut short or lies about its sizes: the version needs 4 bytes at byte 4, the file has 6"),
        raw("cut in the tensor count", start.substr(0, 15),
            "<file> is cut short or lies about its sizes: the tensor count needs 8 bytes at byte 8, the file has 15"),
        raw("cut in the metadata count", start.substr(0, 17),
            "<file> is cut short or lies about its sizes: the metadata count needs 8 bytes at byte 16, the file has "
            "17"),
        raw("cut behind the counts", start, "<file>: the header states 2 metadata entries, but only 0 bytes follow"),
        broken(
            "version 0", [](GgufFile& f) { f.version = 0; },
            "<file> is GGUF version 0, which is not known, expected 2 or 3", kUnsupported),
        broken(
            "version 1", [](GgufFile& f) { f.version = 1; },
            "<file> is GGUF version 1 (of August 2023), which is not read, expected 2 or 3; convert the model anew",
            kUnsupported),
        broken(
            "version 4", [](GgufFile& f) { f.version = 4; },
            "<file> is GGUF version 4, which is not known, expected 2 or 3", kUnsupported),
        broken(
            "big-endian", [](GgufFile& f) { f.version = 0x03000000; },
            "<file> is big-endian GGUF, expected little-endian; convert it with gguf-py's gguf-convert-endian",
            kUnsupported),
        broken(
            "2^63 tensors", [](GgufFile& f) { f.tensor_count = k2to63; },
            "<file>: the header states 9223372036854775808 tensors, but only 360 bytes follow"),
        broken(
            "2^64 - 1 tensors", [](GgufFile& f) { f.tensor_count = k2to64Less1; },
            "<file>: the header states 18446744073709551615 tensors, but only 360 bytes follow"),
        broken(
            "tensors whose bytes wrap around to few", [](GgufFile& f) { f.tensor_count = k2to64Less1 / 34 + 1; },
            "<file>: the header states 542551296285575048 tensors, but only 360 bytes follow"),
        broken(
            "2^63 metadata entries", [](GgufFile& f) { f.metadata_count = k2to63; },
            "<file>: the header states 9223372036854775808 metadata entries, but only 360 bytes follow"),
        broken(
            "metadata whose bytes wrap around to few", [](GgufFile& f) { f.metadata_count = k2to64Less1 / 14 + 1; },
            "<file>: the header states 1317624576693539402 metadata entries, but only 360 bytes follow"),
        raw("more metadata entries than any file has", preamble(0, 4097) + std::string(65536, '\0'),
            "<file>: the header states 4097 metadata entries, expected at most 4096"),
        raw("more tensors than any file has", preamble(65537, 0) + std::string(3 << 20, '\0'),
            "<file>: the header states 65537 tensors, expected at most 65536"),
        broken(
            "one metadata entry more than there is", [](GgufFile& f) { f.metadata_count = 3; },
            "<file>: the name of tensor 0 states 1125899906842624 bytes of text, but only 259 follow"),
        broken(
            "one tensor more than there is", [](GgufFile& f) { f.tensor_count = 3; },
            "<file>: the name of tensor 2 is empty"),
    });
}

TEST_CASE("broken GGUF metadata is refused with its key", "[formats][short]") {
    const std::string gib = bytes_of(std::uint64_t{1} << 30) + "x";
    std::string deep;  // 10,000 arrays of one array each, and a number inside
    for (int i = 0; i < 9999; ++i) deep += gguf_array(kGgufArray, 1, "");
    deep += gguf_array(kGgufU8, 1, "x");
    std::string empty_arrays;
    for (int i = 0; i < 4097; ++i) empty_arrays += gguf_array(kGgufU8, 0, "");
    constexpr std::uint64_t kTooMany = (1 << 22) + 1;
    check_malformed({
        raw("a key of 2^62 bytes", preamble(0, 1) + bytes_of(k2to63 / 2) + std::string(32, 'k'),
            "<file>: the key of metadata entry 0 states 4611686018427387904 bytes of text, but only 32 follow"),
        broken(
            "an empty key", [](GgufFile& f) { f.add("", "x"); }, "<file>: the key of metadata entry 2 is empty"),
        broken(
            "a key of 65,536 bytes", [](GgufFile& f) { f.add(std::string(65536, 'k'), "x"); },
            "<file>: the key of metadata entry 2 takes 65536 bytes, expected at most 65535"),
        broken(
            "a key that is not UTF-8", [](GgufFile& f) { f.add("k\xff", "x"); },
            "<file>: the key of metadata entry 2 is 'k\\xff', expected UTF-8"),
        broken(
            "a key with a NUL", [](GgufFile& f) { f.add("k\0k"s, "x"); },
            "<file>: the key of metadata entry 2 is 'k\\x00k', expected text without NUL bytes"),
        broken(
            "a key twice", [](GgufFile& f) { f.add("general.architecture", "llama"); },
            "<file>: metadata key 'general.architecture' is there twice"),
        entry("x.type", 13, "x", "<file>: metadata key 'x.type' has value type 13, expected 0 to 12"),
        entry("x.huge_type", 0xFFFFFFFF, "x",
              "<file>: metadata key 'x.huge_type' has value type 4294967295, expected 0 to 12"),
        entry("x.gib_string", kGgufString, gib,
              "<file>: metadata key 'x.gib_string' states 1073741824 bytes of text, but only 282 follow"),
        entry(
            "x.wrapping_string", kGgufString, bytes_of(k2to64Less1) + "x",
            "<file>: metadata key 'x.wrapping_string' states 18446744073709551615 bytes of text, but only 277 follow"),
        entry("x.boolean", kGgufBool, "\2", "<file>: metadata key 'x.boolean' holds a boolean of 2, expected 0 or 1"),
        entry("x.booleans", kGgufArray, gguf_array(kGgufBool, 3, "\1\xff\1"),
              "<file>: metadata key 'x.booleans' holds a boolean of 255, expected 0 or 1"),
        entry("x.wrapping_array", kGgufArray, gguf_array(kGgufU64, std::uint64_t{1} << 61, "x"),
              "<file>: metadata key 'x.wrapping_array' states 2305843009213693952 elements, but only 306 bytes follow"),
        entry("x.longest_array", kGgufArray, gguf_array(kGgufU8, k2to63, "x"),
              "<file>: metadata key 'x.longest_array' states 9223372036854775808 elements, but only 275 bytes follow"),
        entry("x.element_type", kGgufArray, gguf_array(99, 1, "x"),
              "<file>: metadata key 'x.element_type' has value type 99, expected 0 to 12"),
        entry("x.gib_in_array", kGgufArray, gguf_array(kGgufString, 2, gguf_string("fine") + gib),
              "<file>: metadata key 'x.gib_in_array' states 1073741824 bytes of text, but only 288 follow"),
        entry("x.deep_array", kGgufArray, deep,
              "<file>: metadata key 'x.deep_array' nests arrays deeper than 4 levels"),
        entry("x.wide_array", kGgufArray, gguf_array(kGgufArray, 4097, empty_arrays),
              "<file>: metadata key 'x.wide_array' holds more than 4096 nested arrays"),
        entry("x.long_array", kGgufArray, gguf_array(kGgufU8, kTooMany, std::string(kTooMany, '\0')),
              "<file>: metadata key 'x.long_array' states 4194305 elements, expected at most 4194304"),
        broken(
            "20 strings of 4 MiB",
            [](GgufFile& f) {
                for (char c = 'a'; c < 'a' + 20; ++c) f.add("x."s + c, std::string(4 << 20, '\0'));
            },
            "<file>: the metadata takes more than 50331648 bytes, up to metadata key 'x.l'"),
        broken(
            "a licence of 17 MiB", [](GgufFile& f) { f.add("general.license", std::string(17 << 20, 'L')); },
            "<file>: metadata key 'general.license' takes 17825792 bytes, expected at most 16777216"),
        broken(
            "40 values of 30,000 bytes outside the vocabulary",
            [](GgufFile& f) {
                for (char c = 'A'; c < 'A' + 40; ++c) f.add("x."s + c, std::string(30000, '!'));
            },
            "<file>: the metadata outside the vocabulary takes more than 1048576 bytes"),
    });
}

TEST_CASE("GGUF keys of the wrong type or range are refused with both types", "[formats][short]") {
    const std::vector<std::string> words{"a", "b", "c"};
    const auto numbers = [](std::uint32_t type) { return gguf_array(type, 3, std::string(12, '\0')); };
    check_malformed({
        entry("general.alignment", kGgufU32, bytes_of<std::uint32_t>(0),
              "<file>: metadata key 'general.alignment' is 0, expected a power of two from 8 to 65536"),
        entry("general.alignment", kGgufU32, bytes_of<std::uint32_t>(1),
              "<file>: metadata key 'general.alignment' is 1, expected a power of two from 8 to 65536"),
        entry("general.alignment", kGgufU32, bytes_of<std::uint32_t>(48),
              "<file>: metadata key 'general.alignment' is 48, expected a power of two from 8 to 65536"),
        entry("general.alignment", kGgufU32, bytes_of<std::uint32_t>(1 << 30),
              "<file>: metadata key 'general.alignment' is 1073741824, expected a power of two from 8 to 65536"),
        entry("general.alignment", kGgufI32, bytes_of<std::int32_t>(-32),
              "<file>: metadata key 'general.alignment' is -32, expected a power of two from 8 to 65536"),
        entry("general.alignment", kGgufU64, bytes_of(k2to63),
              "<file>: metadata key 'general.alignment' is larger than 2^63 - 1"),
        entry("general.alignment", kGgufF32, bytes_of(32.0F),
              "<file>: metadata key 'general.alignment' is a value of type float32, expected an integer"),
        entry("general.alignment", kGgufString, gguf_string("32"),
              "<file>: metadata key 'general.alignment' is a value of type string, expected an integer"),
        broken(
            "general.architecture", [](GgufFile& f) { f.metadata[0].type = kGgufU32, f.metadata[0].value = "1234"; },
            "<file>: metadata key 'general.architecture' is a value of type uint32, expected a string"),
        entry("general.name", kGgufArray, gguf_array(kGgufString, 1, gguf_string("name")),
              "<file>: metadata key 'general.name' is an array of string values, expected a string"),
        entry("tokenizer.chat_template", kGgufBool, "\1",
              "<file>: metadata key 'tokenizer.chat_template' is a value of type boolean, expected a string"),
        entry(
            "tokenizer.ggml.tokens", kGgufArray, numbers(kGgufU32),
            "<file>: metadata key 'tokenizer.ggml.tokens' is an array of uint32 values, expected an array of strings"),
        entry("tokenizer.ggml.tokens", kGgufString, gguf_string("abc"),
              "<file>: metadata key 'tokenizer.ggml.tokens' is a value of type string, expected an array of strings"),
        entry("tokenizer.ggml.token_type", kGgufArray, numbers(kGgufF32),
              "<file>: metadata key 'tokenizer.ggml.token_type' is an array of float32 values, expected an array of "
              "integers"),
        entry("tokenizer.ggml.token_type", kGgufArray, gguf_array(kGgufString, 0, ""),
              "<file>: metadata key 'tokenizer.ggml.token_type' is an array of string values, expected an array of "
              "integers"),
        entry("tokenizer.ggml.token_type", kGgufU32, bytes_of<std::uint32_t>(1),
              "<file>: metadata key 'tokenizer.ggml.token_type' is a value of type uint32, expected an array of "
              "integers"),
        entry("tokenizer.ggml.scores", kGgufArray, numbers(kGgufI32),
              "<file>: metadata key 'tokenizer.ggml.scores' is an array of int32 values, expected an array of float32"),
        entry("tokenizer.ggml.eos_token_id", kGgufString, gguf_string("</s>"),
              "<file>: metadata key 'tokenizer.ggml.eos_token_id' is a value of type string, expected an integer"),
        entry("tokenizer.ggml.bos_token_id", kGgufU64, bytes_of(k2to64Less1),
              "<file>: metadata key 'tokenizer.ggml.bos_token_id' is larger than 2^63 - 1"),
        entry("tokenizer.ggml.add_bos_token", kGgufU8, "\1",
              "<file>: metadata key 'tokenizer.ggml.add_bos_token' is a value of type uint8, expected a boolean"),
        entry("split.count", kGgufString, gguf_string("3"),
              "<file>: metadata key 'split.count' is a value of type string, expected an integer"),
        entry("tokenizer.ggml.scores", kGgufArray, numbers(kGgufF32),
              "<file>: metadata key 'tokenizer.ggml.scores' has 3 entries, expected one for each of the 0 tokens"),
        broken(
            "two token types for three tokens",
            [&](GgufFile& f) {
                f.add_array("tokenizer.ggml.tokens", words)
                    .add_array<std::int32_t>("tokenizer.ggml.token_type", {1, 1});
            },
            "<file>: metadata key 'tokenizer.ggml.token_type' has 2 entries, expected one for each of the 3 tokens"),
        entry("llama.vocab_size", kGgufU32, bytes_of<std::uint32_t>(0x80000000),
              "<file>: 'llama.vocab_size' is '2147483648', expected a whole number from 0 to 2147483647"),
        entry("llama.embedding_length", kGgufF32, bytes_of(0.5F),
              "<file>: 'llama.embedding_length' is '0.5', expected a whole number from 0 to 1099511627776"),
        entry("llama.expert_count", kGgufI32, bytes_of<std::int32_t>(-8),
              "<file>: 'llama.expert_count' is '-8', expected a whole number from 0 to 1099511627776"),
        entry(
            "llama.context_length", kGgufU64, bytes_of(k2to63 - 1),
            "<file>: 'llama.context_length' is '9223372036854775807', expected a whole number from 0 to 1099511627776"),
        entry("llama.attention.head_count", kGgufString, gguf_string("32\x1b[2J"),
              "<file>: 'llama.attention.head_count' is '\"32\\u001b[2J\"', expected a whole number from 0 to "
              "1099511627776"),
        entry("llama.feed_forward_length", kGgufArray,
              gguf_array(kGgufI32, 2, bytes_of<std::int32_t>(64) + bytes_of<std::int32_t>(-1)),
              "<file>: 'llama.feed_forward_length' is '-1', expected a whole number from 0 to 1099511627776"),
        entry("llama.rope.freq_base", kGgufF32, bytes_of(std::numeric_limits<float>::infinity()),
              "<file>: metadata key 'llama.rope.freq_base' is infinite or not a number"),
        entry("llama.rope.factors", kGgufArray,
              gguf_array(kGgufF64, 1, bytes_of(std::numeric_limits<double>::quiet_NaN())),
              "<file>: metadata key 'llama.rope.factors' is infinite or not a number"),
    });
}

TEST_CASE("a broken GGUF tensor table is refused with the tensor's name", "[formats][short]") {
    using Tensor = GgufFile::Tensor;
    check_malformed({
        tensor(
            "an empty name", [](Tensor& t) { t.name.clear(); }, "<file>: the name of tensor 0 is empty"),
        tensor(
            "a name of 1,025 bytes", [](Tensor& t) { t.name.assign(1025, 'n'); },
            "<file>: the name of tensor 0 takes 1025 bytes, expected at most 1024"),
        tensor(
            "a name that is not UTF-8", [](Tensor& t) { t.name = "a\xc0\x80"; },
            "<file>: the name of tensor 0 is 'a\\xc0\\x80', expected UTF-8"),
        tensor(
            "a name with a NUL", [](Tensor& t) { t.name = "a\0b"s; },
            "<file>: the name of tensor 0 is 'a\\x00b', expected text without NUL bytes"),
        tensor(
            "two tensors of one name", [](Tensor& t) { t.name = "b"; }, "<file>: tensor 'b' is there twice"),
        tensor(
            "no dimension", [](Tensor& t) { t.rank = 0; }, "<file>: tensor 'a' has 0 dimensions, expected 1 to 4"),
        tensor(
            "9 dimensions", [](Tensor& t) { t.rank = 9; }, "<file>: tensor 'a' has 9 dimensions, expected 1 to 4"),
        tensor(
            "2^32 - 1 dimensions", [](Tensor& t) { t.rank = 0xFFFFFFFF; },
            "<file>: tensor 'a' has 4294967295 dimensions, expected 1 to 4"),
        tensor(
            "an extent of 2^63", [](Tensor& t) { t.extents[0] = k2to63; },
            "<file>: tensor 'a' has an extent of 9223372036854775808, more than any tensor can have"),
        tensor(
            "extents whose product leaves 64 bits",
            [](Tensor& t) {
                t.extents = {1 << 20, 1 << 20, 1 << 20, 1 << 20};
            },
            "<file>: tensor 'a' has more elements than 64 bits can count"),
        tensor(
            "extents whose product wraps around to 0",
            [](Tensor& t) {
                t.extents = {std::uint64_t{1} << 32, std::uint64_t{1} << 32};
            },
            "<file>: tensor 'a' has more elements than 64 bits can count"),
        tensor(
            "an empty tensor that hides 2^120 elements",
            [](Tensor& t) {
                t.extents = {0, std::uint64_t{1} << 60, std::uint64_t{1} << 60};
            },
            "<file>: tensor 'a' has more elements than 64 bits can count"),
        tensor(
            "bytes that leave 64 bits", [](Tensor& t) { t.extents = {std::uint64_t{1} << 62}, t.type = 28; },
            "<file>: tensor 'a' of shape [4611686018427387904] takes more bytes than 64 bits can count"),
        tensor(
            "an unknown element type", [](Tensor& t) { t.type = 41; },
            "<file>: tensor 'a' has element type 41, which this version does not know", kUnsupported),
        tensor(
            "a wild element type", [](Tensor& t) { t.type = 0xFFFFFFFF; },
            "<file>: tensor 'a' has element type 4294967295, which this version does not know", kUnsupported),
        tensor(
            "Q4_2, withdrawn", [](Tensor& t) { t.type = 4; },
            "<file>: tensor 'a' has element type 4 (Q4_2), which was withdrawn from the format; convert the model anew",
            kUnsupported),
        tensor(
            "Q4_0_8_8, withdrawn", [](Tensor& t) { t.type = 33; },
            "<file>: tensor 'a' has element type 33 (Q4_0_8_8), which was withdrawn from the format; convert the model "
            "anew",
            kUnsupported),
        tensor(
            "rows that are no whole blocks",
            [](Tensor& t) {
                t.type = 12, t.extents = {100, 256};
            },
            "<file>: tensor 'a' of shape [256, 100] has rows of 100 elements, expected a multiple of the 256 of a q4_k "
            "block"),
        tensor(
            "an offset off the alignment", [](Tensor& t) { t.offset = 16; },
            "<file>: tensor 'a' begins at byte 16 of the data, expected a multiple of the alignment 32"),
        tensor(
            "an offset that wraps around", [](Tensor& t) { t.offset = k2to64Less1 - 31; },
            "<file>: tensor 'a' ends beyond what 64 bits can address"),
        tensor(
            "an offset whose tensor wraps around", [](Tensor& t) { t.offset = k2to64Less1 - 383; },
            "<file> is cut short: tensor 'a' needs bytes 18446744073709551424 to 18446744073709551552, the file has "
            "384; 18446744073709551168 bytes are missing"),
        tensor(
            "an offset behind the file", [](Tensor& t) { t.offset = k2to63 / 2; },
            "<file> is cut short: tensor 'a' needs bytes 4611686018427388096 to 4611686018427388224, the file has 384; "
            "4611686018427387840 bytes are missing"),
        broken(
            "two tensors on the same bytes", [](GgufFile& f) { f.tensors[1].offset = 0; },
            "<file>: tensor 'b' begins at byte 192, inside tensor 'a', which ends at byte 320"),
        broken(
            "a tensor that begins in another", [](GgufFile& f) { f.tensors[1].offset = 96; },
            "<file>: tensor 'b' begins at byte 288, inside tensor 'a', which ends at byte 320"),
        broken(
            "a tensor that ends in another", [](GgufFile& f) { f.tensors[0].offset = 128, f.tensors[1].offset = 96; },
            "<file>: tensor 'a' begins at byte 320, inside tensor 'b', which ends at byte 352"),
        broken(
            "a tensor laid out for another alignment",
            [](GgufFile& f) { f.add("general.alignment", std::uint32_t{256}); },
            "<file>: tensor 'b' begins at byte 128 of the data, expected a multiple of the alignment 256"),
    });
}

TEST_CASE("a truncated GGUF file names the first tensor that is cut and the bytes that are missing",
          "[formats][short]") {
    const std::string whole = good().bytes();
    const std::size_t data_begin = (good().header().size() + 31) / 32 * 32;  // a: 128 bytes, b: 64 behind it
    REQUIRE(whole.size() == data_begin + 192);
    std::vector<Malformed> cases;
    for (std::size_t size = good().header().size(); size < whole.size(); ++size) {
        const bool is_a_cut = size < data_begin + 128;
        const std::size_t begin = is_a_cut ? data_begin : data_begin + 128, end = is_a_cut ? begin + 128 : begin + 64;
        cases.push_back(raw("cut to " + std::to_string(size), whole.substr(0, size),
                            "<file> is cut short: tensor '"s + (is_a_cut ? "a" : "b") + "' needs bytes " +
                                std::to_string(begin) + " to " + std::to_string(end) + ", the file has " +
                                std::to_string(size) + "; " + std::to_string(whole.size() - size) +
                                " bytes are missing"));
    }
    check_malformed(cases);
}

TEST_CASE("a GGUF file cut anywhere in its header is refused as corrupt", "[formats][short]") {
    GgufFile file = good();
    file.add_array("tokenizer.ggml.tokens", std::vector<std::string>{"a", "", "c"})
        .add_array<float>("tokenizer.ggml.scores", {0, 1, 2});
    file.add("llama.rope.freq_base", 10000.0).add("tokenizer.ggml.add_bos_token", true);
    const std::string header = file.header();
    const TemporaryFolder folder;
    for (std::size_t size = 4; size < header.size(); ++size) {
        INFO("cut to " << size << " of " << header.size());
        const auto checkpoint = Checkpoint::open(folder.write("model.gguf", header.substr(0, size)));
        CHECK(checkpoint.status().code() == kCorrupt);
        const std::string message(checkpoint.status().message());
        const bool says_so = message.find("is cut short") != message.npos || message.find(" follow") != message.npos;
        CHECK(says_so);
    }
}

TEST_CASE("every header bomb is refused as corrupt", "[formats][short]") {
    // What each costs is measured in header_bombs_test.cpp, which sanitized builds leave out.
    const TemporaryFolder folder;
    for (const HeaderBomb& bomb : header_bombs()) {
        INFO(bomb.name);
        const std::string path = folder.file(bomb.name);
        bomb.write(path);
        CHECK(status_name(Checkpoint::open(path).status().code()) == "CORRUPT_FILE");
        std::filesystem::remove(path);
    }
}
