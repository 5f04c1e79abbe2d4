#include "tokenizer/template/text_case.hpp"

#include <algorithm>

#include "tokenizer/template/unicode.hpp"

namespace mixtura {
namespace {

constexpr std::uint32_t kCapitalSigma = 0x3A3, kSigma = 0x3C3, kFinalSigma = 0x3C2;

// Whether a cased character follows, past those that do not matter.  Stops at the next that does, so a text full of
// sigmas is still looked through about once.
bool is_followed_by_cased(std::string_view rest) {
    while (!rest.empty()) {
        const std::string_view character = jinja_first_character(rest);
        const std::uint32_t code_point = jinja_code_point(character);
        if (!python_is_case_ignorable(code_point)) return python_is_cased(code_point);
        rest.remove_prefix(character.size());
    }
    return false;
}

bool is_word_start_mark(std::uint32_t code_point) {
    return python_is_space(code_point) ||
           (code_point < 0x80 &&
            std::string_view("-({[<").find(static_cast<char>(code_point)) != std::string_view::npos);
}

class CaseChange {
  public:
    CaseChange(JinjaRun& run, JinjaCase target) : builder_(run), target_(target) {}

    bool append(const JinjaCharacters& characters, std::string_view rest) {
        const std::uint32_t code_point = characters.code_point();
        if (code_point > 0x10FFFF) return builder_.append(characters.bytes(), characters.is_trusted());
        const PythonCase mapped = map(code_point, rest);
        if (!python_is_case_ignorable(code_point)) is_after_cased_ = python_is_cased(code_point);
        is_after_letter_ = python_is_cased(code_point);
        if (target_ == JinjaCase::words) {
            const bool is_mark = is_word_start_mark(code_point);
            if (is_first_ || is_mark) is_after_cased_ = false;  // the rest of a word is lowered by itself
            is_first_ = is_mark;
        } else {
            is_first_ = false;
        }
        for (std::size_t i = 0; mapped[i] != 0 || i == 0; ++i) {
            char buffer[4];
            if (!builder_.append(jinja_encode(mapped[i], buffer), characters.is_trusted())) return false;
        }
        return true;
    }
    bool finish(JinjaValue& out) { return builder_.finish(out); }

  private:
    PythonCase lower(std::uint32_t code_point, std::string_view rest) const {
        if (code_point != kCapitalSigma) return python_lower(code_point);
        return {is_after_cased_ && !is_followed_by_cased(rest) ? kFinalSigma : kSigma, 0, 0, 0};
    }
    PythonCase map(std::uint32_t code_point, std::string_view rest) const {
        switch (target_) {
            case JinjaCase::upper: return python_upper(code_point);
            case JinjaCase::lower: return lower(code_point, rest);
            case JinjaCase::folded: return python_folded(code_point);
            case JinjaCase::swapped:
                if (python_is_upper(code_point)) return lower(code_point, rest);
                return python_is_lower(code_point) ? python_upper(code_point) : PythonCase{code_point, 0, 0, 0};
            case JinjaCase::capitalized: return is_first_ ? python_title(code_point) : lower(code_point, rest);
            case JinjaCase::title: return is_after_letter_ ? lower(code_point, rest) : python_title(code_point);
            case JinjaCase::words: return is_first_ ? python_upper(code_point) : lower(code_point, rest);
        }
        return {code_point, 0, 0, 0};
    }

    JinjaTextBuilder builder_;
    JinjaCase target_;
    bool is_first_ = true;
    bool is_after_cased_ = false;   // what decides a final sigma: looks past marks
    bool is_after_letter_ = false;  // what starts a title's word
};

bool is_identifier(std::string_view bytes) {
    const auto is_start = [](std::uint32_t c) { return c == '_' || python_is_alpha(c); };
    if (bytes.empty() || !is_start(jinja_code_point(jinja_first_character(bytes)))) return false;
    while (!bytes.empty()) {
        const std::string_view character = jinja_first_character(bytes);
        const std::uint32_t code_point = jinja_code_point(character);
        if (!is_start(code_point) && !python_is_decimal(code_point)) return false;
        bytes.remove_prefix(character.size());
    }
    return true;
}

// Upper and lower ask that no character is of the other case and some is of this; title asks how words start.
bool test_case(std::string_view bytes, JinjaCharacterTest test) {
    bool has_cased = false;
    bool is_after_cased = false;
    while (!bytes.empty()) {
        const std::string_view character = jinja_first_character(bytes);
        const std::uint32_t c = jinja_code_point(character);
        bytes.remove_prefix(character.size());
        const bool is_upper = python_is_upper(c) || python_is_title(c);
        const bool is_lower = python_is_lower(c);
        if (test == JinjaCharacterTest::upper ? is_lower || python_is_title(c)
                                              : test == JinjaCharacterTest::lower && is_upper)
            return false;
        if (test == JinjaCharacterTest::title && ((is_upper && is_after_cased) || (is_lower && !is_after_cased)))
            return false;
        is_after_cased = is_upper || is_lower;
        has_cased = has_cased || is_after_cased;
    }
    return has_cased;
}

using CharacterTest = bool (*)(std::uint32_t);

bool all_characters(std::string_view bytes, CharacterTest test) {
    while (!bytes.empty()) {
        const std::string_view character = jinja_first_character(bytes);
        if (!test(jinja_code_point(character))) return false;
        bytes.remove_prefix(character.size());
    }
    return true;
}

}  // namespace

bool change_jinja_case(JinjaRun& run, const JinjaValue& text, JinjaCase target, JinjaValue& out) {
    CaseChange change(run, target);
    const std::string_view bytes = jinja_text(text);
    JinjaCharacters characters(text);
    while (characters.next()) {
        if (!change.append(characters, bytes.substr(characters.offset() + characters.bytes().size()))) return false;
    }
    if (!change.finish(out)) return false;
    out.is_markup = text.is_markup;
    return true;
}

bool test_jinja_characters(JinjaRun& run, const JinjaValue& text, JinjaCharacterTest test, bool& result) {
    if (!run.step_bytes(text.size)) return false;
    const std::string_view bytes = jinja_text(text);
    const auto all = [&](CharacterTest each) { return !bytes.empty() && all_characters(bytes, each); };
    switch (test) {
        case JinjaCharacterTest::alphanumeric: result = all(python_is_alphanumeric); break;
        case JinjaCharacterTest::alpha: result = all(python_is_alpha); break;
        case JinjaCharacterTest::ascii: result = all_characters(bytes, [](std::uint32_t c) { return c < 0x80; }); break;
        case JinjaCharacterTest::decimal: result = all(python_is_decimal); break;
        case JinjaCharacterTest::digit: result = all(python_is_digit); break;
        case JinjaCharacterTest::identifier: result = is_identifier(bytes); break;
        case JinjaCharacterTest::numeric: result = all(python_is_numeric); break;
        case JinjaCharacterTest::printable: result = all_characters(bytes, python_is_printable); break;
        case JinjaCharacterTest::space: result = all(python_is_space); break;
        case JinjaCharacterTest::lower:
        case JinjaCharacterTest::title:
        case JinjaCharacterTest::upper: result = test_case(bytes, test); break;
    }
    return true;
}

}  // namespace mixtura
