// One pass over the pattern, code point by code point, writing the equal construct.  The only state is the stack of
// open groups and where the last repeatable item starts in the output, so that it can be wrapped.  Brackets are in
// onig_bracket.cpp.
#include "tokenizer/onig_syntax.hpp"

#include <vector>

#include "base/error.hpp"
#include "tokenizer/onig_bracket.hpp"
#include "tokenizer/onig_property.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {
namespace {

constexpr std::size_t kPatternBytesMax = 1 << 16;  // published patterns are under 2 kB
constexpr std::size_t kGroupDepthMax = 100;        // below PCRE2's own limit of 250, options included
constexpr std::size_t kNothing = static_cast<std::size_t>(-1);

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Translator {
  public:
    Translator(std::string_view pattern, std::string_view where) : cursor_{pattern, 0, where} {}

    Result<std::string> run() {
        has_references_ = mentions_references();
        groups_.push_back({});
        while (!cursor_.at_end()) MIXTURA_RETURN_IF_ERROR(item());
        if (groups_.size() != 1) return cursor_.fail(StatusCode::corrupt_file, "a group is not closed");
        close_options();
        return std::move(out_);
    }

  private:
    struct Group {
        std::size_t start = 0;         // in out_
        bool extended = false;         // (?x): white space and comments are skipped
        std::size_t open_options = 0;  // isolated options opened in it, each a group in the output
    };

    // Captures cost time and only references need them.
    bool mentions_references() const {
        const std::string_view pattern = cursor_.pattern;
        for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
            if (pattern[i] != '\\') continue;
            ++i;
            if (pattern[i] == 'k' || (pattern[i] >= '1' && pattern[i] <= '9')) return true;
        }
        return false;
    }

    Status item() {
        const char c = cursor_.peek();
        if (groups_.back().extended) {
            if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v') return skip(1);
            if (c == '#') {
                while (!cursor_.at_end() && cursor_.peek() != '\n') ++cursor_.at;
                return {};
            }
        }
        switch (c) {
            case '\\': return escape();
            case '[': {
                begin_atom();
                ++cursor_.at;
                MIXTURA_ASSIGN_OR_RETURN(const std::string bracket, translate_bracket(cursor_));
                out_ += bracket;
                return {};
            }
            case '(': return open_group();
            case ')': return close_group();
            case '|':
                out_ += '|';
                atom_ = kNothing;
                return skip(1);
            case '^':
            case '$':
                out_ += c;
                atom_ = kNothing;
                return skip(1);
            case '.':
                begin_atom();
                out_ += '.';
                return skip(1);
            case '?':
            case '*':
            case '+': return quantifier(std::string(1, c), 1, false);
            case '{': return interval();
            default: {
                begin_atom();
                const CodePoint point = code_point_at(cursor_.pattern, cursor_.at);
                append_pattern_literal(out_, point.value);
                return skip(point.length);
            }
        }
    }

    Status skip(std::size_t bytes) {
        cursor_.at += bytes;
        return {};
    }

    void begin_atom() {
        atom_ = out_.size();
        is_quantified_ = false;
    }

    void wrap_atom() {
        out_.insert(atom_, "(?:");
        out_ += ')';
    }

    // `symbol` is the quantifier as PCRE2 spells it, `length` its bytes in the pattern.
    Status quantifier(const std::string& symbol, std::size_t length, bool is_interval) {
        if (atom_ == kNothing) {
            return cursor_.fail(StatusCode::corrupt_file, "a quantifier has nothing to repeat");
        }
        if (is_quantified_) wrap_atom();  // "a**" and "a{2}{3}" are repeats of repeats in Oniguruma
        out_ += symbol;
        cursor_.at += length;
        is_quantified_ = true;
        if (cursor_.at_end()) return {};
        const char suffix = cursor_.peek();
        const bool is_fixed = is_interval && symbol.find(',') == std::string::npos;
        if (suffix == '?') {
            // {n}? is the optional repeat, {n,m}? the reluctant one.
            if (is_fixed) wrap_atom();
            out_ += '?';
            ++cursor_.at;
        } else if (suffix == '+') {
            // ?+ *+ ++ are possessive in both; {n,m}+ repeats in Oniguruma.
            if (is_interval) wrap_atom();
            out_ += '+';
            ++cursor_.at;
        }
        return {};
    }

