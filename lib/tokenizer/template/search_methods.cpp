// Methods of text that look for something in it.
#include <algorithm>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

// The part of a text that optional start and end (in characters) leave, as bytes.
struct Window {
    std::size_t begin = 0, end = 0;
    bool is_valid = true;  // false where start lies behind the end: nothing is found then, not even nothing
};

bool window_of(JinjaRun& run, const JinjaValue& text, const JinjaValue& start, const JinjaValue& end, Window& out) {
    const std::string_view bytes = jinja_text(text);
    out = {0, bytes.size(), true};
    if (!is_given_and_not_none(start) && !is_given_and_not_none(end)) return true;
    if (!run.step_bytes(bytes.size())) return false;
    const auto length = static_cast<std::int64_t>(jinja_character_count(bytes));
    std::int64_t first = 0, last = length;
    if (is_given_and_not_none(start) && !want_integer(run, start, "the start", first)) return false;
    if (is_given_and_not_none(end) && !want_integer(run, end, "the end", last)) return false;
    if (first < 0) first = std::max<std::int64_t>(first + length, 0);
    if (last < 0) last = std::max<std::int64_t>(last + length, 0);
    last = std::min(last, length);
    out.is_valid = first <= last;
    if (!out.is_valid) return true;
    out.begin = jinja_character_offset(bytes, static_cast<std::size_t>(first));
    out.end = out.begin + jinja_character_offset(bytes.substr(out.begin), static_cast<std::size_t>(last - first));
    return true;
}

bool find_place(JinjaRun& run, const JinjaValue* a, bool is_last, std::int64_t& place) {
    Window window;
    place = -1;
    if (!want_text(run, a[1], "what to look for") || !window_of(run, a[0], a[2], a[3], window)) return false;
    if (!window.is_valid) return true;
    const std::string_view bytes = jinja_text(a[0]);
    const std::string_view inside = bytes.substr(window.begin, window.end - window.begin);
    std::size_t at = 0;
    if (!run.step_bytes(bytes.size() + a[1].size)) return false;
    if (!is_last)
        at = find_jinja_text(inside, jinja_text(a[1]));
    else if (!find_last_jinja_text(run, inside, jinja_text(a[1]), inside.size(), at))
        return false;
    if (at != std::string_view::npos)
        place = static_cast<std::int64_t>(jinja_character_count(bytes.substr(0, window.begin + at)));
    return true;
}

bool place_method(JinjaRun& run, const JinjaValue* a, bool is_last, bool must_be_there, JinjaValue& out) {
    std::int64_t place = 0;
    if (!find_place(run, a, is_last, place)) return false;
    if (place < 0 && must_be_there) return run.fail("the text does not hold ", quoted(jinja_text(a[1])));
    out = jinja_integer(place, is_wholly_trusted(a[0]) && is_wholly_trusted(a[1]));
    return true;
}
bool find(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return place_method(run, a, false, false, out); }
bool rfind(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return place_method(run, a, true, false, out); }
bool index(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return place_method(run, a, false, true, out); }
bool rindex(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return place_method(run, a, true, true, out); }

bool count(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    Window window;
    if (!want_text(run, a[1], "what to count") || !window_of(run, a[0], a[2], a[3], window)) return false;
    const std::string_view inside = jinja_text(a[0]).substr(window.begin, window.end - window.begin);
    const std::string_view part = jinja_text(a[1]);
    std::int64_t found = 0;
    if (!run.step_bytes(inside.size() + part.size())) return false;
    if (window.is_valid && part.empty()) {
        found = static_cast<std::int64_t>(jinja_character_count(inside)) + 1;
    } else if (window.is_valid) {
        for (std::size_t at = find_jinja_text(inside, part); at != std::string_view::npos;
             at = find_jinja_text(inside, part, at + part.size())) {
            ++found;
        }
    }
    out = jinja_integer(found, is_wholly_trusted(a[0]) && is_wholly_trusted(a[1]));
    return true;
}

bool is_at_edge(std::string_view inside, std::string_view affix, bool is_suffix) {
    if (affix.size() > inside.size()) return false;
    return inside.substr(is_suffix ? inside.size() - affix.size() : 0, affix.size()) == affix;
}

bool edge_method(JinjaRun& run, const JinjaValue* a, bool is_suffix, JinjaValue& out) {
    Window window;
    if (!window_of(run, a[0], a[2], a[3], window)) return false;
    const std::string_view inside = jinja_text(a[0]).substr(window.begin, window.end - window.begin);
    bool result = false;
    bool is_trusted = is_wholly_trusted(a[0]);
    if (a[1].is(JinjaKind::tuple)) {
        for (std::uint32_t i = 0; !result && i < a[1].size; ++i) {
            const JinjaValue& affix = a[1].list->items[a[1].offset + i];
            if (!run.step() || !want_text(run, affix, "every affix to look for")) return false;
            result = window.is_valid && is_at_edge(inside, jinja_text(affix), is_suffix);
        }
    } else {
        if (!want_text(run, a[1], "the affix to look for")) return false;
        result = window.is_valid && is_at_edge(inside, jinja_text(a[1]), is_suffix);
        is_trusted = is_trusted && is_wholly_trusted(a[1]);
    }
    out = jinja_boolean(result, is_trusted);
    return true;
}
bool startswith(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return edge_method(run, a, false, out); }
bool endswith(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return edge_method(run, a, true, out); }

constexpr JinjaBuiltin kMethods[] = {
    {"find", find, nullptr, {"sub", "start", "end"}, 1, true},
    {"rfind", rfind, nullptr, {"sub", "start", "end"}, 1, true},
    {"index", index, nullptr, {"sub", "start", "end"}, 1, true},
    {"rindex", rindex, nullptr, {"sub", "start", "end"}, 1, true},
    {"count", count, nullptr, {"sub", "start", "end"}, 1, true},
    {"startswith", startswith, nullptr, {"prefix", "start", "end"}, 1, true},
    {"endswith", endswith, nullptr, {"suffix", "start", "end"}, 1, true},
};

}  // namespace

std::span<const JinjaBuiltin> jinja_search_methods() { return kMethods; }

}  // namespace mixtura
