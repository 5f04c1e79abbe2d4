// GGUF layout (little-endian): "GGUF", version u32, tensor count u64, metadata count u64; per metadata entry a string
// key, a type u32 and the value; per tensor a string name, rank u32, extents u64 (innermost first), element type u32
// and offset u64 from the data section; then padding to general.alignment; then the data.  A string is u64 length +
// bytes, an array u32 element type + u64 count + elements.
#include "formats/gguf.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/checked.hpp"
#include "formats/gguf_keys.hpp"
#include "formats/header_reader.hpp"

namespace mixtura {
namespace {

// Bounds no honest file comes near, so that what a hostile header costs stays small even where a sparse file backs its
// lies with gigabytes of zeros: the largest published vocabulary has 262,144 tokens and 514,906 merges, which with all
// other metadata take 17 MB; the largest chat template 60 KB; the most metadata keys about 100; the most tensors a few
// thousand, 70 bytes of name each; and no published file nests arrays at all.
constexpr std::uint64_t kMetadataCountMax = 4096;
constexpr std::uint64_t kMetadataBytesMax = 48 << 20;
constexpr std::uint64_t kTensorCountMax = 1 << 16;
constexpr std::uint64_t kArrayCountMax = 1 << 22;
constexpr std::uint64_t kNestedArrayCountMax = 4096;
constexpr std::uint64_t kStringBytesMax = 16 << 20;
constexpr std::uint64_t kKeyBytesMax = 65535;  // the specification's own
constexpr std::uint64_t kTensorNameBytesMax = 1024;
constexpr std::uint32_t kRankMax = 4;
constexpr int kArrayDepthMax = 4;

// The smallest a thing can be in the file; counts are checked against it before anything is allocated.
constexpr std::uint64_t kMetadataBytesMin = 8 + 1 + 4 + 1;
constexpr std::uint64_t kTensorBytesMin = 8 + 1 + 4 + 8 + 4 + 8;

struct ElementType {
    std::uint32_t number;
    DType dtype;  // unknown: the number was withdrawn
    std::string_view was;
};
constexpr ElementType kElementTypes[] = {
    {0, DType::f32, {}},
    {1, DType::f16, {}},
    {2, DType::q4_0, {}},
    {3, DType::q4_1, {}},
    {4, DType::unknown, "Q4_2"},
    {5, DType::unknown, "Q4_3"},
    {6, DType::q5_0, {}},
    {7, DType::q5_1, {}},
    {8, DType::q8_0, {}},
    {9, DType::q8_1, {}},
    {10, DType::q2_k, {}},
    {11, DType::q3_k, {}},
    {12, DType::q4_k, {}},
    {13, DType::q5_k, {}},
    {14, DType::q6_k, {}},
    {15, DType::q8_k, {}},
    {16, DType::iq2_xxs, {}},
    {17, DType::iq2_xs, {}},
    {18, DType::iq3_xxs, {}},
    {19, DType::iq1_s, {}},
    {20, DType::iq4_nl, {}},
    {21, DType::iq3_s, {}},
    {22, DType::iq2_s, {}},
    {23, DType::iq4_xs, {}},
    {24, DType::i8, {}},
    {25, DType::i16, {}},
    {26, DType::i32, {}},
    {27, DType::i64, {}},
    {28, DType::f64, {}},
    {29, DType::iq1_m, {}},
    {30, DType::bf16, {}},
    {31, DType::unknown, "Q4_0_4_4"},
    {32, DType::unknown, "Q4_0_4_8"},
    {33, DType::unknown, "Q4_0_8_8"},
    {34, DType::tq1_0, {}},
    {35, DType::tq2_0, {}},
    {36, DType::unknown, "IQ4_NL_4_4"},
    {37, DType::unknown, "IQ4_NL_4_8"},
    {38, DType::unknown, "IQ4_NL_8_8"},
    {39, DType::mxfp4, {}},
    {40, DType::nvfp4, {}},
};

}  // namespace

class GgufParser {
  public:
    explicit GgufParser(const ByteSource& source) : reader_(source) {}

