// Checkpoint: what lies on disk under a model's name, before any weight is read.  It opens GGUF (single or split) and
// Hugging Face folders (safetensors, single or sharded, with config.json), validates every byte of their headers, and
// says which tensors there are and where.  Model is built on it; `mixtura inspect` prints it.
#pragma once

#include <mixtura/status.hpp>
#include <mixtura/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

// One tensor in its file.  `offset_bytes + size_bytes` lies within the file, and size_bytes is exactly what dtype and
// shape need: both were checked when the checkpoint was opened.
struct TensorInfo {
    std::string name;  // as the file spells it
    DType dtype = DType::unknown;
    Shape shape;                     // outermost first, e.g. [out, in]
    std::uint32_t file = 0;          // index into Checkpoint::files()
    std::uint64_t offset_bytes = 0;  // from the start of that file
    std::uint64_t size_bytes = 0;
};

struct CheckpointFile {
    std::string path;
    std::uint64_t size_bytes = 0;
};

enum class CheckpointFormat : std::int32_t { unknown = 0, gguf = 1, safetensors = 2 };

// The sizes every family states, under the names this library uses.  0, an empty text or an empty list: not stated.
struct ModelFacts {
    std::string architecture;            // config.json's model_type or GGUF's general.architecture
    std::string name;                    // what the file calls itself
    std::string declared_size;           // GGUF's general.size_label, e.g. "8x7B"
    std::int64_t layer_count = 0;        // decoder layers
    std::int64_t hidden_size = 0;        // H
    std::int64_t head_count = 0;         // query heads; the largest where layers differ
    std::int64_t kv_head_count = 0;      // key/value heads; equal to head_count where the file states none
    std::int64_t head_size = 0;          // D; H / head_count where the file states none
    std::int64_t ffn_size = 0;           // width of a dense feed-forward
    std::int64_t expert_count = 0;       // E; routed experts of a sparse layer
    std::int64_t experts_per_token = 0;  // K
    std::int64_t shared_expert_count = 0;
    std::int64_t expert_ffn_size = 0;  // F; width of one routed expert
    std::int64_t vocabulary_size = 0;  // V
    std::int64_t context_tokens = 0;   // the longest sequence it was trained for
    std::vector<TokenId> end_tokens;   // all of them, from generation_config.json where there is one
    bool has_chat_template = false;
    std::string tokenizer;                   // where one was found: "GGUF (gpt2)", "tokenizer.json", "tokenizer.model"
    std::int64_t tokenizer_token_count = 0;  // GGUF only: entries of its vocabulary
};

class Checkpoint {
  public:
    // `path` is a .gguf file (any part of a split one), a .safetensors file, a *.safetensors.index.json, or a folder
    // that holds one of these.  Reads headers only.  Errors: NOT_FOUND (the path or a named part), IO, UNKNOWN_FORMAT
    // (and says what the file is instead: a git-LFS pointer, a web page, a pickle …), UNSUPPORTED, CORRUPT_FILE.
    // Threads: any-thread.
    static Result<Checkpoint> open(const std::string& path) noexcept;

    // All const members: any-thread.  References and views live as long as the Checkpoint or a copy of it.
    CheckpointFormat format() const noexcept;
    std::string_view format_name() const noexcept;  // "GGUF v3", "safetensors"
    const ModelFacts& facts() const noexcept;
    std::span<const CheckpointFile> files() const noexcept;
    std::span<const TensorInfo> tensors() const noexcept;          // in file order
    const TensorInfo* find(std::string_view name) const noexcept;  // nullptr where there is none of that name
    std::uint64_t parameter_count() const noexcept;                // elements of all tensors
    std::uint64_t weight_bytes() const noexcept;                   // bytes of all tensors

    // What is odd but no reason to refuse, one sentence each: contradictions between config, tensors and declared size.
    std::span<const std::string> warnings() const noexcept;

    // Copies one tensor's bytes, as the file stores them, into `out`, which must hold exactly size_bytes
    // (INVALID_ARGUMENT).  IO or CORRUPT_FILE when the file fails or shrank since it was opened.  Blocks on the disk.
    Status read(const TensorInfo& tensor, std::span<std::byte> out) const noexcept;

    struct State;
    explicit Checkpoint(std::shared_ptr<const State> state) noexcept : state_(std::move(state)) {}

  private:
    std::shared_ptr<const State> state_;  // shared by copies; immutable
};

}  // namespace mixtura
