// Filters that compare elements: sort, unique, min, max, groupby, dictsort; and sum.
#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/attribute_path.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/operators.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text.hpp"
#include "tokenizer/template/text_parts.hpp"

namespace mixtura {
namespace {

bool is_option(const JinjaValue& argument) { return is_given(argument) && is_jinja_true(argument); }

// Elements and the keys they are compared by.
struct Keyed {
    explicit Keyed(JinjaRun& run) : elements(run), keys(run) {}
    JinjaListBuilder elements;
    JinjaListBuilder keys;

    bool collect(JinjaRun& run, const JinjaValue& iterable, const JinjaAttributePath& path, const JinjaValue& fallback,
                 bool is_case_sensitive) {
        if (!collect_jinja_elements(run, iterable, elements)) return false;
        for (std::uint32_t i = 0; i < elements.size(); ++i) {
            JinjaValue key;
            if (!jinja_sort_key(run, path, elements[i], fallback, is_case_sensitive, key) || !keys.push(key))
                return false;
        }
        return true;
    }
    bool sort(JinjaRun& run, bool is_descending) {
        return elements.size() < 2 || sort_jinja_values(run, &keys[0], &elements[0], elements.size(), is_descending);
    }
};

bool is_trusted_structure(const JinjaValue& value) {
    return value.is(JinjaKind::string) ? is_wholly_trusted(value) : value.is_trusted;
}

// sort(attribute='a,b'): by the first, then by the next.
bool sort(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::vector<JinjaAttributePath> paths;
    if (is_given_and_not_none(a[3]) && a[3].is(JinjaKind::string)) {
        JinjaValue comma, names;
        if (!jinja_borrow(run, ",", true, comma) || !split_jinja_text(run, a[3], comma, -1, false, names)) return false;
        for (std::uint32_t i = 0; i < names.size; ++i) {
            if (!paths.emplace_back().parse(run, names.list->items[names.offset + i])) return false;
        }
    } else if (!paths.emplace_back().parse(run, a[3])) {
        return false;
    }
    Keyed keyed(run);
    if (!collect_jinja_elements(run, a[0], keyed.elements)) return false;
    for (std::uint32_t i = 0; i < keyed.elements.size(); ++i) {
        JinjaListBuilder parts(run);
        JinjaValue key;
        for (const JinjaAttributePath& path : paths) {
            if (!jinja_sort_key(run, path, keyed.elements[i], JinjaValue(), is_option(a[2]), key) || !parts.push(key))
                return false;
        }
        if (!parts.finish(JinjaKind::list, false, key) || !keyed.keys.push(key)) return false;
    }
    return keyed.sort(run, is_option(a[1])) && keyed.elements.finish(JinjaKind::list, is_trusted_structure(a[0]), out);
}

bool unique(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaAttributePath path;
    Keyed keyed(run);
    if (!path.parse(run, a[2]) || !keyed.collect(run, a[0], path, JinjaValue(), is_option(a[1]))) return false;
    // A dict of the keys tells which are one; the first element of each is kept.
    const std::uint32_t count = keyed.elements.size();
    auto* entries = run.make<JinjaEntry>(count);
    auto* was_seen = run.make<bool>(count);
    JinjaListBuilder kept(run);
    JinjaValue keys;
    if (entries == nullptr || was_seen == nullptr) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (!is_jinja_key(keyed.keys[i]))
            return run.fail("'unique' cannot tell ", jinja_type_name(keyed.keys[i]), " values apart");
        entries[i].key = keyed.keys[i];
    }
    if (!make_jinja_dict(run, entries, count, false, keys)) return false;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::ptrdiff_t place = find_in_jinja_dict(*keys.dict, keyed.keys[i]) - keys.dict->entries;
        if (was_seen[place]) continue;
        was_seen[place] = true;
        if (!run.step() || !kept.push(keyed.elements[i])) return false;
    }
    return kept.finish_generator("unique", is_trusted_structure(a[0]), out);
}

