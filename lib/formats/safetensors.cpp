#include "formats/safetensors.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/checked.hpp"
#include "formats/header_reader.hpp"
#include "formats/json_scanner.hpp"

namespace mixtura {
namespace {

constexpr std::uint64_t kHeaderBytesMax = 100'000'000;  // the reference reader's own bound
// Bounds no honest file comes near: the most tensors in one published shard are a few thousand, their names take some
// 60 bytes, and __metadata__ is mostly {"format": "pt"}.
constexpr std::size_t kTensorCountMax = 1 << 18;
constexpr std::size_t kTensorNameBytesMax = 4096;
constexpr std::size_t kFieldBytesMax = 64;  // "data_offsets", "F8_E4M3FNUZ"
constexpr std::size_t kMetadataCountMax = 4096;
constexpr std::size_t kMetadataBytesMax = 16 << 20;
constexpr std::size_t kDepthMax = 4;  // header, tensor, shape, and one more for the handler to name what is there

constexpr std::pair<std::string_view, DType> kDTypes[] = {
    {"F64", DType::f64},
    {"F32", DType::f32},
    {"F16", DType::f16},
    {"BF16", DType::bf16},
    {"F8_E4M3", DType::f8_e4m3},
    {"F8_E5M2", DType::f8_e5m2},
    {"F8_E8M0", DType::f8_e8m0},
    {"F8_E4M3FNUZ", DType::f8_e4m3fnuz},
    {"F8_E5M2FNUZ", DType::f8_e5m2fnuz},
    {"F6_E2M3", DType::f6_e2m3},
    {"F6_E3M2", DType::f6_e3m2},
    {"F4", DType::f4_e2m1},
    {"C64", DType::c64},
    {"I64", DType::i64},
    {"I32", DType::i32},
    {"I16", DType::i16},
    {"I8", DType::i8},
    {"U64", DType::u64},
    {"U32", DType::u32},
    {"U16", DType::u16},
    {"U8", DType::u8},
    {"BOOL", DType::boolean},
};

// The header's bytes one after another, for the scanner; a read that fails ends the text and is kept.
class HeaderFeed {
  public:
    HeaderFeed(HeaderReader& reader, std::uint64_t bytes) : reader_(reader), left_(bytes) {}

    int peek() {
        if (used_ == piece_.size() && !refill()) return -1;
        return static_cast<unsigned char>(piece_[used_]);
    }
    void pop() { ++used_; }
    const Status& failure() const { return failure_; }

  private:
    bool refill() {
        piece_.clear();
        used_ = 0;
        const std::uint64_t bytes = std::min<std::uint64_t>(left_, 4096);
        if (bytes == 0) return false;
        failure_ = reader_.append(piece_, bytes, "the header");
        left_ = failure_.is_ok() ? left_ - bytes : 0;
        if (!failure_.is_ok()) piece_.clear();
        return failure_.is_ok();
    }

    HeaderReader& reader_;
    std::uint64_t left_;
    std::vector<char> piece_;
    std::size_t used_ = 0;
    Status failure_;
};

// Follows {name: {"dtype": text, "shape": [n…], "data_offsets": [begin, end]}, "__metadata__": {text: text}} and
// nothing else.
class HeaderHandler {
  public:
    HeaderHandler(SafetensorsHeader& header, std::string_view name) : header_(header), name_(name) {}

    Status failure() && { return std::move(failure_); }

    bool null() { return unexpected("null"); }
    bool boolean(bool) { return unexpected("a boolean"); }
    bool number(const JsonNumber& number) {
        if (place_ != Place::shape && place_ != Place::offsets) return unexpected("a number");
        if (!number.integer || *number.integer < 0) {
            return fail(where(), " has ", quoted(number.digits), " in its ", field_,
                        ", expected a whole number from 0 to 2^63 - 1");
        }
        if (place_ == Place::shape) {
            if (extents_.size() == Shape::kMaxRank)
                return fail(where(), " has more than ", Shape::kMaxRank, " dimensions");
            extents_.push_back(*number.integer);
            return true;
        }
        if (offset_count_ == 2) return fail(where(), " has more than two data_offsets");
        offsets_[offset_count_++] = static_cast<std::uint64_t>(*number.integer);
        return true;
    }

    bool begin_string(bool is_key) {
        string_.clear();
        if (is_key || place_ == Place::metadata || (place_ == Place::tensor && field_ == "dtype")) return true;
        return unexpected("a string");
    }
    bool string_piece(std::string_view piece) {
        string_ += piece;
        const std::size_t bytes_max = place_ == Place::top      ? kTensorNameBytesMax
                                      : place_ == Place::tensor ? kFieldBytesMax
                                                                : kMetadataBytesMax;
        if (string_.size() <= bytes_max) return true;
        if (place_ == Place::top)
            return fail("a tensor's name takes more than ", bytes_max, " bytes: ", quoted(string_));
        if (place_ == Place::tensor)
            return fail(where(), " has a field or dtype of more than ", bytes_max, " bytes: ", quoted(string_));
        return fail("__metadata__ takes more than ", bytes_max, " bytes");
    }
    bool end_string(bool is_key) {
        if (place_ == Place::top) key_ = string_;
        if (place_ == Place::metadata) return is_key ? metadata_key() : metadata_value();
        if (place_ != Place::tensor) return true;
        return is_key ? tensor_field() : tensor_dtype();
    }

