#include "tokenizer/template/print.hpp"

#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/loop.hpp"
#include "tokenizer/template/macro.hpp"
#include "tokenizer/template/unicode.hpp"

namespace mixtura {
namespace {

bool append_hex(JinjaTextBuilder& out, std::string_view prefix, std::uint32_t value, int digits, bool is_trusted) {
    std::string escape(prefix);
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) escape += "0123456789abcdef"[value >> shift & 15];
    return out.append(escape, is_trusted);
}

// 'text' with Python's choice of quotes and escapes.
bool append_text_repr(JinjaRun& run, const JinjaValue& text, JinjaTextBuilder& out) {
    if (!run.step_bytes(text.size)) return false;
    const bool is_trusted = is_wholly_trusted(text);
    const std::string_view bytes = jinja_text(text);
    const bool uses_double = bytes.find('\'') != std::string_view::npos && bytes.find('"') == std::string_view::npos;
    const char quote = uses_double ? '"' : '\'';
    if (text.is_markup && !out.append("Markup(", is_trusted)) return false;
    if (!out.append(std::string_view(&quote, 1), is_trusted)) return false;
    JinjaCharacters characters(text);
    while (characters.next()) {
        const std::uint32_t code_point = characters.code_point();
        const bool origin = characters.is_trusted();
        bool is_done = false;
        if (code_point == '\n')
            is_done = out.append("\\n", origin);
        else if (code_point == '\r')
            is_done = out.append("\\r", origin);
        else if (code_point == '\t')
            is_done = out.append("\\t", origin);
        else if (code_point == '\\')
            is_done = out.append("\\\\", origin);
        else if (code_point == static_cast<std::uint32_t>(quote))
            is_done = out.append("\\", origin) && out.append(characters.bytes(), origin);
        else if (code_point > 0x10FFFF)
            is_done = append_hex(out, "\\udc", static_cast<unsigned char>(characters.bytes()[0]), 2, origin);
        else if (python_is_printable(code_point))
            is_done = out.append(characters.bytes(), origin);
        else if (code_point < 0x100)
            is_done = append_hex(out, "\\x", code_point, 2, origin);
        else if (code_point < 0x10000)
            is_done = append_hex(out, "\\u", code_point, 4, origin);
        else
            is_done = append_hex(out, "\\U", code_point, 8, origin);
        if (!is_done) return false;
    }
    return out.append(std::string_view(&quote, 1), is_trusted) && (!text.is_markup || out.append(")", is_trusted));
}

bool append_entries(JinjaRun& run, const JinjaEntry* entries, std::uint32_t count, bool is_trusted,
                    JinjaTextBuilder& out) {
    if (!out.append("{", is_trusted)) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (i > 0 && !out.append(", ", is_trusted)) return false;
        if (!append_jinja_repr(run, entries[i].key, out) || !out.append(": ", is_trusted)) return false;
        if (!append_jinja_repr(run, entries[i].value, out)) return false;
    }
    return out.append("}", is_trusted);
}

bool append_elements(JinjaRun& run, const JinjaValue& list, JinjaTextBuilder& out) {
    const bool is_tuple = list.is(JinjaKind::tuple);
    if (!out.append(is_tuple ? "(" : "[", list.is_trusted)) return false;
    for (std::uint32_t i = 0; i < list.size; ++i) {
        if (i > 0 && !out.append(", ", list.is_trusted)) return false;
        if (!append_jinja_repr(run, list.list->items[list.offset + i], out)) return false;
    }
    return out.append(is_tuple ? (list.size == 1 ? ",)" : ")") : "]", list.is_trusted);
}

bool append_view(JinjaRun& run, const JinjaValue& view, JinjaTextBuilder& out) {
    const std::string_view name = jinja_type_name(view);
    if (!out.append(name, view.is_trusted) || !out.append("([", view.is_trusted)) return false;
    for (std::uint32_t i = 0; i < view.dict->count; ++i) {
        const JinjaEntry& entry = view.dict->entries[i];
        const bool is_pair = view.view == JinjaViewKind::items;
        if (i > 0 && !out.append(", ", view.is_trusted)) return false;
        if (is_pair && !out.append("(", view.is_trusted)) return false;
        if (view.view != JinjaViewKind::values && !append_jinja_repr(run, entry.key, out)) return false;
        if (is_pair && !out.append(", ", view.is_trusted)) return false;
        if (view.view != JinjaViewKind::keys && !append_jinja_repr(run, entry.value, out)) return false;
        if (is_pair && !out.append(")", view.is_trusted)) return false;
    }
    return out.append("])", view.is_trusted);
}