    Result<GgufHeader> parse() {
        MIXTURA_RETURN_IF_ERROR(read_preamble());
        MIXTURA_RETURN_IF_ERROR(read_metadata());
        MIXTURA_RETURN_IF_ERROR(read_tensor_table());
        MIXTURA_RETURN_IF_ERROR(place_tensors());
        return std::move(header_);
    }

  private:
    std::string file() const { return quoted(reader_.source().name(), 400); }
    template <class... Parts>
    Status corrupt(const Parts&... parts) const {
        return error(StatusCode::corrupt_file, file(), ": ", parts...);
    }
    template <class... Parts>
    Status unsupported(const Parts&... parts) const {
        return error(StatusCode::unsupported, file(), parts...);
    }

    Status read_preamble() {
        MIXTURA_ASSIGN_OR_RETURN(const auto magic, reader_.number<std::uint32_t>("the magic number"));
        constexpr std::uint32_t kMagic = 0x46554747;  // "GGUF"
        if (magic != kMagic) {
            return error(StatusCode::unknown_format, file(), " does not start with 'GGUF'");
        }
        MIXTURA_ASSIGN_OR_RETURN(header_.version_, reader_.number<std::uint32_t>("the version"));
        if (header_.version_ == 1) {
            return unsupported(
                " is GGUF version 1 (of August 2023), which is not read, expected 2 or 3; convert the model anew");
        }
        if ((header_.version_ & 0xFFFF) == 0 && header_.version_ != 0) {
            return unsupported(
                " is big-endian GGUF, expected little-endian; convert it with gguf-py's gguf-convert-endian");
        }
        if (header_.version_ != 2 && header_.version_ != 3) {
            return unsupported(" is GGUF version ", header_.version_, ", which is not known, expected 2 or 3");
        }
        MIXTURA_ASSIGN_OR_RETURN(tensor_count_, reader_.number<std::uint64_t>("the tensor count"));
        MIXTURA_ASSIGN_OR_RETURN(metadata_count_, reader_.number<std::uint64_t>("the metadata count"));
        MIXTURA_RETURN_IF_ERROR(
            check_count("the header", metadata_count_, kMetadataBytesMin, kMetadataCountMax, "metadata entries"));
        return check_count("the header", tensor_count_, kTensorBytesMin, kTensorCountMax, "tensors");
    }

    Status check_count(std::string_view who, std::uint64_t count, std::uint64_t bytes_each, std::uint64_t count_max,
                       std::string_view what) {
        const auto bytes = checked_multiply(count, bytes_each);
        if (!bytes || *bytes > reader_.bytes_left()) {
            return corrupt(who, " states ", count, " ", what, ", but only ", reader_.bytes_left(), " bytes follow");
        }
        if (count > count_max) return corrupt(who, " states ", count, " ", what, ", expected at most ", count_max);
        return {};
    }

    Status read_string(std::vector<char>& out, std::uint64_t bytes_max, std::string_view what) {
        std::uint64_t length = 0;
        if (!reader_.number_in_window(length)) {
            MIXTURA_ASSIGN_OR_RETURN(length, reader_.number<std::uint64_t>(what));
        }
        if (length == 0) return {};
        if (length > reader_.bytes_left()) {
            return corrupt(what, " states ", length, " bytes of text, but only ", reader_.bytes_left(), " follow");
        }
        if (length > bytes_max) return corrupt(what, " takes ", length, " bytes, expected at most ", bytes_max);
        return append(out, length, what);
    }

    // Whether the metadata may take `count` bytes more, of those that are left.
    Status check_room(std::uint64_t count, std::string_view what) const {
        if (!is_in_metadata_ || count > reader_.bytes_left() || reader_.position() + count <= kMetadataBytesMax)
            return {};
        return corrupt("the metadata takes more than ", kMetadataBytesMax, " bytes, up to ", what);
    }

    Status append(std::vector<char>& out, std::uint64_t count, std::string_view what) {
        MIXTURA_RETURN_IF_ERROR(check_room(count, what));
        return reader_.append(out, count, what);
    }

