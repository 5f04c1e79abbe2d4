#include "cli/safetensors_out.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "cli/format.hpp"

namespace mixtura::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are written as they lie in memory");

Status io_error(std::string_view what, const std::string& path, int number) {
    return Status(StatusCode::io, "cannot " + std::string(what) + " '" + printable(path) +
                                      "': " + std::generic_category().message(number));
}

}  // namespace

Result<SafetensorsOut> SafetensorsOut::create(const std::string& path, const std::vector<Tensor>& tensors) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    std::vector<Place> places;
    std::uint64_t data_bytes = 0;
    for (const Tensor& tensor : tensors) {
        std::uint64_t bytes = sizeof(float);
        for (const std::int64_t extent : tensor.extents) bytes *= static_cast<std::uint64_t>(extent);
        header[tensor.name] = {
            {"dtype", "F32"}, {"shape", tensor.extents}, {"data_offsets", {data_bytes, data_bytes + bytes}}};
        places.push_back({data_bytes, bytes});
        data_bytes += bytes;
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins at a multiple of 8, as readers that map it like
    std::string bytes(8, '\0');
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(std::uint64_t{text.size()} >> (8 * i) & 0xFF);
    bytes += text;

    const std::string part = path + ".part";
    const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor < 0) return io_error("create", part, errno);
    SafetensorsOut out(path, descriptor);
    for (Place& place : places) place.offset_bytes += bytes.size();
    out.places_ = std::move(places);
    out.missing_bytes_ = data_bytes;
    if (Status status = out.write_bytes(0, std::as_bytes(std::span(bytes))); !status.is_ok()) return status;
    return out;
}

Status SafetensorsOut::write_bytes(std::uint64_t offset_bytes, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset_bytes));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return io_error("write", part_path(), written < 0 ? errno : ENOSPC);
        offset_bytes += static_cast<std::uint64_t>(written);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
}

Status SafetensorsOut::write(std::size_t tensor, std::uint64_t first_element, std::span<const float> values) {
    const Place& place = places_.at(tensor);
    const std::uint64_t begin = first_element * sizeof(float);
    if (begin > place.size_bytes || values.size_bytes() > place.size_bytes - begin) {
        return Status(StatusCode::out_of_range, "elements beyond the end of tensor " + std::to_string(tensor));
    }
    if (Status status = write_bytes(place.offset_bytes + begin, std::as_bytes(values)); !status.is_ok()) return status;
    missing_bytes_ -= values.size_bytes();
    return {};
}

Status SafetensorsOut::finish() {
    if (missing_bytes_ != 0) {
        return Status(StatusCode::bad_state,
                      "'" + printable(path_) + "' still lacks " + std::to_string(missing_bytes_) + " bytes");
    }
    // Some file systems find a full disk only now.
    if (::fsync(descriptor_) != 0) return io_error("write", part_path(), errno);
    if (::close(std::exchange(descriptor_, -1)) != 0 || std::rename(part_path().c_str(), path_.c_str()) != 0) {
        const int number = errno;
        ::unlink(part_path().c_str());
        return io_error("write", path_, number);
    }
    return {};
}

SafetensorsOut::SafetensorsOut(SafetensorsOut&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      places_(std::move(other.places_)),
      missing_bytes_(other.missing_bytes_) {}

SafetensorsOut::~SafetensorsOut() {
    if (descriptor_ < 0) return;
    ::close(descriptor_);
    ::unlink(part_path().c_str());
}

}  // namespace mixtura::cli
