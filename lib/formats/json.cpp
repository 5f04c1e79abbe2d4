// The tape: one 8-byte word a value in document order, an object's members as key word, value, key word, value …
// A word is tag (8 bits) and payload (56 bits):
//   null, no payload · boolean, 0 or 1 · small integer, 56 bits signed · wide integer and real, the next word holds it
//   string, length (24 bits) and offset in `text` (32 bits) · long string, offset, the next word holds the length
//   array and object, count (24 bits, all ones = count by walking) and the index behind the last word (32 bits)
// So the costliest document a byte is "[1,1,1,…" with 8 bytes of tape for 2 of text, which is the promised factor of 4.
#include "formats/json.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "formats/json_scanner.hpp"

namespace mixtura {

struct JsonTape {
    std::vector<std::uint64_t> words;
    std::vector<char> text;
};

namespace {

enum class Tag : std::uint8_t { null, boolean, small_integer, wide_integer, real, string, long_string, array, object };

constexpr std::uint64_t kCountSaturated = 0xFFFFFF;
constexpr int kPayloadBits = 56;
constexpr std::uint64_t kPayloadMask = (std::uint64_t{1} << kPayloadBits) - 1;

constexpr std::uint64_t make_word(Tag tag, std::uint64_t payload) {
    return static_cast<std::uint64_t>(tag) << kPayloadBits | (payload & kPayloadMask);
}
Tag tag_of(std::uint64_t word) { return static_cast<Tag>(word >> kPayloadBits); }
std::uint32_t end_of(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
std::uint64_t count_of(std::uint64_t word) { return word >> 32 & kCountSaturated; }

std::string_view string_at(const JsonTape& tape, std::uint32_t index) {
    const std::uint64_t word = tape.words[index];
    const std::uint64_t length = tag_of(word) == Tag::long_string ? tape.words[index + 1] : count_of(word);
    return {tape.text.data() + end_of(word), static_cast<std::size_t>(length)};
}

// Room for the whole document, counted by one pass over the text, so that no vector grows (and doubles) on the way.
// An estimate only: text that is no JSON may count wrong, and then the vectors do grow.
void reserve_for(std::string_view text, JsonTape& tape) {
    std::size_t words = 1, string_bytes = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        switch (text[i]) {
            case '"': {
                const std::size_t begin = ++i;
                while (i < text.size() && text[i] != '"') i += text[i] == '\\' ? 2 : 1;
                string_bytes += std::min(i, text.size()) - begin;
                break;
            }
            case ',':
            case ':':
            case '[':
            case '{':
            case '.':
            case 'e':
            case 'E': ++words; break;
            default: break;
        }
    }
    // A text that is one long run of dots is no JSON; an honest one never takes more than a word for two bytes.
    tape.words.reserve(std::min(words, text.size() / 2 + 2));
    tape.text.reserve(string_bytes);
}

struct TextFeed {
    const char* at;
    const char* end;
    int peek() const { return at == end ? -1 : static_cast<unsigned char>(*at); }
    void pop() { ++at; }
};

// The scanner's events onto the tape.
class TapeBuilder {
  public:
    TapeBuilder(JsonTape& tape, std::string_view name) : tape_(tape), name_(name) {}

    Status failure() && { return std::move(failure_); }

    bool null() { return push(Tag::null, 0); }
    bool boolean(bool value) { return push(Tag::boolean, value ? 1 : 0); }
    bool number(const JsonNumber& number) {
        if (!number.integer) return push_wide(Tag::real, std::bit_cast<std::uint64_t>(number.real));
        const auto bits = static_cast<std::uint64_t>(*number.integer);
        const bool is_small = static_cast<std::int64_t>(bits << 8) >> 8 == *number.integer;
        return is_small ? push(Tag::small_integer, bits) : push_wide(Tag::wide_integer, bits);
    }
    bool begin_string(bool) {
        string_begin_ = tape_.text.size();
        return true;
    }
    bool string_piece(std::string_view piece) {
        tape_.text.insert(tape_.text.end(), piece.begin(), piece.end());
        return true;
    }
    bool end_string(bool) {
        const std::uint64_t length = tape_.text.size() - string_begin_;
        if (length < kCountSaturated) return push(Tag::string, length << 32 | string_begin_);
        push(Tag::long_string, string_begin_);
        tape_.words.push_back(length);
        return true;
    }
    bool begin_object() { return open(Tag::object); }
    bool begin_array() { return open(Tag::array); }
    bool end_object() { return are_keys_unique() && close(); }
    bool end_array() { return close(); }

