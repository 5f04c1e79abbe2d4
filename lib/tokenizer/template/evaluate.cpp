// Expressions.  Each kind has its own function, so that one level of recursion takes little stack.
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/interpreter.hpp"
#include "tokenizer/template/operators.hpp"
#include "tokenizer/template/print.hpp"

namespace mixtura {

bool JinjaInterpreter::evaluate(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    switch (node.kind) {  // no recursion below these two
        case JinjaExpressionKind::constant: out = constants_[node.constant]; return run_.step();
        case JinjaExpressionKind::name: return run_.step() && read(node, activation, out);
        default: break;
    }
    run_.at = node.at;
    const JinjaRun::Level level(run_);
    if (!level || !run_.step()) return false;
    switch (node.kind) {
        case JinjaExpressionKind::constant:
        case JinjaExpressionKind::name: return true;
        case JinjaExpressionKind::list:
        case JinjaExpressionKind::tuple: return evaluate_list(node, activation, out);
        case JinjaExpressionKind::dict: return evaluate_dict(node, activation, out);
        case JinjaExpressionKind::attribute: {
            JinjaValue object;
            if (!evaluate(*node.operands[0], activation, object)) return false;
            run_.at = node.at;
            return jinja_attribute(run_, object, node.text, out);
        }
        case JinjaExpressionKind::item: return evaluate_item(node, activation, out);
        case JinjaExpressionKind::slice: return evaluate_slice(node, activation, out);
        case JinjaExpressionKind::call: return evaluate_call(node, activation, nullptr, out);
        case JinjaExpressionKind::filter: return evaluate_filter(node, activation, nullptr, out);
        case JinjaExpressionKind::test: return evaluate_test(node, activation, out);
        case JinjaExpressionKind::negative:
        case JinjaExpressionKind::positive: {
            JinjaValue operand;
            if (!evaluate(*node.operands[0], activation, operand)) return false;
            run_.at = node.at;
            return jinja_signed(run_, operand, node.kind == JinjaExpressionKind::negative, out);
        }
        case JinjaExpressionKind::logical_not: {
            JinjaValue operand;
            if (!evaluate(*node.operands[0], activation, operand)) return false;
            out = jinja_boolean(!is_jinja_true(operand), is_jinja_value_trusted(operand));
            return true;
        }
        case JinjaExpressionKind::arithmetic: return evaluate_arithmetic(node, activation, out);
        case JinjaExpressionKind::compare: return evaluate_compare(node, activation, out);
        case JinjaExpressionKind::concat: return evaluate_concat(node, activation, out);
        case JinjaExpressionKind::logical_and:
        case JinjaExpressionKind::logical_or: return evaluate_logic(node, activation, out);
        case JinjaExpressionKind::conditional: return evaluate_conditional(node, activation, out);
    }
    return false;
}

bool JinjaInterpreter::evaluate_list(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    JinjaListBuilder list(run_);
    for (const JinjaExpressionPtr& operand : node.operands) {
        JinjaValue element;
        if (!evaluate(*operand, activation, element) || !list.push(element)) return false;
    }
    return list.finish(node.kind == JinjaExpressionKind::list ? JinjaKind::list : JinjaKind::tuple, true, out);
}

bool JinjaInterpreter::evaluate_dict(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    const std::size_t count = node.operands.size() / 2;
    auto* entries = run_.make<JinjaEntry>(count);
    if (entries == nullptr) return false;
    for (std::size_t i = 0; i < count; ++i) {
        if (!evaluate(*node.operands[2 * i], activation, entries[i].key)) return false;
        if (!evaluate(*node.operands[2 * i + 1], activation, entries[i].value)) return false;
        run_.at = node.operands[2 * i]->at;
        if (!is_jinja_key(entries[i].key))
            return run_.fail(jinja_type_name(entries[i].key), " cannot be the key of a dict");
    }
    run_.at = node.at;
    return make_jinja_dict(run_, entries, count, true, out);
}

bool JinjaInterpreter::evaluate_item(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    JinjaValue object, key;
    if (!evaluate(*node.operands[0], activation, object) || !evaluate(*node.operands[1], activation, key)) return false;
    run_.at = node.at;
    return jinja_item(run_, object, key, out);
}

bool JinjaInterpreter::evaluate_slice(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    JinjaValue object, parts[3];
    if (!evaluate(*node.operands[0], activation, object)) return false;
    for (std::size_t i = 0; i < 3; ++i) {
        if (node.operands[i + 1] && !evaluate(*node.operands[i + 1], activation, parts[i])) return false;
    }
    run_.at = node.at;
    return jinja_slice_of(run_, object, parts[0], parts[1], parts[2], out);
}

bool JinjaInterpreter::evaluate_arithmetic(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    JinjaValue left, right;
    if (!evaluate(*node.operands[0], activation, left)) return false;
    for (std::size_t i = 0; i < node.operators.size(); ++i) {
        if (!evaluate(*node.operands[i + 1], activation, right)) return false;
        run_.at = node.operators[i].at;
        if (!jinja_arithmetic(run_, node.operators[i].op, left, right, out)) return false;
        left = out;
    }
    return true;
}

bool JinjaInterpreter::evaluate_compare(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    JinjaValue left, right;
    if (!evaluate(*node.operands[0], activation, left)) return false;
    bool is_trusted = is_jinja_value_trusted(left);
    bool holds = true;
    for (std::size_t i = 0; holds && i < node.operators.size(); ++i) {
        if (!evaluate(*node.operands[i + 1], activation, right)) return false;
        run_.at = node.operators[i].at;
        if (!jinja_compare(run_, node.operators[i].op, left, right, holds)) return false;
        is_trusted = is_trusted && is_jinja_value_trusted(right);
        left = right;
    }
    out = jinja_boolean(holds, is_trusted);
    return true;
}

bool JinjaInterpreter::evaluate_concat(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    if (!jinja_borrow(run_, {}, true, out)) return false;
    for (const JinjaExpressionPtr& operand : node.operands) {
        JinjaValue value, part;
        if (!evaluate(*operand, activation, value)) return false;
        run_.at = node.at;
        if (!jinja_to_text(run_, value, part)) return false;
        part.is_markup = false;
        if (!jinja_concatenate(run_, out, part, out)) return false;
    }
    return true;
}

bool JinjaInterpreter::evaluate_logic(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    const bool stops_at = node.kind == JinjaExpressionKind::logical_or;
    for (const JinjaExpressionPtr& operand : node.operands) {
        if (!evaluate(*operand, activation, out)) return false;
        if (is_jinja_true(out) == stops_at) return true;
    }
    return true;
}

bool JinjaInterpreter::evaluate_conditional(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    JinjaValue test;
    if (!evaluate(*node.operands[1], activation, test)) return false;
    if (is_jinja_true(test)) return evaluate(*node.operands[0], activation, out);
    if (node.operands[2]) return evaluate(*node.operands[2], activation, out);
    return make_jinja_undefined(run_, JinjaUndefined::Reason::hint, JinjaKind::none,
                                "the inline 'if' was false and has no 'else'", out);
}

}  // namespace mixtura
