// Calls: of macros, built-in functions and methods, filters, tests.
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/interpreter.hpp"
#include "tokenizer/template/operators.hpp"
#include "tokenizer/template/print.hpp"

namespace mixtura {
namespace {

// Arguments with names, in order; each name once.
class NamedArguments {
  public:
    explicit NamedArguments(JinjaRun& run) : run_(run) {}

    bool reserve(std::size_t count) {
        items_ = run_.make<JinjaNamedValue>(count);
        return items_ != nullptr;
    }
    bool push(std::string_view name, const JinjaValue& value, bool is_name_trusted = true) {
        for (std::size_t i = 0; i < count_; ++i) {
            if (items_[i].name == name) return run_.fail("the argument ", quoted(name), " is given twice");
        }
        items_[count_++] = {name, value, is_name_trusted};
        return run_.step(1 + count_ / 16);
    }
    std::span<const JinjaNamedValue> all() const { return {items_, count_}; }

  private:
    JinjaRun& run_;
    JinjaNamedValue* items_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace

// `caller` is what a call block hands over, or null.
bool JinjaInterpreter::collect_arguments(const JinjaArgumentList& list, JinjaActivation& activation,
                                         const JinjaValue* caller, JinjaArguments& arguments) {
    const JinjaPosition at = run_.at;
    JinjaListBuilder positional(run_);
    JinjaValue value;
    for (const JinjaExpressionPtr& argument : list.positional) {
        if (!evaluate(*argument, activation, value) || !positional.push(value)) return false;
    }
    NamedArguments named(run_);
    JinjaValue keywords;
    std::size_t count = list.keywords.size() + (caller != nullptr ? 1 : 0);
    auto* values = run_.make<JinjaValue>(list.keywords.size());
    if (values == nullptr) return false;
    for (std::size_t i = 0; i < list.keywords.size(); ++i) {
        if (!evaluate(*list.keywords[i].value, activation, values[i])) return false;
    }
    if (list.star) {
        if (!evaluate(*list.star, activation, value)) return false;
        run_.at = at;
        if (!collect_jinja_elements(run_, value, positional)) return false;
    }
    if (list.double_star) {
        if (!evaluate(*list.double_star, activation, keywords)) return false;
        run_.at = at;
        if (!keywords.is(JinjaKind::dict)) return run_.fail("'**' needs a dict, found ", jinja_type_name(keywords));
        count += keywords.dict->count;
    }
    run_.at = at;
    if (!named.reserve(count)) return false;
    for (std::size_t i = 0; i < list.keywords.size(); ++i) {
        if (!named.push(list.keywords[i].name, values[i])) return false;
    }
    if (caller != nullptr && !named.push("caller", *caller)) return false;
    for (std::uint32_t i = 0; keywords.is(JinjaKind::dict) && i < keywords.dict->count; ++i) {
        const JinjaEntry& entry = keywords.dict->entries[i];
        if (!entry.key.is(JinjaKind::string))
            return run_.fail("'**' needs text as keys, found ", jinja_type_name(entry.key));
        if (!named.push(jinja_text(entry.key), entry.value, is_wholly_trusted(entry.key))) return false;
    }
    JinjaValue all;
    if (!positional.finish(JinjaKind::tuple, true, all)) return false;
    arguments = {{all.list->items, all.size}, named.all()};
    return true;
}

bool JinjaInterpreter::evaluate_call(const JinjaExpression& node, JinjaActivation& activation, const JinjaValue* caller,
                                     JinjaValue& out) {
    JinjaValue callee;
    JinjaArguments arguments;
    if (!evaluate(*node.operands[0], activation, callee)) return false;
    run_.at = node.at;
    if (!collect_arguments(*node.arguments, activation, caller, arguments)) return false;
    run_.at = node.at;
    return call(callee, arguments, out);
}

// `body` is what a filter block or a block set holds; null for value | filter.
bool JinjaInterpreter::evaluate_filter(const JinjaExpression& node, JinjaActivation& activation, const JinjaValue* body,
                                       JinjaValue& out) {
    run_.at = node.at;
    if (node.builtin == nullptr) return run_.fail("unknown filter ", quoted(node.text));
    JinjaValue value;
    JinjaArguments arguments;
    const JinjaExpression* inner = node.operands[0].get();
    if (inner == nullptr)
        value = *body;
    else if (body == nullptr ? !evaluate(*inner, activation, value) : !evaluate_filter(*inner, activation, body, value))
        return false;
    run_.at = node.at;
    if (!collect_arguments(*node.arguments, activation, nullptr, arguments)) return false;
    run_.at = node.at;
    return call_jinja_builtin(run_, *node.builtin, value, arguments, out);
}

bool JinjaInterpreter::evaluate_test(const JinjaExpression& node, JinjaActivation& activation, JinjaValue& out) {
    if (node.builtin == nullptr) return run_.fail("unknown test ", quoted(node.text));
    JinjaValue value;
    JinjaArguments arguments;
    if (!evaluate(*node.operands[0], activation, value)) return false;
    run_.at = node.at;
    if (!collect_arguments(*node.arguments, activation, nullptr, arguments)) return false;
    run_.at = node.at;
    return call_jinja_builtin(run_, *node.builtin, value, arguments, out);
}

bool JinjaInterpreter::call(const JinjaValue& callee, const JinjaArguments& arguments, JinjaValue& out) {
    switch (callee.kind) {
        case JinjaKind::undefined: return fail_jinja_undefined(run_, callee);
        case JinjaKind::function: return call_jinja_builtin(run_, *callee.function, JinjaValue(), arguments, out);
        case JinjaKind::method:
            return call_jinja_builtin(run_, *callee.method->builtin, callee.method->receiver, arguments, out);
        case JinjaKind::macro: return call_macro(*callee.macro, arguments, out);
        case JinjaKind::loop: {
            const JinjaLoop& loop = *callee.loop;
            if (!loop.statement->is_recursive)
                return run_.fail("'loop' can be called only where the loop is marked 'recursive'");
            if (arguments.positional.size() != 1 || !arguments.named.empty())
                return run_.fail("'loop' takes one argument");
            return run_recursive_loop(*loop.statement, *loop.activation, arguments.positional[0], loop.depth0 + 1, out);
        }
        case JinjaKind::joiner: {
            if (!arguments.positional.empty() || !arguments.named.empty())
                return run_.fail("a joiner takes no arguments");
            const bool was_used = callee.joiner->was_used;
            callee.joiner->was_used = true;
            out = callee.joiner->separator;
            return was_used || jinja_borrow(run_, {}, true, out);
        }
        default: return run_.fail(jinja_type_name(callee), " cannot be called");
    }
}

// Gives each parameter its argument, its default or an undefined value.
bool JinjaInterpreter::bind_macro(const JinjaMacro& macro, const JinjaArguments& arguments,
                                  JinjaActivation& activation) {
    const JinjaMacroDefinition& definition = *macro.definition;
    const std::size_t count = definition.parameters.size();
    auto* is_used = run_.make<bool>(arguments.named.size());
    if (is_used == nullptr) return false;
    const auto take_named = [&](std::string_view name) -> const JinjaValue* {
        for (std::size_t i = 0; i < arguments.named.size(); ++i) {
            if (arguments.named[i].name != name || is_used[i]) continue;
            is_used[i] = true;
            return &arguments.named[i].value;
        }
        return nullptr;
    };
    for (std::size_t i = 0; i < count; ++i) {
        if (!run_.step(1 + arguments.named.size() / 16)) return false;
        JinjaValue& parameter = slot(activation, definition.parameters[i].reference);
        if (i < arguments.positional.size())
            parameter = arguments.positional[i];
        else if (const JinjaValue* named = take_named(definition.parameters[i].name))
            parameter = *named;
    }
    if (definition.takes_caller) {
        JinjaValue& caller = slot(activation, definition.caller);
        if (const JinjaValue* given = take_named("caller"); given != nullptr && !given->is(JinjaKind::none))
            caller = *given;
        else if (!make_jinja_undefined(run_, JinjaUndefined::Reason::hint, JinjaKind::none, "no caller is defined here",
                                       caller))
            return false;
    }
    std::size_t left_count = 0;
    auto* left = run_.make<JinjaEntry>(arguments.named.size());
    if (left == nullptr) return false;
    for (std::size_t i = 0; i < arguments.named.size(); ++i) {
        if (is_used[i]) continue;
        if (!definition.takes_keywords) {
            return run_.fail("macro ", quoted(definition.name), " takes no argument named ",
                             quoted(arguments.named[i].name));
        }
        JinjaEntry& entry = left[left_count++];
        if (!jinja_borrow(run_, arguments.named[i].name, arguments.named[i].is_name_trusted, entry.key)) return false;
        entry.value = arguments.named[i].value;
    }
    if (definition.takes_keywords &&
        !make_jinja_dict(run_, left, left_count, true, slot(activation, definition.keywords)))
        return false;
    if (definition.takes_rest) {
        JinjaListBuilder rest(run_);
        for (std::size_t i = count; i < arguments.positional.size(); ++i) {
            if (!rest.push(arguments.positional[i])) return false;
        }
        if (!rest.finish(JinjaKind::tuple, true, slot(activation, definition.rest))) return false;
    } else if (arguments.positional.size() > count) {
        return run_.fail("macro ", quoted(definition.name), " takes at most ", count,
                         count == 1 ? " argument, found " : " arguments, found ", arguments.positional.size());
    }
    return true;
}

bool JinjaInterpreter::call_macro(const JinjaMacro& macro, const JinjaArguments& arguments, JinjaValue& out) {
    const JinjaRun::Level level(run_);
    const JinjaMacroDefinition& definition = *macro.definition;
    if (!level || !run_.step()) return false;
    JinjaActivation* activation = activate(macro.closure, definition.slot_count);
    if (activation == nullptr || !bind_macro(macro, arguments, *activation)) return false;
    enter(definition.loads, *activation);
    for (const JinjaParameter& parameter : definition.parameters) {
        JinjaValue value = slot(*activation, parameter.reference);
        if (!value.is(JinjaKind::missing)) continue;
        const bool is_made = parameter.standard ? evaluate(*parameter.standard, *activation, value)
                                                : make_jinja_undefined(run_, JinjaUndefined::Reason::name,
                                                                       JinjaKind::none, parameter.name, value);
        if (!is_made) return false;
        slot(*activation, parameter.reference) = value;
    }
    JinjaTextBuilder text(run_);
    Flow flow = Flow::next;
    return execute(definition.body, *activation, text, flow) && text.finish(out);
}

}  // namespace mixtura
