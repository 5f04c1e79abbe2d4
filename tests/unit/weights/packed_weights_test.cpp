// Weights in several tensors, from the file to memory: the values of their owners' own programs, bit for bit.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

#include "kernels/unpack.hpp"
#include "parallel/thread_pool.hpp"
#include "support/files.hpp"
#include "support/safetensors_writer.hpp"
#include "support/tensors.hpp"
#include "weights/quantisation.hpp"
#include "weights/weight_store.hpp"

using namespace mixtura;

namespace {

// A model of one weight "w", [64, 256], whose parts are a fixture's.
struct Packed {
    std::string golden, config;  // file, and the scheme's quantization_config
    std::vector<float> values;
    test::SafetensorsFile file;
    std::int64_t rows = 64, columns = 256;

    Packed(const std::string& golden_file, const std::string& values_name, std::string quantization_config)
        : golden(golden_file),
          config(std::move(quantization_config)),
          values(test::Tensors(golden_file).floats(values_name)) {}

    Packed& part(const std::string& name, const std::string& as, const std::string& dtype) {
        const test::Tensors tensors(golden);
        const auto extents = tensors.info(name).shape.extents();
        const std::vector<std::byte> bytes = tensors.bytes(name);
        return add(as, dtype, {extents.begin(), extents.end()},
                   std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    Packed& add(const std::string& as, const std::string& dtype, const std::vector<std::int64_t>& shape,
                std::string bytes) {
        file.tensor(as, dtype, shape, std::move(bytes));
        return *this;
    }
};

Packed awq() {
    Packed p("packed.safetensors", "awq.values", R"({"quant_method":"awq","bits":4,"group_size":64,"version":"gemm"})");
    p.part("awq.qweight", "w.qweight", "I32").part("awq.qzeros", "w.qzeros", "I32");
    p.part("awq.scales", "w.scales", "F16");
    return p;
}

Packed gptq(const std::string& name) {
    Packed p("packed.safetensors", name + ".values",
             name == "gptq_act" ? R"({"quant_method":"gptq","bits":4,"group_size":64,"desc_act":true})"
                                : R"({"quant_method":"gptq","bits":4,"group_size":64})");
    p.part(name + ".qweight", "w.qweight", "I32").part(name + ".qzeros", "w.qzeros", "I32");
    p.part(name + ".scales", "w.scales", "F16").part(name + ".g_idx", "w.g_idx", "I32");
    return p;
}

Packed nf4(const std::string& name) {
    const std::string type = name.substr(0, 3);
    Packed p("bitsandbytes.safetensors", name + ".values",
             R"({"quant_method":"bitsandbytes","load_in_4bit":true,"bnb_4bit_quant_type":")" + type + "\"}");
    const bool is_nested = name.ends_with("_nested");
    p.part(name + ".weight", "w.weight", "U8").part(name + ".weight.quant_map", "w.weight.quant_map", "F32");
    p.part(name + ".weight.absmax", "w.weight.absmax", is_nested ? "U8" : "F32");
    const std::string state = ".weight.quant_state.bitsandbytes__" + type;
    p.part(name + state, "w" + state, "U8");
    if (is_nested) {
        p.part(name + ".weight.nested_absmax", "w.weight.nested_absmax", "F32");
        p.part(name + ".weight.nested_quant_map", "w.weight.nested_quant_map", "F32");
    }
    return p;
}

Packed int8() {
    Packed p("bitsandbytes.safetensors", "int8.values", R"({"quant_method":"bitsandbytes","load_in_8bit":true})");
    p.part("int8.weight", "w.weight", "I8").part("int8.SCB", "w.SCB", "F32");
    p.add("w.weight_format", "U8", {}, std::string(1, '\0'));
    return p;
}

// The first `columns` of the fixture's 300.
Packed f8(std::int64_t columns) {
    Packed p("packed.safetensors", "fp8.values", R"({"quant_method":"fp8","weight_block_size":[128,128]})");
    const std::vector<std::byte> codes = test::Tensors(p.golden).bytes("fp8.weight"),
                                 scales = test::Tensors(p.golden).bytes("fp8.weight_scale_inv");
    const std::int64_t blocks = (columns + 127) / 128;
    std::string some_codes, some_scales;
    std::vector<float> some;
    for (std::int64_t r = 0; r < 200; ++r) {
        some_codes.append(reinterpret_cast<const char*>(codes.data()) + r * 300, static_cast<std::size_t>(columns));
        some.insert(some.end(), p.values.begin() + r * 300, p.values.begin() + r * 300 + columns);
    }
    for (std::int64_t r = 0; r < 2; ++r)
        some_scales.append(reinterpret_cast<const char*>(scales.data()) + r * 12, static_cast<std::size_t>(blocks * 4));
    p.add("w.weight", "F8_E4M3", {200, columns}, some_codes).add("w.weight_scale_inv", "F32", {2, blocks}, some_scales);
    p.values = some;
    p.rows = 200;
    p.columns = columns;
    return p;
}

// The files of it, resolved.
struct Opened {
    test::TemporaryFolder folder;
    ModelFiles files;
    Status status;

