#include "tokenizer/template/unicode.hpp"

#include <utf8proc.h>

#include <algorithm>
#include <iterator>

#include "tokenizer/template/text.hpp"
#include "tokenizer/template/unicode_table.hpp"

namespace mixtura {
namespace {

constexpr std::uint32_t kCodePointMax = 0x10FFFF;

utf8proc_category_t category(std::uint32_t code_point) {
    return code_point > kCodePointMax ? UTF8PROC_CATEGORY_CN
                                      : utf8proc_category(static_cast<utf8proc_int32_t>(code_point));
}

template <std::size_t N>
bool contains(const PythonRange (&ranges)[N], std::uint32_t code_point) {
    const auto* found = std::lower_bound(std::begin(ranges), std::end(ranges), code_point,
                                         [](const PythonRange& r, std::uint32_t c) { return r.last < c; });
    return found != std::end(ranges) && found->first <= code_point;
}

using SimpleMapping = utf8proc_int32_t (*)(utf8proc_int32_t);

template <std::size_t N>
PythonCase map_case(const PythonSpecialCase (&table)[N], SimpleMapping simple, std::uint32_t code_point) {
    if (code_point > kCodePointMax) return {code_point, 0, 0, 0};
    const auto* found = std::lower_bound(std::begin(table), std::end(table), code_point,
                                         [](const PythonSpecialCase& s, std::uint32_t c) { return s.code_point < c; });
    if (found != std::end(table) && found->code_point == code_point) {
        return {found->mapped[0], found->mapped[1], found->mapped[2], 0};
    }
    return {static_cast<std::uint32_t>(simple(static_cast<utf8proc_int32_t>(code_point))), 0, 0, 0};
}

}  // namespace

bool python_is_space(std::uint32_t code_point) {
    if (code_point < 0x80) return (code_point >= 9 && code_point <= 13) || (code_point >= 28 && code_point <= 32);
    return code_point == 0x85 || category(code_point) == UTF8PROC_CATEGORY_ZS || code_point == 0x2028 ||
           code_point == 0x2029;
}

bool python_is_alpha(std::uint32_t code_point) {
    const utf8proc_category_t found = category(code_point);
    return found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_LO;
}

bool python_is_decimal(std::uint32_t code_point) { return category(code_point) == UTF8PROC_CATEGORY_ND; }

bool python_is_digit(std::uint32_t code_point) {
    return python_is_decimal(code_point) || contains(kDigitRanges, code_point);
}

bool python_is_numeric(std::uint32_t code_point) {
    const utf8proc_category_t found = category(code_point);
    return (found >= UTF8PROC_CATEGORY_ND && found <= UTF8PROC_CATEGORY_NO) || contains(kNumericRanges, code_point);
}

bool python_is_alphanumeric(std::uint32_t code_point) {
    return python_is_alpha(code_point) || python_is_numeric(code_point);
}

bool python_is_lower(std::uint32_t code_point) {
    return category(code_point) == UTF8PROC_CATEGORY_LL || contains(kLowerRanges, code_point);
}

bool python_is_upper(std::uint32_t code_point) {
    return category(code_point) == UTF8PROC_CATEGORY_LU || contains(kUpperRanges, code_point);
}

bool python_is_title(std::uint32_t code_point) { return category(code_point) == UTF8PROC_CATEGORY_LT; }

bool python_is_cased(std::uint32_t code_point) {
    return python_is_lower(code_point) || python_is_upper(code_point) || python_is_title(code_point);
}

bool python_is_case_ignorable(std::uint32_t code_point) {
    switch (category(code_point)) {
        case UTF8PROC_CATEGORY_MN:
        case UTF8PROC_CATEGORY_ME:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_LM:
        case UTF8PROC_CATEGORY_SK: return true;
        default: break;
    }
    // Punctuation inside words: Word_Break MidLetter, MidNumLet and Single_Quote.
    static constexpr std::uint32_t kInsideWords[] = {0x0027, 0x002E, 0x003A, 0x00B7, 0x0387, 0x055F,
                                                     0x05F4, 0x2018, 0x2019, 0x2024, 0x2027, 0xFE13,
                                                     0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A};
    return std::binary_search(std::begin(kInsideWords), std::end(kInsideWords), code_point);
}

bool python_is_printable(std::uint32_t code_point) {
    switch (category(code_point)) {
        case UTF8PROC_CATEGORY_CN:
        case UTF8PROC_CATEGORY_CC:
        case UTF8PROC_CATEGORY_CF:
        case UTF8PROC_CATEGORY_CS:
        case UTF8PROC_CATEGORY_CO:
        case UTF8PROC_CATEGORY_ZL:
        case UTF8PROC_CATEGORY_ZP: return false;
        case UTF8PROC_CATEGORY_ZS: return code_point == ' ';
        default: return true;
    }
}

PythonCase python_upper(std::uint32_t code_point) { return map_case(kSpecialUpper, utf8proc_toupper, code_point); }

PythonCase python_title(std::uint32_t code_point) { return map_case(kSpecialTitle, utf8proc_totitle, code_point); }

PythonCase python_lower(std::uint32_t code_point) {
    static constexpr PythonSpecialCase kSpecialLower[] = {{0x0130, {0x0069, 0x0307, 0}}};  // İ, the only one
    return map_case(kSpecialLower, utf8proc_tolower, code_point);
}

PythonCase python_folded(std::uint32_t code_point) {
    PythonCase folded{code_point, 0, 0, 0};
    if (code_point > kCodePointMax) return folded;
    utf8proc_int32_t mapped[4] = {};
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(code_point), mapped, 4, UTF8PROC_CASEFOLD, &boundary);
    if (count < 1 || count > 3) return folded;
    for (utf8proc_ssize_t i = 0; i < count; ++i)
        folded[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(mapped[i]);
    return folded;
}

std::string_view without_leading_space(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::string_view character = jinja_first_character(bytes);
        if (!python_is_space(jinja_code_point(character))) break;
        bytes.remove_prefix(character.size());
    }
    return bytes;
}

std::string_view without_trailing_space(std::string_view bytes) {
    while (!bytes.empty()) {
        const std::string_view character = jinja_last_character(bytes);
        if (!python_is_space(jinja_code_point(character))) break;
        bytes.remove_suffix(character.size());
    }
    return bytes;
}

}  // namespace mixtura
