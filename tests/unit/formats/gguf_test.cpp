#include "formats/gguf.hpp"

#include <catch2/catch.hpp>
#include <limits>

#include "support/gguf_writer.hpp"

using namespace mixtura;
using namespace mixtura::test;
using namespace std::string_literals;

namespace {

GgufHeader read(const std::string& bytes) {
    const MemorySource source(std::as_bytes(std::span(bytes)), "test.gguf");
    auto header = GgufHeader::read(source);
    REQUIRE(std::string(header.status().message()).empty());
    return *std::move(header);
}

const GgufValue& at(const GgufHeader& header, std::string_view key) {
    const GgufValue* value = header.find(key);
    REQUIRE(value != nullptr);
    return *value;
}

}  // namespace

TEST_CASE("gguf: every type of metadata is read as what it is", "[formats][short]") {
    GgufFile file;
    file.add("u8", std::uint8_t{255})
        .add("i8", std::int8_t{-128})
        .add("u16", std::uint16_t{65535})
        .add("i16", std::int16_t{-32768});
    file.add("u32", std::uint32_t{4294967295})
        .add("i32", std::numeric_limits<std::int32_t>::min())
        .add("f32", 0.1F)
        .add("f64", 0.1);
    file.add("u64", std::numeric_limits<std::uint64_t>::max()).add("i64", std::numeric_limits<std::int64_t>::min());
    file.add("yes", true).add("no", false).add("text", "gr\xc3\xbc\xc3\x9f").add("bytes", "\xff\0x"s).add("empty", "");
    const GgufHeader header = read(file.bytes());
    CHECK(header.version() == 3);
    CHECK(header.metadata().size() == 15);
    CHECK(header.metadata()[0].key == "u8");
    CHECK(at(header, "u8").as_integer() == 255);
    CHECK(at(header, "i8").as_integer() == -128);
    CHECK(at(header, "u16").as_integer() == 65535);
    CHECK(at(header, "i16").as_integer() == -32768);
    CHECK(at(header, "u32").as_integer() == 4294967295);
    CHECK(at(header, "i32").as_integer() == std::numeric_limits<std::int32_t>::min());
    CHECK(at(header, "i64").as_integer() == std::numeric_limits<std::int64_t>::min());
    CHECK_FALSE(at(header, "u64").as_integer().has_value());
    CHECK(at(header, "u64").as_real() == 0x1p64);
    CHECK(at(header, "f32").as_real() == static_cast<double>(0.1F));
    CHECK(at(header, "f64").as_real() == 0.1);
    CHECK(at(header, "i8").as_real() == -128.0);
    CHECK(at(header, "yes").as_boolean() == true);
    CHECK(at(header, "no").as_boolean() == false);
    CHECK(at(header, "text").as_string() == "gr\xc3\xbc\xc3\x9f");
    CHECK(at(header, "bytes").as_string() == "\xff\0x"s);
    CHECK(at(header, "empty").as_string() == "");
    CHECK(header.find("missing") == nullptr);
    // Of another kind: nothing.
    CHECK_FALSE(at(header, "f32").as_integer().has_value());
    CHECK_FALSE(at(header, "yes").as_integer().has_value());
    CHECK_FALSE(at(header, "yes").as_real().has_value());
    CHECK_FALSE(at(header, "u8").as_boolean().has_value());
    CHECK_FALSE(at(header, "u8").as_string().has_value());
    CHECK_FALSE(at(header, "text").as_real().has_value());
    CHECK_FALSE(at(header, "u8").integer_at(0).has_value());
    CHECK_FALSE(at(header, "text").string_at(0).has_value());
    CHECK(at(header, "u8").array_at(0) == nullptr);
}