    explicit Opened(const Packed& p) {
        folder.write("model.safetensors", p.file.bytes());
        folder.write("config.json", "{}");
        auto opened = ModelFiles::open(folder.path());
        REQUIRE(opened);
        files = *std::move(opened);
        const auto document = JsonDocument::parse(p.config, "config");
        REQUIRE(document);
        const auto quantisation = read_quantisation(document->root());
        status = quantisation ? resolve_packed_tensors(*quantisation, files.index) : quantisation.status();
    }
};

WeightBinding matrix(std::int64_t rows, std::int64_t columns, WeightForm form = WeightForm::packed) {
    WeightBinding binding;
    binding.role = "weight";
    binding.source.tensor = "w.weight";
    binding.rows = rows;
    binding.columns = columns;
    binding.form = form;
    return binding;
}

// The binding's matrix as f32, and the dtype it had in memory.
struct Loaded {
    std::vector<float> values;
    DType dtype = DType::unknown;
    std::string refusal;
};
Loaded load(const Opened& opened, WeightBinding binding) {
    Loaded loaded;
    PackedMatrix view;
    const float* floats = nullptr;
    (binding.form == WeightForm::floats ? static_cast<void>(binding.floats = &floats)
                                        : static_cast<void>(binding.matrix = &view));
    SerialFor alone;
    const auto predicted = WeightStore::predict(opened.files.index, {binding});
    const auto store = WeightStore::load(opened.files.index, {binding}, alone, {});
    if (!store) {
        loaded.refusal = store.status().message();
        return loaded;
    }
    REQUIRE(predicted);
    CHECK(predicted->weights[0].size_bytes == store->size_bytes());
    const auto count = static_cast<std::size_t>(binding.rows * binding.columns);
    if (floats != nullptr) {
        loaded.values.assign(floats, floats + count);
        return loaded;
    }
    loaded.dtype = view.dtype;
    CHECK(predicted->weights[0].dtype == view.dtype);
    loaded.values.resize(count);
    for (std::int64_t row = 0; row < binding.rows; ++row)
        unpack_row(view, row, loaded.values.data() + row * binding.columns);
    return loaded;
}

void check_equal(const std::vector<float>& values, const std::vector<float>& expected) {
    CHECK(test::first_difference(values, expected) == expected.size());
}

void check_every_way(const Packed& p, DType dtype) {
    INFO(p.config);
    const Opened opened(p);
    INFO(opened.status.message());
    REQUIRE(opened.status.is_ok());
    const Loaded packed = load(opened, matrix(p.rows, p.columns));
    CHECK(packed.dtype == dtype);
    check_equal(packed.values, p.values);
    // Routers are never below 16 bit, tables of floats are f32.
    const Loaded plain = load(opened, matrix(p.rows, p.columns, WeightForm::plain));
    CHECK(plain.dtype == DType::f32);
    check_equal(plain.values, p.values);
    check_equal(load(opened, matrix(p.rows, p.columns, WeightForm::floats)).values, p.values);

    // Rows 3 and 4 of every 7, from 5 on.
    WeightBinding some = matrix(16, p.columns);
    some.source.rows = {5, 2, 7};
    std::vector<float> expected;
    for (std::int64_t row = 0; row < 16; ++row) {
        const auto from = p.values.begin() + (5 + row / 2 * 7 + row % 2) * p.columns;
        expected.insert(expected.end(), from, from + p.columns);
    }
    check_equal(load(opened, some).values, expected);

    // The other way round, inputs from file row 7 on.
    WeightBinding turned = matrix(p.columns, 40);
    turned.source.is_transposed = true;
    turned.source.input_begin = 7;
    expected.clear();
    for (std::int64_t row = 0; row < p.columns; ++row) {
        for (std::int64_t column = 0; column < 40; ++column)
            expected.push_back(p.values[static_cast<std::size_t>((7 + column) * p.columns + row)]);
    }
    check_equal(load(opened, turned).values, expected);

    // The second of four equal parts.
    WeightBinding part = matrix(p.rows / 4, p.columns);
    part.source.slice = 1;
    part.source.slice_count = 4;
    expected.assign(p.values.begin() + p.rows / 4 * p.columns, p.values.begin() + p.rows / 2 * p.columns);
    check_equal(load(opened, part).values, expected);
}

}  // namespace

TEST_CASE("weights in several tensors have their owners' values in memory, however they are cut", "[weights][short]") {
    check_every_way(awq(), DType::int4_64);
    check_every_way(gptq("gptq"), DType::int4_64);
    check_every_way(gptq("gptq_act"), DType::int4_64);
    check_every_way(nf4("nf4"), DType::nf4);
    check_every_way(nf4("nf4_nested"), DType::nf4);
    check_every_way(int8(), DType::f32);
    check_every_way(f8(256), DType::f8_e4m3_128);
    check_every_way(f8(288), DType::f8_e4m3_32);
    check_every_way(f8(300), DType::f32);
}

TEST_CASE("packed weights take 4.19 to 9 bits each in memory", "[weights][short]") {
    const auto bits = [](DType dtype) { return static_cast<double>(packed_bytes(dtype, 16, 1024).value()) / 2048; };
    CHECK(bits(DType::int4_128) == 4.1875);
    CHECK(bits(DType::int4_64) == 4.375);
    CHECK(bits(DType::int4_32) == 4.75);
    CHECK(bits(DType::nf4) == 4.5);
    CHECK(bits(DType::f8_e4m3_128) == 8.25);
    CHECK(bits(DType::f8_e4m3_32) == 9.0);
}

TEST_CASE("FP4 is held as 8-bit floats, each within 2^-22 of its owner's value", "[weights][short]") {
    for (const char* name : {"fp4", "fp4_nested"}) {
        const Packed p = nf4(name);
        const Opened opened(p);
        INFO(opened.status.message());
        REQUIRE(opened.status.is_ok());
        const Loaded loaded = load(opened, matrix(64, 256));
        CHECK(loaded.dtype == DType::f8_e4m3_32);
        REQUIRE(loaded.values.size() == p.values.size());
        std::size_t far = 0;
        for (std::size_t i = 0; i < p.values.size(); ++i) {
            const double owner = p.values[i];
            far += std::abs(loaded.values[i] - owner) > std::abs(owner) * 0x1p-22 ? 1 : 0;
        }
        CHECK(far == 0);
        check_equal(load(opened, matrix(64, 256, WeightForm::floats)).values, loaded.values);
    }
    Packed other = nf4("fp4");
    other.file.tensors[1].bytes[5] = '\x11';
    CHECK(std::string(Opened(other).status.message()).find("FP4's") != std::string::npos);
}

TEST_CASE("LLM.int8 becomes smaller where a mix says so, with the loss measured", "[weights][short]") {
    const Packed p = int8();
    const Opened opened(p);
    REQUIRE(opened.status.is_ok());
    PackedMatrix small;
    WeightBinding binding = matrix(64, 256);
    binding.matrix = &small;
    binding.wanted = DType::q8_0;
    SerialFor alone;
    const auto store = WeightStore::load(opened.files.index, {binding}, alone, {});
    REQUIRE(store);
    CHECK(small.dtype == DType::q8_0);
    REQUIRE(store->losses().size() == 1);
    const QuantisationLoss& loss = store->losses()[0];
    CHECK(loss.from == DType::f32);
    CHECK(loss.error_sum > 0);
    CHECK(loss.error_sum < 1e-4 * loss.square_sum);
}

TEST_CASE("LLM.int8 in another layout, or whose scales do not fit, is refused", "[weights][short]") {
    Packed tiled = int8();
    tiled.file.tensors[2].bytes[0] = '\2';
    CHECK(Opened(tiled).status.message() ==
          "tensor 'w.weight_format' is 2, expected 0, rows one behind another, for 'w.weight'");
    Packed unfit = int8();
    unfit.file.tensors[1] = {"w.SCB", "F32", {1}, std::string(4, '\0')};
    CHECK(Opened(unfit).status.message() == "tensor 'w.SCB' is f32 [1], expected f32 [64] for 'w.weight'");
}

TEST_CASE("GPTQ weights in activation order are held group by group, beside the order", "[weights][short]") {
    const Packed p = gptq("gptq_act");
    const Opened opened(p);
    REQUIRE(opened.status.is_ok());
    PackedMatrix ordered;
    WeightBinding binding = matrix(64, 256);
    binding.matrix = &ordered;
    SerialFor alone;
    const auto store = WeightStore::load(opened.files.index, {binding}, alone, {});
    REQUIRE(store);
    REQUIRE(ordered.order != nullptr);
    CHECK(store->size_bytes() == *packed_bytes(DType::int4_64, 64, 256) + 256 * sizeof(std::int32_t));
    const std::vector<std::byte> bytes = test::Tensors(p.golden).bytes("gptq_act.g_idx");
    std::vector<std::int32_t> groups(256);
    std::memcpy(groups.data(), bytes.data(), bytes.size());
    for (std::size_t k = 0; k < 256; ++k) {
        CHECK(groups[static_cast<std::size_t>(ordered.order[k])] == static_cast<std::int32_t>(k / 64));
        if (k % 64 > 0) CHECK(ordered.order[k] > ordered.order[k - 1]);
    }
}

TEST_CASE("groups of GPTQ that do not exist, are too large or in an order nobody stated are refused",
          "[weights][short]") {
    const auto refusal = [](Packed p, char group) {
        p.file.tensors.back().bytes[4 * 9] = group;
        return load(Opened(p), matrix(64, 256)).refusal;
    };
    CHECK(refusal(gptq("gptq"), '\7') == "tensor 'w.g_idx': input 9 is in group 7, expected 0 to 3");
    CHECK(refusal(gptq("gptq"), '\1') ==
          "tensor 'w.g_idx': input 9 is in group 1, expected 0 since the configuration does not say desc_act");
    Packed ordered = gptq("gptq");
    ordered.config = gptq("gptq_act").config;
    CHECK(refusal(ordered, '\1') ==
          "tensor 'w.g_idx': input 127 is in group 1, which has 64 already, expected groups of 64");
    WeightBinding table = matrix(64, 256, WeightForm::rows);
    CHECK(load(Opened(gptq("gptq_act")), table).refusal ==
          "tensor 'w.weight' of shape [64, 256] is in activation order and cannot be used for weight, expected at most "
          "32768 inputs and no table of rows");
}

TEST_CASE("scales of a wider type are taken where an f16 holds them, and refused where it does not",
          "[weights][short]") {
    Packed p = awq();
    const std::string halves = p.file.tensors.back().bytes;
    std::string wide;
    for (std::size_t i = 0; i < halves.size(); i += 2) {
        std::uint16_t half = 0;
        std::memcpy(&half, halves.data() + i, 2);
        const float scale = f16_to_f32(half);
        wide.append(reinterpret_cast<const char*>(&scale), 4);
    }
    p.file.tensors.back() = {"w.scales", "F32", {4, 64}, wide};
    check_every_way(p, DType::int4_64);
    const float odd = 0.1F;
    std::memcpy(p.file.tensors.back().bytes.data() + 4 * 70, &odd, 4);
    CHECK(load(Opened(p), matrix(64, 256)).refusal ==
          "tensor 'w.scales': element 70 is 0.10000000149011612, expected scales that an f16 holds exactly");
}

TEST_CASE("one 8-bit scale may serve the tensor, or each row have its own", "[weights][short]") {
    for (const bool is_one : {true, false}) {
        Packed p("packed.safetensors", "fp8.values",
                 R"({"quant_method":"compressed-tensors","format":"float-quantized","config_groups":{"group_0":{
                     "targets":["Linear"],"weights":{"num_bits":8,"type":"float","strategy":"channel","dynamic":false}}}})");
        p.rows = 4;
        p.columns = 128;
        std::string codes(4 * 128, '\x38'), scales;  // 1.0
        p.values.clear();
        for (int row = 0; row < 4; ++row) {
            const float scale = is_one ? 3.0F : 1.0F + static_cast<float>(row);
            p.values.insert(p.values.end(), 128, scale);
            if (row == 0 || !is_one) scales.append(reinterpret_cast<const char*>(&scale), 4);
        }
        p.add("w.weight", "F8_E4M3", {4, 128}, codes);
        p.add("w.weight_scale", "F32", is_one ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{4, 1}, scales);
        const Opened opened(p);
        INFO(opened.status.message());
        REQUIRE(opened.status.is_ok());
        const Loaded loaded = load(opened, matrix(4, 128));
        CHECK(loaded.dtype == DType::f8_e4m3_128);
        check_equal(loaded.values, p.values);
    }
}

