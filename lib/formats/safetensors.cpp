#include "formats/safetensors.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/checked.hpp"
#include "formats/header_reader.hpp"

namespace mixtura {
namespace {

constexpr std::uint64_t kHeaderBytesMax = 100'000'000;  // the reference reader's own bound
constexpr std::size_t kTensorNameBytesMax = 4096;
constexpr std::size_t kMetadataBytesMax = 16 << 20;

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

// The header's bytes one after another, for the JSON parser; a read that fails ends the text and is kept.
class HeaderText {
  public:
    HeaderText(HeaderReader& reader, std::uint64_t bytes) : reader_(reader), left_(bytes) {}

    bool at_end() const { return left_ == 0 || !failure_.is_ok(); }
    char front() {
        if (piece_used_ == piece_.size()) refill();
        return piece_.empty() ? '\0' : piece_[piece_used_];
    }
    void pop() {
        ++piece_used_;
        --left_;
    }
    const Status& failure() const { return failure_; }

    struct Iterator {
        using iterator_category = std::input_iterator_tag;
        using value_type = char;
        using difference_type = std::ptrdiff_t;
        using pointer = const char*;
        using reference = char;
        HeaderText* text = nullptr;  // nullptr: the end
        char operator*() const { return text->front(); }
        Iterator& operator++() {
            text->pop();
            return *this;
        }
        Iterator operator++(int) { return ++*this; }
        bool operator==(const Iterator& other) const {
            const bool ends = text == nullptr || text->at_end(),
                       other_ends = other.text == nullptr || other.text->at_end();
            return ends == other_ends;
        }
        bool operator!=(const Iterator& other) const { return !(*this == other); }
    };

  private:
    void refill() {
        piece_.clear();
        piece_used_ = 0;
        failure_ = reader_.append(piece_, std::min<std::uint64_t>(left_, 4096), "the header");
        if (!failure_.is_ok()) piece_.clear();
    }