    Result<std::string> read_name(std::uint64_t bytes_max, std::string_view what) {
        std::vector<char> bytes;
        MIXTURA_RETURN_IF_ERROR(read_string(bytes, bytes_max, what));
        std::string name(bytes.data(), bytes.size());
        if (name.empty()) return corrupt(what, " is empty");
        if (!is_utf8(name)) return corrupt(what, " is ", quoted(name), ", expected UTF-8");
        if (name.find('\0') != std::string::npos)
            return corrupt(what, " is ", quoted(name), ", expected text without NUL bytes");
        return name;
    }

    Result<GgufType> read_type(std::string_view what) {
        MIXTURA_ASSIGN_OR_RETURN(const auto number, reader_.number<std::uint32_t>(what));
        if (number > static_cast<std::uint32_t>(GgufType::f64)) {
            return corrupt(what, " has value type ", number, ", expected 0 to 12");
        }
        return static_cast<GgufType>(number);
    }

    Status read_value(GgufValue& value, GgufType type, std::string_view what, int depth) {
        value.type_ = value.element_type_ = type;
        if (type == GgufType::array) return read_array(value, what, depth);
        if (type == GgufType::string) return read_string(value.bytes_, kStringBytesMax, what);
        MIXTURA_RETURN_IF_ERROR(append(value.bytes_, gguf_type_bytes(type), what));
        return check_booleans(value, what);
    }

    Status read_array(GgufValue& value, std::string_view what, int depth) {
        if (depth >= kArrayDepthMax) return corrupt(what, " nests arrays deeper than ", kArrayDepthMax, " levels");
        MIXTURA_ASSIGN_OR_RETURN(value.element_type_, read_type(what));
        MIXTURA_ASSIGN_OR_RETURN(const auto count, reader_.number<std::uint64_t>(what));
        const bool is_text = value.element_type_ == GgufType::string,
                   is_nested = value.element_type_ == GgufType::array;
        const std::uint64_t bytes_each = is_nested ? 4 + 8 : is_text ? 8 : gguf_type_bytes(value.element_type_);
        MIXTURA_RETURN_IF_ERROR(check_count(what, count, bytes_each, kArrayCountMax, "elements"));
        MIXTURA_RETURN_IF_ERROR(check_room(count * bytes_each, what));
        value.count_ = static_cast<std::size_t>(count);
        if (is_nested) {
            // 88 bytes of ours for 12 of the file's would be a lie's leverage, hence the bound over all of them.
            nested_array_count_ += count;
            if (nested_array_count_ > kNestedArrayCountMax)
                return corrupt(what, " holds more than ", kNestedArrayCountMax, " nested arrays");
            for (std::uint64_t i = 0; i < count; ++i) {
                MIXTURA_RETURN_IF_ERROR(read_value(value.elements_.emplace_back(), GgufType::array, what, depth + 1));
            }
            return {};
        }
        if (is_text) return read_strings(value, count, what);
        MIXTURA_RETURN_IF_ERROR(append(value.bytes_, count * bytes_each, what));
        return check_booleans(value, what);
    }

    Status read_strings(GgufValue& value, std::uint64_t count, std::string_view what) {
        for (std::uint64_t i = 0; i < count; ++i) {
            MIXTURA_RETURN_IF_ERROR(read_string(value.bytes_, kStringBytesMax, what));
            const auto end = checked_cast<std::uint32_t>(value.bytes_.size());
            if (!end) return corrupt(what, " holds more than 4 GiB of text");
            value.string_ends_.push_back(*end);
        }
        value.bytes_.shrink_to_fit();
        value.string_ends_.shrink_to_fit();
        return {};
    }

    Status check_booleans(const GgufValue& value, std::string_view what) const {
        if (value.element_type_ != GgufType::boolean) return {};
        const auto broken =
            std::find_if(value.bytes_.begin(), value.bytes_.end(), [](char c) { return c != 0 && c != 1; });
        if (broken == value.bytes_.end()) return {};
        return corrupt(what, " holds a boolean of ", static_cast<int>(static_cast<unsigned char>(*broken)),
                       ", expected 0 or 1");
    }

