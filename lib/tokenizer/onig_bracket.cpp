// Oniguruma's brackets nest and intersect, PCRE2's do not.  A bracket of plain members stays one bracket, which is what
// every published pattern but one has; the others become alternatives and look-aheads for one character.
#include "tokenizer/onig_bracket.hpp"

#include <optional>
#include <vector>

#include "base/error.hpp"
#include "tokenizer/onig_property.hpp"
#include "tokenizer/onig_syntax.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {
namespace {

constexpr int kBracketDepthMax = 16;
constexpr std::string_view kAnyCharacter = "[\\x{0}-\\x{10ffff}]";

// A bracket on its way: members that fit one PCRE2 bracket, and expressions for one character that do not.
struct Operand {
    std::string members;
    std::vector<std::string> others;

    void add(const BracketItem& item) {
        if (item.is_negated) {
            others.push_back(text("[^", item.members, ']'));
        } else {
            members += item.members;
        }
    }
    bool is_empty() const { return members.empty() && others.empty(); }
    std::string expression() const {
        std::string out = members.empty() ? std::string() : text('[', members, ']');
        for (const std::string& other : others) out += text(out.empty() ? "" : "|", other);
        return others.empty() ? out : text("(?:", out, ')');
    }
};

// One finished bracket: plain members, or an expression.
struct Bracket {
    BracketItem item;        // where is_plain
    std::string expression;  // where not
    bool is_plain = true;
};

class BracketReader {
  public:
    explicit BracketReader(PatternCursor& cursor) : cursor_(cursor) {}

    Result<Bracket> read(int depth) {
        if (depth > kBracketDepthMax) return cursor_.fail(StatusCode::unsupported, "brackets nest deeper than 16");
        const bool is_negated = take("^");
        std::vector<Operand> operands(1);
        for (bool is_first = true;; is_first = false) {
            if (cursor_.at_end()) return cursor_.fail(StatusCode::corrupt_file, "a bracket is not closed");
            if (cursor_.peek() == ']' && !is_first) break;
            if (take("&&")) {
                operands.emplace_back();
                continue;
            }
            MIXTURA_RETURN_IF_ERROR(member(operands.back(), depth));
        }
        ++cursor_.at;
        for (const Operand& operand : operands) {
            if (operand.is_empty()) return cursor_.fail(StatusCode::corrupt_file, "a bracket is empty");
        }
        Bracket out;
        if (operands.size() == 1 && operands[0].others.empty()) {
            out.item = {std::move(operands[0].members), is_negated};
            return out;
        }
        std::string expression;
        for (std::size_t i = 0; i + 1 < operands.size(); ++i) {
            expression += text("(?=", operands[i].expression(), ')');
        }
        expression += operands.back().expression();
        out.is_plain = false;
        out.expression =
            is_negated ? text("(?:(?!", expression, ')', kAnyCharacter, ')') : text("(?:", expression, ')');
        return out;
    }

  private:
    bool take(std::string_view token) {
        if (cursor_.pattern.substr(cursor_.at, token.size()) != token) return false;
        cursor_.at += token.size();
        return true;
    }

    Status member(Operand& operand, int depth) {
        if (take("[:")) {
            const bool is_negated = take("^");
            const std::size_t end = cursor_.pattern.find(":]", cursor_.at);
            if (end == std::string_view::npos) return cursor_.fail(StatusCode::corrupt_file, "\"[:\" is not closed");
            const std::string_view name = cursor_.pattern.substr(cursor_.at, end - cursor_.at);
            std::optional<std::string> members = onig_posix_members(name);
            if (!members) {
                return cursor_.fail(StatusCode::unsupported, text("the set [:", quoted(name), ":] is not supported"));
            }
            cursor_.at = end + 2;
            operand.add({*std::move(members), is_negated});
            return {};
        }
        if (take("[")) {
            MIXTURA_ASSIGN_OR_RETURN(Bracket nested, read(depth + 1));
            if (nested.is_plain) {
                operand.add(nested.item);
            } else {
                operand.others.push_back(std::move(nested.expression));
            }
            return {};
        }
        if (cursor_.peek() == '\\') {
            MIXTURA_ASSIGN_OR_RETURN(const std::optional<BracketItem> set, escaped_set());
            if (set) {
                operand.add(*set);
                return {};
            }
        }
        MIXTURA_ASSIGN_OR_RETURN(const char32_t low, literal());
        // A range, unless '-' stands last or before a set.
        const std::string_view rest = cursor_.pattern.substr(cursor_.at);
        if (rest.size() < 2 || rest[0] != '-' || rest[1] == ']' || rest[1] == '[') {
            append_pattern_literal(operand.members, low);
            return {};
        }
        ++cursor_.at;
        if (cursor_.peek() == '\\') {
            MIXTURA_ASSIGN_OR_RETURN(const std::optional<BracketItem> set, escaped_set());
            if (set) return cursor_.fail(StatusCode::corrupt_file, "a range ends in a set");
        }
        MIXTURA_ASSIGN_OR_RETURN(const char32_t high, literal());
        if (high < low) return cursor_.fail(StatusCode::corrupt_file, "a range is empty");
        append_pattern_literal(operand.members, low);
        operand.members += '-';
        append_pattern_literal(operand.members, high);
        return {};
    }

