// From a path to everything its headers say: which files make up the model, their tensors as one index, the
// configuration. Model and Checkpoint are built on it.
#pragma once

#include <mixtura/checkpoint.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf.hpp"
#include "formats/model_config.hpp"
#include "memory/file.hpp"

namespace mixtura {

// A weight that the files hold in several tensors: codes, and what turns them into numbers.  Which tensors those are,
// weights/quantisation.hpp finds out; the index then has the weight under its own name, with the extents [out, in]
// and the dtype that it takes in memory.
struct PackedTensor {
    enum class Scheme { block_f8, awq, gptq, nf4, fp4, int8 };
    Scheme scheme = Scheme::block_f8;
    TensorInfo codes, scales;                        // nf4's, fp4's: absmax; int8's: SCB
    std::int64_t block_rows = 1, block_columns = 0;  // of the weight, that share a scale
    std::int64_t slice_rows = 0;                     // block_f8: after so many rows blocks begin anew (stacked experts)
    TensorInfo zeros, groups;                        // awq and gptq; the group of each input, which may be missing
    bool is_ordered = false;                         // gptq: groups are no runs of inputs; `groups` alone tells
    int zero_offset = 0;                             // what is added to a stored zero point
    TensorInfo nested_scales, nested_map;            // nf4, fp4 whose scales are codes themselves
    std::int64_t nested_block = 0;
    float nested_offset = 0.0F;

    bool is_bnb_4bit() const noexcept { return scheme == Scheme::nf4 || scheme == Scheme::fp4; }
    bool is_nested() const noexcept { return nested_block > 0; }
    // Whether rows of the weight lie across the whole tensor of codes.
    bool is_across() const noexcept { return scheme == Scheme::awq || scheme == Scheme::gptq; }
};

// Every tensor of the model and where it lies.  Names are unique over all files.
struct WeightIndex {
    std::vector<std::shared_ptr<const File>> files;
    std::vector<TensorInfo> tensors;                          // in file order
    std::vector<std::uint32_t> by_name;                       // indices into tensors, ascending by name
    std::map<std::string, PackedTensor, std::less<>> packed;  // by the weight's name

    void sort_names();  // fills by_name
    const TensorInfo* find(std::string_view name) const noexcept;
    // Elements and bytes of all tensors.  Sparse files can state more than 64 bits count: then 2^64 - 1.
    std::uint64_t parameter_count() const noexcept;
    std::uint64_t weight_bytes() const noexcept;
    // Copies a tensor's bytes into `out` (exactly size_bytes).
    Status read(const TensorInfo& tensor, std::span<std::byte> out) const;
};

struct ModelFiles {
    CheckpointFormat format = CheckpointFormat::unknown;
    std::string format_name;  // "GGUF v3, 2 parts"
    std::string folder;       // where side files (tokenizer.json …) are looked for
    WeightIndex index;
    ModelConfig config;
    std::optional<GgufHeader> gguf;  // the first part's, with the vocabulary in its metadata
    std::vector<std::string> warnings;

    static Result<ModelFiles> open(const std::string& path);
};

// One sentence for each contradiction between what the configuration states and what the tensors are.
std::vector<std::string> weight_warnings(const ModelFacts& facts, const WeightIndex& index);

}  // namespace mixtura
