// Filters on text.
#include <algorithm>

#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/format.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text_case.hpp"
#include "tokenizer/template/text_parts.hpp"
#include "tokenizer/template/unicode.hpp"

namespace mixtura {
namespace {

template <JinjaCase kCase>
bool change(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue text;
    return jinja_to_text(run, a[0], text) && change_jinja_case(run, text, kCase, out);
}

bool trim(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue text;
    return jinja_to_text(run, a[0], text) && strip_jinja_text(run, text, a[1], true, true, out);
}

bool string(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return jinja_to_text(run, a[0], out); }

bool replace(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue text, old_part, new_part;
    std::int64_t count_max = -1;
    if (!jinja_to_text(run, a[0], text) || !jinja_to_text(run, a[1], old_part) || !jinja_to_text(run, a[2], new_part))
        return false;
    if (is_given_and_not_none(a[3]) && !want_integer(run, a[3], "'count'", count_max)) return false;
    text.is_markup = false;
    return replace_jinja_text(run, text, old_part, new_part, count_max, out);
}

bool center(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue text;
    std::int64_t width = 80;
    return jinja_to_text(run, a[0], text) && want_width(run, a[1], "the width", width) &&
           pad_jinja_text(run, text, width, JinjaValue(), JinjaPadding::center, out);
}

// What each further line starts with: so many spaces, or a text.
bool indentation(JinjaRun& run, const JinjaValue& width, JinjaValue& out) {
    if (width.is(JinjaKind::string)) {
        out = width;
        return true;
    }
    std::int64_t spaces = 4;
    JinjaValue space;
    JinjaTextBuilder builder(run);
    return want_width(run, width, "the width", spaces) && jinja_borrow(run, " ", true, space) &&
           builder.append_repeated(space, static_cast<std::size_t>(std::max<std::int64_t>(spaces, 0))) &&
           builder.finish(out);
}

bool indent(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue prefix, newline, text;
    if (!want_text(run, a[0], "what to indent") || !indentation(run, a[1], prefix)) return false;
    if (!jinja_borrow(run, "\n", true, newline) || !jinja_concatenate(run, a[0], newline, text)) return false;
    const bool indents_first = is_given(a[2]) && is_jinja_true(a[2]);
    const bool indents_blank = is_given(a[3]) && is_jinja_true(a[3]);
    JinjaListBuilder lines(run);
    JinjaTextBuilder builder(run);
    if (!split_jinja_lines(run, text, false, lines)) return false;
    for (std::uint32_t i = 0; i < lines.size(); ++i) {
        if (i > 0) {  // in place of the line end there was, and of its origin
            const std::size_t end = lines[i - 1].offset + lines[i - 1].size - text.offset;
            if (!builder.append("\n", is_wholly_trusted(jinja_slice(text, end, 1)))) return false;
        }
        const bool is_indented = i == 0 ? indents_first : indents_blank || lines[i].size > 0;
        if ((is_indented && !builder.append(prefix)) || !builder.append(lines[i])) return false;
    }
    if (!builder.finish(out)) return false;
    out.is_markup = a[0].is_markup;
    return true;
}

bool truncate(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t length = 255, leeway = 5;
    JinjaValue end = a[3];
    if (!want_text(run, a[0], "what to truncate") || !want_integer(run, a[1], "the length", length)) return false;
    if (!is_given(end) && !jinja_borrow(run, "...", true, end)) return false;
    if (!want_text(run, end, "the end") ||
        (is_given_and_not_none(a[4]) && !want_integer(run, a[4], "the leeway", leeway)))
        return false;
    const std::string_view bytes = jinja_text(a[0]);
    if (!run.step_bytes(bytes.size() + end.size)) return false;
    const auto end_length = static_cast<std::int64_t>(jinja_character_count(jinja_text(end)));
    if (length < end_length)
        return run.fail("the length must be at least that of the end, ", end_length, ", found ", length);
    if (leeway < 0) return run.fail("the leeway must not be negative, found ", leeway);
    const auto whole = static_cast<std::int64_t>(jinja_character_count(bytes));
    if (whole - leeway <= length) {
        out = a[0];
        return true;
    }
    std::string_view kept =
        bytes.substr(0, jinja_character_offset(bytes, static_cast<std::size_t>(length - end_length)));
    const bool cuts_words = is_given(a[2]) && is_jinja_true(a[2]);
    if (!cuts_words) kept = kept.substr(0, std::min(kept.rfind(' '), kept.size()));
    return jinja_concatenate(run, jinja_slice(a[0], 0, kept.size()), end, out);
}

bool word_count(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue text;
    if (!jinja_to_text(run, a[0], text) || !run.step_bytes(text.size)) return false;
    std::int64_t words = 0;
    bool is_inside = false;
    JinjaCharacters characters(text);
    while (characters.next()) {
        const bool is_word = characters.bytes() == "_" || python_is_alphanumeric(characters.code_point());
        words += is_word && !is_inside ? 1 : 0;
        is_inside = is_word;
    }
    out = jinja_integer(words, is_wholly_trusted(text));
    return true;
}

// '%s' | format(value): the values as a tuple, or as a dict where they have names.
bool format(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaValue& out) {
    JinjaValue text, values;
    if (!jinja_to_text(run, self, text)) return false;
    if (!arguments.positional.empty() && !arguments.named.empty())
        return run.fail("'format' takes values with names or without, not both");
    if (arguments.named.empty()) {
        JinjaListBuilder list(run);
        for (const JinjaValue& value : arguments.positional) {
            if (!list.push(value)) return false;
        }
        return list.finish(JinjaKind::tuple, true, values) && format_jinja_percent(run, text, values, out);
    }
    auto* entries = run.make<JinjaEntry>(arguments.named.size());
    if (entries == nullptr) return false;
    for (std::size_t i = 0; i < arguments.named.size(); ++i) {
        if (!jinja_borrow(run, arguments.named[i].name, arguments.named[i].is_name_trusted, entries[i].key))
            return false;
        entries[i].value = arguments.named[i].value;
    }
    return make_jinja_dict(run, entries, arguments.named.size(), true, values) &&
           format_jinja_percent(run, text, values, out);
}

constexpr JinjaBuiltin kFilters[] = {
    {"trim", trim, nullptr, {"chars"}, 0, false},
    {"string", string},
    {"upper", change<JinjaCase::upper>},
    {"lower", change<JinjaCase::lower>},
    {"capitalize", change<JinjaCase::capitalized>},
    {"title", change<JinjaCase::words>},
    {"replace", replace, nullptr, {"old", "new", "count"}, 2, false},
    {"indent", indent, nullptr, {"width", "first", "blank"}, 0, false},
    {"center", center, nullptr, {"width"}, 0, false},
    {"truncate", truncate, nullptr, {"length", "killwords", "end", "leeway"}, 0, false},
    {"wordcount", word_count},
    {"format", nullptr, format},
};

}  // namespace

std::span<const JinjaBuiltin> jinja_text_filters() { return kFilters; }

}  // namespace mixtura
