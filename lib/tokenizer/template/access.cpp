#include "tokenizer/template/access.hpp"

#include <algorithm>
#include <iterator>

#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/loop.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

// What the sandbox keeps from templates: the methods that would change a list or a dict.
bool is_unsafe(JinjaKind kind, std::string_view name) {
    static constexpr std::string_view kList[] = {"append", "clear", "pop",    "reverse",
                                                 "insert", "sort",  "extend", "remove"};
    static constexpr std::string_view kDict[] = {"clear", "pop", "popitem", "setdefault", "update"};
    if (kind == JinjaKind::list) return std::find(std::begin(kList), std::end(kList), name) != std::end(kList);
    return kind == JinjaKind::dict && std::find(std::begin(kDict), std::end(kDict), name) != std::end(kDict);
}

bool number_property(const JinjaValue& object, std::string_view name, JinjaValue& out) {
    const bool is_real = object.is(JinjaKind::real);
    if (name == "real" || (!is_real && name == "numerator")) {
        out = is_real ? object : jinja_integer(object.integer, object.is_trusted);
    } else if (name == "imag") {
        out = is_real ? jinja_real(0, object.is_trusted) : jinja_integer(0, object.is_trusted);
    } else if (!is_real && name == "denominator") {
        out = jinja_integer(1, object.is_trusted);
    } else {
        return false;
    }
    return true;
}

bool range_property(const JinjaValue& object, std::string_view name, JinjaValue& out) {
    const JinjaRange& range = *object.range;
    if (name != "start" && name != "stop" && name != "step") return false;
    out = jinja_integer(name == "start" ? range.start : name == "stop" ? range.stop : range.step, object.is_trusted);
    return true;
}

bool macro_property(JinjaRun& run, const JinjaMacro& macro, std::string_view name, JinjaValue& out, bool& was_found) {
    const JinjaMacroDefinition& definition = *macro.definition;
    was_found = true;
    if (name == "name") {
        out = jinja_none();
        return definition.name.empty() || jinja_borrow(run, definition.name, true, out);
    }
    if (name == "catch_kwargs" || name == "catch_varargs" || name == "caller") {
        out = jinja_boolean(name == "caller"         ? definition.takes_caller
                            : name == "catch_kwargs" ? definition.takes_keywords
                                                     : definition.takes_rest,
                            true);
        return true;
    }
    was_found = name == "arguments";
    if (!was_found) return true;
    JinjaListBuilder names(run);
    for (const JinjaParameter& parameter : definition.parameters) {
        JinjaValue text;
        if (!jinja_borrow(run, parameter.name, true, text) || !names.push(text)) return false;
    }
    return names.finish(JinjaKind::tuple, true, out);
}

bool cycler_property(const JinjaCycler& cycler, std::string_view name, JinjaValue& out) {
    if (name == "current")
        out = cycler.items.list->items[cycler.items.offset + cycler.position];
    else if (name == "items")
        out = cycler.items;
    else if (name == "pos")
        out = jinja_integer(cycler.position, true);
    else
        return false;
    return true;
}

bool joiner_property(const JinjaJoiner& joiner, std::string_view name, JinjaValue& out) {
    if (name == "sep")
        out = joiner.separator;
    else if (name == "used")
        out = jinja_boolean(joiner.was_used, true);
    else
        return false;
    return true;
}

// An index as Python takes it, from the end where it is negative; nothing where there is no such element.
std::optional<std::int64_t> index_of(const JinjaValue& key, std::int64_t length) {
    if (!key.is(JinjaKind::integer) && !key.is(JinjaKind::boolean)) return std::nullopt;
    const std::int64_t index = key.integer < 0 ? key.integer + length : key.integer;
    if (index < 0 || index >= length) return std::nullopt;
    return index;
}

bool element_at(JinjaRun& run, const JinjaValue& object, const JinjaValue& key, JinjaValue& out, bool& was_found) {
    std::optional<std::int64_t> index;
    switch (object.kind) {
        case JinjaKind::dict: {
            if (!is_jinja_key(key)) return true;
            const JinjaEntry* entry = find_in_jinja_dict(*object.dict, key);
            was_found = entry != nullptr;
            if (was_found) out = entry->value;
            return true;
        }
        case JinjaKind::list:
        case JinjaKind::tuple:
            index = index_of(key, object.size);
            if (index) out = object.list->items[object.offset + *index];
            break;
        case JinjaKind::string: {
            if (!key.is(JinjaKind::integer) && !key.is(JinjaKind::boolean)) return true;
            if (!run.step_bytes(object.size)) return false;
            const std::string_view bytes = jinja_text(object);
            index = index_of(key, static_cast<std::int64_t>(jinja_character_count(bytes)));
            if (!index) return true;
            const std::size_t at = jinja_character_offset(bytes, static_cast<std::size_t>(*index));
            out = jinja_slice(object, at, jinja_first_character(bytes.substr(at)).size());
            break;
        }
        case JinjaKind::range:
            index = index_of(key, object.range->count);
            if (index)
                out = jinja_integer(object.range->start + object.range->step * *index,
                                    object.is_trusted && key.is_trusted);
            break;
        default: break;
    }
    was_found = index.has_value();
    return true;
}

}  // namespace