    bool begin_object() {
        if (place_ == Place::outside) {
            place_ = Place::top;
            return true;
        }
        if (place_ != Place::top) return unexpected("an object");
        if (key_ == "__metadata__") {
            if (has_metadata_) return fail("the header has __metadata__ twice");
            place_ = Place::metadata;
            return has_metadata_ = true;
        }
        if (header_.tensors.size() == kTensorCountMax)
            return fail("the header lists more than ", kTensorCountMax, " tensors");
        place_ = Place::tensor;
        tensor_ = {};
        tensor_.name = key_;
        has_dtype_ = has_shape_ = has_offsets_ = false;
        return true;
    }
    bool end_object() {
        if (place_ == Place::tensor && !finish_tensor()) return false;
        place_ = place_ == Place::top ? Place::outside : Place::top;
        return true;
    }
    bool begin_array() {
        if (place_ != Place::tensor || field_ == "dtype") return unexpected("an array");
        place_ = field_ == "shape" ? Place::shape : Place::offsets;
        if (place_ == Place::shape) extents_.clear();
        if (place_ == Place::offsets) offset_count_ = 0;
        return true;
    }
    bool end_array() {
        place_ = Place::tensor;
        return true;
    }

  private:
    enum class Place { outside, top, tensor, shape, offsets, metadata };

    template <class... Parts>
    bool fail(const Parts&... parts) {
        failure_ = error(StatusCode::corrupt_file, quoted(name_, 400), ": ", parts...);
        return false;
    }
    std::string where() const { return key_ == "__metadata__" ? key_ : text("tensor ", quoted(key_)); }

    bool unexpected(std::string_view what) {
        if (place_ == Place::outside) return fail("the header is ", what, ", expected an object");
        if (place_ == Place::top) return fail(where(), " is ", what, ", expected an object");
        const bool is_metadata = place_ == Place::metadata;
        const std::string_view expected = is_metadata || field_ == "dtype" ? "a string"
                                          : place_ == Place::tensor        ? "an array"
                                                                           : "whole numbers";
        return fail(where(), " has ", what, place_ == Place::tensor || is_metadata ? " as its " : " in its ",
                    is_metadata ? quoted(field_) : field_, ", expected ", expected);
    }

    bool metadata_key() {
        field_ = string_;
        if (header_.metadata.size() < kMetadataCountMax) return true;
        return fail("__metadata__ has more than ", kMetadataCountMax, " entries");
    }
    bool metadata_value() {
        metadata_bytes_ += field_.size() + string_.size();
        if (metadata_bytes_ > kMetadataBytesMax)
            return fail("__metadata__ takes more than ", kMetadataBytesMax, " bytes");
        header_.metadata.emplace_back(field_, string_);
        return true;
    }
    bool tensor_field() {
        field_ = string_;
        bool* seen = field_ == "dtype"          ? &has_dtype_
                     : field_ == "shape"        ? &has_shape_
                     : field_ == "data_offsets" ? &has_offsets_
                                                : nullptr;
        if (seen == nullptr) return fail(where(), " has the unknown field ", quoted(field_));
        if (*seen) return fail(where(), " states its ", field_, " twice");
        return *seen = true;
    }
    bool tensor_dtype() {
        const auto* known = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                         [&](const auto& entry) { return entry.first == string_; });
        if (known != std::end(kDTypes)) {
            tensor_.dtype = known->second;
            return true;
        }
        failure_ = error(StatusCode::unsupported, quoted(name_, 400), ": ", where(), " has dtype ", quoted(string_),
                         ", which this version does not know");
        return false;
    }

    bool finish_tensor() {
        if (!has_dtype_ || !has_shape_ || !has_offsets_) {
            return fail(where(), " has no ", !has_dtype_ ? "dtype" : !has_shape_ ? "shape" : "data_offsets");
        }
        if (offset_count_ != 2) return fail(where(), " has ", offset_count_, " data_offsets, expected 2");
        const auto shape = Shape::from(extents_);
        if (!shape) return fail(where(), " has more elements than 64 bits can count");
        tensor_.shape = *shape;
        const auto bytes = tensor_size_bytes(tensor_.dtype, tensor_.shape);
        const auto kind = [&] {
            return text(" of shape ", shape->to_string(), " and dtype ", dtype_name(tensor_.dtype));
        };
        const bool is_whole = shape->element_count() % dtype_info(tensor_.dtype).block_elements == 0;
        if (!bytes)
            return fail(where(), kind(),
                        is_whole ? " takes more bytes than 64 bits can count" : " takes no whole number of bytes");
        if (offsets_[1] < offsets_[0]) {
            return fail(where(), " ends at byte ", offsets_[1], " of the data, before it begins at byte ", offsets_[0]);
        }
        tensor_.offset_bytes = offsets_[0];
        tensor_.size_bytes = offsets_[1] - offsets_[0];
        if (tensor_.size_bytes != *bytes) {
            return fail(where(), kind(), " needs ", *bytes, " bytes, its data_offsets give it ", tensor_.size_bytes);
        }
        header_.tensors.push_back(std::move(tensor_));
        return true;
    }