bool extreme(JinjaRun& run, const JinjaValue* a, JinjaOperator op, JinjaValue& out) {
    JinjaAttributePath path;
    Keyed keyed(run);
    if (!path.parse(run, a[2]) || !keyed.collect(run, a[0], path, JinjaValue(), is_option(a[1]))) return false;
    if (keyed.elements.size() == 0) {
        return make_jinja_undefined(run, JinjaUndefined::Reason::hint, JinjaKind::list,
                                    "there is no least or greatest item, the sequence is empty", out);
    }
    std::uint32_t best = 0;
    for (std::uint32_t i = 1; i < keyed.elements.size(); ++i) {
        bool is_better = false;
        if (!jinja_ordered(run, op, keyed.keys[i], keyed.keys[best], is_better)) return false;
        if (is_better) best = i;
    }
    out = keyed.elements[best];
    return true;
}
bool least(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return extreme(run, a, JinjaOperator::less, out); }
bool greatest(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    return extreme(run, a, JinjaOperator::greater, out);
}

bool sum(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaAttributePath path;
    JinjaIterator iterator;
    if (!path.parse(run, a[1]) || !iterator.start(run, a[0])) return false;
    out = is_given(a[2]) ? a[2] : jinja_integer(0, true);
    if (out.is(JinjaKind::string)) return run.fail("'sum' does not add text, 'join' does");
    for (JinjaValue element; iterator.next(run, element);) {
        JinjaValue found, total;
        if (!path.find(run, element, JinjaValue(), found) ||
            !jinja_arithmetic(run, JinjaOperator::add, out, found, total))
            return false;
        out = total;
    }
    return run.failure().is_ok();
}

bool group_by(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaAttributePath path;
    Keyed keyed(run);
    JinjaListBuilder groups(run);
    if (!path.parse(run, a[1]) || !keyed.collect(run, a[0], path, a[2], is_option(a[3])) || !keyed.sort(run, false))
        return false;
    for (std::uint32_t begin = 0; begin < keyed.elements.size();) {
        JinjaListBuilder members(run);
        JinjaValue grouper, list, group;
        bool is_same = true;
        std::uint32_t end = begin;
        while (is_same) {
            if (!members.push(keyed.elements[end++])) return false;
            is_same = end < keyed.elements.size();
            if (is_same && !jinja_equal(run, keyed.keys[begin], keyed.keys[end], is_same)) return false;
        }
        if (!path.find(run, keyed.elements[begin], a[2], grouper)) return false;
        if (!members.finish(JinjaKind::list, is_trusted_structure(a[0]), list) ||
            !make_jinja_pair(run, grouper, list, group))
            return false;
        group.is_group = true;
        if (!groups.push(group)) return false;
        begin = end;
    }
    return groups.finish(JinjaKind::list, is_trusted_structure(a[0]), out);
}

bool dict_sort(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!a[0].is(JinjaKind::dict)) return run.fail("'dictsort' needs a dict, found ", jinja_type_name(a[0]));
    bool by_value = false;
    if (is_given(a[2])) {
        if (!want_text(run, a[2], "'by'")) return false;
        by_value = jinja_text(a[2]) == "value";
        if (!by_value && jinja_text(a[2]) != "key")
            return run.fail("'by' must be 'key' or 'value', found ", quoted(jinja_text(a[2])));
    }
    JinjaAttributePath path;
    Keyed keyed(run);
    JinjaValue view = a[0];
    view.kind = JinjaKind::view;
    view.view = JinjaViewKind::items;
    if (!path.parse(run, jinja_integer(by_value ? 1 : 0, true)) ||
        !keyed.collect(run, view, path, JinjaValue(), is_option(a[1])))
        return false;
    return keyed.sort(run, is_option(a[3])) && keyed.elements.finish(JinjaKind::list, a[0].is_trusted, out);
}

constexpr JinjaBuiltin kFilters[] = {
    {"sort", sort, nullptr, {"reverse", "case_sensitive", "attribute"}, 0, false},
    {"unique", unique, nullptr, {"case_sensitive", "attribute"}, 0, false},
    {"min", least, nullptr, {"case_sensitive", "attribute"}, 0, false},
    {"max", greatest, nullptr, {"case_sensitive", "attribute"}, 0, false},
    {"sum", sum, nullptr, {"attribute", "start"}, 0, false},
    {"groupby", group_by, nullptr, {"attribute", "default", "case_sensitive"}, 1, false},
    {"dictsort", dict_sort, nullptr, {"case_sensitive", "by", "reverse"}, 0, false},
};

}  // namespace

std::span<const JinjaBuiltin> jinja_order_filters() { return kFilters; }

}  // namespace mixtura