  private:
    bool push(Tag tag, std::uint64_t payload) {
        if (!open_.empty()) ++open_.back().count;
        tape_.words.push_back(make_word(tag, payload));
        return true;
    }
    bool push_wide(Tag tag, std::uint64_t bits) {
        push(tag, 0);
        tape_.words.push_back(bits);
        return true;
    }
    bool open(Tag tag) {
        push(tag, 0);
        open_.push_back({static_cast<std::uint32_t>(tape_.words.size() - 1), 0});
        return true;
    }
    bool close() {
        const Open closed = open_.back();
        open_.pop_back();
        std::uint64_t& word = tape_.words[closed.word];
        const std::uint64_t members = tag_of(word) == Tag::object ? closed.count / 2 : closed.count;
        word = make_word(tag_of(word), std::min(members, kCountSaturated) << 32 | tape_.words.size());
        return true;
    }
    bool are_keys_unique() {
        std::vector<std::uint32_t> keys;
        keys.reserve(static_cast<std::size_t>(open_.back().count / 2));
        const auto words_end = static_cast<std::uint32_t>(tape_.words.size());
        for (JsonValue::Members::Iterator it{&tape_, open_.back().word + 1}; it.word < words_end; ++it) {
            keys.push_back(it.word);
        }
        const auto text_of = [this](std::uint32_t word) { return string_at(tape_, word); };
        std::sort(keys.begin(), keys.end(), [&](auto a, auto b) { return text_of(a) < text_of(b); });
        const auto twin =
            std::adjacent_find(keys.begin(), keys.end(), [&](auto a, auto b) { return text_of(a) == text_of(b); });
        if (twin == keys.end()) return true;
        failure_ = error(StatusCode::corrupt_file, quoted(name_, 400), " has the key ", quoted(text_of(*twin)),
                         " twice in one object");
        return false;
    }

