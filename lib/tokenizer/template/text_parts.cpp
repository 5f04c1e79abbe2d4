#include "tokenizer/template/text_parts.hpp"

#include <algorithm>

#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/unicode.hpp"

namespace mixtura {
namespace {

bool is_line_end(std::uint32_t code_point) {
    return (code_point >= 0x0A && code_point <= 0x0D) || (code_point >= 0x1C && code_point <= 0x1E) ||
           code_point == 0x85 || code_point == 0x2028 || code_point == 0x2029;
}

bool contains_character(std::string_view characters, std::string_view wanted) {
    while (!characters.empty()) {
        const std::string_view character = jinja_first_character(characters);
        if (character == wanted) return true;
        characters.remove_prefix(character.size());
    }
    return false;
}

JinjaValue window(const JinjaValue& text, std::string_view part) {
    return jinja_slice(text, static_cast<std::size_t>(part.data() - jinja_text(text).data()), part.size());
}

// Runs of white space part the words; what is beyond the last split keeps its spaces at the far end.
bool split_at_space(JinjaRun& run, const JinjaValue& text, std::int64_t splits_max, bool from_right,
                    JinjaListBuilder& parts) {
    std::string_view rest = jinja_text(text);
    for (;;) {
        rest = from_right ? without_trailing_space(rest) : without_leading_space(rest);
        if (rest.empty()) return true;
        std::size_t length = 0;  // of the word at the near end
        if (splits_max >= 0 && parts.size() >= splits_max) {
            length = rest.size();
        } else {
            std::string_view tail = rest;
            while (!tail.empty()) {
                const std::string_view character =
                    from_right ? jinja_last_character(tail) : jinja_first_character(tail);
                if (python_is_space(jinja_code_point(character))) break;
                length += character.size();
                from_right ? tail.remove_suffix(character.size()) : tail.remove_prefix(character.size());
            }
        }
        const std::string_view word = from_right ? rest.substr(rest.size() - length) : rest.substr(0, length);
        if (!run.step() || !parts.push(window(text, word))) return false;
        from_right ? rest.remove_suffix(length) : rest.remove_prefix(length);
    }
}

bool split_at(JinjaRun& run, const JinjaValue& text, std::string_view separator, std::int64_t splits_max,
              bool from_right, JinjaListBuilder& parts) {
    const std::string_view bytes = jinja_text(text);
    std::size_t begin = 0;
    std::size_t end = bytes.size();
    while (splits_max < 0 || parts.size() < splits_max) {
        std::size_t at = 0;
        if (!run.step()) return false;
        if (!from_right)
            at = find_jinja_text(bytes, separator, begin);
        else if (!find_last_jinja_text(run, bytes, separator, end, at))
            return false;
        if (at == std::string_view::npos) break;
        const std::string_view part = from_right ? bytes.substr(at + separator.size(), end - at - separator.size())
                                                 : bytes.substr(begin, at - begin);
        if (!parts.push(window(text, part))) return false;
        from_right ? end = at : begin = at + separator.size();
    }
    return parts.push(window(text, bytes.substr(begin, end - begin)));
}

void reverse(JinjaListBuilder& list) {
    for (std::uint32_t i = 0, j = list.size(); i + 1 < j; ++i) std::swap(list[i], list[--j]);
}

}  // namespace

bool strip_jinja_text(JinjaRun& run, const JinjaValue& text, const JinjaValue& characters, bool at_start, bool at_end,
                      JinjaValue& out) {
    std::string_view bytes = jinja_text(text);
    if (!run.step_bytes(bytes.size())) return false;
    if (!is_given_and_not_none(characters)) {
        if (at_start) bytes = without_leading_space(bytes);
        if (at_end) bytes = without_trailing_space(bytes);
        out = window(text, bytes);
        return true;
    }
    if (!want_text(run, characters, "what to strip")) return false;
    const std::string_view set = jinja_text(characters);
    while (at_start && !bytes.empty() && contains_character(set, jinja_first_character(bytes))) {
        if (!run.step_bytes(set.size())) return false;
        bytes.remove_prefix(jinja_first_character(bytes).size());
    }
    while (at_end && !bytes.empty() && contains_character(set, jinja_last_character(bytes))) {
        if (!run.step_bytes(set.size())) return false;
        bytes.remove_suffix(jinja_last_character(bytes).size());
    }
    out = window(text, bytes);
    return true;
}

bool split_jinja_text(JinjaRun& run, const JinjaValue& text, const JinjaValue& separator, std::int64_t splits_max,
                      bool from_right, JinjaValue& out) {
    JinjaListBuilder parts(run);
    if (!run.step_bytes(text.size)) return false;
    if (!is_given_and_not_none(separator)) {
        if (!split_at_space(run, text, splits_max, from_right, parts)) return false;
    } else {
        if (!want_text(run, separator, "what to split at")) return false;
        if (separator.size == 0) return run.fail("what to split at must not be empty");
        if (!split_at(run, text, jinja_text(separator), splits_max, from_right, parts)) return false;
    }
    if (from_right) reverse(parts);
    bool is_trusted = is_wholly_trusted(text);
    return parts.finish(JinjaKind::list, is_trusted, out);
}

bool split_jinja_lines(JinjaRun& run, const JinjaValue& text, bool keeps_ends, JinjaListBuilder& lines) {
    const std::string_view bytes = jinja_text(text);
    if (!run.step_bytes(bytes.size())) return false;
    std::size_t begin = 0;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::string_view character = jinja_first_character(bytes.substr(at));
        std::size_t after = at + character.size();
        if (!is_line_end(jinja_code_point(character))) {
            at = after;
            continue;
        }
        if (character == "\r" && after < bytes.size() && bytes[after] == '\n') ++after;
        if (!run.step() || !lines.push(jinja_slice(text, begin, (keeps_ends ? after : at) - begin))) return false;
        at = begin = after;
    }
    return begin == bytes.size() || lines.push(jinja_slice(text, begin, bytes.size() - begin));
}