TEST_CASE("parts that are missing or do not fit are named with what was expected", "[weights][short]") {
    const auto refusal = [](Packed p, const std::string& name, std::vector<std::int64_t> shape) {
        std::vector<test::SafetensorsFile::Tensor> kept;
        for (test::SafetensorsFile::Tensor& tensor : p.file.tensors) {
            if (tensor.name == name && shape.empty()) continue;
            if (tensor.name == name) {
                std::int64_t before = 1, after = 1;
                for (const std::int64_t extent : tensor.shape) before *= extent;
                for (const std::int64_t extent : shape) after *= extent;
                tensor.bytes.resize(tensor.bytes.size() / static_cast<std::size_t>(before) *
                                    static_cast<std::size_t>(after));
                tensor.shape = shape;
            }
            kept.push_back(std::move(tensor));
        }
        p.file.tensors = std::move(kept);
        return std::string(Opened(p).status.message());
    };
    CHECK(refusal(awq(), "w.qzeros", {}) == "the model has no tensor 'w.qzeros', needed for 'w.weight'");
    CHECK(refusal(awq(), "w.qzeros", {4, 7}) == "tensor 'w.qzeros' is i32 [4, 7], expected i32 [4, 8] for 'w.weight'");
    CHECK(refusal(awq(), "w.scales", {5, 64}) ==
          "tensor 'w.scales' is f16 [5, 64], expected f16 [4, 64] for 'w.weight'");
    CHECK(refusal(awq(), "w.qweight", {256, 8, 1}) ==
          "tensor 'w.qweight' is i32 [256, 8, 1], expected a matrix of i32 with outputs in eights");
    CHECK(refusal(gptq("gptq"), "w.g_idx", {255}) ==
          "tensor 'w.g_idx' is i32 [255], expected i32 [256] for 'w.weight'");
    CHECK(refusal(f8(256), "w.weight_scale_inv", {}) ==
          "the model has no tensor 'w.weight_scale', needed for 'w.weight'");
    CHECK(
        refusal(f8(256), "w.weight_scale_inv", {2, 3}) ==
        "tensor 'w.weight_scale_inv' is f32 [2, 3], expected f32 or a narrower float of shape [2, 2], [200, 1] or [1] "
        "for 'w.weight'");
    CHECK(refusal(nf4("nf4"), "w.weight.absmax", {255}) ==
          "tensor 'w.weight.absmax' is f32 [255], expected f32 [256] for 'w.weight'");
    CHECK(refusal(nf4("nf4"), "w.weight", {8191, 1}) ==
          "tensor 'w.weight' is u8 [8191, 1], expected u8 [8192, 1] for 'w.weight'");
    CHECK(refusal(nf4("nf4_nested"), "w.weight.nested_quant_map", {}) ==
          "the model has no tensor 'w.weight.nested_quant_map', needed for 'w.weight'");
    Packed other = nf4("nf4");
    other.file.tensors[1].bytes[5] = '\x11';
    CHECK(std::string(Opened(other).status.message()).starts_with("tensor 'w.weight.quant_map': element 1 is -0.69"));
    Packed both = awq();
    both.add("w.weight", "F32", {1}, std::string(4, '\0'));
    CHECK(Opened(both).status.message() == "the model has both 'w.weight' and 'w.qweight'");
    Packed narrow = awq();
    narrow.config = R"({"quant_method":"awq","bits":4,"group_size":16})";
    narrow.file.tensors[1] = {"w.qzeros", "I32", {16, 8}, std::string(512, '\0')};
    narrow.file.tensors[2] = {"w.scales", "F16", {16, 64}, std::string(2048, '\0')};
    CHECK(Opened(narrow).status.message() ==
          "tensor 'w.qweight' has groups of 16 of 256 inputs, expected multiples of 32");
    Packed across = nf4("nf4");
    across.file.tensors[3].bytes = R"({"quant_type": "nf4", "blocksize": 64, "shape": [512, 32]})";
    across.file.tensors[3].shape = {static_cast<std::int64_t>(across.file.tensors[3].bytes.size())};
    CHECK(Opened(across).status.message() ==
          "tensor 'w.weight' has blocks of 64 weights in rows of 32, expected multiples of 64 that divide a row");
    Packed unsaid = f8(256);
    unsaid.config = "null";
    CHECK(
        Opened(unsaid).status.message() ==
        "tensor 'w.weight_scale_inv' scales 'w.weight', but the configuration has no quantization_config that says so");
    Packed stacked = f8(256);
    stacked.file.tensors[0].shape = {2, 100, 256};
    CHECK(Opened(stacked).status.message() ==
          "tensor 'w.weight_scale_inv' is f32 [2, 2], expected f32 or a narrower float of shape [2, 1, 2], [2, 100, 1] "
          "or [1] for 'w.weight'");
    stacked.file.tensors[0].shape = {2, 10, 10, 256};
    CHECK(Opened(stacked).status.message() ==
          "tensor 'w.weight' is f8_e4m3 [2, 10, 10, 256], expected a matrix of f8_e4m3 or a stack of them");
    Packed square = f8(256);
    square.file.tensors[0] = {"w", "F8_E4M3", {2, 32, 32}, std::string(2048, '\0')};
    square.file.tensors[1] = {"w_scale", "F32", {2, 32, 1}, std::string(256, '\0')};
    CHECK(
        Opened(square).status.message() ==
        "tensor 'w_scale' is [2, 32, 1], which are scales of rows or of columns of 'w' [2, 32, 32], expected matrices "
        "that are not square or a name that ends in .weight");
}