    SafetensorsHeader& header_;
    std::string_view name_;
    Place place_ = Place::outside;
    std::string string_;       // the one being read
    std::string key_, field_;  // where it stands: of the header, of a tensor or of __metadata__
    SafetensorsTensor tensor_;
    std::vector<std::int64_t> extents_;
    std::array<std::uint64_t, 2> offsets_{};
    std::size_t offset_count_ = 0;
    std::size_t metadata_bytes_ = 0;
    bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false, has_metadata_ = false;
    Status failure_;
};

// The first of `names` that is there twice.
std::optional<std::string_view> twin_among(std::vector<std::string_view> names) {
    std::sort(names.begin(), names.end());
    const auto twin = std::adjacent_find(names.begin(), names.end());
    return twin == names.end() ? std::nullopt : std::optional(*twin);
}

Status check_names(const SafetensorsHeader& header, std::string_view file) {
    std::vector<std::string_view> names, keys;
    for (const SafetensorsTensor& tensor : header.tensors) names.push_back(tensor.name);
    for (const auto& [key, value] : header.metadata) keys.push_back(key);
    if (const auto twin = twin_among(std::move(names))) {
        return error(StatusCode::corrupt_file, quoted(file, 400), ": tensor ", quoted(*twin), " is there twice");
    }
    if (const auto twin = twin_among(std::move(keys))) {
        return error(StatusCode::corrupt_file, quoted(file, 400), ": __metadata__ has the key ", quoted(*twin),
                     " twice");
    }
    return {};
}

// From offsets in the data section to offsets in the file, with every byte of the section in exactly one tensor.
Status place_tensors(SafetensorsHeader& header, std::uint64_t data_begin, const ByteSource& source) {
    // Empty tensors before the one that begins where they do, or they would seem to lie in its middle.
    std::stable_sort(header.tensors.begin(), header.tensors.end(), [](const auto& a, const auto& b) {
        return std::pair(a.offset_bytes, a.size_bytes) < std::pair(b.offset_bytes, b.size_bytes);
    });
    const std::uint64_t data_bytes = source.size_bytes() - data_begin;
    std::uint64_t expected = 0;
    const SafetensorsTensor* cut = nullptr;
    for (SafetensorsTensor& tensor : header.tensors) {
        if (tensor.offset_bytes != expected) {
            return error(StatusCode::corrupt_file, quoted(source.name(), 400), ": tensor ", quoted(tensor.name),
                         " begins at byte ", tensor.offset_bytes, " of the data, expected ", expected,
                         expected == 0 ? ", where the data begins" : ", where the one before it ends");
        }
        expected += tensor.size_bytes;  // cannot wrap: equals the tensor's own end, which is an int64
        if (expected > data_bytes && cut == nullptr) cut = &tensor;
    }
    if (cut != nullptr) {
        return error(StatusCode::corrupt_file, quoted(source.name(), 400), " is cut short: tensor ", quoted(cut->name),
                     " needs bytes ", cut->offset_bytes, " to ", cut->offset_bytes + cut->size_bytes,
                     " of the data, the file has ", data_bytes, " of them; ", expected - data_bytes,
                     " bytes are missing");
    }
    if (expected != data_bytes) {
        return error(StatusCode::corrupt_file, quoted(source.name(), 400), ": ", data_bytes - expected,
                     " bytes behind the last tensor belong to none");
    }
    for (SafetensorsTensor& tensor : header.tensors) tensor.offset_bytes += data_begin;
    return {};
}

}  // namespace

Result<SafetensorsHeader> SafetensorsHeader::read(const ByteSource& source) {
    HeaderReader reader(source);
    MIXTURA_ASSIGN_OR_RETURN(const auto length, reader.number<std::uint64_t>("the header's length"));
    if (length > reader.bytes_left()) {
        return error(StatusCode::corrupt_file, quoted(source.name(), 400), " states a header of ", length,
                     " bytes, but only ", reader.bytes_left(), " follow");
    }
    if (length > kHeaderBytesMax || length < 2) {
        return error(StatusCode::corrupt_file, quoted(source.name(), 400), " states a header of ", length,
                     " bytes, expected 2 to ", kHeaderBytesMax);
    }
    SafetensorsHeader header;
    HeaderHandler handler(header, source.name());
    HeaderFeed feed(reader, length);
    JsonScanner scanner(feed, handler, kDepthMax);
    const bool is_read = scanner.scan();
    MIXTURA_RETURN_IF_ERROR(feed.failure());
    if (!is_read && scanner.problem().empty()) return std::move(handler).failure();
    if (!is_read)
        return error(StatusCode::corrupt_file, quoted(source.name(), 400), ": the header ", scanner.problem());
    MIXTURA_RETURN_IF_ERROR(check_names(header, source.name()));
    MIXTURA_RETURN_IF_ERROR(place_tensors(header, sizeof length + length, source));
    return header;
}

}  // namespace mixtura
