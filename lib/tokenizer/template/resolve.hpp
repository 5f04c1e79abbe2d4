// Ties every name of a program to a slot, by Jinja's scoping rules: a scope's variables are found out before it runs,
// an assignment in a loop or block stays inside, an assignment under `if` does not, a macro reads its surroundings'
// variables as they are when it is called.
#pragma once

#include <mixtura/status.hpp>

#include "tokenizer/template/ast.hpp"

namespace mixtura {

// INVALID_ARGUMENT with line and column: an unknown filter or test, an assignment to `loop`.
Status resolve_jinja_names(JinjaProgram& program);

// Whether a body reads `name` before it assigns to it; what makes `loop`, `caller`, `varargs` and `kwargs` exist.
bool mentions_jinja_name(const JinjaBody& body, std::string_view name);
// Whether `name` is assigned to anywhere in a loop, its target included.
bool assigns_jinja_name(const JinjaLoopStatement& loop, std::string_view name, JinjaPosition& where);

}  // namespace mixtura
