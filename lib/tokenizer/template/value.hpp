// The values a template computes with: Python's, as far as templates see them.  A value is 24 bytes, freely copied, and
// points into its rendering's arena.  Text and lists are windows (offset, size) on shared stores that only ever grow at
// the end, so a slice copies nothing and text built up piece by piece costs time in proportion to its length.
#pragma once

#include <cstdint>
#include <string_view>

namespace mixtura {

enum class JinjaKind : std::uint8_t {
    missing,  // a variable nobody has set; never leaves the interpreter
    undefined,
    none,
    boolean,
    integer,
    real,
    string,
    list,
    tuple,
    dict,
    view,
    range,
    generator,
    name_space,
    macro,
    function,
    method,
    loop,
    cycler,
    joiner,
};

struct JinjaTextStore;
struct JinjaListStore;
struct JinjaDict;
struct JinjaRange;
struct JinjaGenerator;
struct JinjaNamespace;
struct JinjaMacro;
struct JinjaMethod;
struct JinjaLoop;
struct JinjaCycler;
struct JinjaJoiner;
struct JinjaUndefined;
struct JinjaBuiltin;

enum class JinjaViewKind : std::uint8_t { keys, values, items };

struct JinjaValue {
    JinjaKind kind = JinjaKind::missing;
    // Computed from nothing but the template and trusted variables.  For text the pieces say it, not this; for a
    // container it speaks of the structure (how many, which keys), not of the elements.
    bool is_trusted = false;
    bool is_markup = false;  // text that counts as HTML already (filters safe and escape)
    JinjaViewKind view = JinjaViewKind::keys;
    std::uint32_t offset = 0;  // text: bytes into the store; list, tuple: elements
    std::uint32_t size = 0;
    bool is_group = false;  // a tuple of filter groupby, whose elements have names
    union {
        bool boolean;
        std::int64_t integer = 0;
        double real;
        JinjaTextStore* text;
        JinjaListStore* list;   // list and tuple
        const JinjaDict* dict;  // dict and view
        const JinjaRange* range;
        JinjaGenerator* generator;
        JinjaNamespace* name_space;
        const JinjaMacro* macro;
        const JinjaBuiltin* function;
        const JinjaMethod* method;
        JinjaLoop* loop;
        JinjaCycler* cycler;
        JinjaJoiner* joiner;
        const JinjaUndefined* undefined;
    };

    bool is(JinjaKind other) const noexcept { return kind == other; }
    bool is_sequence() const noexcept { return kind == JinjaKind::list || kind == JinjaKind::tuple; }
    bool is_number() const noexcept {
        return kind == JinjaKind::integer || kind == JinjaKind::real || kind == JinjaKind::boolean;
    }
};

inline JinjaValue jinja_none(bool is_trusted = true) {
    JinjaValue value;
    value.kind = JinjaKind::none;
    value.is_trusted = is_trusted;
    return value;
}
inline JinjaValue jinja_boolean(bool boolean, bool is_trusted) {
    JinjaValue value;
    value.kind = JinjaKind::boolean;
    value.is_trusted = is_trusted;
    value.integer = boolean ? 1 : 0;  // a boolean is an integer, as in Python
    return value;
}
inline JinjaValue jinja_integer(std::int64_t integer, bool is_trusted) {
    JinjaValue value;
    value.kind = JinjaKind::integer;
    value.is_trusted = is_trusted;
    value.integer = integer;
    return value;
}
inline JinjaValue jinja_real(double real, bool is_trusted) {
    JinjaValue value;
    value.kind = JinjaKind::real;
    value.is_trusted = is_trusted;
    value.real = real;
    return value;
}

// Bytes [end of the run before, end) of a store have one origin.
struct JinjaTextRun {
    std::uint32_t end = 0;
    bool is_trusted = false;
};

struct JinjaTextStore {
    const char* bytes = nullptr;
    char* writable = nullptr;  // the same bytes where this store may grow; null for text that lives elsewhere
    std::uint32_t used = 0;
    std::uint32_t capacity = 0;
    JinjaTextRun* runs = nullptr;  // cover [0, used)
    std::uint32_t run_count = 0;
    std::uint32_t run_capacity = 0;
    JinjaTextRun first_run;  // where most texts have their only run
};

struct JinjaListStore {
    JinjaValue* items = nullptr;
    std::uint32_t used = 0;
    std::uint32_t capacity = 0;
};

struct JinjaEntry {
    JinjaValue key;
    JinjaValue value;
};

// Keys in the order of their first appearance, as Python keeps them.  Never changed once made: the sandbox forbids it.
struct JinjaDict {
    JinjaEntry* entries = nullptr;
    std::uint32_t count = 0;
    // Entry numbers in ascending order of key; null for a small dict.  A search tree's bound whatever keys a caller
    // picks, where a hash table has chosen collisions to fear.
    std::uint32_t* sorted = nullptr;
};

struct JinjaRange {
    std::int64_t start = 0;
    std::int64_t stop = 0;  // as Python prints it
    std::int64_t step = 1;
    std::int64_t count = 0;  // at most the 100,000 that Jinja's sandbox allows, and slices of that
};

// What Python makes lazily and once.  Elements are computed at once, but taken one by one and only once.
struct JinjaGenerator {
    JinjaListStore* list = nullptr;
    std::uint32_t next = 0;
    std::uint32_t end = 0;
    std::string_view name;  // as Python prints it
};

struct JinjaNamespace {
    JinjaEntry* entries = nullptr;
    std::uint32_t count = 0;
    std::uint32_t capacity = 0;
};

struct JinjaMethod {
    JinjaValue receiver;
    const JinjaBuiltin* builtin = nullptr;
};

struct JinjaCycler {
    JinjaValue items;  // a tuple
    std::uint32_t position = 0;
};

struct JinjaJoiner {
    JinjaValue separator;
    bool was_used = false;
};

// Why a value is undefined; the sentence is made only when something needs the value after all.
struct JinjaUndefined {
    enum class Reason : std::uint8_t { name, attribute, element, hint, unsafe };
    Reason reason = Reason::hint;
    JinjaKind owner = JinjaKind::none;  // of whom it was asked
    std::string_view name;              // the variable, attribute or, for hint, the whole sentence
};

}  // namespace mixtura