TEST_CASE("gguf: arrays of every type are read element by element", "[formats][short]") {
    GgufFile file;
    file.add_array<std::uint8_t>("u8", {0, 255})
        .add_array<std::int8_t>("i8", {-1, 1})
        .add_array<std::uint16_t>("u16", {65535});
    file.add_array<std::int16_t>("i16", {-2})
        .add_array<std::uint32_t>("u32", {4294967295})
        .add_array<std::int32_t>("i32", {-3, 3});
    file.add_array<std::uint64_t>("u64", {1, std::numeric_limits<std::uint64_t>::max()})
        .add_array<std::int64_t>("i64", {-4});
    file.add_array<float>("f32", {0.5F, -0.5F})
        .add_array<double>("f64", {0.1})
        .add_array("strings", {"a"s, ""s, "c\0d"s});
    file.add_raw("bools", kGgufArray, gguf_array(kGgufBool, 3, "\1\0\1"s))
        .add_raw("none", kGgufArray, gguf_array(kGgufF32, 0, ""));
    const std::string inner = gguf_array(kGgufU8, 2, "\7\10"s) + gguf_array(kGgufString, 1, gguf_string("x"));
    file.add_raw("nested", kGgufArray, gguf_array(kGgufArray, 2, inner));
    const GgufHeader header = read(file.bytes());
    CHECK(at(header, "u8").integer_at(1) == 255);
    CHECK(at(header, "i8").integer_at(0) == -1);
    CHECK(at(header, "u16").integer_at(0) == 65535);
    CHECK(at(header, "i16").integer_at(0) == -2);
    CHECK(at(header, "u32").integer_at(0) == 4294967295);
    CHECK(at(header, "i32").integer_at(1) == 3);
    CHECK(at(header, "u64").integer_at(0) == 1);
    CHECK_FALSE(at(header, "u64").integer_at(1).has_value());
    CHECK(at(header, "i64").integer_at(0) == -4);
    CHECK(at(header, "f32").real_at(1) == -0.5);
    CHECK(at(header, "f64").real_at(0) == 0.1);
    CHECK(at(header, "i32").real_at(0) == -3.0);
    CHECK(at(header, "bools").boolean_at(0) == true);
    CHECK(at(header, "bools").boolean_at(1) == false);
    CHECK(at(header, "strings").size() == 3);
    CHECK(at(header, "strings").string_at(0) == "a");
    CHECK(at(header, "strings").string_at(1) == "");
    CHECK(at(header, "strings").string_at(2) == "c\0d"s);
    CHECK(at(header, "none").size() == 0);
    CHECK(at(header, "none").element_type() == GgufType::f32);
    REQUIRE(at(header, "nested").array_at(1) != nullptr);
    CHECK(at(header, "nested").array_at(0)->integer_at(1) == 8);
    CHECK(at(header, "nested").array_at(1)->string_at(0) == "x");
    CHECK(at(header, "f32").raw().size() == 8);
    // Beyond the end or of another kind: nothing.
    for (const GgufMetadataEntry& entry : header.metadata()) {
        INFO(entry.key);
        CHECK(entry.value.is_array());
        CHECK_FALSE(entry.value.as_integer().has_value());
        CHECK_FALSE(entry.value.as_real().has_value());
        CHECK_FALSE(entry.value.as_string().has_value());
        CHECK_FALSE(entry.value.as_boolean().has_value());
        CHECK_FALSE(entry.value.integer_at(entry.value.size()).has_value());
        CHECK_FALSE(entry.value.real_at(entry.value.size()).has_value());
        CHECK_FALSE(entry.value.boolean_at(entry.value.size()).has_value());
        CHECK_FALSE(entry.value.string_at(entry.value.size()).has_value());
        CHECK(entry.value.array_at(entry.value.size()) == nullptr);
    }
    CHECK_FALSE(at(header, "strings").integer_at(0).has_value());
    CHECK_FALSE(at(header, "strings").real_at(0).has_value());
    CHECK_FALSE(at(header, "f32").string_at(0).has_value());
    CHECK_FALSE(at(header, "bools").integer_at(0).has_value());
    CHECK_FALSE(at(header, "nested").integer_at(0).has_value());
}

