// The tables follow Oniguruma's doc/RE and its generated Unicode data: POSIX names are Unicode sets there.
#include "tokenizer/onig_property.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <utility>

#include "base/text.hpp"
#include "tokenizer/onig_syntax.hpp"
#include "tokenizer/unicode_additions.hpp"

namespace mixtura {
namespace {

using Name = std::pair<std::string_view, std::string_view>;

// Long names of general categories, folded; PCRE2 knows only the short ones.
constexpr std::array kCategories = {
    Name{"letter", "L"}, Name{"casedletter", "LC"}, Name{"uppercaseletter", "Lu"}, Name{"lowercaseletter", "Ll"},
    Name{"titlecaseletter", "Lt"}, Name{"modifierletter", "Lm"}, Name{"otherletter", "Lo"}, Name{"mark", "M"},
    Name{"combiningmark", "M"}, Name{"nonspacingmark", "Mn"}, Name{"spacingmark", "Mc"}, Name{"enclosingmark", "Me"},
    Name{"number", "N"}, Name{"decimalnumber", "Nd"}, Name{"letternumber", "Nl"}, Name{"othernumber", "No"},
    Name{"punctuation", "P"}, Name{"connectorpunctuation", "Pc"}, Name{"dashpunctuation", "Pd"},
    Name{"openpunctuation", "Ps"}, Name{"closepunctuation", "Pe"}, Name{"initialpunctuation", "Pi"},
    Name{"finalpunctuation", "Pf"}, Name{"otherpunctuation", "Po"}, Name{"symbol", "S"}, Name{"mathsymbol", "Sm"},
    Name{"currencysymbol", "Sc"}, Name{"modifiersymbol", "Sk"}, Name{"othersymbol", "So"}, Name{"separator", "Z"},
    Name{"spaceseparator", "Zs"}, Name{"lineseparator", "Zl"}, Name{"paragraphseparator", "Zp"}, Name{"other", "C"},
    Name{"control", "Cc"}, Name{"format", "Cf"}, Name{"surrogate", "Cs"}, Name{"privateuse", "Co"},
    Name{"unassigned", "Cn"},
};

constexpr std::string_view kShortCategories =
    " l lc lu ll lt lm lo m mn mc me n nd nl no p pc pd ps pe pi pf po s sm sc sk so z zs zl zp c cc cf cs co cn ";

constexpr std::array kPosix = {
    Name{"alnum", "\\p{Alphabetic}\\p{Nd}"}, Name{"alpha", "\\p{Alphabetic}"}, Name{"ascii", "\\x{0}-\\x{7f}"},
    Name{"blank", "\\p{Zs}\\x{9}"}, Name{"digit", "\\p{Nd}"}, Name{"lower", "\\p{Lowercase}"},
    Name{"punct", "\\p{P}\\x{24}\\x{2b}\\x{3c}-\\x{3e}\\x{5e}\\x{60}\\x{7c}\\x{7e}"}, Name{"space", kSpaceMembers},
    Name{"upper", "\\p{Uppercase}"}, Name{"xdigit", "0-9A-Fa-f"}, Name{"word", kWordMembers},
};

std::string folded(std::string_view name) {
    std::string out;
    for (const char c : name) {
        if (c == ' ' || c == '_' || c == '-') continue;
        out.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
    return out;
}

std::string category_members(std::string_view short_name) {
    std::string members = text("\\p{", short_name, "}");
    if (short_name == "LC") {
        for (const std::string_view cased : {"Lu", "Ll", "Lt"}) append_unicode_additions(cased, members);
    } else if (short_name != "C" && short_name != "Cn") {
        append_unicode_additions(short_name, members);
    }
    return members;
}

bool pcre2_knows(const std::string& members) {
    int code = 0;
    PCRE2_SIZE offset = 0;
    pcre2_code* compiled = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(members.data()), members.size(),
                                         PCRE2_UTF | PCRE2_UCP, &code, &offset, nullptr);
    pcre2_code_free(compiled);
    return compiled != nullptr;
}

}  // namespace

std::optional<std::string> onig_posix_members(std::string_view name) {
    for (const auto& [posix, members] : kPosix) {
        if (posix == name) return std::string(members);
    }
    return std::nullopt;
}

std::optional<std::string> onig_property_members(std::string_view name) {
    const std::string key = folded(name);
    // Property names are short words; anything else must not reach PCRE2's parser.
    if (key.empty() || key.size() > 64) return std::nullopt;
    for (const char c : key) {
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))) return std::nullopt;
    }
    for (const auto& [category, short_name] : kCategories) {
        if (category == key) return category_members(short_name);
    }
    if (key.size() <= 2 && kShortCategories.find(text(' ', key, ' ')) != std::string_view::npos) {
        std::string short_name = key;
        short_name[0] = static_cast<char>(short_name[0] - 'a' + 'A');
        if (short_name == "Lc") short_name = "LC";
        return category_members(short_name);
    }
    if (key == "any") return std::string("\\x{0}-\\x{10ffff}");
    if (std::optional<std::string> posix = onig_posix_members(key)) return posix;
    // Scripts before everything else: the bare name would include PCRE2's script extensions (、 as Han).
    for (const std::string_view prefix : {"sc:", ""}) {
        std::string members = text("\\p{", prefix, key, "}");
        if (pcre2_knows(members)) return members;
    }
    return std::nullopt;
}

}  // namespace mixtura
