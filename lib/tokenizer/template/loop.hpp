// The special variable `loop`.
#pragma once

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/macro.hpp"

namespace mixtura {

class JinjaInterpreter;

struct JinjaLoop {
    JinjaInterpreter* interpreter = nullptr;
    const JinjaLoopStatement* statement = nullptr;
    JinjaActivation* activation = nullptr;       // around the statement: where a recursive loop finds its variables
    JinjaActivation* test_activation = nullptr;  // where the statement has a test
    JinjaValue iterable;
    JinjaIterator iterator;
    std::int64_t index0 = -1;
    std::int64_t depth0 = 0;
    std::int64_t length = -1;  // once it was asked for
    JinjaValue previous, current;
    JinjaValue after;         // the next element, once it was asked for
    JinjaValue last_changed;  // the arguments of loop.changed()
    bool is_trusted = false;
};

// The next element, test and peeked one considered; false at the end, and when it failed.
bool advance_jinja_loop(JinjaRun& run, JinjaLoop& loop, JinjaValue& element);
bool jinja_loop_length(JinjaRun& run, JinjaLoop& loop, std::int64_t& length);
// loop.name for what is no method.
bool jinja_loop_property(JinjaRun& run, JinjaLoop& loop, std::string_view name, JinjaValue& out, bool& was_found);

}  // namespace mixtura