bool replace_jinja_text(JinjaRun& run, const JinjaValue& text, const JinjaValue& old_part, const JinjaValue& new_part,
                        std::int64_t count_max, JinjaValue& out) {
    const std::string_view bytes = jinja_text(text);
    const std::string_view old = jinja_text(old_part);
    JinjaTextBuilder builder(run);
    std::size_t at = 0;  // everything before it is in the builder
    if (!run.step_bytes(bytes.size())) return false;
    for (std::size_t from = 0; count_max != 0; --count_max) {
        const std::size_t found = find_jinja_text(bytes, old, from);
        if (found == std::string_view::npos) break;
        if (!run.step() || !builder.append(jinja_slice(text, at, found - at)) || !builder.append(new_part))
            return false;
        at = found + old.size();
        from = at;
        if (old.empty()) {  // before every character and at the end
            if (found == bytes.size()) break;
            from = found + jinja_first_character(bytes.substr(found)).size();
        }
    }
    if (at == 0 && builder.size() == 0) {  // nothing to replace, or replaced by nothing at the very start
        out = jinja_slice(text, 0, bytes.size());
        return true;
    }
    if (!builder.append(jinja_slice(text, at, bytes.size() - at)) || !builder.finish(out)) return false;
    out.is_markup = text.is_markup;
    return true;
}

bool pad_jinja_text(JinjaRun& run, const JinjaValue& text, std::int64_t width, const JinjaValue& fill,
                    JinjaPadding padding, JinjaValue& out) {
    JinjaValue space = fill;
    if (!is_given(fill) && !jinja_borrow(run, " ", true, space)) return false;
    if (!want_text(run, space, "the fill character")) return false;
    if (jinja_character_count(jinja_text(space)) != 1) return run.fail("the fill character must be one character");
    if (!run.step_bytes(text.size)) return false;
    const std::int64_t missing = width - static_cast<std::int64_t>(jinja_character_count(jinja_text(text)));
    if (missing <= 0) {
        out = text;
        return true;
    }
    std::int64_t left = padding == JinjaPadding::left ? missing : 0;
    if (padding == JinjaPadding::center) left = missing / 2 + (missing & width & 1);  // Python's choice of the odd one
    JinjaTextBuilder builder(run);
    if (!builder.append_repeated(space, static_cast<std::size_t>(left)) || !builder.append(text) ||
        !builder.append_repeated(space, static_cast<std::size_t>(missing - left)) || !builder.finish(out)) {
        return false;
    }
    out.is_markup = text.is_markup;
    return true;
}

}  // namespace mixtura
