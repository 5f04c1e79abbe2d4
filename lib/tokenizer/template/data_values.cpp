#include "tokenizer/template/data_values.hpp"

#include <algorithm>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

bool value_of(JinjaRun& run, JsonValue json, JinjaValue& out);

bool list_of(JinjaRun& run, JsonValue json, JinjaValue& out) {
    JinjaListBuilder list(run);
    for (const JsonValue element : json.elements()) {
        JinjaValue value;
        if (!value_of(run, element, value) || !list.push(value)) return false;
    }
    return list.finish(JinjaKind::list, false, out);
}

bool dict_of(JinjaRun& run, JsonValue json, JinjaValue& out) {
    auto* entries = run.make<JinjaEntry>(json.size());
    if (entries == nullptr) return false;
    std::size_t count = 0;
    for (const auto [key, member] : json.members()) {
        if (!jinja_borrow(run, key, false, entries[count].key) || !value_of(run, member, entries[count].value))
            return false;
        ++count;
    }
    return make_jinja_dict(run, entries, count, false, out);
}

bool value_of(JinjaRun& run, JsonValue json, JinjaValue& out) {
    const JinjaRun::Level level(run);
    if (!level || !run.step()) return false;
    switch (json.kind()) {
        case JsonKind::null: out = jinja_none(false); return true;
        case JsonKind::boolean: out = jinja_boolean(*json.as_boolean(), false); return true;
        case JsonKind::integer: out = jinja_integer(*json.as_integer(), false); return true;
        case JsonKind::real: out = jinja_real(*json.as_real(), false); return true;
        case JsonKind::string: return jinja_borrow(run, *json.as_string(), false, out);
        case JsonKind::array: return list_of(run, json, out);
        case JsonKind::object: return dict_of(run, json, out);
    }
    return false;
}

// Takes the roles the caller vouches for out of the data.
bool trust_roles(JinjaRun& run, const JinjaValue& messages, std::span<const std::string> trusted_roles) {
    for (std::uint32_t i = 0; i < messages.size; ++i) {
        const JinjaValue& message = messages.list->items[messages.offset + i];
        if (!message.is(JinjaKind::dict)) continue;
        for (std::uint32_t entry = 0; entry < message.dict->count; ++entry) {
            JinjaEntry& member = message.dict->entries[entry];
            if (!member.value.is(JinjaKind::string) || jinja_text(member.key) != "role") continue;
            const auto known = std::find(trusted_roles.begin(), trusted_roles.end(), jinja_text(member.value));
            if (known != trusted_roles.end() && !jinja_borrow(run, *known, true, member.value)) return false;
        }
    }
    return true;
}

}  // namespace

bool jinja_variables_of(JinjaRun& run, JsonValue root, std::span<const std::string> trusted_roles,
                        std::vector<JinjaNamedValue>& variables) {
    for (const auto [name, member] : root.members()) {
        JinjaNamedValue& variable = variables.emplace_back();
        variable.name = name;
        variable.is_name_trusted = false;
        if (!value_of(run, member, variable.value)) return false;
        const bool has_roles = name == "messages" && variable.value.is(JinjaKind::list) && !trusted_roles.empty();
        if (has_roles && !trust_roles(run, variable.value, trusted_roles)) return false;
    }
    return true;
}

}  // namespace mixtura