// repr() as one new text: what holds a caller's data is the caller's.
bool append_new_repr(JinjaRun& run, const JinjaValue& value, JinjaTextBuilder& out) {
    JinjaTextBuilder builder(run);
    JinjaValue printed;
    return append_jinja_repr(run, value, builder) && builder.finish(printed, true) && out.append(printed);
}

}  // namespace

std::string_view jinja_kind_name(JinjaKind kind) {
    switch (kind) {
        case JinjaKind::missing:
        case JinjaKind::undefined: return "Undefined";
        case JinjaKind::none: return "NoneType";
        case JinjaKind::boolean: return "bool";
        case JinjaKind::integer: return "int";
        case JinjaKind::real: return "float";
        case JinjaKind::string: return "str";
        case JinjaKind::list: return "list";
        case JinjaKind::tuple: return "tuple";
        case JinjaKind::dict: return "dict";
        case JinjaKind::view: return "dict_items";
        case JinjaKind::range: return "range";
        case JinjaKind::generator: return "generator";
        case JinjaKind::name_space: return "Namespace";
        case JinjaKind::macro: return "Macro";
        case JinjaKind::function: return "function";
        case JinjaKind::method: return "method";
        case JinjaKind::loop: return "LoopContext";
        case JinjaKind::cycler: return "Cycler";
        case JinjaKind::joiner: return "Joiner";
    }
    return "object";
}

std::string_view jinja_type_name(const JinjaValue& value) {
    if (value.is(JinjaKind::view)) {
        return value.view == JinjaViewKind::keys     ? "dict_keys"
               : value.view == JinjaViewKind::values ? "dict_values"
                                                     : "dict_items";
    }
    return jinja_kind_name(value.kind);
}

bool append_jinja_text(JinjaRun& run, const JinjaValue& value, JinjaTextBuilder& out) {
    if (value.is(JinjaKind::string)) return out.append(value);
    if (value.is(JinjaKind::undefined)) return true;
    return append_new_repr(run, value, out);
}

bool jinja_to_text(JinjaRun& run, const JinjaValue& value, JinjaValue& out) {
    if (value.is(JinjaKind::string)) {
        out = value;
        return true;
    }
    JinjaTextBuilder builder(run);
    return append_jinja_text(run, value, builder) && builder.finish(out);
}

bool append_jinja_repr(JinjaRun& run, const JinjaValue& value, JinjaTextBuilder& out) {
    const JinjaRun::Level level(run);
    if (!level || !run.step()) return false;
    const bool is_trusted = value.is_trusted;
    switch (value.kind) {
        case JinjaKind::missing:
        case JinjaKind::undefined: return out.append("Undefined", true);
        case JinjaKind::none: return out.append("None", is_trusted);
        case JinjaKind::boolean: return out.append(value.integer != 0 ? "True" : "False", is_trusted);
        case JinjaKind::integer: return out.append(text(value.integer), is_trusted);
        case JinjaKind::real: return out.append(python_real_text(value.real), is_trusted);
        case JinjaKind::string: return append_text_repr(run, value, out);
        case JinjaKind::list:
        case JinjaKind::tuple: return append_elements(run, value, out);
        case JinjaKind::dict: return append_entries(run, value.dict->entries, value.dict->count, is_trusted, out);
        case JinjaKind::view: return append_view(run, value, out);
        case JinjaKind::range: {
            const JinjaRange& range = *value.range;
            const std::string step = range.step == 1 ? std::string() : text(", ", range.step);
            return out.append(text("range(", range.start, ", ", range.stop, step, ")"), is_trusted);
        }
        case JinjaKind::name_space:
            return out.append("<Namespace ", is_trusted) &&
                   append_entries(run, value.name_space->entries, value.name_space->count, is_trusted, out) &&
                   out.append(">", is_trusted);
        case JinjaKind::macro: {
            const std::string& name = value.macro->definition->name;
            return out.append(name.empty() ? "<Macro anonymous>" : text("<Macro '", name, "'>"), is_trusted);
        }
        case JinjaKind::loop: {
            std::int64_t length = 0;
            if (!jinja_loop_length(run, *value.loop, length)) return false;
            return out.append(text("<LoopContext ", value.loop->index0 + 1, "/", length, ">"), is_trusted);
        }
        case JinjaKind::generator:
            return out.append(text("<generator object ", value.generator->name, ">"), is_trusted);
        case JinjaKind::function: return out.append(text("<function ", value.function->name, ">"), is_trusted);
        case JinjaKind::method: return out.append(text("<method ", value.method->builtin->name, ">"), is_trusted);
        case JinjaKind::cycler: return out.append("<Cycler>", is_trusted);
        case JinjaKind::joiner: return out.append("<Joiner>", is_trusted);
    }
    return false;
}

}  // namespace mixtura