namespace {

// Three experts' 8-bit floats [3, rows, columns] as a file has them, with scales of some shape.
struct Stack {
    std::string name, config;
    std::int64_t rows, columns;
    std::vector<std::int64_t> scale_shape;
    std::int64_t block_rows, block_columns;  // that share a scale
    bool is_turned;                          // the file has [in, out]
    DType dtype;                             // in memory
};

const std::string kBlocks = R"({"quant_method":"fp8","weight_block_size":[32,128]})";
const std::string kRows = R"({"quant_method":"fbgemm_fp8","activation_scale_ub":1200.0})";

}  // namespace

TEST_CASE("stacked experts of 8-bit floats stay 8-bit floats, whichever way they lie", "[weights][short]") {
    const Stack stacks[] = {
        {"w.weight", kBlocks, 70, 256, {3, 3, 2}, 32, 128, false, DType::f8_e4m3_128},
        {"w.experts", kBlocks, 70, 160, {3, 3, 2}, 32, 128, false, DType::f8_e4m3_32},
        {"w.weight", kRows, 70, 256, {3, 70, 1}, 1, 256, false, DType::f8_e4m3_128},
        {"w.experts", kRows, 70, 100, {3, 1, 1}, 70, 100, false, DType::f32},
        {"w.experts", kRows, 256, 70, {3, 1, 70}, 256, 1, true, DType::f8_e4m3_128},  // fbgemm's gates and ups
        {"w.experts", kRows, 160, 70, {3, 70, 1}, 160, 1, true, DType::f8_e4m3_32},   // and its downs
        {"w.experts", kBlocks, 96, 130, {3, 3, 2}, 32, 128, true, DType::f8_e4m3_32},
        {"w.experts", kRows, 100, 70, {3, 1, 70}, 100, 1, true, DType::f32},
        {"w.experts", kRows, 128, 70, {}, 3 * 128, 70, true, DType::f8_e4m3_128},
    };
    for (const Stack& stack : stacks) {
        const std::int64_t rows = stack.rows, columns = stack.columns;
        INFO(stack.config << " [" << rows << ", " << columns << "], turned " << stack.is_turned);
        Packed p("packed.safetensors", "fp8.values", stack.config);
        std::string codes;
        for (std::int64_t i = 0; i < 3 * rows * columns; ++i)
            codes.push_back(static_cast<char>((i * 37 + i / 119) % 126 | (i % 3 == 0 ? 128 : 0)));
        std::vector<float> scales;
        std::int64_t scale_count = 1;
        for (const std::int64_t extent : stack.scale_shape) scale_count *= extent;
        for (std::int64_t i = 0; i < scale_count; ++i) scales.push_back(0.25F + 0.01F * static_cast<float>(i % 97));
        p.add(stack.name, "F8_E4M3", {3, rows, columns}, codes);
        p.add(stack.name + (stack.config == kBlocks ? "_scale_inv" : "_scale"), "F32", stack.scale_shape,
              std::string(reinterpret_cast<const char*>(scales.data()), scales.size() * sizeof(float)));
        const Opened opened(p);
        INFO(opened.status.message());
        REQUIRE(opened.status.is_ok());
        const std::int64_t across = (columns + stack.block_columns - 1) / stack.block_columns,
                           down = (rows + stack.block_rows - 1) / stack.block_rows;
        const auto value = [&](std::int64_t expert, std::int64_t row, std::int64_t column) {
            const auto code =
                static_cast<std::uint8_t>(codes[static_cast<std::size_t>((expert * rows + row) * columns + column)]);
            const std::int64_t block =
                scale_count == 1 ? 0 : (expert * down + row / stack.block_rows) * across + column / stack.block_columns;
            return f8_e4m3_to_f32(code) * scales[static_cast<std::size_t>(block)];
        };
        for (const std::int64_t expert : {0, 2}) {
            for (const WeightForm form : {WeightForm::packed, WeightForm::plain, WeightForm::floats}) {
                WeightBinding binding = stack.is_turned ? matrix(columns, rows, form) : matrix(rows, columns, form);
                binding.source.tensor = stack.name;
                binding.source.slice = expert;
                binding.source.is_transposed = stack.is_turned;
                std::vector<float> expected;
                for (std::int64_t row = 0; row < binding.rows; ++row) {
                    for (std::int64_t column = 0; column < binding.columns; ++column)
                        expected.push_back(stack.is_turned ? value(expert, column, row) : value(expert, row, column));
                }
                const Loaded loaded = load(opened, binding);
                INFO(loaded.refusal);
                if (form == WeightForm::packed) CHECK(loaded.dtype == stack.dtype);
                check_equal(loaded.values, expected);
                if (form != WeightForm::packed) continue;
                // Every second row, as gates and ups may lie.
                binding.source.rows = {1, 1, 2};
                binding.rows /= 2;
                std::vector<float> odd;
                for (std::int64_t row = 0; row < binding.rows; ++row) {
                    const auto from = expected.begin() + (2 * row + 1) * binding.columns;
                    odd.insert(odd.end(), from, from + binding.columns);
                }
                check_equal(load(opened, binding).values, odd);
            }
        }
    }
}
