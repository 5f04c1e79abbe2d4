// HTML escaping, which templates can ask for although a prompt is no HTML.
#pragma once

#include "tokenizer/template/text.hpp"

namespace mixtura {

// str(value) with & < > ' " written as entities, marked as HTML; what is marked already stays as it is.
bool escape_jinja_html(JinjaRun& run, const JinjaValue& value, JinjaValue& out);

}  // namespace mixtura
