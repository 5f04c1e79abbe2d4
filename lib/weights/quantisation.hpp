// What a configuration's quantization_config says, as far as it changes numbers, and the tensors it is about.  Called
// by the model before a family looks at the index, so that families know weights by one name and shape however they are
// stored.  What is not understood is refused by its key: a weight is right or not there.
#pragma once

#include <mixtura/status.hpp>

#include <optional>
#include <string>
#include <vector>

#include "formats/json.hpp"
#include "formats/model_files.hpp"

namespace mixtura {

enum class QuantisationMethod { none, mxfp4, block_f8, awq, gptq, bnb_4bit, bnb_8bit };

struct Quantisation {
    QuantisationMethod method = QuantisationMethod::none;
    std::int64_t group_size = 0;                     // awq, gptq: inputs; 0: all
    bool is_ordered = false;                         // gptq: by activation (desc_act), so that groups are no runs
    int zero_offset = 0;                             // gptq: 1 unless it is the second version of its format
    std::int64_t block_rows = 0, block_columns = 0;  // block_f8; 0: not stated
    std::vector<std::string> warnings;               // of keys nobody knows
};

// UNSUPPORTED for another method or a value that no kernel here computes; CORRUPT_FILE for what is no value of its key.
Result<Quantisation> read_quantisation(JsonValue quantization_config);

// Gives every weight in several tensors its entry: index.packed, and in index.tensors its own name, extents and dtype.
// CORRUPT_FILE where parts are missing or do not fit together; UNSUPPORTED for a shape that no format in memory holds.
Status resolve_packed_tensors(const Quantisation& quantisation, WeightIndex& index);

}  // namespace mixtura
