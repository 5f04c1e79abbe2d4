// Which tensors make up a weight, by their names and shapes; what the schemes' own programs write.
#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "kernels/quant/little_endian.hpp"
#include "kernels/scaled_format.hpp"
#include "weights/packed_rows.hpp"
#include "weights/quantisation.hpp"

namespace mixtura {
namespace {

using Scheme = PackedTensor::Scheme;

constexpr std::string_view kWeight = ".weight", kCodes = ".qweight", kState = ".quant_state.bitsandbytes__",
                           kRowScales = ".SCB";

std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept { return a / b + (a % b != 0 ? 1 : 0); }

std::string shape_text(std::initializer_list<std::int64_t> extents) {
    std::string out;
    for (const std::int64_t extent : extents) out += text(out.empty() ? "[" : ", ", extent);
    return out + "]";
}

bool has_shape(const TensorInfo& tensor, std::initializer_list<std::int64_t> extents) {
    return std::equal(extents.begin(), extents.end(), tensor.shape.extents().begin(), tensor.shape.extents().end());
}

Result<const TensorInfo*> part(const WeightIndex& index, std::string_view weight, const std::string& name) {
    const TensorInfo* tensor = index.find(name);
    if (tensor != nullptr) return tensor;
    return error(StatusCode::corrupt_file, "the model has no tensor ", quoted(name), ", needed for ", quoted(weight));
}

// A part of that dtype and shape.
Status check_part(const TensorInfo& tensor, std::string_view weight, DType dtype,
                  std::initializer_list<std::int64_t> extents) {
    if (tensor.dtype == dtype && has_shape(tensor, extents)) return {};
    return error(StatusCode::corrupt_file, "tensor ", quoted(tensor.name), " is ", dtype_name(tensor.dtype), " ",
                 tensor.shape.to_string(), ", expected ", dtype_name(dtype), " ", shape_text(extents), " for ",
                 quoted(weight));
}

bool is_scale_dtype(DType dtype) noexcept {
    return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f8_e8m0;
}

// The largest of `units` that lies within a run of `run` inputs that share a scale, and in whole ones in a row of `in`.
std::int64_t unit_within(std::initializer_list<std::int64_t> units, std::int64_t run, std::int64_t in) noexcept {
    for (const std::int64_t unit : units) {
        if (in % unit == 0 && (run % unit == 0 || run >= in)) return unit;
    }
    return 0;
}

// ---- 8-bit floats: X, with X_scale_inv or X_scale; X is a matrix, or a stack of them ---------------------------

// A matrix [rows, columns] as the file has it, `count` of them.
struct F8Shape {
    std::int64_t count = 1, rows = 0, columns = 0;
};

// Scales of blocks, of rows, or one; in a stack also of columns (whose matrices lie the other way round), or one a
// matrix: their shape tells which.
bool read_f8_blocks(const Quantisation& stated, const TensorInfo& scales, const F8Shape& shape, bool is_stacked,
                    PackedTensor& packed) {
    const auto [count, rows, columns] = shape;
    packed.slice_rows = rows;
    const auto found = [&](std::int64_t block_rows, std::int64_t block_columns) {
        packed.block_rows = block_rows;
        packed.block_columns = block_columns;
        return true;
    };
    if (scales.shape.element_count() == 1) {
        packed.slice_rows = count * rows;
        return found(count * rows, columns);
    }
    const std::int64_t block_rows = stated.block_rows > 0 ? ceil_div(rows, stated.block_rows) : 0,
                       block_columns = stated.block_rows > 0 ? ceil_div(columns, stated.block_columns) : 0;
    if (!is_stacked) {
        if (stated.block_rows > 0 && has_shape(scales, {block_rows, block_columns}))
            return found(stated.block_rows, stated.block_columns);
        return (has_shape(scales, {rows, 1}) || has_shape(scales, {rows})) && found(1, columns);
    }
    if (stated.block_rows > 0 && has_shape(scales, {count, block_rows, block_columns}))
        return found(stated.block_rows, stated.block_columns);
    if (has_shape(scales, {count, 1, 1})) return found(rows, columns);
    if (has_shape(scales, {count, 1, columns})) return found(rows, 1);
    // fbgemm's down projections have their columns' scales as a column, which in a square matrix may be its rows'.
    const bool is_of_rows = has_shape(scales, {count, rows, 1}), is_of_columns = has_shape(scales, {count, columns, 1});
    const bool is_settled = packed.codes.name.ends_with(kWeight);  // of modules, which are never the other way round
    if (is_of_rows && (!is_of_columns || is_settled)) return found(1, columns);
    return is_of_columns && !is_of_rows && !is_settled && found(rows, 1);
}

Status resolve_f8(const Quantisation& stated, WeightIndex& index, TensorInfo& weight) {
    const bool is_stacked = weight.shape.rank() == 3;
    if (weight.dtype != DType::f8_e4m3 || (weight.shape.rank() != 2 && !is_stacked) ||
        weight.shape.element_count() == 0) {
        return error(StatusCode::unsupported, "tensor ", quoted(weight.name), " is ", dtype_name(weight.dtype), " ",
                     weight.shape.to_string(), ", expected a matrix of f8_e4m3 or a stack of them");
    }
    PackedTensor packed;
    packed.codes = weight;
    const bool is_inverse = index.find(weight.name + "_scale_inv") != nullptr;
    MIXTURA_ASSIGN_OR_RETURN(const TensorInfo* scales,
                             part(index, weight.name, weight.name + (is_inverse ? "_scale_inv" : "_scale")));
    packed.scales = *scales;
    const std::size_t axis = is_stacked ? 1 : 0;
    const F8Shape shape{is_stacked ? weight.shape[0] : 1, weight.shape[axis], weight.shape[axis + 1]};
    if (is_stacked && shape.rows == shape.columns && !weight.name.ends_with(kWeight) &&
        has_shape(*scales, {shape.count, shape.rows, 1})) {
        return error(StatusCode::unsupported, "tensor ", quoted(scales->name), " is ", scales->shape.to_string(),
                     ", which are scales of rows or of columns of ", quoted(weight.name), " ", weight.shape.to_string(),
                     ", expected matrices that are not square or a name that ends in .weight");
    }
    if (!is_scale_dtype(scales->dtype) || !read_f8_blocks(stated, *scales, shape, is_stacked, packed)) {
        const auto stack = [&](std::int64_t rows, std::int64_t columns) {
            return is_stacked ? shape_text({shape.count, rows, columns}) : shape_text({rows, columns});
        };
        const std::string blocks =
            stated.block_rows > 0
                ? stack(ceil_div(shape.rows, stated.block_rows), ceil_div(shape.columns, stated.block_columns)) + ", "
                : "";
        return error(StatusCode::corrupt_file, "tensor ", quoted(scales->name), " is ", dtype_name(scales->dtype), " ",
                     scales->shape.to_string(), ", expected f32 or a narrower float of shape ", blocks,
                     stack(shape.rows, 1), " or [1] for ", quoted(weight.name));
    }
    // Rows that are no whole blocks are held as f32: the same numbers, four times the bytes.
    const std::int64_t unit = unit_within({128, 32}, packed.block_columns, shape.columns);
    weight.dtype = unit == 128 ? DType::f8_e4m3_128 : unit == 32 ? DType::f8_e4m3_32 : DType::f32;
    index.packed.emplace(weight.name, std::move(packed));
    return {};
}

bool is_f8(DType dtype) noexcept {
    return dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2 || dtype == DType::f8_e4m3fnuz ||
           dtype == DType::f8_e5m2fnuz;
}

// Scales that nobody would look at make every number wrong.
Status check_no_scales(const WeightIndex& index) {
    for (const TensorInfo& tensor : index.tensors) {
        if (!is_f8(tensor.dtype)) continue;
        for (const std::string_view end : {"_scale_inv", "_scale"}) {
            const TensorInfo* scales = index.find(text(tensor.name, end));
            if (scales != nullptr)
                return error(StatusCode::corrupt_file, "tensor ", quoted(scales->name), " scales ", quoted(tensor.name),
                             ", but the configuration has no quantization_config that says so");
        }
    }
    return {};
}

// ---- AWQ and GPTQ: X.qweight, X.qzeros, X.scales, X.g_idx ----------------------------------------------------

Result<TensorInfo> resolve_int4(const Quantisation& stated, WeightIndex& index, const TensorInfo& codes) {
    const std::string stem = codes.name.substr(0, codes.name.size() - kCodes.size());
    TensorInfo weight = codes;
    weight.name = text(stem, kWeight);
    if (index.find(weight.name) != nullptr)
        return error(StatusCode::corrupt_file, "the model has both ", quoted(weight.name), " and ", quoted(codes.name));
    const bool is_awq = stated.method == QuantisationMethod::awq;
    const auto eightfold = [&](std::size_t axis) {
        return codes.shape.rank() == 2 ? checked_multiply(codes.shape[axis], std::int64_t{8}).value_or(0) : 0;
    };
    const std::int64_t out = is_awq                    ? eightfold(1)
                             : codes.shape.rank() == 2 ? codes.shape[1]
                                                       : 0,
                       in = is_awq ? (codes.shape.rank() == 2 ? codes.shape[0] : 0) : eightfold(0);
    if (codes.dtype != DType::i32 || out < 1 || in < 1 || out % 8 != 0) {
        return error(StatusCode::corrupt_file, "tensor ", quoted(codes.name), " is ", dtype_name(codes.dtype), " ",
                     codes.shape.to_string(), ", expected a matrix of i32 with outputs in eights");
    }
    const std::int64_t group = stated.group_size == 0 ? in : stated.group_size, groups = ceil_div(in, group);
    PackedTensor packed;
    packed.scheme = is_awq ? Scheme::awq : Scheme::gptq;
    packed.codes = codes;
    packed.block_columns = group;
    packed.zero_offset = stated.zero_offset;
    MIXTURA_ASSIGN_OR_RETURN(const TensorInfo* zeros, part(index, weight.name, stem + ".qzeros"));
    MIXTURA_RETURN_IF_ERROR(check_part(*zeros, weight.name, DType::i32, {groups, out / 8}));
    packed.zeros = *zeros;
    MIXTURA_ASSIGN_OR_RETURN(const TensorInfo* scales, part(index, weight.name, stem + ".scales"));
    const DType scale_dtype = is_scale_dtype(scales->dtype) ? scales->dtype : DType::f16;
    MIXTURA_RETURN_IF_ERROR(check_part(*scales, weight.name, scale_dtype, {groups, out}));
    packed.scales = *scales;
    const TensorInfo* order = is_awq ? nullptr : index.find(stem + ".g_idx");
    if (order != nullptr) {
        MIXTURA_RETURN_IF_ERROR(check_part(*order, weight.name, DType::i32, {in}));
        packed.groups = *order;
        packed.is_ordered = stated.is_ordered && groups > 1;
    }
    const std::int64_t unit = unit_within({128, 64, 32}, group, in);
    if (unit == 0) {
        return error(StatusCode::unsupported, "tensor ", quoted(codes.name), " has groups of ", group, " of ", in,
                     " inputs, expected multiples of 32");
    }
    weight.dtype = unit == 128 ? DType::int4_128 : unit == 64 ? DType::int4_64 : DType::int4_32;
    weight.shape = *Shape::from(std::vector<std::int64_t>{out, in});
    index.packed.emplace(weight.name, std::move(packed));
    return weight;
}

// ---- bitsandbytes, 4 bit: X.weight, X.weight.absmax, .quant_map, .quant_state.bitsandbytes__nf4 or fp4; nested: two
// more

// The JSON beside a weight.
struct QuantState {
    std::int64_t block_size = 0, nested_block_size = 0, out = 0, in = 0;
    double nested_offset = 0;
};

Result<QuantState> read_state(const WeightIndex& index, const TensorInfo& tensor) {
    constexpr std::uint64_t kStateBytesMax = 4096;
    if (tensor.dtype != DType::u8 || tensor.size_bytes > kStateBytesMax) {
        return error(StatusCode::corrupt_file, "tensor ", quoted(tensor.name), " is ", dtype_name(tensor.dtype), " ",
                     tensor.shape.to_string(), ", expected at most 4096 of u8");
    }
    std::string json(static_cast<std::size_t>(tensor.size_bytes), '\0');
    MIXTURA_RETURN_IF_ERROR(index.read(tensor, std::as_writable_bytes(std::span(json))));
    MIXTURA_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(json, tensor.name));
    const auto integer = [&](std::string_view key) {
        const auto value = document.root().find(key);
        return value ? value->as_integer().value_or(0) : 0;
    };
    QuantState state{.block_size = integer("blocksize"), .nested_block_size = integer("nested_blocksize")};
    if (const auto shape = document.root().find("shape")) {
        std::vector<std::int64_t> extents;
        for (const JsonValue extent : shape->elements()) extents.push_back(extent.as_integer().value_or(0));
        if (extents.size() == 2) std::tie(state.out, state.in) = std::pair(extents[0], extents[1]);
    }
    const auto offset = document.root().find("nested_offset");
    state.nested_offset = offset ? offset->as_real().value_or(0) : 0;
    constexpr std::int64_t kExtentMax = 1 << 30;
    const auto is_size = [](std::int64_t size) { return size >= 1 && size <= kExtentMax; };
    if (is_size(state.block_size) && is_size(state.out) && is_size(state.in) && state.nested_block_size >= 0)
        return state;
    return error(StatusCode::corrupt_file, "tensor ", quoted(tensor.name), " says ", quoted(json),
                 ", expected a blocksize and a shape of two extents");
}

Status check_map(const WeightIndex& index, const TensorInfo& map, std::string_view weight, bool is_fp4) {
    MIXTURA_RETURN_IF_ERROR(check_part(map, weight, DType::f32, {16}));
    std::byte bytes[64];
    MIXTURA_RETURN_IF_ERROR(index.read(map, bytes));
    for (std::size_t i = 0; i < 16; ++i) {
        const float entry = load_f32(bytes, i);
        const float expected = is_fp4 ? kFp4Twelfths[i] / 12.0F : kNf4Map[i];
        if (entry == expected) continue;
        return error(StatusCode::unsupported, "tensor ", quoted(map.name), ": element ", i, " is ", entry,
                     ", expected ", is_fp4 ? "FP4's " : "NF4's ", expected);
    }
    return {};
}

Status resolve_bnb_4bit(WeightIndex& index, const TensorInfo& state_tensor) {
    const std::size_t end = state_tensor.name.find(kState);
    const std::string name = state_tensor.name.substr(0, end), type = state_tensor.name.substr(end + kState.size());
    const bool is_fp4 = type == "fp4";
    if (type != "nf4" && !is_fp4) {
        return error(StatusCode::unsupported, "tensor ", quoted(name), " is quantised as ", quoted(type),
                     ", expected nf4 or fp4");
    }
    MIXTURA_ASSIGN_OR_RETURN(const QuantState state, read_state(index, state_tensor));
    MIXTURA_ASSIGN_OR_RETURN(const TensorInfo* codes, part(index, name, name));
    constexpr std::int64_t kUnit = 64;
    if (state.block_size % kUnit != 0 || state.in % state.block_size != 0) {
        return error(StatusCode::unsupported, "tensor ", quoted(name), " has blocks of ", state.block_size,
                     " weights in rows of ", state.in, ", expected multiples of 64 that divide a row");
    }
    const std::int64_t blocks = state.out * (state.in / state.block_size);
    PackedTensor packed;
    packed.scheme = is_fp4 ? Scheme::fp4 : Scheme::nf4;
    packed.codes = *codes;
    packed.block_columns = state.block_size;
    if (!has_shape(*codes, {state.out * (state.in / 2)}))
        MIXTURA_RETURN_IF_ERROR(check_part(*codes, name, DType::u8, {state.out * (state.in / 2), 1}));
    if (codes->dtype != DType::u8) return check_part(*codes, name, DType::u8, {state.out * (state.in / 2), 1});
    MIXTURA_ASSIGN_OR_RETURN(const TensorInfo* map, part(index, name, name + ".quant_map"));
    MIXTURA_RETURN_IF_ERROR(check_map(index, *map, name, is_fp4));
    MIXTURA_ASSIGN_OR_RETURN(const TensorInfo* scales, part(index, name, name + ".absmax"));
    MIXTURA_RETURN_IF_ERROR(check_part(*scales, name, state.nested_block_size > 0 ? DType::u8 : DType::f32, {blocks}));
    packed.scales = *scales;
    if (state.nested_block_size > 0) {
        packed.nested_block = state.nested_block_size;
        packed.nested_offset = static_cast<float>(state.nested_offset);
        MIXTURA_ASSIGN_OR_RETURN(const TensorInfo* nested, part(index, name, name + ".nested_absmax"));
        MIXTURA_RETURN_IF_ERROR(check_part(*nested, name, DType::f32, {ceil_div(blocks, state.nested_block_size)}));
        packed.nested_scales = *nested;
        MIXTURA_ASSIGN_OR_RETURN(const TensorInfo* nested_map, part(index, name, name + ".nested_quant_map"));
        MIXTURA_RETURN_IF_ERROR(check_part(*nested_map, name, DType::f32, {256}));
        packed.nested_map = *nested_map;
    }
    TensorInfo& weight = index.tensors[static_cast<std::size_t>(codes - index.tensors.data())];
    weight.dtype = is_fp4 ? DType::f8_e4m3_32 : DType::nf4;
    weight.shape = *Shape::from(std::vector<std::int64_t>{state.out, state.in});
    index.packed.emplace(name, std::move(packed));
    return {};
}

// ---- bitsandbytes, 8 bit (LLM.int8): X.weight, X.SCB, perhaps X.weight_format ------------------------------------

// Held as f32, the one type here that an int8 times an f32 is exact enough in; a mix makes it smaller, at a price that
// is measured.
Status resolve_bnb_8bit(WeightIndex& index, const TensorInfo& scales) {
    const std::string stem = scales.name.substr(0, scales.name.size() - kRowScales.size()), name = text(stem, kWeight);
    MIXTURA_ASSIGN_OR_RETURN(const TensorInfo* codes, part(index, scales.name, name));
    if (codes->shape.rank() != 2)
        return error(StatusCode::unsupported, "tensor ", quoted(name), " is ", dtype_name(codes->dtype), " ",
                     codes->shape.to_string(), ", expected a matrix of i8");
    MIXTURA_RETURN_IF_ERROR(check_part(*codes, name, DType::i8, {codes->shape[0], codes->shape[1]}));
    MIXTURA_RETURN_IF_ERROR(check_part(scales, name, DType::f32, {codes->shape[0]}));
    if (const TensorInfo* format = index.find(text(stem, ".weight_format"))) {
        std::byte number{1};
        if (format->size_bytes == 1) MIXTURA_RETURN_IF_ERROR(index.read(*format, {&number, 1}));
        if (number != std::byte{0})
            return error(StatusCode::unsupported, "tensor ", quoted(format->name), " is ", std::to_integer<int>(number),
                         ", expected 0, rows one behind another, for ", quoted(name));
    }
    PackedTensor packed;
    packed.scheme = Scheme::int8;
    packed.codes = *codes;
    packed.scales = scales;
    packed.block_columns = codes->shape[1];
    index.tensors[static_cast<std::size_t>(codes - index.tensors.data())].dtype = DType::f32;
    index.packed.emplace(name, std::move(packed));
    return {};
}

}  // namespace

