// The memory of one rendering: handed out piece by piece, given back all at once.  Values of a template form cycles (a
// macro in a namespace its body reads) and nest without limit, so nothing here has a destructor; the price, that
// nothing is freed before the end, is bounded by the limit that every piece counts against.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace mixtura {

class JinjaArena {
  public:
    explicit JinjaArena(std::size_t bytes_max) : bytes_max_(std::min(bytes_max, std::size_t{1} << 30)) {}

    std::size_t bytes_max() const noexcept { return bytes_max_; }
    std::size_t bytes_used() const noexcept { return bytes_used_; }

    // 8-aligned bytes, or null where the limit forbids.  Throws std::bad_alloc where the host has none.
    void* allocate(std::size_t bytes) {
        if (bytes > bytes_max_ - bytes_used_) return nullptr;
        const std::size_t rounded = bytes == 0 ? 8 : (bytes + 7) & ~std::size_t{7};  // nothing has an address too
        bytes_used_ = std::min(bytes_max_, bytes_used_ + rounded);
        if (rounded > left_) return allocate_block(rounded);
        std::byte* piece = next_;
        next_ += rounded;
        left_ -= rounded;
        return piece;
    }

    template <class T>
    T* make_array(std::size_t count) {
        static_assert(std::is_trivially_destructible_v<T> && alignof(T) <= 8);
        if (count > bytes_max_ / sizeof(T)) return nullptr;
        void* bytes = allocate(count * sizeof(T));
        if (bytes == nullptr) return nullptr;
        T* items = static_cast<T*>(bytes);
        std::uninitialized_value_construct_n(items, count);
        return items;
    }

  private:
    static constexpr std::size_t kBlockBytes = 32768;  // a short prompt takes one or two

    void* allocate_block(std::size_t rounded) {
        const std::size_t block = std::max(rounded, kBlockBytes);
        blocks_.push_back(std::unique_ptr<std::byte[]>(new std::byte[block]));
        std::byte* piece = blocks_.back().get();
        if (block - rounded > left_) {  // keep filling whichever block has more room
            next_ = piece + rounded;
            left_ = block - rounded;
        }
        return piece;
    }

    std::size_t bytes_max_;
    std::size_t bytes_used_ = 0;
    std::byte* next_ = nullptr;
    std::size_t left_ = 0;
    std::vector<std::unique_ptr<std::byte[]>> blocks_;
};

}  // namespace mixtura
