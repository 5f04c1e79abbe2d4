// Statements.
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/interpreter.hpp"
#include "tokenizer/template/print.hpp"

namespace mixtura {

bool JinjaInterpreter::execute(const JinjaBody& body, JinjaActivation& activation, JinjaTextBuilder& out, Flow& flow) {
    for (const auto& node : body) {
        if (!execute(*node, activation, out, flow)) return false;
        if (flow != Flow::next) break;
    }
    return true;
}

bool JinjaInterpreter::execute(const JinjaStatement& node, JinjaActivation& activation, JinjaTextBuilder& out,
                               Flow& flow) {
    run_.at = node.at;
    const JinjaRun::Level level(run_);
    if (!level || !run_.step()) return false;
    switch (node.kind) {
        case JinjaStatementKind::output: return execute_output(static_cast<const JinjaOutput&>(node), activation, out);
        case JinjaStatementKind::condition:
            return execute_condition(static_cast<const JinjaCondition&>(node), activation, out, flow);
        case JinjaStatementKind::loop:
            return execute_loop(static_cast<const JinjaLoopStatement&>(node), activation, out, flow);
        case JinjaStatementKind::set: return execute_set(static_cast<const JinjaSet&>(node), activation);
        case JinjaStatementKind::set_block:
            return execute_set_block(static_cast<const JinjaSetBlock&>(node), activation, flow);
        case JinjaStatementKind::with: return execute_with(static_cast<const JinjaWith&>(node), activation, out, flow);
        case JinjaStatementKind::macro: {
            const auto& macro = static_cast<const JinjaMacroStatement&>(node);
            JinjaValue value;
            return make_macro(macro.macro, activation, value) && assign(macro.target, activation, value);
        }
        case JinjaStatementKind::call_block:
            return execute_call_block(static_cast<const JinjaCallBlock&>(node), activation, out);
        case JinjaStatementKind::filter_block:
            return execute_filter_block(static_cast<const JinjaFilterBlock&>(node), activation, out, flow);
        case JinjaStatementKind::break_loop: flow = Flow::break_loop; return true;
        case JinjaStatementKind::continue_loop: flow = Flow::continue_loop; return true;
    }
    return false;
}

bool JinjaInterpreter::execute_output(const JinjaOutput& node, JinjaActivation& activation, JinjaTextBuilder& out) {
    if (!node.expression) return out.append(node.data, true);
    JinjaValue value;
    if (!evaluate(*node.expression, activation, value)) return false;
    run_.at = node.at;
    return append_jinja_text(run_, value, out);
}

bool JinjaInterpreter::execute_condition(const JinjaCondition& node, JinjaActivation& activation, JinjaTextBuilder& out,
                                         Flow& flow) {
    for (const JinjaBranch& branch : node.branches) {
        JinjaValue test;
        if (!evaluate(*branch.test, activation, test)) return false;
        if (is_jinja_true(test)) return execute(branch.body, activation, out, flow);
    }
    return execute(node.otherwise, activation, out, flow);
}

bool JinjaInterpreter::execute_set(const JinjaSet& node, JinjaActivation& activation) {
    JinjaValue value;
    return check_namespaces(node.target, activation) && evaluate(*node.value, activation, value) &&
           assign(node.target, activation, value);
}

bool JinjaInterpreter::execute_set_block(const JinjaSetBlock& node, JinjaActivation& activation, Flow& flow) {
    enter(node.loads, activation);
    JinjaTextBuilder builder(run_);
    JinjaValue text;
    if (!execute(node.body, activation, builder, flow)) return false;
    if (flow == Flow::next) {  // a break or continue inside leaves the variable as it was
        if (!builder.finish(text)) return false;
        JinjaValue value = text;
        if (node.filter && !evaluate_filter(*node.filter, activation, &text, value)) return false;
        run_.at = node.at;
        if (!assign(node.target, activation, value)) return false;
    }
    leave(node.loads, activation);
    return true;
}

bool JinjaInterpreter::execute_with(const JinjaWith& node, JinjaActivation& activation, JinjaTextBuilder& out,
                                    Flow& flow) {
    enter(node.loads, activation);
    for (std::size_t i = 0; i < node.targets.size(); ++i) {
        JinjaValue value;
        if (!evaluate(*node.values[i], activation, value) || !assign(node.targets[i], activation, value)) return false;
    }
    if (!execute(node.body, activation, out, flow)) return false;
    leave(node.loads, activation);
    return true;
}

bool JinjaInterpreter::make_macro(const JinjaMacroDefinition& definition, JinjaActivation& activation,
                                  JinjaValue& out) {
    auto* macro = run_.make<JinjaMacro>();
    if (macro == nullptr) return false;
    *macro = {&definition, &activation};
    out = JinjaValue();
    out.kind = JinjaKind::macro;
    out.is_trusted = true;
    out.macro = macro;
    return true;
}

bool JinjaInterpreter::execute_call_block(const JinjaCallBlock& node, JinjaActivation& activation,
                                          JinjaTextBuilder& out) {
    JinjaValue caller, result;
    if (!make_macro(node.caller, activation, caller)) return false;
    if (!node.call) {  // {% generation %}
        if (!call_macro(*caller.macro, {}, result)) return false;
    } else if (!evaluate_call(*node.call, activation, &caller, result)) {
        return false;
    }
    run_.at = node.at;
    if (!result.is(JinjaKind::string))
        return run_.fail("'call' needs a call that gives text, found ", jinja_type_name(result));
    return out.append(result);
}

bool JinjaInterpreter::execute_filter_block(const JinjaFilterBlock& node, JinjaActivation& activation,
                                            JinjaTextBuilder& out, Flow& flow) {
    enter(node.loads, activation);
    JinjaTextBuilder builder(run_);
    JinjaValue text, result;
    if (!execute(node.body, activation, builder, flow)) return false;
    if (flow == Flow::next) {  // what a break or continue leaves unfinished is not printed
        if (!builder.finish(text) || !evaluate_filter(*node.filter, activation, &text, result)) return false;
        run_.at = node.at;
        if (!result.is(JinjaKind::string))
            return run_.fail("the block's filter must give text, found ", jinja_type_name(result));
        if (!out.append(result)) return false;
    }
    leave(node.loads, activation);
    return true;
}

}  // namespace mixtura
