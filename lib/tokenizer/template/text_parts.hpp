// Cutting text: trimming, splitting, replacing, padding.  Everything cut out keeps its origin.
#pragma once

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {

// `characters`: text whose characters are stripped, or missing or none for white space.
bool strip_jinja_text(JinjaRun& run, const JinjaValue& text, const JinjaValue& characters, bool at_start, bool at_end,
                      JinjaValue& out);

// At most `splits_max` splits (below 0: all), from the left or from the right.
bool split_jinja_text(JinjaRun& run, const JinjaValue& text, const JinjaValue& separator, std::int64_t splits_max,
                      bool from_right, JinjaValue& out);
// At Python's line ends (\n, \r\n, \r, \v, \f, U+001C to U+001E, U+0085, U+2028, U+2029).
bool split_jinja_lines(JinjaRun& run, const JinjaValue& text, bool keeps_ends, JinjaListBuilder& lines);

// At most `count_max` times (below 0: all).
bool replace_jinja_text(JinjaRun& run, const JinjaValue& text, const JinjaValue& old_part, const JinjaValue& new_part,
                        std::int64_t count_max, JinjaValue& out);

enum class JinjaPadding : std::uint8_t { left, right, center };  // where the fill goes
bool pad_jinja_text(JinjaRun& run, const JinjaValue& text, std::int64_t width, const JinjaValue& fill,
                    JinjaPadding padding, JinjaValue& out);

}  // namespace mixtura
