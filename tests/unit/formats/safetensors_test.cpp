#include "formats/safetensors.hpp"

#include <catch2/catch.hpp>

#include "support/safetensors_writer.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

SafetensorsHeader read(std::string_view bytes) {
    const MemorySource source(std::as_bytes(std::span(bytes)), "test.safetensors");
    auto header = SafetensorsHeader::read(source);
    REQUIRE(std::string(header.status().message()).empty());
    return *std::move(header);
}

}  // namespace

TEST_CASE("safetensors: every dtype of the format is read with its own size", "[formats][short]") {
    struct Case {
        const char* name;
        DType dtype;
        std::size_t bits;
    };
    const std::vector<Case> cases{
        {"F64", DType::f64, 64},
        {"F32", DType::f32, 32},
        {"F16", DType::f16, 16},
        {"BF16", DType::bf16, 16},
        {"F8_E4M3", DType::f8_e4m3, 8},
        {"F8_E5M2", DType::f8_e5m2, 8},
        {"F8_E8M0", DType::f8_e8m0, 8},
        {"F8_E4M3FNUZ", DType::f8_e4m3fnuz, 8},
        {"F8_E5M2FNUZ", DType::f8_e5m2fnuz, 8},
        {"F6_E2M3", DType::f6_e2m3, 6},
        {"F6_E3M2", DType::f6_e3m2, 6},
        {"F4", DType::f4_e2m1, 4},
        {"C64", DType::c64, 64},
        {"I64", DType::i64, 64},
        {"I32", DType::i32, 32},
        {"I16", DType::i16, 16},
        {"I8", DType::i8, 8},
        {"U64", DType::u64, 64},
        {"U32", DType::u32, 32},
        {"U16", DType::u16, 16},
        {"U8", DType::u8, 8},
        {"BOOL", DType::boolean, 8},
    };
    SafetensorsFile file;
    for (const Case& c : cases) file.tensor(c.name, c.name, {2, 4}, std::string(c.bits, 'x'));  // 8 elements
    const std::string bytes = file.bytes();
    const SafetensorsHeader header = read(bytes);
    REQUIRE(header.tensors.size() == cases.size());
    std::size_t offset = 8 + file.header().size();
    for (std::size_t i = 0; i < cases.size(); ++i) {
        INFO(cases[i].name);
        CHECK(header.tensors[i].name == cases[i].name);
        CHECK(header.tensors[i].dtype == cases[i].dtype);
        CHECK(header.tensors[i].shape.to_string() == "[2, 4]");
        CHECK(header.tensors[i].offset_bytes == offset);
        CHECK(header.tensors[i].size_bytes == cases[i].bits);
        offset += cases[i].bits;
    }
}

TEST_CASE("safetensors: tensors come by offset, whatever the header's order, with empty ones before their neighbour",
          "[formats][short]") {
    const SafetensorsHeader header = read(safetensors_bytes(
        R"({"late":{"data_offsets":[4,6],"shape":[2],"dtype":"U8"},"full":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
        R"("empty":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]},"end":{"dtype":"F32","shape":[3,0],"data_offsets":[6,6]}})",
        "abcdef"));
    std::string order;
    for (const SafetensorsTensor& tensor : header.tensors) order += tensor.name + " ";
    CHECK(order == "empty full late end ");
}

TEST_CASE("safetensors: scalars, names of any text and metadata are kept", "[formats][short]") {
    const SafetensorsHeader header =
        read(safetensors_bytes(" {\"__metadata__\" : {\"format\":\"pt\",\"\":\"\\u0000\"}, \"a \\\"b\\\" "
                               "\\u00e9\\n\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                               "\"\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1],\"data_offsets\":[4,5]}}\n\t ",
                               "12345"));
    REQUIRE(header.tensors.size() == 2);
    CHECK(header.tensors[0].name == "a \"b\" é\n");
    CHECK(header.tensors[0].shape.rank() == 0);
    CHECK(header.tensors[0].size_bytes == 4);
    CHECK(header.tensors[1].name.empty());
    CHECK(header.tensors[1].shape.rank() == 8);
    REQUIRE(header.metadata.size() == 2);
    CHECK(header.metadata[0] == std::pair<std::string, std::string>("format", "pt"));
    CHECK(header.metadata[1] == std::pair<std::string, std::string>("", std::string(1, '\0')));
}

TEST_CASE("safetensors: a file without tensors and a header over many windows are read", "[formats][short]") {
    CHECK(read(safetensors_bytes("{}", "")).tensors.empty());
    SafetensorsFile file;
    for (int i = 0; i < 3000; ++i)
        file.tensor("model.layers.0.mlp.experts." + std::to_string(i) + ".weight", "U8", {1}, "x");
    CHECK(file.header().size() > 3 * 65536);
    const SafetensorsHeader header = read(file.bytes());
    REQUIRE(header.tensors.size() == 3000);
    CHECK(header.tensors[2999].name == "model.layers.0.mlp.experts.2999.weight");
}

TEST_CASE("safetensors: a source that fails is reported as it fails", "[formats][short]") {
    // Says it holds more than it does, as a file does that shrank after it was opened.
    class Shrunk final : public ByteSource {
      public:
        explicit Shrunk(std::string bytes) : bytes_(std::move(bytes)) {}
        std::uint64_t size_bytes() const noexcept override { return bytes_.size(); }
        const std::string& name() const noexcept override { return name_; }
        Status read_at(std::uint64_t offset, std::span<std::byte> out) const override {
            if (offset > 0) return Status(StatusCode::io, "the disk is gone");
            return MemorySource(std::as_bytes(std::span(bytes_)), name_).read_at(offset, out);
        }

      private:
        std::string bytes_, name_ = "shrunk";
    };
    SafetensorsFile file;
    for (int i = 0; i < 3000; ++i)
        file.tensor("model.layers.0.mlp.experts." + std::to_string(i) + ".weight", "U8", {1}, "x");
    const auto header = SafetensorsHeader::read(Shrunk(file.bytes()));
    CHECK(header.status().code() == StatusCode::io);
    CHECK(header.status().message() == "the disk is gone");
}