Status resolve_packed_tensors(const Quantisation& quantisation, WeightIndex& index) {
    const QuantisationMethod method = quantisation.method;
    if (method != QuantisationMethod::block_f8) MIXTURA_RETURN_IF_ERROR(check_no_scales(index));
    const std::size_t count = index.tensors.size();
    std::vector<TensorInfo> weights;  // new names
    for (std::size_t i = 0; i < count; ++i) {
        TensorInfo& tensor = index.tensors[i];
        if (method == QuantisationMethod::block_f8 && is_f8(tensor.dtype)) {
            MIXTURA_RETURN_IF_ERROR(resolve_f8(quantisation, index, tensor));
        } else if ((method == QuantisationMethod::awq || method == QuantisationMethod::gptq) &&
                   tensor.name.ends_with(kCodes)) {
            MIXTURA_ASSIGN_OR_RETURN(TensorInfo weight, resolve_int4(quantisation, index, tensor));
            weights.push_back(std::move(weight));
        } else if (method == QuantisationMethod::bnb_4bit && tensor.name.find(kState) != std::string::npos) {
            MIXTURA_RETURN_IF_ERROR(resolve_bnb_4bit(index, tensor));
        } else if (method == QuantisationMethod::bnb_8bit && tensor.name.ends_with(kRowScales)) {
            MIXTURA_RETURN_IF_ERROR(resolve_bnb_8bit(index, tensor));
        }
    }
    if (weights.empty()) return {};
    for (TensorInfo& weight : weights) index.tensors.push_back(std::move(weight));
    index.sort_names();
    return {};
}

}  // namespace mixtura
