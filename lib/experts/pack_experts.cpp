#include "experts/pack_experts.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <tuple>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "kernels/quant/decode.hpp"

namespace mixtura {
namespace {

constexpr std::int64_t kSizeMax = 1 << 24;

Status check_size(std::string_view name, std::int64_t found, std::int64_t least) {
    if (found >= least && found <= kSizeMax) return {};
    return error(StatusCode::invalid_argument, "the experts' ", name, " is ", found, ", expected ", least, " to ",
                 kSizeMax);
}

Status check_spec(const ExpertWeights& weights, const ExpertSpec& spec) {
    MIXTURA_RETURN_IF_ERROR(check_size("hidden size", spec.hidden_size, 1));
    MIXTURA_RETURN_IF_ERROR(check_size("number", spec.expert_count, 1));
    MIXTURA_RETURN_IF_ERROR(check_size("width", spec.width, 1));
    MIXTURA_RETURN_IF_ERROR(check_size("shared width", spec.shared_width, 0));
    const auto activation = static_cast<std::int32_t>(spec.activation);
    if (activation < 0 || activation > static_cast<std::int32_t>(ExpertActivation::relu)) {
        return error(StatusCode::invalid_argument, "the experts' activation is number ", activation,
                     ", expected 0 to 4");
    }
    if (spec.weight_at != WeightAt::output && spec.weight_at != WeightAt::input) {
        return error(StatusCode::invalid_argument, "weight_at is number ", static_cast<std::int32_t>(spec.weight_at),
                     ", expected 0 or 1");
    }
    if (!std::isfinite(spec.clamp_limit) || !std::isfinite(spec.clamp_alpha) || !std::isfinite(spec.shared_scale)) {
        return error(StatusCode::invalid_argument, "the experts' clamp limit is ", spec.clamp_limit, ", alpha ",
                     spec.clamp_alpha, " and shared scale ", spec.shared_scale, ", expected finite numbers");
    }
    if (weights.experts.size() != static_cast<std::size_t>(spec.expert_count)) {
        return error(StatusCode::invalid_argument, "weights of ", weights.experts.size(), " experts are given for ",
                     spec.expert_count);
    }
    return {};
}

// One part of the memory and where it comes from; made once for all matrices that name the same data.
struct Part {
    std::size_t extent = 0;
    ExpertMatrix matrix;
    std::int64_t rows = 0, columns = 0;
};
using PartKey = std::tuple<const void*, DType, std::int64_t, std::int64_t, std::int64_t>;

// Two passes over the experts: plan() says where each matrix goes, views() asks again once the memory is there.
class Pages {
  public:
    Status plan(const ExpertTensors& tensors, std::string_view whose, std::int64_t width, const ExpertSpec& spec) {
        const std::int64_t h = spec.hidden_size;
        if (spec.is_gated) MIXTURA_RETURN_IF_ERROR(place(tensors.gate, whose, "gate", width, h));
        MIXTURA_RETURN_IF_ERROR(place(tensors.up, whose, "up", width, h));
        MIXTURA_RETURN_IF_ERROR(place(tensors.down, whose, "down", h, width));
        if (spec.is_gated) MIXTURA_RETURN_IF_ERROR(place_bias(tensors.gate_bias, width));
        MIXTURA_RETURN_IF_ERROR(place_bias(tensors.up_bias, width));
        return place_bias(tensors.down_bias, h);
    }

    Status place(const ExpertMatrix& matrix, std::string_view whose, std::string_view name, std::int64_t rows,
                 std::int64_t columns) {
        if (matrix.data == nullptr)
            return error(StatusCode::invalid_argument, "the ", name, " matrix of ", whose, " is missing");
        if (decoder(matrix.dtype) == nullptr) {
            return error(StatusCode::unsupported, "the ", name, " matrix of ", whose, " is ", dtype_name(matrix.dtype),
                         ", which no kernel multiplies");
        }
        const std::optional<std::uint64_t> bytes = packed_bytes(matrix.dtype, rows, columns);
        if (!bytes) {
            return error(StatusCode::invalid_argument, "the ", name, " matrix of ", whose, " has rows of ", columns,
                         " elements, expected whole blocks of ", dtype_name(matrix.dtype));
        }
        if (matrix.row_stride_bytes != 0 && matrix.row_stride_bytes < row_bytes(matrix.dtype, columns)) {
            return error(StatusCode::invalid_argument, "rows of the ", name, " matrix of ", whose, " are ",
                         matrix.row_stride_bytes, " bytes apart, expected 0 (dense) or at least ",
                         row_bytes(matrix.dtype, columns));
        }
        return add({0, matrix, rows, columns}, {*bytes, panel_count(rows), panel_bytes(matrix.dtype, columns)});
    }

    Status pack(const Placement& placement, PlacedMemory& memory) const {
        MIXTURA_ASSIGN_OR_RETURN(memory, PlacedMemory::allocate(extents_, placement));
        for (const auto& [key, part] : parts_) {
            if (part.columns == kBiasColumns) {
                std::memcpy(memory[part.extent].data, part.matrix.data,
                            static_cast<std::size_t>(part.rows) * sizeof(float));
            } else {
                pack_matrix(part, memory[part.extent]);
            }
        }
        return {};
    }

