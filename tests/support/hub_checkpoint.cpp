#include "support/hub_checkpoint.hpp"

#include <stdexcept>

#include "support/safetensors_writer.hpp"

namespace mixtura::test {
namespace {

const char* spelling(DType dtype) {
    switch (dtype) {
        case DType::f32: return "F32";
        case DType::bf16: return "BF16";
        case DType::f16: return "F16";
        case DType::f8_e4m3: return "F8_E4M3";
        case DType::i32: return "I32";
        case DType::u8: return "U8";
        default: throw std::runtime_error("no spelling known of " + std::string(dtype_name(dtype)));
    }
}

}  // namespace

HubCheckpoint::HubCheckpoint(const std::string& folder, const std::string& config_name)
    : config(nlohmann::json::parse(read_file(folder + "/" + config_name))) {
    const Result<Checkpoint> checkpoint = Checkpoint::open(folder);
    if (!checkpoint) throw std::runtime_error(std::string(checkpoint.status().message()));
    for (const TensorInfo& tensor : checkpoint->tensors()) tensors[tensor.name] = array_of(*checkpoint, tensor.name);
}

std::string HubCheckpoint::write(const TemporaryFolder& folder) const {
    SafetensorsFile file;
    for (const auto& [name, array] : tensors) file.tensor(name, spelling(array.dtype), array.shape, array.bytes);
    folder.write("model.safetensors", file.bytes());
    folder.write("config.json", config.dump());
    return folder.path();
}

}  // namespace mixtura::test
