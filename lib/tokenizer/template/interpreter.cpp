#include "tokenizer/template/interpreter.hpp"

#include <algorithm>

#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/print.hpp"

namespace mixtura {

bool JinjaInterpreter::render(JinjaTextBuilder& out) {
    if (!make_constants() || !make_globals()) return false;
    JinjaActivation* activation = activate(nullptr, program_.slot_count);
    if (activation == nullptr) return false;
    enter(program_.loads, *activation);
    Flow flow = Flow::next;
    return execute(program_.body, *activation, out, flow);
}

bool JinjaInterpreter::make_constants() {
    constants_ = run_.make<JinjaValue>(program_.constants.size());
    if (constants_ == nullptr) return false;
    for (std::size_t i = 0; i < program_.constants.size(); ++i) {
        const JinjaConstant& constant = program_.constants[i];
        switch (constant.kind) {
            case JinjaKind::string:
                if (!jinja_borrow(run_, constant.text, true, constants_[i])) return false;
                break;
            case JinjaKind::integer: constants_[i] = jinja_integer(constant.integer, true); break;
            case JinjaKind::boolean: constants_[i] = jinja_boolean(constant.integer != 0, true); break;
            case JinjaKind::real: constants_[i] = jinja_real(constant.real, true); break;
            default: constants_[i] = jinja_none(); break;
        }
    }
    return true;
}

bool JinjaInterpreter::make_globals() {
    globals_ = run_.make<JinjaValue>(program_.global_names.size());
    if (globals_ == nullptr) return false;
    for (std::size_t i = 0; i < program_.global_names.size(); ++i) {
        const std::string& name = program_.global_names[i];
        if (!run_.step(1 + variables_.size() / 16)) return false;
        const auto found = std::find_if(variables_.begin(), variables_.end(),
                                        [&](const JinjaNamedValue& variable) { return variable.name == name; });
        if (found != variables_.end()) {
            globals_[i] = found->value;
        } else if (const JinjaBuiltin* builtin = find_jinja_global(name)) {
            globals_[i].kind = JinjaKind::function;
            globals_[i].is_trusted = true;
            globals_[i].function = builtin;
        }
    }
    return true;
}

JinjaActivation* JinjaInterpreter::activate(JinjaActivation* outside, std::uint32_t slot_count) {
    auto* activation = run_.make<JinjaActivation>();
    auto* slots = run_.make<JinjaValue>(slot_count);
    if (activation == nullptr || slots == nullptr) return nullptr;
    *activation = {outside, slots};
    return activation;
}

JinjaValue& JinjaInterpreter::slot(JinjaActivation& activation, JinjaReference where) {
    JinjaActivation* owner = &activation;
    for (std::uint32_t hops = where.hops; hops > 0; --hops) owner = owner->outside;
    return owner->slots[where.slot];
}

bool JinjaInterpreter::read(const JinjaExpression& name, JinjaActivation& activation, JinjaValue& out) {
    out = slot(activation, name.reference);
    return !out.is(JinjaKind::missing) ||
           make_jinja_undefined(run_, JinjaUndefined::Reason::name, JinjaKind::none, name.text, out);
}

void JinjaInterpreter::enter(const JinjaScopeLoads& loads, JinjaActivation& activation) {
    for (const JinjaLoad& load : loads) {
        switch (load.kind) {
            case JinjaLoad::Kind::parameter: break;
            case JinjaLoad::Kind::global: activation.slots[load.slot] = globals_[load.global]; break;
            case JinjaLoad::Kind::alias: activation.slots[load.slot] = slot(activation, load.source); break;
            case JinjaLoad::Kind::missing: activation.slots[load.slot] = JinjaValue(); break;
        }
    }
}

void JinjaInterpreter::leave(const JinjaScopeLoads& loads, JinjaActivation& activation) {
    for (const JinjaLoad& load : loads) activation.slots[load.slot] = JinjaValue();
}

bool JinjaInterpreter::check_namespaces(const JinjaTarget& target, JinjaActivation& activation) {
    if (target.kind == JinjaTarget::Kind::attribute && !slot(activation, target.reference).is(JinjaKind::name_space)) {
        run_.at = target.at;
        return run_.fail("cannot assign to the attribute ", quoted(target.attribute), " of ", quoted(target.name),
                         ", which is no namespace");
    }
    return std::all_of(target.items.begin(), target.items.end(),
                       [&](const JinjaTarget& item) { return check_namespaces(item, activation); });
}

bool JinjaInterpreter::assign_attribute(const JinjaTarget& target, JinjaActivation& activation,
                                        const JinjaValue& value) {
    const JinjaValue& owner = slot(activation, target.reference);
    run_.at = target.at;
    // The check before the assignment saw a namespace, but an earlier part of the same target may have replaced it.
    if (!owner.is(JinjaKind::name_space)) return run_.fail(quoted(target.name), " is no namespace any more");
    if (const JinjaEntry* known = find_in_jinja_namespace(*owner.name_space, target.attribute)) {
        return run_.step(1 + owner.name_space->count / 16) &&
               set_in_jinja_namespace(run_, *owner.name_space, known->key, value);
    }
    JinjaValue key;
    return jinja_borrow(run_, target.attribute, true, key) &&
           set_in_jinja_namespace(run_, *owner.name_space, key, value);
}

bool JinjaInterpreter::assign(const JinjaTarget& target, JinjaActivation& activation, const JinjaValue& value) {
    if (target.kind == JinjaTarget::Kind::name) {
        slot(activation, target.reference) = value;
        return true;
    }
    if (target.kind == JinjaTarget::Kind::attribute) return assign_attribute(target, activation, value);
    run_.at = target.at;
    JinjaListBuilder parts(run_);
    if (!is_jinja_iterable(value))
        return run_.fail("cannot take ", jinja_type_name(value), " apart into several variables");
    if (!collect_jinja_elements(run_, value, parts)) return false;
    if (parts.size() != target.items.size()) {
        return run_.fail("expected ", target.items.size(), " values to take apart, found ", parts.size());
    }
    for (std::uint32_t i = 0; i < parts.size(); ++i) {
        if (!assign(target.items[i], activation, parts[i])) return false;
    }
    return true;
}

}  // namespace mixtura
