#include "tokenizer/normalizer.hpp"

#include "base/error.hpp"
#include "tokenizer/byte_alphabet.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {
namespace {

// Every character through `map(value, out)`, which appends what the character becomes.
template <class Map>
void map_characters(TracedText& text, Map&& map) {
    TracedWriter out(text);
    std::string mapped;
    for (std::size_t at = 0; at < text.bytes.size();) {
        const CodePoint point = code_point_at(text.bytes, at);
        mapped.clear();
        map(point.value, mapped);
        out.replace(at, at + point.length, mapped);
        at += point.length;
    }
    text = out.finish();
}

void strip(const NormalizeStep& step, TracedText& text) {
    std::size_t begin = 0, end = text.bytes.size();
    while (step.strips_left && begin < end) {
        const CodePoint point = code_point_at(text.bytes, begin);
        if (!is_white_space(point.value)) break;
        begin += point.length;
    }
    while (step.strips_right && begin < end) {
        std::size_t last = end - 1;
        while ((static_cast<unsigned char>(text.bytes[last]) & 0xC0) == 0x80) --last;
        if (!is_white_space(code_point_at(text.bytes, last).value)) break;
        end = last;
    }
    if (begin == 0 && end == text.bytes.size()) return;
    TracedWriter out(text);
    out.keep(begin, end);
    text = out.finish();
}

Status replace(const NormalizeStep& step, TracedText& text, std::size_t bytes_max, RegexWorkspace& workspace) {
    if (text.bytes.empty()) return {};  // also where the pattern matches nothing at all
    std::size_t kept = 0;
    std::optional<TracedWriter> out;
    const auto match = [&](std::size_t begin, std::size_t end) {
        if (!out) out.emplace(text);
        out->keep(kept, begin);
        out->replace(begin, end, step.content);
        kept = end;
        return check_expansion(out->text().bytes.size(), bytes_max);
    };
    if (step.pattern) {
        MIXTURA_RETURN_IF_ERROR(step.pattern->for_each_match(text.bytes, workspace, match));
    } else {
        for (std::size_t at = text.bytes.find(step.literal); at != std::string::npos;
             at = text.bytes.find(step.literal, at + step.literal.size())) {
            MIXTURA_RETURN_IF_ERROR(match(at, at + step.literal.size()));
        }
    }
    if (out) {
        out->keep(kept, text.bytes.size());
        TracedText replaced = out->finish();
        text = std::move(replaced);
    }
    return {};
}

// The tokenizers library maps a grapheme cluster of less than 6 bytes as a whole where the map has a key that it starts
// with, even if the key is only a part of it, and else each character.
Status precompiled(const Charsmap& map, TracedText& text, std::size_t bytes_max) {
    TracedWriter out(text);
    const std::string_view bytes = text.bytes;
    for (std::size_t at = 0; at < bytes.size();) {
        MIXTURA_RETURN_IF_ERROR(check_expansion(out.text().bytes.size(), bytes_max));
        const std::size_t length = grapheme_bytes(bytes.substr(at));
        if (length < 6) {
            if (const auto match = map.shortest_prefix(bytes.substr(at, length))) {
                out.replace(at, at + length, match->replacement);
                at += length;
                continue;
            }
        }
        for (const std::size_t end = at + length; at < end;) {
            const std::size_t character = utf8_length(bytes[at]);
            if (const auto match = map.shortest_prefix(bytes.substr(at, character))) {
                out.replace(at, at + character, match->replacement);
            } else {
                out.keep(at, at + character);
            }
            at += character;
        }
    }
    text = out.finish();
    return {};
}

void nmt(char32_t value, std::string& out) {
    const bool is_removed = (value >= 0x01 && value <= 0x08) || value == 0x0B || (value >= 0x0E && value <= 0x1F) ||
                            value == 0x7F || value == 0x8F || value == 0x9F;
    if (is_removed) return;
    const bool is_space = value == 0x09 || value == 0x0A || value == 0x0C || value == 0x0D || value == 0x1680 ||
                          (value >= 0x200B && value <= 0x200F) || value == 0x2028 || value == 0x2029 ||
                          value == 0x2581 || value == 0xFEFF || value == 0xFFFD;
    append_utf8(out, is_space ? U' ' : value);
}

Status apply_step(const NormalizeStep& step, TracedText& text, std::size_t bytes_max, RegexWorkspace& workspace) {
    using Kind = NormalizeStep::Kind;
    switch (step.kind) {
        case Kind::unicode_form: return normalize_form(step.form, text);
        case Kind::lowercase:
            map_characters(text, [](char32_t value, std::string& out) { append_lowercase(out, value); });
            return {};
        case Kind::strip: strip(step, text); return {};
        case Kind::strip_accents:
            map_characters(text, [](char32_t value, std::string& out) {
                if (!is_combining_mark(value)) append_utf8(out, value);
            });
            return {};
        case Kind::prepend:
            if (!text.bytes.empty()) {
                text.bytes.insert(0, step.content);
                if (!text.trust.empty()) text.trust.insert(0, step.content.size(), '\1');
            }
            return {};
        case Kind::replace: return replace(step, text, bytes_max, workspace);
        case Kind::precompiled: return precompiled(*step.charsmap, text, bytes_max);
        case Kind::nmt: map_characters(text, nmt); return {};
        case Kind::byte_letters:
            map_characters(text, [](char32_t value, std::string& out) {
                std::string bytes;
                append_utf8(bytes, value);
                append_byte_letters(out, bytes);
            });
            return {};
    }
    return {};
}

}  // namespace

Status Normalizer::apply(TracedText& text, RegexWorkspace& workspace) const {
    const std::size_t bytes_max = expanded_bytes_max(text.bytes.size());
    for (const NormalizeStep& step : steps) {
        MIXTURA_RETURN_IF_ERROR(apply_step(step, text, bytes_max, workspace));
        MIXTURA_RETURN_IF_ERROR(check_expansion(text.bytes.size(), bytes_max));
    }
    return {};
}

}  // namespace mixtura
