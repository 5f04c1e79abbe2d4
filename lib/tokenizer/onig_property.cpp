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
    Name{"letter", "L"},
    Name{"casedletter", "LC"},
    Name{"uppercaseletter", "Lu"},
    Name{"lowercaseletter", "Ll"},
    Name{"titlecaseletter", "Lt"},
    Name{"modifierletter", "Lm"},
    Name{"otherletter", "Lo"},
    Name{"mark", "M"},
    Name{"combiningmark", "M"},
    Name{"nonspacingmark", "Mn"},
    Name{"spacingmark", "Mc"},
    Name{"enclosingmark", "Me"},
    Name{"number", "N"},
    Name{"decimalnumber", "Nd"},
    Name{"letternumber", "Nl"},
    Name{"othernumber", "No"},
    Name{"punctuation", "P"},
    Name{"connectorpunctuation", "Pc"},
    Name{"dashpunctuation", "Pd"},
    Name{"openpunctuation", "Ps"},
    Name{"closepunctuation", "Pe"},
    Name{"initialpunctuation", "Pi"},
    Name{"finalpunctuation", "Pf"},
    Name{"otherpunctuation", "Po"},
    Name{"symbol", "S"},
    Name{"mathsymbol", "Sm"},
    Name{"currencysymbol", "Sc"},
    Name{"modifiersymbol", "Sk"},
    Name{"othersymbol", "So"},
    Name{"separator", "Z"},
    Name{"spaceseparator", "Zs"},
    Name{"lineseparator", "Zl"},
    Name{"paragraphseparator", "Zp"},
    Name{"other", "C"},
    Name{"control", "Cc"},
    Name{"format", "Cf"},
    Name{"surrogate", "Cs"},
    Name{"privateuse", "Co"},
    Name{"unassigned", "Cn"},
};

constexpr std::string_view kShortCategories =
    " l lc lu ll lt lm lo m mn mc me n nd nl no p pc pd ps pe pi pf po s sm sc sk so z zs zl zp c cc cf cs co cn ";

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

// Letters and what counts as one (letter numbers, some marks, circled letters).
std::string alphabetic_members() {
    std::string members = "\\p{Alphabetic}";
    append_unicode_additions("L", members);
    return members;
}

std::string posix_word_members() {
    return alphabetic_members() + category_members("M") + category_members("Nd") + "\\p{Pc}";
}

}  // namespace

std::string onig_word_members() { return posix_word_members() + "\\x{b2}\\x{b3}\\x{b9}\\x{bc}-\\x{be}"; }

std::optional<std::string> onig_posix_members(std::string_view name) {
    if (name == "alnum") return alphabetic_members() + category_members("Nd");
    if (name == "alpha") return alphabetic_members();
    if (name == "ascii") return std::string("\\x{0}-\\x{7f}");
    if (name == "blank") return std::string("\\p{Zs}\\x{9}");
    if (name == "digit") return category_members("Nd");
    if (name == "lower") return std::string("\\p{Lowercase}");
    if (name == "punct") return category_members("P") + category_members("S");
    if (name == "space") return std::string(kSpaceMembers);
    if (name == "upper") return std::string("\\p{Uppercase}");
    if (name == "xdigit") return std::string("0-9A-Fa-f");
    if (name == "word") return posix_word_members();
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
    // As properties two of these names mean other sets than in POSIX brackets.
    if (key == "punct") return category_members("P");
    if (key == "word") return onig_word_members();
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
