// Truth, equality, order and membership, as Python has them.
#pragma once

#include "tokenizer/template/ast.hpp"
#include "tokenizer/template/run.hpp"

namespace mixtura {

bool is_jinja_true(const JinjaValue& value);

// The functions below return false once they failed; their answer is in `result`.
bool jinja_equal(JinjaRun& run, const JinjaValue& a, const JinjaValue& b, bool& result);
// a `op` b for less, less_equal, greater, greater_equal.
bool jinja_ordered(JinjaRun& run, JinjaOperator op, const JinjaValue& a, const JinjaValue& b, bool& result);
bool jinja_contains(JinjaRun& run, const JinjaValue& container, const JinjaValue& item, bool& result);
// Any of the comparison operators.
bool jinja_compare(JinjaRun& run, JinjaOperator op, const JinjaValue& a, const JinjaValue& b, bool& result);
// Whether both are the same object.
bool is_same_jinja_object(const JinjaValue& a, const JinjaValue& b);

// -1, 0 or 1; an integer and a real compare by their exact values.  Not for NaN.
int compare_jinja_numbers(const JinjaValue& a, const JinjaValue& b);
double jinja_number_as_real(const JinjaValue& number);

// Sorts stably; `keys[i]` belongs to `items[i]`, and both are reordered.  Fails where keys do not compare.
bool sort_jinja_values(JinjaRun& run, JinjaValue* keys, JinjaValue* items, std::size_t count, bool is_descending);

}  // namespace mixtura
