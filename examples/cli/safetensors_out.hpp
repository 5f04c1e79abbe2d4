// A safetensors file of f32 tensors, written piece by piece while they are computed: any tensor's next part may come
// at any time, so nothing is held in memory.  Until finish() the file is called <path>.part; a writer that goes before
// that takes it away.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mixtura::cli {

class SafetensorsOut {
  public:
    struct Tensor {
        std::string name;
        std::vector<std::int64_t> extents;
    };

    // Lays the tensors out in the order given.  IO.
    static Result<SafetensorsOut> create(const std::string& path, const std::vector<Tensor>& tensors);

    // Puts `values` at elements `first_element` and on of the tensor with that index.  IO (a full disk among others),
    // OUT_OF_RANGE beyond the tensor.
    Status write(std::size_t tensor, std::uint64_t first_element, std::span<const float> values);

    // Gives the file its name.  BAD_STATE where elements are missing; IO.
    Status finish();

    SafetensorsOut(SafetensorsOut&& other) noexcept;
    SafetensorsOut& operator=(SafetensorsOut&&) = delete;
    ~SafetensorsOut();

  private:
    struct Place {
        std::uint64_t offset_bytes = 0, size_bytes = 0;
    };

    SafetensorsOut(std::string path, int descriptor) noexcept : path_(std::move(path)), descriptor_(descriptor) {}
    std::string part_path() const { return path_ + ".part"; }
    Status write_bytes(std::uint64_t offset_bytes, std::span<const std::byte> bytes);

    std::string path_;
    int descriptor_ = -1;  // -1: finished, or moved from
    std::vector<Place> places_;
    std::uint64_t missing_bytes_ = 0;
};

}  // namespace mixtura::cli
