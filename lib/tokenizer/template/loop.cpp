// Loops and the special variable `loop`.
#include "tokenizer/template/loop.hpp"

#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/interpreter.hpp"

namespace mixtura {
namespace {

// The next element that passes the loop's test.
bool next_element(JinjaRun& run, JinjaLoop& loop, JinjaValue& element) {
    while (loop.iterator.next(run, element)) {
        if (loop.test_activation == nullptr) return true;
        bool is_taken = false;
        if (!loop.interpreter->test_loop_element(loop, element, is_taken)) return false;
        if (is_taken) return true;
    }
    return false;
}

bool peek(JinjaRun& run, JinjaLoop& loop, JinjaValue& element) {
    if (loop.after.is(JinjaKind::missing)) {
        JinjaValue next;
        if (next_element(run, loop, next)) loop.after = next;
    }
    element = loop.after;
    return run.failure().is_ok();
}

}  // namespace

bool advance_jinja_loop(JinjaRun& run, JinjaLoop& loop, JinjaValue& element) {
    if (!loop.after.is(JinjaKind::missing)) {
        element = loop.after;
        loop.after = JinjaValue();
    } else if (!next_element(run, loop, element)) {
        return false;
    }
    ++loop.index0;
    loop.previous = loop.current;
    loop.current = element;
    return true;
}

bool jinja_loop_length(JinjaRun& run, JinjaLoop& loop, std::int64_t& length) {
    if (loop.length < 0) {
        const std::optional<std::int64_t> known = jinja_length(loop.iterable);
        if (known && loop.test_activation == nullptr) {
            loop.length = *known;
        } else {  // all that is left must be looked at, and kept
            JinjaListBuilder rest(run);
            for (JinjaValue element; next_element(run, loop, element);) {
                if (!rest.push(element)) return false;
            }
            if (!run.failure().is_ok()) return false;
            loop.length = rest.size() + loop.index0 + 1 + (loop.after.is(JinjaKind::missing) ? 0 : 1);
            JinjaValue list;
            if (!rest.finish(JinjaKind::list, loop.is_trusted, list) || !loop.iterator.start(run, list)) return false;
            loop.test_activation = nullptr;  // these have passed
        }
    }
    length = loop.length;
    return true;
}

bool jinja_loop_property(JinjaRun& run, JinjaLoop& loop, std::string_view name, JinjaValue& out, bool& was_found) {
    was_found = true;
    const auto number = [&](std::int64_t value) {
        out = jinja_integer(value, loop.is_trusted);
        return true;
    };
    if (name == "index") return number(loop.index0 + 1);
    if (name == "index0") return number(loop.index0);
    if (name == "depth") return number(loop.depth0 + 1);
    if (name == "depth0") return number(loop.depth0);
    if (name == "first") {
        out = jinja_boolean(loop.index0 == 0, loop.is_trusted);
        return true;
    }
    if (name == "previtem") {
        if (loop.index0 > 0) {
            out = loop.previous;
            return true;
        }
        return make_jinja_undefined(run, JinjaUndefined::Reason::hint, JinjaKind::loop, "there is no previous item",
                                    out);
    }
    if (name == "last" || name == "nextitem") {
        JinjaValue next;
        if (!peek(run, loop, next)) return false;
        const bool is_last = next.is(JinjaKind::missing);
        if (name == "last")
            out = jinja_boolean(is_last, loop.is_trusted);
        else if (!is_last)
            out = next;
        else
            return make_jinja_undefined(run, JinjaUndefined::Reason::hint, JinjaKind::loop, "there is no next item",
                                        out);
        return true;
    }
    if (name == "length" || name == "revindex" || name == "revindex0") {
        std::int64_t length = 0;
        if (!jinja_loop_length(run, loop, length)) return false;
        return number(name == "length" ? length : length - loop.index0 - (name == "revindex" ? 0 : 1));
    }
    was_found = false;
    return true;
}

bool JinjaInterpreter::test_loop_element(JinjaLoop& loop, const JinjaValue& element, bool& is_taken) {
    JinjaValue result;
    if (!assign(loop.statement->test_target, *loop.test_activation, element)) return false;
    if (!evaluate(*loop.statement->test, *loop.test_activation, result)) return false;
    is_taken = is_jinja_true(result);
    return true;
}

bool JinjaInterpreter::start_loop(JinjaLoop& loop, const JinjaLoopStatement& node, JinjaActivation& outside,
                                  const JinjaValue& iterable) {
    loop.interpreter = this;
    loop.statement = &node;
    loop.activation = &outside;
    loop.iterable = iterable;
    loop.is_trusted = iterable.is(JinjaKind::string) ? is_wholly_trusted(iterable) : iterable.is_trusted && !node.test;
    run_.at = node.iterable->at;
    if (!loop.iterator.start(run_, iterable)) return false;
    if (!node.test) return true;
    loop.test_activation = activate(&outside, node.test_slot_count);
    if (loop.test_activation == nullptr) return false;
    enter(node.test_loads, *loop.test_activation);
    return true;
}

bool JinjaInterpreter::execute_loop(const JinjaLoopStatement& node, JinjaActivation& activation, JinjaTextBuilder& out,
                                    Flow& flow) {
    JinjaValue iterable, text;
    if (!evaluate(*node.iterable, activation, iterable)) return false;
    if (node.is_recursive) {
        return run_recursive_loop(node, activation, iterable, 0, text) && out.append(text);
    }
    auto* loop = run_.make<JinjaLoop>();
    return loop != nullptr && start_loop(*loop, node, activation, iterable) && run_loop(*loop, activation, out, flow);
}

bool JinjaInterpreter::run_recursive_loop(const JinjaLoopStatement& node, JinjaActivation& outside,
                                          const JinjaValue& iterable, std::int64_t depth0, JinjaValue& out) {
    const JinjaRun::Level level(run_);
    if (!level) return false;
    auto* loop = run_.make<JinjaLoop>();
    JinjaActivation* activation = activate(&outside, node.slot_count);
    if (loop == nullptr || activation == nullptr || !start_loop(*loop, node, outside, iterable)) return false;
    loop->depth0 = depth0;
    JinjaTextBuilder text(run_);
    Flow flow = Flow::next;
    return run_loop(*loop, *activation, text, flow) && text.finish(out);
}

// `activation` holds the loop's variables; a break or continue of the else part acts on the loop around.
bool JinjaInterpreter::run_loop(JinjaLoop& loop, JinjaActivation& activation, JinjaTextBuilder& out, Flow& flow) {
    const JinjaLoopStatement& node = *loop.statement;
    JinjaValue self;
    self.kind = JinjaKind::loop;
    self.is_trusted = loop.is_trusted;
    self.loop = &loop;
    bool has_finished_round = false;  // Jinja runs the else part unless some round got to its end
    for (JinjaValue element; advance_jinja_loop(run_, loop, element);) {
        if (node.has_loop_variable) slot(activation, node.loop_variable) = self;
        if (!assign(node.target, activation, element)) return false;
        enter(node.loads, activation);
        Flow inner = Flow::next;
        if (!execute(node.body, activation, out, inner)) return false;
        if (inner == Flow::break_loop) break;
        has_finished_round = has_finished_round || inner == Flow::next;
    }
    if (!run_.failure().is_ok()) return false;
    leave(node.loads, activation);
    if (has_finished_round || node.otherwise.empty()) return true;
    enter(node.otherwise_loads, activation);
    if (!execute(node.otherwise, activation, out, flow)) return false;
    leave(node.otherwise_loads, activation);
    return true;
}

}  // namespace mixtura
