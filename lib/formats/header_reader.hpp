// A cursor over a file's header: little-endian numbers and byte runs, read through one 64 KiB window, each checked
// against the bytes that are left before anything is allocated for it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "memory/byte_source.hpp"

namespace mixtura {

static_assert(std::endian::native == std::endian::little, "the readers copy little-endian numbers as they are");

class HeaderReader {
  public:
    explicit HeaderReader(const ByteSource& source) : source_(source) {}

    std::uint64_t position() const noexcept { return window_begin_ + used_; }
    std::uint64_t bytes_left() const noexcept { return source_.size_bytes() - position(); }
    const ByteSource& source() const noexcept { return source_; }

    // `what` completes "… is cut short: <what> needs …".
    template <class T>
    Result<T> number(std::string_view what) {
        T value{};
        MIXTURA_RETURN_IF_ERROR(copy({reinterpret_cast<std::byte*>(&value), sizeof value}, what));
        return value;
    }

    // number() without a Result, for lists of millions: false when the window ends before, and number() goes on from
    // there.
    template <class T>
    bool number_in_window(T& value) noexcept {
        if (window_.size() - used_ < sizeof value) return false;
        std::memcpy(&value, window_.data() + used_, sizeof value);
        used_ += sizeof value;
        return true;
    }

    // Appends `count` bytes to `out`.
    Status append(std::vector<char>& out, std::uint64_t count, std::string_view what) {
        if (count > bytes_left()) return cut_short(count, what);
        const std::size_t begin = out.size();
        out.resize(begin + static_cast<std::size_t>(count));
        return copy(std::as_writable_bytes(std::span(out).subspan(begin)), what);
    }

    Status copy(std::span<std::byte> out, std::string_view what) {
        if (out.size() > bytes_left()) return cut_short(out.size(), what);
        while (!out.empty()) {
            if (used_ == window_.size()) MIXTURA_RETURN_IF_ERROR(refill());
            const std::size_t piece = std::min(out.size(), window_.size() - used_);
            std::memcpy(out.data(), window_.data() + used_, piece);
            used_ += piece;
            out = out.subspan(piece);
        }
        return {};
    }

  private:
    Status cut_short(std::uint64_t count, std::string_view what) const {
        return error(StatusCode::corrupt_file, quoted(source_.name(), 400),
                     " is cut short or lies about its sizes: ", what, " needs ", count, " bytes at byte ", position(),
                     ", the file has ", source_.size_bytes());
    }
    Status refill() {
        constexpr std::uint64_t kWindowBytes = 64 << 10;
        window_begin_ += window_.size();
        used_ = 0;
        window_.resize(static_cast<std::size_t>(std::min(kWindowBytes, source_.size_bytes() - window_begin_)));
        return source_.read_at(window_begin_, window_);
    }

    const ByteSource& source_;
    std::vector<std::byte> window_;
    std::uint64_t window_begin_ = 0;
    std::size_t used_ = 0;
};

}  // namespace mixtura
