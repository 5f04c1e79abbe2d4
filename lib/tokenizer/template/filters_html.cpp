// Filters that know HTML and URLs.
#include <algorithm>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/html.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/unicode.hpp"

namespace mixtura {
namespace {

std::string_view entity_of(char c) {
    switch (c) {
        case '&': return "&amp;";
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '\'': return "&#39;";
        case '"': return "&#34;";
        default: return {};
    }
}

bool append_escaped(JinjaRun& run, const JinjaValue& text, JinjaTextBuilder& out) {
    if (!run.step_bytes(text.size)) return false;
    JinjaPieces pieces(text);
    for (JinjaPiece piece; pieces.next(piece);) {
        for (std::size_t at = 0; at < piece.bytes.size();) {
            const std::size_t special = std::min(piece.bytes.find_first_of("&<>'\"", at), piece.bytes.size());
            if (special > at && !out.append(piece.bytes.substr(at, special - at), piece.is_trusted)) return false;
            if (special < piece.bytes.size() && !out.append(entity_of(piece.bytes[special]), piece.is_trusted))
                return false;
            at = special + 1;
        }
    }
    return true;
}

bool escape(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return escape_jinja_html(run, a[0], out); }

bool force_escape(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue plain;
    if (!jinja_to_text(run, a[0], plain)) return false;
    plain.is_markup = false;
    return escape_jinja_html(run, plain, out);
}

bool safe(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!jinja_to_text(run, a[0], out)) return false;
    out.is_markup = true;
    return true;
}

// The character an entity ("&amp;", "&#65;", "&#x41;") stands for, 0 where it is none of those every HTML has.
std::uint32_t entity_character(std::string_view entity) {
    static constexpr std::pair<std::string_view, std::uint32_t> kNamed[] = {
        {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}, {"nbsp", 0xA0}};
    const std::string_view name = entity.substr(1, entity.size() - 2);
    for (const auto& [known, code_point] : kNamed) {
        if (name == known) return code_point;
    }
    if (name.size() < 2 || name[0] != '#') return 0;
    const bool is_hexadecimal = name[1] == 'x' || name[1] == 'X';
    const std::string_view digits = name.substr(is_hexadecimal ? 2 : 1);
    std::uint32_t value = 0;
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, is_hexadecimal ? 16 : 10);
    return failure == std::errc() && end == digits.data() + digits.size() && value <= 0x10FFFF ? value : 0;
}

// Text between tags and comments, white space collapsed, entities read.
bool strip_tags(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue text;
    if (!jinja_to_text(run, a[0], text) || !run.step_bytes(text.size)) return false;
    const std::string_view bytes = jinja_text(text);
    std::string kept;
    for (std::size_t at = 0; at < bytes.size();) {
        const std::size_t tag = std::min(bytes.find('<', at), bytes.size());
        kept += bytes.substr(at, tag - at);
        if (tag == bytes.size()) break;
        const bool is_comment = bytes.substr(tag, 4) == "<!--";
        const std::size_t end = is_comment ? bytes.find("-->", tag + 4) : bytes.find('>', tag);
        if (end == std::string_view::npos) {  // never closed: text after all
            kept += bytes.substr(tag);
            break;
        }
        at = end + (is_comment ? 3 : 1);
    }
    std::string collapsed;
    for (std::string_view rest = without_trailing_space(without_leading_space(kept)); !rest.empty();) {
        const std::string_view character = jinja_first_character(rest);
        if (python_is_space(jinja_code_point(character))) {
            collapsed += ' ';
            rest = without_leading_space(rest);
        } else {
            collapsed += character;
            rest.remove_prefix(character.size());
        }
    }
    std::string plain;
    for (std::size_t at = 0; at < collapsed.size();) {
        const std::size_t end = collapsed[at] == '&' ? collapsed.find(';', at) : std::string::npos;
        const bool is_short = end != std::string::npos && end - at <= 10;
        const std::uint32_t code_point =
            is_short ? entity_character(std::string_view(collapsed).substr(at, end + 1 - at)) : 0;
        char buffer[4];
        const std::string_view character = code_point == 0 ? std::string_view() : jinja_encode(code_point, buffer);
        plain += character.empty() ? std::string_view(collapsed).substr(at, 1) : character;
        at = character.empty() ? at + 1 : end + 1;
    }
    return jinja_copy(run, plain, is_wholly_trusted(text), out);
}

