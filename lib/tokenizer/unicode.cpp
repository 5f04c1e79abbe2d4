// Most text is in its normalisation form already, and utf8proc takes 4 bytes of memory and about 20 ns for each
// character. So the text is walked once and only stretches that may change go through utf8proc: from the last character
// that starts anew to the next one.  A character starts anew when it combines with nothing before it and is its own
// form.
#include "tokenizer/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {
namespace {

utf8proc_category_t category_of(char32_t value) noexcept {
    return utf8proc_category(static_cast<utf8proc_int32_t>(value));
}

bool is_combining_jamo(char32_t value) noexcept { return value >= 0x1160 && value <= 0x11FF; }
bool is_hangul_syllable(char32_t value) noexcept { return value >= 0xAC00 && value <= 0xD7A3; }

bool starts_anew(UnicodeForm form, char32_t value) noexcept {
    if (value < 0x80) return true;
    const utf8proc_property_t& property = *utf8proc_get_property(static_cast<utf8proc_int32_t>(value));
    if (property.combining_class != 0 || is_combining_mark(value) || is_combining_jamo(value)) return false;
    const bool composes = form == UnicodeForm::nfc || form == UnicodeForm::nfkc;
    if (!composes && is_hangul_syllable(value)) return false;
    if (property.decomp_seqindex == std::numeric_limits<utf8proc_uint16_t>::max()) return true;
    if (form != UnicodeForm::nfc) return false;
    // NFC: a compatibility decomposition is left alone; a canonical one is put together again, unless it is excluded
    // from that or stands for one other character (Ω, the ohm sign; above U+1F00 also characters with marks, but not
    // kana).
    if (property.decomp_type != 0) return true;
    utf8proc_int32_t parts[8];
    const bool is_in_pairs = value < 0x1F00 || (value >= 0x3040 && value <= 0x30FF);
    return is_in_pairs && property.comp_exclusion == 0 &&
           utf8proc_decompose_char(static_cast<utf8proc_int32_t>(value), parts, 8, UTF8PROC_DECOMPOSE, nullptr) > 1;
}

utf8proc_option_t options_of(UnicodeForm form) noexcept {
    const int options = [&]() -> int {
        switch (form) {
            case UnicodeForm::nfc: return UTF8PROC_STABLE | UTF8PROC_COMPOSE;
            case UnicodeForm::nfd: return UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
            case UnicodeForm::nfkc: return UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT;
            default: return UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT;
        }
    }();
    return static_cast<utf8proc_option_t>(options);
}

struct FreeMemory {
    void operator()(utf8proc_uint8_t* memory) const noexcept { std::free(memory); }
};

Status replace_by_form(UnicodeForm form, std::string_view stretch, std::size_t begin, TracedWriter& out) {
    utf8proc_uint8_t* mapped = nullptr;
    const utf8proc_ssize_t length =
        utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(stretch.data()),
                     static_cast<utf8proc_ssize_t>(stretch.size()), &mapped, options_of(form));
    const std::unique_ptr<utf8proc_uint8_t, FreeMemory> owned(mapped);
    if (length == UTF8PROC_ERROR_NOMEM) return Status(StatusCode::out_of_host_memory, {});
    if (length < 0) return error(StatusCode::internal, "utf8proc fails to normalise: ", utf8proc_errmsg(length));
    out.replace(begin, begin + stretch.size(),
                {reinterpret_cast<const char*>(mapped), static_cast<std::size_t>(length)});
    return {};
}

}  // namespace

bool is_combining_mark(char32_t value) noexcept {
    const utf8proc_category_t category = category_of(value);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC || category == UTF8PROC_CATEGORY_ME;
}

bool is_white_space(char32_t value) noexcept {
    if (value < 0x80) return value == 0x20 || (value >= 0x09 && value <= 0x0D);
    return value == 0x85 || value == 0xA0 || value == 0x1680 || (value >= 0x2000 && value <= 0x200A) ||
           value == 0x2028 || value == 0x2029 || value == 0x202F || value == 0x205F || value == 0x3000;
}

bool is_word_character(char32_t value) noexcept {
    if (value < 0x80) {
        return (value >= '0' && value <= '9') || (value >= 'A' && value <= 'Z') || (value >= 'a' && value <= 'z') ||
               value == '_';
    }
    switch (category_of(value)) {
        case UTF8PROC_CATEGORY_LU:
        case UTF8PROC_CATEGORY_LL:
        case UTF8PROC_CATEGORY_LT:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_LO:
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_MC:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_ND:
        case UTF8PROC_CATEGORY_NL:
        case UTF8PROC_CATEGORY_PC: return true;
        default:
            // Other_Alphabetic beyond marks: circled and squared Latin letters.  Join_Control: ZWNJ and ZWJ.
            return (value >= 0x24B6 && value <= 0x24E9) || (value >= 0x1F130 && value <= 0x1F149) ||
                   (value >= 0x1F150 && value <= 0x1F169) || (value >= 0x1F170 && value <= 0x1F189) ||
                   value == 0x200C || value == 0x200D;
    }
}

void append_lowercase(std::string& out, char32_t value) {
    if (value == 0x130) {  // İ, the one character whose lower case is two
        out += "i\xCC\x87";
        return;
    }
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(value))));
}

std::size_t grapheme_bytes(std::string_view text) noexcept {
    CodePoint point = code_point_at(text, 0);
    std::size_t end = point.length;
    utf8proc_int32_t state = 0;
    while (end < text.size()) {
        const CodePoint next = code_point_at(text, end);
        if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(point.value),
                                             static_cast<utf8proc_int32_t>(next.value), &state)) {
            break;
        }
        point = next;
        end += next.length;
    }
    return end;
}

Status normalize_form(UnicodeForm form, TracedText& text) {
    const std::string_view bytes = text.bytes;
    std::size_t kept = 0;               // everything before is written
    std::size_t anew = 0;               // where the last character began that starts anew
    std::unique_ptr<TracedWriter> out;  // made when the first stretch changes
    for (std::size_t at = 0; at < bytes.size();) {
        const CodePoint point = code_point_at(bytes, at);
        if (starts_anew(form, point.value)) {
            anew = at;
            at += point.length;
            continue;
        }
        std::size_t end = at + point.length;
        while (end < bytes.size()) {
            const CodePoint next = code_point_at(bytes, end);
            if (starts_anew(form, next.value)) break;
            end += next.length;
        }
        const std::size_t begin = std::max(anew, kept);
        if (!out) out = std::make_unique<TracedWriter>(text);
        out->keep(kept, begin);
        MIXTURA_RETURN_IF_ERROR(replace_by_form(form, bytes.substr(begin, end - begin), begin, *out));
        kept = anew = at = end;
    }
    if (out) {
        out->keep(kept, bytes.size());
        text = out->finish();
    }
    return {};
}

}  // namespace mixtura