    Status read_metadata() {
        is_in_metadata_ = true;
        std::vector<std::string_view> keys;
        for (std::uint64_t i = 0; i < metadata_count_; ++i) {
            GgufMetadataEntry& entry = header_.metadata_.emplace_back();
            MIXTURA_ASSIGN_OR_RETURN(entry.key, read_name(kKeyBytesMax, text("the key of metadata entry ", i)));
            const std::string what = text("metadata key ", quoted(entry.key));
            MIXTURA_ASSIGN_OR_RETURN(const GgufType type, read_type(what));
            MIXTURA_RETURN_IF_ERROR(read_value(entry.value, type, what, 0));
            if (const std::string problem = gguf_key_problem(entry.key, entry.value); !problem.empty()) {
                return corrupt(what, " ", problem);
            }
        }
        is_in_metadata_ = false;
        for (const GgufMetadataEntry& entry : header_.metadata_) keys.push_back(entry.key);
        MIXTURA_RETURN_IF_ERROR(check_unique(std::move(keys), "metadata key"));
        if (const GgufValue* alignment = header_.find("general.alignment")) {
            header_.alignment_bytes_ = static_cast<std::uint64_t>(*alignment->as_integer());
        }
        if (const std::string problem = gguf_vocabulary_problem(header_); !problem.empty()) return corrupt(problem);
        return {};
    }

    Status check_unique(std::vector<std::string_view> names, std::string_view what) const {
        std::sort(names.begin(), names.end());
        const auto twin = std::adjacent_find(names.begin(), names.end());
        return twin == names.end() ? Status() : corrupt(what, " ", quoted(*twin), " is there twice");
    }

    Status read_tensor_table() {
        for (std::uint64_t i = 0; i < tensor_count_; ++i) {
            GgufTensor& tensor = header_.tensors_.emplace_back();
            MIXTURA_ASSIGN_OR_RETURN(tensor.name, read_name(kTensorNameBytesMax, text("the name of tensor ", i)));
            const std::string what = text("tensor ", quoted(tensor.name)), place = text("the table entry of ", what);
            MIXTURA_RETURN_IF_ERROR(read_shape(tensor, what, place));
            MIXTURA_RETURN_IF_ERROR(read_element_type(tensor, what, place));
            MIXTURA_ASSIGN_OR_RETURN(tensor.offset_bytes, reader_.number<std::uint64_t>(place));
        }
        std::vector<std::string_view> names;
        for (const GgufTensor& tensor : header_.tensors_) names.push_back(tensor.name);
        return check_unique(std::move(names), "tensor");
    }

    Status read_shape(GgufTensor& tensor, std::string_view what, std::string_view place) {
        MIXTURA_ASSIGN_OR_RETURN(const auto rank, reader_.number<std::uint32_t>(place));
        if (rank < 1 || rank > kRankMax) return corrupt(what, " has ", rank, " dimensions, expected 1 to ", kRankMax);
        std::vector<std::int64_t> extents;
        for (std::uint32_t axis = 0; axis < rank; ++axis) {
            MIXTURA_ASSIGN_OR_RETURN(const auto extent, reader_.number<std::uint64_t>(place));
            const auto positive = checked_cast<std::int64_t>(extent);
            if (!positive) return corrupt(what, " has an extent of ", extent, ", more than any tensor can have");
            extents.insert(extents.begin(), *positive);  // the file lists the innermost first
        }
        const auto shape = Shape::from(extents);
        if (!shape) return corrupt(what, " has more elements than 64 bits can count");
        tensor.shape = *shape;
        return {};
    }

