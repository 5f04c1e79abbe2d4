#include "tokenizer/template/arguments.hpp"

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/print.hpp"

namespace mixtura {

bool want_text(JinjaRun& run, const JinjaValue& argument, std::string_view what) {
    if (argument.is(JinjaKind::string)) return true;
    if (argument.is(JinjaKind::undefined)) return fail_jinja_undefined(run, argument);
    return run.fail(what, " must be text, found ", jinja_type_name(argument));
}

bool want_integer(JinjaRun& run, const JinjaValue& argument, std::string_view what, std::int64_t& out) {
    if (!is_given(argument)) return true;
    if (argument.is(JinjaKind::undefined)) return fail_jinja_undefined(run, argument);
    if (!argument.is(JinjaKind::integer) && !argument.is(JinjaKind::boolean)) {
        return run.fail(what, " must be an integer, found ", jinja_type_name(argument));
    }
    out = argument.integer;
    return true;
}

bool want_width(JinjaRun& run, const JinjaValue& argument, std::string_view what, std::int64_t& out) {
    if (!want_integer(run, argument, what, out)) return false;
    return out < static_cast<std::int64_t>(run.bytes_max()) || run.out_of_memory();
}

}  // namespace mixtura