    HeaderReader& reader_;
    std::uint64_t left_;
    std::vector<char> piece_;
    std::size_t piece_used_ = 0;
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
    bool number_integer(std::int64_t value) { return fail(where(), " holds the negative number ", value); }
    bool number_float(double, const std::string& digits) {
        return fail(where(), " holds ", quoted(digits), ", expected a whole number");
    }
    bool binary(std::vector<std::uint8_t>&) { return unexpected("binary data"); }
    bool number_unsigned(std::uint64_t value) {
        if (place_ == Place::shape) {
            const auto extent = checked_cast<std::int64_t>(value);
            if (!extent) return fail(where(), " holds an extent of ", value, ", more than any tensor can have");
            if (extents_.size() == Shape::kMaxRank) {
                return fail(where(), " has more than ", Shape::kMaxRank, " dimensions");
            }
            extents_.push_back(*extent);
            return true;
        }
        if (place_ == Place::offsets) {
            if (offset_count_ == 2) return fail(where(), " has more than two data_offsets");
            offsets_[offset_count_++] = value;
            return true;
        }
        return unexpected("a number");
    }
    bool string(std::string& value) {
        if (place_ == Place::metadata) {
            metadata_bytes_ += field_.size() + value.size();
            if (metadata_bytes_ > kMetadataBytesMax) {
                return fail("holds more than ", kMetadataBytesMax, " bytes of __metadata__");
            }
            header_.metadata.emplace_back(field_, value);
            return true;
        }
        if (place_ != Place::tensor || field_ != "dtype") return unexpected("a string");
        const auto* known = std::find_if(std::begin(kDTypes), std::end(kDTypes),
                                         [&](const auto& entry) { return entry.first == value; });
        if (known == std::end(kDTypes)) {
            failure_ = error(StatusCode::unsupported, quoted(name_, 400), ": ", where(), " has dtype ", quoted(value),
                             ", which this version does not know");
            return false;
        }
        tensor_.dtype = known->second;
        return true;
    }
    bool start_object(std::size_t) {
        if (place_ == Place::outside) {
            place_ = Place::top;
            return true;
        }
        if (place_ != Place::top) return unexpected("an object");
        if (key_ == "__metadata__") {
            place_ = Place::metadata;
            return true;
        }
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
    bool key(std::string& value) {
        if (place_ == Place::top) {
            if (value.size() > kTensorNameBytesMax) {
                return fail("a tensor's name takes ", value.size(), " bytes, expected at most ", kTensorNameBytesMax);
            }
            key_ = value;
            return true;
        }
        field_ = value;
        if (place_ == Place::metadata) return true;
        bool* seen = value == "dtype"          ? &has_dtype_
                     : value == "shape"        ? &has_shape_
                     : value == "data_offsets" ? &has_offsets_
                                               : nullptr;
        if (seen == nullptr) return fail(where(), " has the unknown field ", quoted(value));
        if (*seen) return fail(where(), " states ", value, " twice");
        return *seen = true;
    }
    bool start_array(std::size_t) {
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
    bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
        return fail("the header is not valid JSON at its byte ", position);
    }

  private:
    enum class Place { outside, top, tensor, shape, offsets, metadata };

    template <class... Parts>
    bool fail(const Parts&... parts) {
        failure_ = error(StatusCode::corrupt_file, quoted(name_, 400), ": ", parts...);
        return false;
    }
    std::string where() const {
        if (place_ == Place::outside) return "the header";
        if (place_ == Place::metadata || key_ == "__metadata__") return "__metadata__";
        return text("tensor ", quoted(key_));
    }
    bool unexpected(std::string_view what) {
        if (place_ == Place::outside) return fail("the header is ", what, ", expected an object");
        if (place_ == Place::top) return fail(where(), " is ", what, ", expected an object");
        return fail(where(), " has ", what, " as ", place_ == Place::metadata ? quoted(field_) : field_,
                    place_ == Place::metadata ? ", expected a string" : "");
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
        if (!bytes) {
            return fail(where(), " of shape ", shape->to_string(), " and dtype ", dtype_name(tensor_.dtype),
                        " is no whole number of bytes");
        }
        if (offsets_[1] < offsets_[0]) {
            return fail(where(), " ends at ", offsets_[1], ", before its begin ", offsets_[0]);
        }
        tensor_.offset_bytes = offsets_[0];
        tensor_.size_bytes = offsets_[1] - offsets_[0];
        if (tensor_.size_bytes != *bytes) {
            return fail(where(), " takes ", tensor_.size_bytes, " bytes, expected ", *bytes, " for shape ",
                        shape->to_string(), " and dtype ", dtype_name(tensor_.dtype));
        }
        header_.tensors.push_back(std::move(tensor_));
        return true;
    }

    SafetensorsHeader& header_;
    std::string_view name_;
    Place place_ = Place::outside;
    std::string key_, field_;
    SafetensorsTensor tensor_;
    std::vector<std::int64_t> extents_;
    std::array<std::uint64_t, 2> offsets_{};
    std::size_t offset_count_ = 0;
    std::size_t metadata_bytes_ = 0;
    bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
    Status failure_;
};

Status check_names(const SafetensorsHeader& header, std::string_view file) {
    std::vector<std::string_view> names;
    for (const SafetensorsTensor& tensor : header.tensors) names.push_back(tensor.name);
    std::sort(names.begin(), names.end());
    const auto twin = std::adjacent_find(names.begin(), names.end());
    if (twin == names.end()) return {};
    return error(StatusCode::corrupt_file, quoted(file, 400), ": tensor ", quoted(*twin), " appears twice");
}

// From offsets in the data section to offsets in the file, with every byte of the section in exactly one tensor.
Status place_tensors(SafetensorsHeader& header, std::uint64_t data_begin, const ByteSource& source) {
    std::stable_sort(header.tensors.begin(), header.tensors.end(),
                     [](const auto& a, const auto& b) { return a.offset_bytes < b.offset_bytes; });
    const std::uint64_t data_bytes = source.size_bytes() - data_begin;
    std::uint64_t expected = 0;
    const SafetensorsTensor* cut = nullptr;
    for (SafetensorsTensor& tensor : header.tensors) {
        if (tensor.offset_bytes != expected) {
            return error(StatusCode::corrupt_file, quoted(source.name(), 400), ": tensor ", quoted(tensor.name),
                         tensor.offset_bytes < expected ? " overlaps the one before it: begins at "
                                                        : " follows a hole: begins at ",
                         tensor.offset_bytes, ", expected ", expected);
        }
        expected += tensor.size_bytes;  // cannot wrap: equals the tensor's own end, which is a u64
        if (expected > data_bytes && cut == nullptr) cut = &tensor;
    }
    if (cut != nullptr) {
        return error(StatusCode::corrupt_file, quoted(source.name(), 400), ": the file is cut short: tensor ",
                     quoted(cut->name), " needs bytes ", cut->offset_bytes, " to ", cut->offset_bytes + cut->size_bytes,
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
    if (length > reader.bytes_left() || length > kHeaderBytesMax || length < 2) {
        return error(StatusCode::corrupt_file, quoted(source.name(), 400), " states a header of ", length,
                     " bytes, expected 2 to ", std::min(reader.bytes_left(), kHeaderBytesMax));
    }
    SafetensorsHeader header;
    HeaderHandler handler(header, source.name());
    HeaderText header_text(reader, length);
    const bool is_parsed =
        nlohmann::json::sax_parse(HeaderText::Iterator{&header_text}, HeaderText::Iterator{}, &handler);
    MIXTURA_RETURN_IF_ERROR(header_text.failure());
    if (!is_parsed) return std::move(handler).failure();
    MIXTURA_RETURN_IF_ERROR(check_names(header, source.name()));
    MIXTURA_RETURN_IF_ERROR(place_tensors(header, sizeof length + length, source));
    return header;
}

}  // namespace mixtura
