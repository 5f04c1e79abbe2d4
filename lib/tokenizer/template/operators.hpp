// Arithmetic, as Python has it.
#pragma once

#include "tokenizer/template/ast.hpp"
#include "tokenizer/template/run.hpp"

namespace mixtura {

// Whether a value comes from the template alone, as far as one look tells: text by all its pieces.
bool is_jinja_value_trusted(const JinjaValue& value);

// left `op` right, for add to power.
bool jinja_arithmetic(JinjaRun& run, JinjaOperator op, const JinjaValue& left, const JinjaValue& right,
                      JinjaValue& out);
// -operand or +operand
bool jinja_signed(JinjaRun& run, const JinjaValue& operand, bool is_negative, JinjaValue& out);

}  // namespace mixtura
