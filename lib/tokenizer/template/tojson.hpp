// Filter tojson as chat templates have it: json.dumps with non-ASCII characters as they are, keys in their order, and
// Python's spacing.
#pragma once

#include "tokenizer/template/run.hpp"

namespace mixtura {

// Arguments: value, ensure_ascii, indent, separators, sort_keys.  What holds a caller's data is data as a whole.
bool jinja_tojson(JinjaRun& run, const JinjaValue* arguments, JinjaValue& out);

}  // namespace mixtura
