// What built-in functions expect of their arguments, checked with one sentence for all.
#pragma once

#include <string_view>

#include "tokenizer/template/run.hpp"

namespace mixtura {

inline bool is_given(const JinjaValue& argument) { return !argument.is(JinjaKind::missing); }
inline bool is_given_and_not_none(const JinjaValue& argument) {
    return !argument.is(JinjaKind::missing) && !argument.is(JinjaKind::none);
}

// Each returns false once it failed; `what` names the argument in the message.
bool want_text(JinjaRun& run, const JinjaValue& argument, std::string_view what);
// An integer or a boolean; `out` keeps what it holds where the argument is left out.
bool want_integer(JinjaRun& run, const JinjaValue& argument, std::string_view what, std::int64_t& out);
// At most this many characters or elements of padding; a width beyond the memory limit is refused before it is made.
bool want_width(JinjaRun& run, const JinjaValue& argument, std::string_view what, std::int64_t& out);

}  // namespace mixtura
