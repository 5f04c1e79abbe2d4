// JSON documents from untrusted files, as a compact tape: config.json, tokenizer.json, index files, chat messages.
// Parsed by our own scanner (json_scanner.hpp) with bounded depth, duplicate keys refused, strings kept as UTF-8 with
// embedded NULs.  A document, and reading it, takes at most 4 × the text's bytes plus 2 KiB: one 8-byte word a value,
// one copy of each string, and while an object ends 4 bytes for each of its keys.
#pragma once

#include <mixtura/status.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

struct JsonTape;

enum class JsonKind : std::uint8_t { null, boolean, integer, real, string, array, object };

// One value inside a document.  A light handle (copy it freely) that is valid as long as its JsonDocument.
class JsonValue {
  public:
    JsonKind kind() const noexcept;
    bool is_null() const noexcept { return kind() == JsonKind::null; }
    bool is_string() const noexcept { return kind() == JsonKind::string; }
    bool is_array() const noexcept { return kind() == JsonKind::array; }
    bool is_object() const noexcept { return kind() == JsonKind::object; }

    // Nothing where the value is of another kind.  as_integer also takes a real that is a whole number (128.0) up to
    // 2^53 and as_real any number; an integer above int64 is a real.
    std::optional<bool> as_boolean() const noexcept;
    std::optional<std::int64_t> as_integer() const noexcept;
    std::optional<double> as_real() const noexcept;
    std::optional<std::string_view> as_string() const noexcept;

    // Elements of an array or members of an object; 0 for everything else.  Constant time.
    std::size_t size() const noexcept;

    // Object member by key; nothing where there is none or this is no object.  Linear in the members.
    std::optional<JsonValue> find(std::string_view key) const noexcept;

    // Elements in order: for (JsonValue element : value.elements()).  Empty for anything but an array.
    class Elements;
    Elements elements() const noexcept;
    // Members in the file's order: for (auto [key, member] : value.members()).  Empty for anything but an object.
    class Members;
    Members members() const noexcept;

    JsonValue(const JsonTape* tape, std::uint32_t word) noexcept : tape_(tape), word_(word) {}

  private:
    std::uint32_t after() const noexcept;  // index of the word behind this value
    const JsonTape* tape_;
    std::uint32_t word_;
    friend class Elements;
    friend class Members;
};

struct JsonMember {
    std::string_view key;
    JsonValue value;
};

class JsonValue::Elements {
  public:
    struct Iterator {
        const JsonTape* tape;
        std::uint32_t word;
        JsonValue operator*() const noexcept { return {tape, word}; }
        Iterator& operator++() noexcept {
            word = JsonValue(tape, word).after();
            return *this;
        }
        bool operator==(const Iterator& other) const noexcept { return word == other.word; }
    };
    Iterator begin() const noexcept { return {tape_, first_}; }
    Iterator end() const noexcept { return {tape_, last_}; }
    Elements(const JsonTape* tape, std::uint32_t first, std::uint32_t last) : tape_(tape), first_(first), last_(last) {}

  private:
    const JsonTape* tape_;
    std::uint32_t first_, last_;
};

class JsonValue::Members {
  public:
    struct Iterator {
        const JsonTape* tape;
        std::uint32_t word;  // the key's; its value follows
        JsonMember operator*() const noexcept;
        Iterator& operator++() noexcept {
            word = JsonValue(tape, JsonValue(tape, word).after()).after();
            return *this;
        }
        bool operator==(const Iterator& other) const noexcept { return word == other.word; }
    };
    Iterator begin() const noexcept { return {tape_, first_}; }
    Iterator end() const noexcept { return {tape_, last_}; }
    Members(const JsonTape* tape, std::uint32_t first, std::uint32_t last) : tape_(tape), first_(first), last_(last) {}

  private:
    const JsonTape* tape_;
    std::uint32_t first_, last_;
};

struct JsonLimits {
    std::size_t depth_max = 64;
};

class JsonDocument {
  public:
    // `name` stands for the document in messages.  CORRUPT_FILE for anything that is not one JSON value.
    static Result<JsonDocument> parse(std::string_view text, std::string_view name, const JsonLimits& limits = {});

    JsonDocument();  // the document null

    JsonValue root() const noexcept { return {tape_.get(), 0}; }
    std::size_t memory_bytes() const noexcept;

    JsonDocument(JsonDocument&&) noexcept;
    JsonDocument& operator=(JsonDocument&&) noexcept;
    ~JsonDocument();

  private:
    explicit JsonDocument(std::unique_ptr<JsonTape> tape) noexcept;
    std::unique_ptr<JsonTape> tape_;
};

// Text as a JSON string literal, quotes included, for the reports we write ourselves.
std::string json_quoted(std::string_view text);

}  // namespace mixtura