    // \s, \p{L} …; nothing where the escape is one character.
    Result<std::optional<BracketItem>> escaped_set() {
        using Found = std::optional<BracketItem>;
        const char c = cursor_.at + 1 < cursor_.pattern.size() ? cursor_.pattern[cursor_.at + 1] : '\0';
        const auto found = [&](std::string_view members, bool is_negated) {
            cursor_.at += 2;
            return Found(BracketItem{std::string(members), is_negated});
        };
        switch (c) {
            case 's': return found(kSpaceMembers, false);
            case 'S': return found("\\S\\x{180e}", false);  // PCRE2's \S leaves out U+180E
            case 'w': return found(*onig_posix_members("word"), false);
            case 'W': return found(*onig_posix_members("word"), true);
            case 'd': return found("\\d", false);
            case 'D': return found("\\D", false);
            case 'h': return found("0-9A-Fa-f", false);
            case 'H': return found("0-9A-Fa-f", true);
            case 'p':
            case 'P': {
                MIXTURA_ASSIGN_OR_RETURN(BracketItem item, read_property(cursor_));
                return Found(std::move(item));
            }
            default: return Found();
        }
    }

    Result<char32_t> literal() {
        if (cursor_.at_end()) return cursor_.fail(StatusCode::corrupt_file, "a bracket is not closed");
        if (cursor_.peek() == '\\') {
            if (cursor_.pattern.substr(cursor_.at, 2) == "\\b") {  // a backspace, inside brackets
                cursor_.at += 2;
                return char32_t{0x08};
            }
            return read_escaped_literal(cursor_);
        }
        const CodePoint point = code_point_at(cursor_.pattern, cursor_.at);
        cursor_.at += point.length;
        return point.value;
    }

    PatternCursor& cursor_;
};

std::optional<char32_t> hex_value(std::string_view digits) {
    char32_t value = 0;
    if (digits.empty() || digits.size() > 8) return std::nullopt;
    for (const char c : digits) {
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0) return std::nullopt;
        value = value << 4 | static_cast<char32_t>(digit);
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return std::nullopt;
    return value;
}

}  // namespace

Status PatternCursor::fail(StatusCode code, std::string_view what) const {
    return error(code, where, ": at byte ", at, " of the pattern ", quoted(pattern, 400), ": ", what);
}

Result<std::string> translate_bracket(PatternCursor& cursor) {
    MIXTURA_ASSIGN_OR_RETURN(Bracket bracket, BracketReader(cursor).read(0));
    if (!bracket.is_plain) return std::move(bracket.expression);
    return text(bracket.item.is_negated ? "[^" : "[", bracket.item.members, ']');
}

Result<BracketItem> read_property(PatternCursor& cursor) {
    const std::string_view rest = cursor.pattern.substr(cursor.at);
    const std::size_t end = rest.find('}');
    if (rest.size() < 4 || rest[2] != '{' || end == std::string_view::npos) {
        return cursor.fail(StatusCode::corrupt_file, "\\p is not followed by a name in braces");
    }
    std::string_view name = rest.substr(3, end - 3);
    bool is_negated = rest[1] == 'P';
    if (!name.empty() && name[0] == '^') {
        is_negated = !is_negated;
        name.remove_prefix(1);
    }
    std::optional<std::string> members = onig_property_members(name);
    if (!members) {
        return cursor.fail(StatusCode::unsupported, text("the property ", quoted(name), " is not supported"));
    }
    cursor.at += end + 1;
    return BracketItem{*std::move(members), is_negated};
}

Result<char32_t> read_escaped_literal(PatternCursor& cursor) {
    const std::string_view rest = cursor.pattern.substr(cursor.at);
    if (rest.size() < 2) return cursor.fail(StatusCode::corrupt_file, "the pattern ends in a backslash");
    const auto take = [&](std::size_t bytes, char32_t value) {
        cursor.at += bytes;
        return value;
    };
    switch (rest[1]) {
        case 't': return take(2, 0x09);
        case 'n': return take(2, 0x0A);
        case 'v': return take(2, 0x0B);
        case 'f': return take(2, 0x0C);
        case 'r': return take(2, 0x0D);
        case 'a': return take(2, 0x07);
        case 'e': return take(2, 0x1B);
        case 'x':
        case 'u': {
            std::optional<char32_t> value;
            std::size_t length = 0;
            if (rest[1] == 'x' && rest.size() > 2 && rest[2] == '{') {
                const std::size_t end = rest.find('}');
                if (end != std::string_view::npos) {
                    value = hex_value(rest.substr(3, end - 3));
                    length = end + 1;
                }
            } else {
                const std::size_t digits = rest[1] == 'x' ? 2 : 4;
                value = rest.size() < 2 + digits ? std::nullopt : hex_value(rest.substr(2, digits));
                length = 2 + digits;
                // \xE4 is a byte of a multi-byte character there, not a code point.
                if (rest[1] == 'x' && value && *value > 0x7F) {
                    return cursor.fail(StatusCode::unsupported, "\\x with a byte above 7F is not supported");
                }
            }
            if (!value) return cursor.fail(StatusCode::corrupt_file, "a hexadecimal character is malformed");
            return take(length, *value);
        }
        default: break;
    }
    const CodePoint point = code_point_at(rest, 1);
    const bool is_alphanumeric =
        point.value < 0x80 && ((rest[1] >= '0' && rest[1] <= '9') || (rest[1] >= 'A' && rest[1] <= 'Z') ||
                               (rest[1] >= 'a' && rest[1] <= 'z'));
    if (is_alphanumeric) {
        return cursor.fail(StatusCode::unsupported, text("the escape \\", rest[1], " is not supported"));
    }
    return take(1 + point.length, point.value);
}

void append_pattern_literal(std::string& out, char32_t value) {
    const bool is_alphanumeric =
        (value >= '0' && value <= '9') || (value >= 'A' && value <= 'Z') || (value >= 'a' && value <= 'z');
    if (is_alphanumeric || value >= 0x80) {
        append_utf8(out, value);
        return;
    }
    constexpr char kHex[] = "0123456789abcdef";
    out += "\\x{";
    if (value > 0xF) out += kHex[value >> 4];
    out += kHex[value & 0xF];
    out += '}';
}

}  // namespace mixtura