    Status read_element_type(GgufTensor& tensor, std::string_view what, std::string_view place) {
        MIXTURA_ASSIGN_OR_RETURN(const auto number, reader_.number<std::uint32_t>(place));
        const auto* known = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                         [&](const ElementType& type) { return type.number == number; });
        if (known == std::end(kElementTypes)) {
            return unsupported(": ", what, " has element type ", number, ", which this version does not know");
        }
        if (known->dtype == DType::unknown) {
            return unsupported(": ", what, " has element type ", number, " (", known->was,
                               "), which was withdrawn from the format; convert the model anew");
        }
        tensor.dtype = known->dtype;
        const std::int64_t row = tensor.shape[tensor.shape.rank() - 1], block = dtype_info(tensor.dtype).block_elements;
        if (row % block != 0) {
            return corrupt(what, " of shape ", tensor.shape.to_string(), " has rows of ", row,
                           " elements, expected a multiple of the ", block, " of a ", dtype_name(tensor.dtype),
                           " block");
        }
        const auto bytes = tensor_size_bytes(tensor.dtype, tensor.shape);
        if (!bytes)
            return corrupt(what, " of shape ", tensor.shape.to_string(), " takes more bytes than 64 bits can count");
        tensor.size_bytes = *bytes;
        return {};
    }

    // Offsets become absolute, and every tensor lies inside the file, aligned, and on no other tensor's bytes.
    Status place_tensors() {
        if (header_.tensors_.empty()) return {};
        const auto data_begin = checked_align_up(reader_.position(), header_.alignment_bytes_);
        std::vector<std::uint32_t> order(header_.tensors_.size());
        std::iota(order.begin(), order.end(), 0U);
        std::sort(order.begin(), order.end(),
                  [&](auto a, auto b) { return header_.tensors_[a].offset_bytes < header_.tensors_[b].offset_bytes; });
        const GgufTensor* cut = nullptr;
        const GgufTensor* before = nullptr;
        std::uint64_t before_end = 0;
        for (const std::uint32_t index : order) {
            GgufTensor& tensor = header_.tensors_[index];
            if (tensor.offset_bytes % header_.alignment_bytes_ != 0) {
                return corrupt("tensor ", quoted(tensor.name), " begins at byte ", tensor.offset_bytes,
                               " of the data, expected a multiple of the alignment ", header_.alignment_bytes_);
            }
            const auto begin = data_begin ? checked_add(*data_begin, tensor.offset_bytes) : std::nullopt;
            const auto end = begin ? checked_add(*begin, tensor.size_bytes) : std::nullopt;
            if (!end) return corrupt("tensor ", quoted(tensor.name), " ends beyond what 64 bits can address");
            if (tensor.size_bytes != 0 && *begin < before_end) {
                return corrupt("tensor ", quoted(tensor.name), " begins at byte ", *begin, ", inside tensor ",
                               quoted(before->name), ", which ends at byte ", before_end);
            }
            tensor.offset_bytes = *begin;
            if (cut == nullptr && *end > reader_.source().size_bytes()) cut = &tensor;
            if (*end > before_end) {
                before_end = *end;
                before = &tensor;
            }
        }
        if (cut == nullptr) return {};
        const std::uint64_t size = reader_.source().size_bytes();
        return error(StatusCode::corrupt_file, file(), " is cut short: tensor ", quoted(cut->name), " needs bytes ",
                     cut->offset_bytes, " to ", cut->offset_bytes + cut->size_bytes, ", the file has ", size, "; ",
                     before_end - size, " bytes are missing");
    }

    HeaderReader reader_;
    GgufHeader header_;
    std::uint64_t tensor_count_ = 0;
    std::uint64_t metadata_count_ = 0;
    std::uint64_t nested_array_count_ = 0;
    bool is_in_metadata_ = false;
};

const GgufValue* GgufHeader::find(std::string_view key) const noexcept {
    const auto found = std::find_if(metadata_.begin(), metadata_.end(),
                                    [key](const GgufMetadataEntry& entry) { return entry.key == key; });
    return found == metadata_.end() ? nullptr : &found->value;
}

Result<GgufHeader> GgufHeader::read(const ByteSource& source) { return GgufParser(source).parse(); }

}  // namespace mixtura
