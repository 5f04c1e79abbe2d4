// Methods of text that cut, join and lay out.
#include <algorithm>

#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/format.hpp"
#include "tokenizer/template/html.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text_parts.hpp"

namespace mixtura {
namespace {

bool strip(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    return strip_jinja_text(run, a[0], a[1], true, true, out);
}
bool lstrip(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    return strip_jinja_text(run, a[0], a[1], true, false, out);
}
bool rstrip(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    return strip_jinja_text(run, a[0], a[1], false, true, out);
}

bool split(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t splits_max = -1;
    return want_integer(run, a[2], "'maxsplit'", splits_max) &&
           split_jinja_text(run, a[0], a[1], splits_max, false, out);
}
bool rsplit(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t splits_max = -1;
    return want_integer(run, a[2], "'maxsplit'", splits_max) &&
           split_jinja_text(run, a[0], a[1], splits_max, true, out);
}

bool splitlines(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaListBuilder lines(run);
    return split_jinja_lines(run, a[0], is_given(a[1]) && is_jinja_true(a[1]), lines) &&
           lines.finish(JinjaKind::list, is_wholly_trusted(a[0]), out);
}

// (before, separator, after) around the first or last place; where there is none, all of it at the near end.
bool part_at(JinjaRun& run, const JinjaValue& text, const JinjaValue& separator, bool from_right, JinjaValue& out) {
    if (!want_text(run, separator, "the separator")) return false;
    if (separator.size == 0) return run.fail("the separator must not be empty");
    const std::string_view bytes = jinja_text(text);
    std::size_t at = 0;
    if (!run.step_bytes(bytes.size())) return false;
    if (!from_right)
        at = find_jinja_text(bytes, jinja_text(separator));
    else if (!find_last_jinja_text(run, bytes, jinja_text(separator), bytes.size(), at))
        return false;
    const bool was_found = at != std::string_view::npos;
    const JinjaValue nothing = jinja_slice(text, 0, 0);
    JinjaListBuilder parts(run);
    const JinjaValue before = was_found ? jinja_slice(text, 0, at) : from_right ? nothing : text;
    const JinjaValue middle = was_found ? jinja_slice(text, at, separator.size) : nothing;
    const JinjaValue after = was_found    ? jinja_slice(text, at + separator.size, bytes.size() - at - separator.size)
                             : from_right ? text
                                          : nothing;
    return parts.push(before) && parts.push(middle) && parts.push(after) && parts.finish(JinjaKind::tuple, true, out);
}
bool partition(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return part_at(run, a[0], a[1], false, out); }
bool rpartition(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return part_at(run, a[0], a[1], true, out); }

bool join(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaTextBuilder builder(run);
    JinjaIterator iterator;
    if (!iterator.start(run, a[1])) return false;
    bool is_first = true;
    for (JinjaValue element; iterator.next(run, element); is_first = false) {
        if (!is_first && !builder.append(a[0])) return false;
        if (a[0].is_markup && !escape_jinja_html(run, element, element)) return false;
        if (!want_text(run, element, "every element to join")) return false;
        if (!builder.append(element)) return false;
    }
    if (!run.failure().is_ok() || !builder.finish(out)) return false;
    out.is_markup = a[0].is_markup;
    return true;
}

bool replace(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t count_max = -1;
    JinjaValue replacement = a[2];
    if (!want_text(run, a[1], "what to replace") || !want_text(run, a[2], "the replacement")) return false;
    if (!want_integer(run, a[3], "'count'", count_max)) return false;
    if (a[0].is_markup && !escape_jinja_html(run, a[2], replacement)) return false;
    return replace_jinja_text(run, a[0], a[1], replacement, count_max, out);
}

bool remove_prefix(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!want_text(run, a[1], "the prefix")) return false;
    const bool is_there = jinja_text(a[0]).substr(0, a[1].size) == jinja_text(a[1]);
    out = is_there ? jinja_slice(a[0], a[1].size, a[0].size - a[1].size) : a[0];
    return true;
}
bool remove_suffix(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!want_text(run, a[1], "the suffix")) return false;
    const bool is_there = a[0].size >= a[1].size && jinja_text(a[0]).substr(a[0].size - a[1].size) == jinja_text(a[1]);
    out = is_there ? jinja_slice(a[0], 0, a[0].size - a[1].size) : a[0];
    return true;
}

