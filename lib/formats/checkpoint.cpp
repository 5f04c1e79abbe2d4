#include <mixtura/checkpoint.hpp>

#include "base/error.hpp"
#include "formats/model_files.hpp"

namespace mixtura {

struct Checkpoint::State {
    ModelFiles model;
    std::vector<CheckpointFile> files;
    std::uint64_t parameter_count = 0;
    std::uint64_t weight_bytes = 0;
};

Result<Checkpoint> Checkpoint::open(const std::string& path) noexcept {
    return without_exceptions([&]() -> Result<Checkpoint> {
        MIXTURA_ASSIGN_OR_RETURN(ModelFiles model, ModelFiles::open(path));
        auto state = std::make_shared<State>();
        for (const auto& file : model.index.files) state->files.push_back({file->name(), file->size_bytes()});
        state->parameter_count = model.index.parameter_count();
        state->weight_bytes = model.index.weight_bytes();
        state->model = std::move(model);
        return Checkpoint(std::move(state));
    });
}

CheckpointFormat Checkpoint::format() const noexcept { return state_->model.format; }
std::string_view Checkpoint::format_name() const noexcept { return state_->model.format_name; }
const ModelFacts& Checkpoint::facts() const noexcept { return state_->model.config.facts; }
std::span<const CheckpointFile> Checkpoint::files() const noexcept { return state_->files; }
std::span<const TensorInfo> Checkpoint::tensors() const noexcept { return state_->model.index.tensors; }
const TensorInfo* Checkpoint::find(std::string_view name) const noexcept { return state_->model.index.find(name); }
std::uint64_t Checkpoint::parameter_count() const noexcept { return state_->parameter_count; }
std::uint64_t Checkpoint::weight_bytes() const noexcept { return state_->weight_bytes; }
std::span<const std::string> Checkpoint::warnings() const noexcept { return state_->model.warnings; }

Status Checkpoint::read(const TensorInfo& tensor, std::span<std::byte> out) const noexcept {
    return without_exceptions([&] { return state_->model.index.read(tensor, out); });
}

}  // namespace mixtura