    Status interval() {
        const std::string_view rest = cursor_.pattern.substr(cursor_.at + 1);
        std::size_t i = 0;
        while (i < rest.size() && is_digit(rest[i])) ++i;
        const std::string_view low = rest.substr(0, i);
        bool has_comma = false;
        std::string_view high;
        if (i < rest.size() && rest[i] == ',') {
            has_comma = true;
            const std::size_t begin = ++i;
            while (i < rest.size() && is_digit(rest[i])) ++i;
            high = rest.substr(begin, i - begin);
        }
        const bool is_interval = i < rest.size() && rest[i] == '}' && (!low.empty() || !high.empty());
        if (!is_interval) {  // an ordinary character then
            begin_atom();
            append_pattern_literal(out_, '{');
            return skip(1);
        }
        if (low.size() > 5 || high.size() > 5) {
            return cursor_.fail(StatusCode::unsupported, "a repeat count has more than five digits");
        }
        return quantifier(text('{', low.empty() ? std::string_view("0") : low, has_comma ? "," : "", high, '}'), i + 2,
                          true);
    }

    Status open_group() {
        if (groups_.size() > kGroupDepthMax) {
            return cursor_.fail(StatusCode::unsupported, "groups nest deeper than 100");
        }
        const std::string_view rest = cursor_.pattern.substr(cursor_.at);
        const auto starts = [&](std::string_view prefix) { return rest.substr(0, prefix.size()) == prefix; };
        const auto open = [&](std::string_view written, std::size_t read) {
            groups_.push_back({out_.size(), groups_.back().extended, 0});
            out_ += written;
            atom_ = kNothing;
            return skip(read);
        };
        if (starts("(?#")) {
            const std::size_t end = rest.find(')');
            if (end == std::string_view::npos) return cursor_.fail(StatusCode::corrupt_file, "a comment is not closed");
            return skip(end + 1);
        }
        for (const std::string_view same : {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!"}) {
            if (starts(same)) return open(same, same.size());
        }
        if (starts("(?<") || starts("(?'")) {
            const char close = rest[2] == '<' ? '>' : '\'';
            const std::size_t end = rest.find(close, 3);
            if (end == std::string_view::npos || end > 64) {
                return cursor_.fail(StatusCode::corrupt_file, "a group's name is not closed");
            }
            return open(has_references_ ? rest.substr(0, end + 1) : std::string_view("(?:"), end + 1);
        }
        if (starts("(?")) return open_options(rest);
        if (starts("(*")) return cursor_.fail(StatusCode::unsupported, "callouts, \"(*…)\", are not supported");
        return open(has_references_ ? "(" : "(?:", 1);
    }

    // (?imx-imx) and (?imx-imx:…)
    Status open_options(std::string_view rest) {
        std::string on, off;
        bool is_extended = groups_.back().extended;
        bool switches_off = false;
        std::size_t i = 2;
        for (; i < rest.size() && rest[i] != ')' && rest[i] != ':'; ++i) {
            std::string& letters = switches_off ? off : on;
            switch (rest[i]) {
                case '-': switches_off = true; break;
                case 'i': letters += 'i'; break;
                case 'm': letters += 's'; break;  // Ruby's m is dot-matches-all
                case 'x': is_extended = !switches_off; break;
                default:
                    return cursor_.fail(StatusCode::unsupported,
                                        text("the group ", quoted(rest.substr(0, i + 1)), " is not supported"));
            }
        }
        if (i == rest.size()) return cursor_.fail(StatusCode::corrupt_file, "a group's options are not closed");
        const std::string written = text("(?", on, off.empty() ? "" : "-", off, ':');
        if (rest[i] == ':') {
            groups_.push_back({out_.size(), is_extended, 0});
        } else {
            if (++groups_.back().open_options > kGroupDepthMax) {
                return cursor_.fail(StatusCode::unsupported, "a group holds more than 100 option switches");
            }
            groups_.back().extended = is_extended;
        }
        out_ += written;
        atom_ = kNothing;
        return skip(i + 1);
    }

    void close_options() { out_.append(groups_.back().open_options, ')'); }

    Status close_group() {
        if (groups_.size() == 1) return cursor_.fail(StatusCode::corrupt_file, "a group is closed that none opened");
        close_options();
        out_ += ')';
        atom_ = groups_.back().start;
        is_quantified_ = false;
        groups_.pop_back();
        return skip(1);
    }

    Status escape() {
        if (cursor_.at + 1 >= cursor_.pattern.size()) {
            return cursor_.fail(StatusCode::corrupt_file, "the pattern ends in a backslash");
        }
        const char c = cursor_.pattern[cursor_.at + 1];
        const auto write = [&](std::string_view written) {
            begin_atom();
            out_ += written;
            return skip(2);
        };
        const auto assertion = [&](std::string_view written) {
            out_ += written;
            atom_ = kNothing;
            return skip(2);
        };
        switch (c) {
            case 's': return write(text('[', kSpaceMembers, ']'));
            case 'S': return write(text("[^", kSpaceMembers, ']'));
            case 'w': return write(text('[', onig_word_members(), ']'));
            case 'W': return write(text("[^", onig_word_members(), ']'));
            case 'h': return write("[0-9A-Fa-f]");
            case 'H': return write("[^0-9A-Fa-f]");
            case 'd':
            case 'D':
            case 'R':
            case 'X': return write(cursor_.pattern.substr(cursor_.at, 2));
            case 'N': return write("[^\\x{a}]");
            case 'O': return write("[\\x{0}-\\x{10ffff}]");
            case 'b': return assertion(boundary("(?=", "(?!"));
            case 'B': return assertion(boundary("(?!", "(?="));
            case 'A':
            case 'Z':
            case 'z':
            case 'G':
            case 'K': return assertion(cursor_.pattern.substr(cursor_.at, 2));
            case 'k': {
                const std::string_view rest = cursor_.pattern.substr(cursor_.at);
                const std::size_t end = rest.find('>');
                if (rest.substr(0, 3) != "\\k<" || end == std::string_view::npos || end > 64) {
                    return cursor_.fail(StatusCode::unsupported, "a reference of this form is not supported");
                }
                begin_atom();
                out_ += rest.substr(0, end + 1);
                return skip(end + 1);
            }
            case '1':
            case '2':
            case '3':
            case '4':
            case '5':
            case '6':
            case '7':
            case '8':
            case '9': return write(cursor_.pattern.substr(cursor_.at, 2));
            case 'p':
            case 'P': {
                begin_atom();
                MIXTURA_ASSIGN_OR_RETURN(const BracketItem item, read_property(cursor_));
                out_ += text(item.is_negated ? "[^" : "[", item.members, ']');
                return {};
            }
            default: {
                MIXTURA_ASSIGN_OR_RETURN(const char32_t literal, read_escaped_literal(cursor_));
                begin_atom();
                append_pattern_literal(out_, literal);
                return {};
            }
        }
    }

    // \b in terms of the reference's word characters: they include marks, PCRE2's do not.
    static std::string boundary(std::string_view same, std::string_view other) {
        const std::string word = onig_word_members();
        return text("(?:(?<=[", word, "])", other, '[', word, "])|(?<![", word, "])", same, '[', word, "]))");
    }

    PatternCursor cursor_;
    std::string out_;
    std::vector<Group> groups_;
    std::size_t atom_ = kNothing;  // where the last repeatable item starts in out_
    bool is_quantified_ = false;
    bool has_references_ = false;
};

}  // namespace

Result<std::string> translate_onig(std::string_view pattern, std::string_view where) {
    if (pattern.size() > kPatternBytesMax) {
        return error(StatusCode::unsupported, where, ": the pattern has ", pattern.size(), " bytes, at most ",
                     kPatternBytesMax, " are supported");
    }
    if (!is_utf8(pattern)) return error(StatusCode::corrupt_file, where, ": the pattern is not UTF-8");
    return Translator(pattern, where).run();
}

}  // namespace mixtura
