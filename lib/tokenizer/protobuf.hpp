// Protocol buffers' wire format, as far as a SentencePiece model needs it: fields of a message one after another, each
// checked against the bytes left.  Nothing recurses; a nested message is a field's bytes, read by another reader.
// Source: protobuf.dev, "Encoding".
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace mixtura {

struct ProtobufField {
    std::uint32_t number = 0;
    std::uint32_t wire_type = 0;  // 0 varint, 1 fixed 64, 2 bytes, 5 fixed 32
    std::uint64_t value = 0;      // varint and fixed
    std::string_view bytes;       // wire type 2

    float as_float() const noexcept { return std::bit_cast<float>(static_cast<std::uint32_t>(value)); }
};

class ProtobufReader {
  public:
    explicit ProtobufReader(std::string_view message) noexcept : rest_(message) {}

    // The next field; false at the end of the message and where it is malformed.
    bool next(ProtobufField& field) noexcept {
        if (rest_.empty()) return false;
        std::uint64_t tag = 0;
        is_malformed_ = !varint(tag) || tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF || !payload(tag, field);
        return !is_malformed_;
    }
    bool is_malformed() const noexcept { return is_malformed_; }

  private:
    bool varint(std::uint64_t& value) noexcept {
        value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (rest_.empty()) return false;
            const auto byte = static_cast<unsigned char>(rest_[0]);
            rest_.remove_prefix(1);
            value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return true;
        }
        return false;
    }
    bool fixed(std::size_t bytes, std::uint64_t& value) noexcept {
        if (rest_.size() < bytes) return false;
        value = 0;
        for (std::size_t i = 0; i < bytes; ++i) {
            value |= static_cast<std::uint64_t>(static_cast<unsigned char>(rest_[i])) << 8 * i;
        }
        rest_.remove_prefix(bytes);
        return true;
    }
    bool payload(std::uint64_t tag, ProtobufField& field) noexcept {
        field = {static_cast<std::uint32_t>(tag >> 3), static_cast<std::uint32_t>(tag & 7), 0, {}};
        switch (field.wire_type) {
            case 0: return varint(field.value);
            case 1: return fixed(8, field.value);
            case 5: return fixed(4, field.value);
            case 2: {
                std::uint64_t length = 0;
                if (!varint(length) || length > rest_.size()) return false;
                field.bytes = rest_.substr(0, static_cast<std::size_t>(length));
                rest_.remove_prefix(static_cast<std::size_t>(length));
                return true;
            }
            default: return false;  // groups are not used, 6 and 7 do not exist
        }
    }

    std::string_view rest_;
    bool is_malformed_ = false;
};

}  // namespace mixtura
