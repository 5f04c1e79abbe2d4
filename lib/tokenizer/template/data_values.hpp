// A caller's JSON as values: all of it data.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "formats/json.hpp"
#include "tokenizer/template/builtin.hpp"

namespace mixtura {

// The members of the document's root, which is an object, as variables.  Texts are not copied: the document must
// outlive the rendering.  A messages[i].role that is among `trusted_roles` counts as the template's own.
bool jinja_variables_of(JinjaRun& run, JsonValue root, std::span<const std::string> trusted_roles,
                        std::vector<JinjaNamedValue>& variables);

}  // namespace mixtura