bool pad(JinjaRun& run, const JinjaValue* a, JinjaPadding padding, JinjaValue& out) {
    std::int64_t width = 0;
    return want_width(run, a[1], "the width", width) && pad_jinja_text(run, a[0], width, a[2], padding, out);
}
bool center(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return pad(run, a, JinjaPadding::center, out); }
bool ljust(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return pad(run, a, JinjaPadding::right, out); }
bool rjust(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return pad(run, a, JinjaPadding::left, out); }

// Zeros in front, behind a sign.
bool zfill(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t width = 0;
    JinjaValue zero, padded;
    if (!want_width(run, a[1], "the width", width) || !jinja_borrow(run, "0", true, zero)) return false;
    const std::string_view bytes = jinja_text(a[0]);
    const std::size_t sign = !bytes.empty() && (bytes[0] == '-' || bytes[0] == '+') ? 1 : 0;
    if (!pad_jinja_text(run, jinja_slice(a[0], sign, bytes.size() - sign), width - static_cast<std::int64_t>(sign),
                        zero, JinjaPadding::left, padded))
        return false;
    return jinja_concatenate(run, jinja_slice(a[0], 0, sign), padded, out);
}

bool expandtabs(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t tab = 8;
    JinjaValue space;
    if (!want_width(run, a[1], "the tab size", tab) || !jinja_borrow(run, " ", true, space)) return false;
    JinjaTextBuilder builder(run);
    std::int64_t column = 0;
    JinjaCharacters characters(a[0]);
    while (characters.next()) {
        if (characters.bytes() == "\t") {
            const std::int64_t spaces = tab > 0 ? tab - column % tab : 0;
            if (!builder.append_repeated(space, static_cast<std::size_t>(spaces))) return false;
            column += spaces;
            continue;
        }
        if (!builder.append(characters.bytes(), characters.is_trusted())) return false;
        column = characters.bytes() == "\n" || characters.bytes() == "\r" ? 0 : column + 1;
    }
    if (!builder.finish(out)) return false;
    out.is_markup = a[0].is_markup;
    return true;
}

bool format(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaValue& out) {
    return format_jinja_braces(run, self, arguments, out);
}

bool format_map(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!a[1].is(JinjaKind::dict)) return run.fail("'format_map' needs a dict, found ", jinja_type_name(a[1]));
    auto* named = run.make<JinjaNamedValue>(a[1].dict->count);
    if (named == nullptr) return false;
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < a[1].dict->count; ++i) {
        const JinjaEntry& entry = a[1].dict->entries[i];
        if (entry.key.is(JinjaKind::string))
            named[count++] = {jinja_text(entry.key), entry.value, is_wholly_trusted(entry.key)};
    }
    return format_jinja_braces(run, a[0], {{}, {named, count}}, out);
}

constexpr JinjaBuiltin kMethods[] = {
    {"strip", strip, nullptr, {"chars"}, 0, true},
    {"lstrip", lstrip, nullptr, {"chars"}, 0, true},
    {"rstrip", rstrip, nullptr, {"chars"}, 0, true},
    {"split", split, nullptr, {"sep", "maxsplit"}, 0, false},
    {"rsplit", rsplit, nullptr, {"sep", "maxsplit"}, 0, false},
    {"splitlines", splitlines, nullptr, {"keepends"}, 0, false},
    {"partition", partition, nullptr, {"sep"}, 1, true},
    {"rpartition", rpartition, nullptr, {"sep"}, 1, true},
    {"join", join, nullptr, {"iterable"}, 1, true},
    {"replace", replace, nullptr, {"old", "new", "count"}, 2, true},
    {"removeprefix", remove_prefix, nullptr, {"prefix"}, 1, true},
    {"removesuffix", remove_suffix, nullptr, {"suffix"}, 1, true},
    {"center", center, nullptr, {"width", "fillchar"}, 1, true},
    {"ljust", ljust, nullptr, {"width", "fillchar"}, 1, true},
    {"rjust", rjust, nullptr, {"width", "fillchar"}, 1, true},
    {"zfill", zfill, nullptr, {"width"}, 1, true},
    {"expandtabs", expandtabs, nullptr, {"tabsize"}, 0, false},
    {"format", nullptr, format, {}, 0, false},
    {"format_map", format_map, nullptr, {"mapping"}, 1, true},
};

}  // namespace

std::span<const JinjaBuiltin> jinja_text_methods() { return kMethods; }

}  // namespace mixtura