    struct Open {
        std::uint32_t word;
        std::uint64_t count;
    };
    JsonTape& tape_;
    std::string_view name_;
    std::size_t string_begin_ = 0;
    std::vector<Open> open_;
    Status failure_;
};

}  // namespace

JsonKind JsonValue::kind() const noexcept {
    switch (tag_of(tape_->words[word_])) {
        case Tag::null: return JsonKind::null;
        case Tag::boolean: return JsonKind::boolean;
        case Tag::small_integer:
        case Tag::wide_integer: return JsonKind::integer;
        case Tag::real: return JsonKind::real;
        case Tag::string:
        case Tag::long_string: return JsonKind::string;
        case Tag::array: return JsonKind::array;
        case Tag::object: break;
    }
    return JsonKind::object;
}

std::optional<bool> JsonValue::as_boolean() const noexcept {
    const std::uint64_t word = tape_->words[word_];
    if (tag_of(word) != Tag::boolean) return std::nullopt;
    return (word & 1) != 0;
}

std::optional<std::int64_t> JsonValue::as_integer() const noexcept {
    const std::uint64_t word = tape_->words[word_];
    if (tag_of(word) == Tag::small_integer) return static_cast<std::int64_t>(word << 8) >> 8;
    if (tag_of(word) == Tag::wide_integer) return static_cast<std::int64_t>(tape_->words[word_ + 1]);
    if (tag_of(word) != Tag::real) return std::nullopt;
    const double value = std::bit_cast<double>(tape_->words[word_ + 1]);
    // Above 2^53 a double may stand for any of several integers, and the one that was meant is lost.
    if (!(std::fabs(value) <= 0x1p53) || std::trunc(value) != value) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

std::optional<double> JsonValue::as_real() const noexcept {
    if (tag_of(tape_->words[word_]) == Tag::real) return std::bit_cast<double>(tape_->words[word_ + 1]);
    const auto integer = as_integer();
    if (!integer) return std::nullopt;
    return static_cast<double>(*integer);
}

std::optional<std::string_view> JsonValue::as_string() const noexcept {
    if (kind() != JsonKind::string) return std::nullopt;
    return string_at(*tape_, word_);
}

std::uint32_t JsonValue::after() const noexcept {
    const std::uint64_t word = tape_->words[word_];
    switch (tag_of(word)) {
        case Tag::wide_integer:
        case Tag::real:
        case Tag::long_string: return word_ + 2;
        case Tag::array:
        case Tag::object: return end_of(word);
        default: return word_ + 1;
    }
}

std::size_t JsonValue::size() const noexcept {
    const std::uint64_t word = tape_->words[word_];
    if (tag_of(word) != Tag::array && tag_of(word) != Tag::object) return 0;
    if (count_of(word) != kCountSaturated) return static_cast<std::size_t>(count_of(word));
    std::size_t count = 0;
    for ([[maybe_unused]] JsonValue element : elements()) ++count;
    for ([[maybe_unused]] JsonMember member : members()) ++count;
    return count;
}

JsonValue::Elements JsonValue::elements() const noexcept {
    const std::uint64_t word = tape_->words[word_];
    if (tag_of(word) != Tag::array) return {tape_, 0, 0};
    return {tape_, word_ + 1, end_of(word)};
}

JsonValue::Members JsonValue::members() const noexcept {
    const std::uint64_t word = tape_->words[word_];
    if (tag_of(word) != Tag::object) return {tape_, 0, 0};
    return {tape_, word_ + 1, end_of(word)};
}

JsonMember JsonValue::Members::Iterator::operator*() const noexcept {
    return {string_at(*tape, word), JsonValue(tape, JsonValue(tape, word).after())};
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const noexcept {
    for (const JsonMember member : members()) {
        if (member.key == key) return member.value;
    }
    return std::nullopt;
}

JsonDocument::JsonDocument() : tape_(std::make_unique<JsonTape>()) { tape_->words.push_back(make_word(Tag::null, 0)); }
JsonDocument::JsonDocument(std::unique_ptr<JsonTape> tape) noexcept : tape_(std::move(tape)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

std::size_t JsonDocument::memory_bytes() const noexcept {
    return tape_->words.capacity() * sizeof(std::uint64_t) + tape_->text.capacity();
}

Result<JsonDocument> JsonDocument::parse(std::string_view text, std::string_view name, const JsonLimits& limits) {
    constexpr std::size_t kTextMax = std::size_t{1} << 31;  // keeps every index and length within 32 bits
    if (text.size() > kTextMax) {
        return error(StatusCode::corrupt_file, quoted(name, 400), " holds ", text.size(),
                     " bytes, expected a JSON document of at most ", kTextMax);
    }
    // Some editors put a byte order mark in front, which is no part of the document.
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
    auto tape = std::make_unique<JsonTape>();
    reserve_for(text, *tape);
    TapeBuilder builder(*tape, name);
    TextFeed feed{text.data(), text.data() + text.size()};
    JsonScanner scanner(feed, builder, limits.depth_max);
    if (scanner.scan()) return JsonDocument(std::move(tape));
    if (scanner.problem().empty()) return std::move(builder).failure();
    return error(StatusCode::corrupt_file, quoted(name, 400), " ", scanner.problem());
}

std::string json_quoted(std::string_view text) {
    static constexpr char kHex[] = "0123456789abcdef";
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = utf8_sequence_bytes(text);
        const char c = text[0];
        if (length == 0) {
            out += "\xEF\xBF\xBD";  // U+FFFD for what is no UTF-8
        } else if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
            out += "\\u00";
            out += kHex[static_cast<unsigned char>(c) >> 4];
            out += kHex[c & 15];
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    return out += '"';
}

}  // namespace mixtura
