// The normaliser of a tokenizer.json: steps over a text, in order.
#pragma once

#include <mixtura/status.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tokenizer/charsmap.hpp"
#include "tokenizer/regex.hpp"
#include "tokenizer/traced_text.hpp"
#include "tokenizer/unicode.hpp"

namespace mixtura {

struct NormalizeStep {
    enum class Kind : std::uint8_t {
        unicode_form,  // form
        lowercase,
        strip,  // strips_left, strips_right
        strip_accents,
        prepend,       // content, unless the text is empty
        replace,       // pattern (or literal) by content
        precompiled,   // charsmap
        nmt,           // the control and space rules of Google's NMT
        byte_letters,  // each byte as a letter of the byte alphabet
    };
    Kind kind = Kind::lowercase;
    UnicodeForm form = UnicodeForm::nfc;
    bool strips_left = false, strips_right = false;
    std::string literal, content;
    std::optional<Regex> pattern;
    std::shared_ptr<const Charsmap> charsmap;
};

class Normalizer {
  public:
    std::vector<NormalizeStep> steps;

    // `text` is well-formed UTF-8 before and after.
    Status apply(TracedText& text, RegexWorkspace& workspace) const;
};

}  // namespace mixtura
