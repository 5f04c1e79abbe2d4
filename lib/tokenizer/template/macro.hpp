// A macro as a value: its definition and the variables around it.
#pragma once

#include "tokenizer/template/ast.hpp"

namespace mixtura {

// The variables of one running function: the template, a call of a macro, a recursive loop, a loop's test.
struct JinjaActivation {
    JinjaActivation* outside = nullptr;
    JinjaValue* slots = nullptr;
};

struct JinjaMacro {
    const JinjaMacroDefinition* definition = nullptr;
    JinjaActivation* closure = nullptr;
};

}  // namespace mixtura