TEST_CASE("gguf: every element type of the format has its own size", "[formats][short]") {
    GgufFile file;
    std::vector<DType> dtypes;
    for (const DTypeInfo& info : all_dtypes()) {
        if (info.dtype >= DType::f64 && info.dtype <= DType::boolean && info.dtype != DType::f64 &&
            info.dtype != DType::f32 && info.dtype != DType::f16 && info.dtype != DType::bf16 &&
            (info.dtype < DType::i64 || info.dtype > DType::i8)) {
            continue;  // safetensors only
        }
        if (info.dtype > DType::nvfp4) continue;  // in memory only
        dtypes.push_back(info.dtype);
        file.tensor(info.name, info.dtype, {3, 512});
    }
    CHECK(dtypes.size() == 33);
    const GgufHeader header = read(file.bytes());
    REQUIRE(header.tensors().size() == dtypes.size());
    for (std::size_t i = 0; i < dtypes.size(); ++i) {
        INFO(header.tensors()[i].name);
        CHECK(header.tensors()[i].dtype == dtypes[i]);
        CHECK(header.tensors()[i].shape.to_string() == "[3, 512]");
        CHECK(header.tensors()[i].size_bytes == file.tensors[i].bytes.size());
    }
}

TEST_CASE("gguf: extents are turned outermost first and offsets become places in the file", "[formats][short]") {
    GgufFile file;
    file.set_alignment(64)
        .tensor("matrix", DType::f16, {3, 5})
        .tensor("vector", DType::f32, {7})
        .tensor("cube", DType::q8_0, {2, 3, 4, 32});
    file.tensor("empty", DType::f32, {0, 4});
    const std::string bytes = file.bytes();
    const GgufHeader header = read(bytes);
    CHECK(header.alignment_bytes() == 64);
    REQUIRE(header.tensors().size() == 4);
    const std::size_t data_begin = (file.header().size() + 63) / 64 * 64;
    CHECK(header.tensors()[0].shape.to_string() == "[3, 5]");
    CHECK(header.tensors()[0].offset_bytes == data_begin);
    CHECK(header.tensors()[0].size_bytes == 30);
    CHECK(header.tensors()[1].offset_bytes == data_begin + 64);
    CHECK(header.tensors()[2].shape.to_string() == "[2, 3, 4, 32]");
    CHECK(header.tensors()[2].size_bytes == 24 * 34);
    CHECK(header.tensors()[3].size_bytes == 0);
}

TEST_CASE("gguf: version 2, files without tensors, tensors out of order and gaps between them are read",
          "[formats][short]") {
    GgufFile file;
    file.version = 2;
    file.add("general.architecture", "llama");
    CHECK(read(file.bytes()).version() == 2);
    CHECK(read(file.bytes()).tensors().empty());
    file.tensor("a", DType::f32, {8}).tensor("b", DType::f32, {8}).tensor("c", DType::f32, {8});
    const std::string bytes = file.bytes();
    file.tensors[0].offset = 64;
    file.tensors[2].offset = 0;
    CHECK(read(file.bytes()).tensors()[0].offset_bytes == read(bytes).tensors()[2].offset_bytes);
    file.tensors[0].offset = 1024;
    CHECK(read(file.bytes() + std::string(2048, '\0')).tensors()[0].offset_bytes ==
          read(bytes).tensors()[0].offset_bytes + 1024);
    CHECK(read(bytes + std::string(100, 'p')).tensors().size() == 3);  // padding behind the last
}

TEST_CASE("gguf: a vocabulary of real size is read over many windows", "[formats][short]") {
    std::vector<std::string> tokens;
    for (int i = 0; i < 200000; ++i) tokens.push_back("token" + std::to_string(i));
    GgufFile file;
    file.add_array("tokenizer.ggml.tokens", tokens)
        .add_array("tokenizer.ggml.scores", std::vector<float>(tokens.size(), -1.5F));
    file.add_array("tokenizer.ggml.token_type", std::vector<std::int32_t>(tokens.size(), 1))
        .add("tokenizer.ggml.model", "llama");
    const GgufHeader header = read(file.bytes());
    const GgufValue& read_tokens = at(header, "tokenizer.ggml.tokens");
    REQUIRE(read_tokens.size() == tokens.size());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) wrong += read_tokens.string_at(i) == tokens[i] ? 0 : 1;
    CHECK(wrong == 0);
    CHECK(at(header, "tokenizer.ggml.scores").real_at(199999) == -1.5);
}
