// Filters on lists and everything else with elements.
#include <algorithm>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/attribute_path.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

bool is_structure_trusted(const JinjaValue& value) {
    return value.is(JinjaKind::string) ? is_wholly_trusted(value) : value.is_trusted;
}

bool to_list(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaListBuilder list(run);
    return collect_jinja_elements(run, a[0], list) && list.finish(JinjaKind::list, is_structure_trusted(a[0]), out);
}

bool no_element(JinjaRun& run, std::string_view why, JinjaValue& out) {
    return make_jinja_undefined(run, JinjaUndefined::Reason::hint, JinjaKind::list, why, out);
}

bool first(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaIterator iterator;
    if (!iterator.start(run, a[0])) return false;
    if (iterator.next(run, out)) return true;
    return run.failure().is_ok() && no_element(run, "there is no first item, the sequence is empty", out);
}

// In reverse order, for what Python can reverse: everything with a length.
bool reversed_elements(JinjaRun& run, const JinjaValue& value, JinjaListBuilder& list) {
    if (!collect_jinja_elements(run, value, list)) return false;
    for (std::uint32_t i = 0, j = list.size(); i + 1 < j; ++i) std::swap(list[i], list[--j]);
    return true;
}

bool last(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!jinja_length(a[0]))
        return run.fail("'last' does not take ", jinja_type_name(a[0]), ", which has no end to start from");
    if (a[0].is_sequence() && a[0].size > 0) {
        out = a[0].list->items[a[0].offset + a[0].size - 1];
        return true;
    }
    if (a[0].is(JinjaKind::string) && a[0].size > 0) {
        const std::size_t size = jinja_last_character(jinja_text(a[0])).size();
        out = jinja_slice(a[0], a[0].size - size, size);
        return true;
    }
    JinjaListBuilder list(run);
    if (!reversed_elements(run, a[0], list)) return false;
    if (list.size() == 0) return no_element(run, "there is no last item, the sequence is empty", out);
    out = list[0];
    return true;
}

bool reverse(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (a[0].is(JinjaKind::string))
        return jinja_slice_of(run, a[0], JinjaValue(), JinjaValue(), jinja_integer(-1, true), out);
    JinjaListBuilder list(run);
    if (!reversed_elements(run, a[0], list)) return false;
    if (a[0].is(JinjaKind::generator)) return list.finish(JinjaKind::list, a[0].is_trusted, out);
    return list.finish_generator("reversed", a[0].is_trusted, out);
}

bool join(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue separator;
    JinjaAttributePath path;
    JinjaIterator iterator;
    JinjaTextBuilder builder(run);
    if (is_given(a[1]) ? !jinja_to_text(run, a[1], separator) : !jinja_borrow(run, {}, true, separator)) return false;
    if (!path.parse(run, a[2]) || !iterator.start(run, a[0])) return false;
    bool is_first = true;
    for (JinjaValue element; iterator.next(run, element); is_first = false) {
        JinjaValue found;
        if (!path.find(run, element, JinjaValue(), found)) return false;
        if ((!is_first && !builder.append(separator)) || !append_jinja_text(run, found, builder)) return false;
    }
    return run.failure().is_ok() && builder.finish(out);
}

bool batch(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t size = 0;
    JinjaIterator iterator;
    JinjaListBuilder batches(run);
    JinjaListBuilder current(run);
    JinjaValue whole;
    if (!want_width(run, a[1], "the size of a batch", size) || !iterator.start(run, a[0])) return false;
    const bool is_trusted = is_structure_trusted(a[0]);
    for (JinjaValue element; iterator.next(run, element);) {
        if (current.size() == size) {
            if (!current.finish(JinjaKind::list, is_trusted, whole) || !batches.push(whole)) return false;
            current.clear();
        }
        if (!current.push(element)) return false;
    }
    if (!run.failure().is_ok()) return false;
    if (current.size() > 0) {
        while (is_given_and_not_none(a[2]) && current.size() < size) {
            if (!run.step() || !current.push(a[2])) return false;
        }
        if (!current.finish(JinjaKind::list, is_trusted, whole) || !batches.push(whole)) return false;
    }
    return batches.finish_generator("batch", is_trusted, out);
}

bool slice(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t count = 0;
    JinjaListBuilder elements(run);
    JinjaListBuilder slices(run);
    if (!want_width(run, a[1], "the number of slices", count) || !collect_jinja_elements(run, a[0], elements))
        return false;
    if (count == 0) return run.fail("the number of slices must not be 0");
    const std::int64_t per_slice = elements.size() / std::max<std::int64_t>(count, 1);
    const std::int64_t with_extra = elements.size() % std::max<std::int64_t>(count, 1);
    std::uint32_t next = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        JinjaListBuilder current(run);
        JinjaValue whole;
        for (std::int64_t left = per_slice + (i < with_extra ? 1 : 0); left > 0; --left) {
            if (!current.push(elements[next++])) return false;
        }
        if (is_given_and_not_none(a[2]) && i >= with_extra && !current.push(a[2])) return false;
        if (!run.step() || !current.finish(JinjaKind::list, is_structure_trusted(a[0]), whole) || !slices.push(whole))
            return false;
    }
    return slices.finish_generator("slice", is_structure_trusted(a[0]), out);
}

bool items(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaListBuilder list(run);
    if (!a[0].is(JinjaKind::undefined)) {
        if (!a[0].is(JinjaKind::dict)) return run.fail("'items' needs a dict, found ", jinja_type_name(a[0]));
        JinjaValue view = a[0];
        view.kind = JinjaKind::view;
        view.view = JinjaViewKind::items;
        if (!collect_jinja_elements(run, view, list)) return false;
    }
    return list.finish_generator("items", a[0].is_trusted, out);
}

constexpr JinjaBuiltin kFilters[] = {
    {"list", to_list},
    {"first", first},
    {"last", last},
    {"reverse", reverse},
    {"join", join, nullptr, {"d", "attribute"}, 0, false},
    {"batch", batch, nullptr, {"linecount", "fill_with"}, 1, false},
    {"slice", slice, nullptr, {"slices", "fill_with"}, 1, false},
    {"items", items},
};

}  // namespace

std::span<const JinjaBuiltin> jinja_sequence_filters() { return kFilters; }

}  // namespace mixtura