    ExpertView view(const ExpertTensors& tensors, std::int64_t width, const ExpertSpec& spec,
                    const PlacedMemory& memory) const {
        const std::int64_t h = spec.hidden_size;
        ExpertView view;
        if (spec.is_gated) {
            view.gate = matrix_view(tensors.gate, width, h, memory);
            view.gate_bias = bias_view(tensors.gate_bias, width, memory);
        }
        view.up = matrix_view(tensors.up, width, h, memory);
        view.up_bias = bias_view(tensors.up_bias, width, memory);
        view.down = matrix_view(tensors.down, h, width, memory);
        view.down_bias = bias_view(tensors.down_bias, h, memory);
        return view;
    }

    PackedMatrix matrix_view(const ExpertMatrix& matrix, std::int64_t rows, std::int64_t columns,
                             const PlacedMemory& memory) const {
        const Place place = memory[parts_.at(key_of({0, matrix, rows, columns})).extent];
        return {matrix.dtype, rows, columns, place.data, place.parts};
    }

  private:
    static constexpr std::int64_t kBiasColumns = 0;  // what no matrix has

    static std::int64_t row_bytes(DType dtype, std::int64_t columns) {
        return columns / dtype_info(dtype).block_elements * dtype_info(dtype).block_bytes;
    }
    static Part bias_part(const float* bias, std::int64_t count) {
        return {0, {bias, DType::f32, 0}, count, kBiasColumns};
    }
    static PartKey key_of(const Part& part) {
        return {part.matrix.data, part.matrix.dtype, part.matrix.row_stride_bytes, part.rows, part.columns};
    }

    Status place_bias(const float* bias, std::int64_t count) {
        if (bias == nullptr) return {};
        return add(bias_part(bias, count), {static_cast<std::uint64_t>(count) * sizeof(float)});
    }
    const float* bias_view(const float* bias, std::int64_t count, const PlacedMemory& memory) const {
        if (bias == nullptr) return nullptr;
        return reinterpret_cast<const float*>(memory[parts_.at(key_of(bias_part(bias, count))).extent].data);
    }

    Status add(Part part, const Extent& extent) {
        part.extent = extents_.size();
        if (!parts_.try_emplace(key_of(part), part).second) return {};
        const auto aligned = checked_align_up<std::uint64_t>(extent.size_bytes, AlignedBuffer::kAlignmentBytes);
        const auto end = aligned ? checked_add(size_bytes_, *aligned) : std::nullopt;
        if (!end) return error(StatusCode::out_of_host_memory, "the experts' weights take more than 2^64 bytes");
        size_bytes_ = *end;
        extents_.push_back(extent);
        return {};
    }

    static void pack_matrix(const Part& part, const Place& place) {
        const auto* rows = static_cast<const std::byte*>(part.matrix.data);
        const std::int64_t dense = row_bytes(part.matrix.dtype, part.columns);
        const std::int64_t stride = part.matrix.row_stride_bytes == 0 ? dense : part.matrix.row_stride_bytes;
        if (stride == dense) return pack_rows(place, part.matrix.dtype, rows, 0, part.rows, part.columns);
        std::vector<std::byte> strip(static_cast<std::size_t>(kPanelRows * dense));
        for (std::int64_t first = 0; first < part.rows; first += kPanelRows) {
            const std::int64_t count = std::min(kPanelRows, part.rows - first);
            for (std::int64_t r = 0; r < count; ++r)
                std::memcpy(strip.data() + r * dense, rows + (first + r) * stride, static_cast<std::size_t>(dense));
            pack_rows(place, part.matrix.dtype, strip.data(), first, first + count, part.columns);
        }
    }

    std::map<PartKey, Part> parts_;
    std::vector<Extent> extents_;
    std::uint64_t size_bytes_ = 0;
};

}  // namespace

Result<PackedExperts> pack_experts(const ExpertWeights& weights, const ExpertSpec& spec, const Placement& placement) {
    MIXTURA_RETURN_IF_ERROR(check_spec(weights, spec));
    const bool has_shared_gate = spec.shared_width > 0 && spec.is_shared_weighed;
    Pages pages;
    for (std::size_t e = 0; e < weights.experts.size(); ++e)
        MIXTURA_RETURN_IF_ERROR(pages.plan(weights.experts[e], text("expert ", e), spec.width, spec));
    if (spec.shared_width > 0)
        MIXTURA_RETURN_IF_ERROR(pages.plan(weights.shared, "the shared expert", spec.shared_width, spec));
    if (has_shared_gate)
        MIXTURA_RETURN_IF_ERROR(pages.place(weights.shared_gate, "the shared expert", "own gate", 1, spec.hidden_size));

    PackedExperts packed;
    MIXTURA_RETURN_IF_ERROR(pages.pack(placement, packed.memory));
    const PlacedMemory& memory = packed.memory;
    packed.experts.reserve(weights.experts.size());
    for (const ExpertTensors& tensors : weights.experts)
        packed.experts.push_back(pages.view(tensors, spec.width, spec, memory));
    if (spec.shared_width > 0) packed.shared = pages.view(weights.shared, spec.shared_width, spec, memory);
    if (has_shared_gate) packed.shared_gate = pages.matrix_view(weights.shared_gate, 1, spec.hidden_size, memory);
    return packed;
}

}  // namespace mixtura