bool make_jinja_undefined(JinjaRun& run, JinjaUndefined::Reason reason, JinjaKind owner, std::string_view name,
                          JinjaValue& out) {
    auto* undefined = run.make<JinjaUndefined>();
    if (undefined == nullptr) return false;
    *undefined = {reason, owner, name};
    out = JinjaValue();
    out.kind = JinjaKind::undefined;
    out.is_trusted = true;
    out.undefined = undefined;
    return true;
}

bool fail_jinja_undefined(JinjaRun& run, const JinjaValue& value) {
    const JinjaUndefined& undefined = *value.undefined;
    switch (undefined.reason) {
        case JinjaUndefined::Reason::name: return run.fail(quoted(undefined.name), " is undefined");
        case JinjaUndefined::Reason::attribute:
            return run.fail(jinja_kind_name(undefined.owner), " has no attribute ", quoted(undefined.name));
        case JinjaUndefined::Reason::element:
            return run.fail(jinja_kind_name(undefined.owner), " has no element ", undefined.name);
        case JinjaUndefined::Reason::unsafe:
            return run.fail(quoted(undefined.name), " of ", jinja_kind_name(undefined.owner),
                            " is forbidden: a template may not change values");
        case JinjaUndefined::Reason::hint: break;
    }
    return run.fail(undefined.name);
}

bool jinja_property(JinjaRun& run, const JinjaValue& object, std::string_view name, JinjaValue& out, bool& was_found) {
    was_found = false;
    switch (object.kind) {
        case JinjaKind::undefined: return fail_jinja_undefined(run, object);
        case JinjaKind::integer:
        case JinjaKind::boolean:
        case JinjaKind::real: was_found = number_property(object, name, out); break;
        case JinjaKind::range: was_found = range_property(object, name, out); break;
        case JinjaKind::name_space: {
            if (!run.step(1 + object.name_space->count / 16)) return false;
            const JinjaEntry* entry = find_in_jinja_namespace(*object.name_space, name);
            was_found = entry != nullptr;
            if (was_found) out = entry->value;
            return true;
        }
        case JinjaKind::tuple:
            if (object.is_group && (name == "grouper" || name == "list")) {
                out = object.list->items[object.offset + (name == "list" ? 1 : 0)];
                was_found = true;
            }
            break;
        case JinjaKind::macro: return macro_property(run, *object.macro, name, out, was_found);
        case JinjaKind::cycler: was_found = cycler_property(*object.cycler, name, out); break;
        case JinjaKind::joiner: was_found = joiner_property(*object.joiner, name, out); break;
        case JinjaKind::loop:
            if (!jinja_loop_property(run, *object.loop, name, out, was_found)) return false;
            break;
        default: break;
    }
    if (was_found) return true;
    if (const JinjaBuiltin* builtin = find_jinja_method(object.kind, name)) {
        auto* method = run.make<JinjaMethod>();
        if (method == nullptr) return false;
        *method = {object, builtin};
        out = JinjaValue();
        out.kind = JinjaKind::method;
        out.is_trusted = object.is_trusted;
        out.method = method;
        was_found = true;
    } else if (is_unsafe(object.kind, name)) {
        was_found = true;
        return make_jinja_undefined(run, JinjaUndefined::Reason::unsafe, object.kind, name, out);
    }
    return true;
}

bool jinja_attribute(JinjaRun& run, const JinjaValue& object, std::string_view name, JinjaValue& out) {
    bool was_found = false;
    if (!jinja_property(run, object, name, out, was_found)) return false;
    if (was_found) return true;
    if (object.is(JinjaKind::dict)) {
        if (const JinjaEntry* entry = find_in_jinja_dict(*object.dict, name)) {
            out = entry->value;
            return true;
        }
    }
    return make_jinja_undefined(run, JinjaUndefined::Reason::attribute, object.kind, name, out);
}

bool jinja_item(JinjaRun& run, const JinjaValue& object, const JinjaValue& key, JinjaValue& out) {
    if (object.is(JinjaKind::undefined)) return fail_jinja_undefined(run, object);
    bool was_found = false;
    if (!element_at(run, object, key, out, was_found)) return false;
    if (was_found) return true;
    if (key.is(JinjaKind::string)) {
        const std::string_view name = jinja_text(key);
        if (!jinja_property(run, object, name, out, was_found)) return false;
        return was_found || make_jinja_undefined(run, JinjaUndefined::Reason::attribute, object.kind, name, out);
    }
    JinjaValue shown;
    if (key.is(JinjaKind::integer)) {
        if (!jinja_to_text(run, key, shown)) return false;
    } else if (!jinja_borrow(run, jinja_type_name(key), true, shown)) {
        return false;
    }
    return make_jinja_undefined(run, JinjaUndefined::Reason::element, object.kind, jinja_text(shown), out);
}

}  // namespace mixtura