// Bytes other than letters, digits and _.-~ as %XX; "/" stays unless it is part of a query.
bool append_quoted(JinjaRun& run, const JinjaValue& value, bool is_query, JinjaTextBuilder& out) {
    JinjaValue text;
    if (!jinja_to_text(run, value, text) || !run.step_bytes(text.size)) return false;
    JinjaPieces pieces(text);
    for (JinjaPiece piece; pieces.next(piece);) {
        std::string quoted_piece;
        for (const char c : piece.bytes) {
            const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                  std::string_view("_.-~").find(c) != std::string_view::npos || (c == '/' && !is_query);
            if (is_plain) {
                quoted_piece += c;
            } else if (c == ' ' && is_query) {
                quoted_piece += '+';
            } else {
                quoted_piece += '%';
                quoted_piece += "0123456789ABCDEF"[static_cast<unsigned char>(c) >> 4];
                quoted_piece += "0123456789ABCDEF"[static_cast<unsigned char>(c) & 15];
            }
        }
        if (!out.append(quoted_piece, piece.is_trusted)) return false;
    }
    return true;
}

bool url_encode(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaTextBuilder builder(run);
    if (a[0].is(JinjaKind::string) || !is_jinja_iterable(a[0]))
        return append_quoted(run, a[0], false, builder) && builder.finish(out);
    JinjaValue pairs = a[0];
    if (a[0].is(JinjaKind::dict)) {
        pairs.kind = JinjaKind::view;
        pairs.view = JinjaViewKind::items;
    }
    JinjaIterator iterator;
    bool is_first = true;
    if (!iterator.start(run, pairs)) return false;
    for (JinjaValue pair; iterator.next(run, pair); is_first = false) {
        JinjaListBuilder parts(run);
        if (!collect_jinja_elements(run, pair, parts)) return false;
        if (parts.size() != 2) return run.fail("'urlencode' needs pairs, found ", parts.size(), " values");
        if (!is_first && !builder.append("&", true)) return false;
        if (!append_quoted(run, parts[0], true, builder) || !builder.append("=", true) ||
            !append_quoted(run, parts[1], true, builder))
            return false;
    }
    return run.failure().is_ok() && builder.finish(out);
}

bool xml_attributes(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!a[0].is(JinjaKind::dict)) return run.fail("'xmlattr' needs a dict, found ", jinja_type_name(a[0]));
    const bool starts_with_space = !is_given(a[1]) || is_jinja_true(a[1]);
    JinjaTextBuilder builder(run);
    for (std::uint32_t i = 0; i < a[0].dict->count; ++i) {
        const JinjaEntry& entry = a[0].dict->entries[i];
        JinjaValue key, value;
        if (entry.value.is(JinjaKind::none) || entry.value.is(JinjaKind::undefined)) continue;
        if (!want_text(run, entry.key, "the name of an attribute")) return false;
        if (jinja_text(entry.key).find_first_of(" \t\n\r\f\v/>=") != std::string_view::npos) {
            return run.fail(quoted(jinja_text(entry.key)), " cannot be the name of an attribute");
        }
        if (!escape_jinja_html(run, entry.key, key) || !escape_jinja_html(run, entry.value, value)) return false;
        if ((starts_with_space || builder.size() > 0) && !builder.append(" ", true)) return false;
        if (!builder.append(key) || !builder.append("=\"", true) || !builder.append(value) ||
            !builder.append("\"", true))
            return false;
    }
    return builder.finish(out);
}

constexpr JinjaBuiltin kFilters[] = {
    {"escape", escape},
    {"e", escape},
    {"forceescape", force_escape},
    {"safe", safe},
    {"striptags", strip_tags},
    {"urlencode", url_encode},
    {"xmlattr", xml_attributes, nullptr, {"autospace"}, 0, false},
};

}  // namespace

bool escape_jinja_html(JinjaRun& run, const JinjaValue& value, JinjaValue& out) {
    JinjaValue text;
    JinjaTextBuilder builder(run);
    if (!jinja_to_text(run, value, text)) return false;
    if (text.is_markup) {
        out = text;
        return true;
    }
    if (!append_escaped(run, text, builder) || !builder.finish(out)) return false;
    out.is_markup = true;
    return true;
}

std::span<const JinjaBuiltin> jinja_html_filters() { return kFilters; }

}  // namespace mixtura
