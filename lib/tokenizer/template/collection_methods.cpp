// Methods of everything that is not text.  Those that would change a value are not here: the sandbox forbids them.
#include <cmath>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/loop.hpp"
#include "tokenizer/template/print.hpp"

namespace mixtura {
namespace {

bool view_of(const JinjaValue& dict, JinjaViewKind view, JinjaValue& out) {
    out = dict;
    out.kind = JinjaKind::view;
    out.view = view;
    return true;
}
bool dict_items(JinjaRun&, const JinjaValue* a, JinjaValue& out) { return view_of(a[0], JinjaViewKind::items, out); }
bool dict_keys(JinjaRun&, const JinjaValue* a, JinjaValue& out) { return view_of(a[0], JinjaViewKind::keys, out); }
bool dict_values(JinjaRun&, const JinjaValue* a, JinjaValue& out) { return view_of(a[0], JinjaViewKind::values, out); }

bool dict_get(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!is_jinja_key(a[1])) return run.fail(jinja_type_name(a[1]), " cannot be the key of a dict");
    const JinjaEntry* entry = find_in_jinja_dict(*a[0].dict, a[1]);
    if (entry != nullptr)
        out = entry->value;
    else
        out = is_given(a[2]) ? a[2] : jinja_none(a[0].is_trusted);
    return true;
}

bool copy(JinjaRun&, const JinjaValue* a, JinjaValue& out) {  // nothing can change either, so they may be one
    out = a[0];
    return true;
}

bool element_count(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaIterator iterator;
    std::int64_t found = 0;
    if (!iterator.start(run, a[0])) return false;
    for (JinjaValue element; iterator.next(run, element);) {
        bool is_equal = false;
        if (!jinja_equal(run, element, a[1], is_equal)) return false;
        found += is_equal ? 1 : 0;
    }
    out = jinja_integer(found, a[0].is_trusted && a[1].is_trusted);
    return run.failure().is_ok();
}

bool element_index(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t start = 0, stop = 0, place = 0;
    const std::int64_t length = *jinja_length(a[0]);
    stop = length;
    if (!want_integer(run, a[2], "the start", start) || !want_integer(run, a[3], "the stop", stop)) return false;
    if (start < 0) start = std::max<std::int64_t>(start + length, 0);
    if (stop < 0) stop += length;
    JinjaIterator iterator;
    if (!iterator.start(run, a[0])) return false;
    for (JinjaValue element; place < stop && iterator.next(run, element); ++place) {
        bool is_equal = false;
        if (place >= start && !jinja_equal(run, element, a[1], is_equal)) return false;
        if (!is_equal) continue;
        out = jinja_integer(place, a[0].is_trusted && a[1].is_trusted);
        return true;
    }
    return run.failure().is_ok() && run.fail("the ", jinja_type_name(a[0]), " does not hold this value");
}

bool bit_length(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    std::uint64_t magnitude =
        a[0].integer < 0 ? -static_cast<std::uint64_t>(a[0].integer) : static_cast<std::uint64_t>(a[0].integer);
    std::int64_t bits = 0;
    for (; magnitude != 0; magnitude /= 2) ++bits;
    out = jinja_integer(bits, a[0].is_trusted);
    return true;
}
bool is_integer(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    out = jinja_boolean(std::isfinite(a[0].real) && a[0].real == std::floor(a[0].real), a[0].is_trusted);
    return true;
}

bool cycler_next(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    JinjaCycler& cycler = *a[0].cycler;
    out = cycler.items.list->items[cycler.items.offset + cycler.position];
    cycler.position = (cycler.position + 1) % cycler.items.size;
    return true;
}
bool cycler_reset(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    a[0].cycler->position = 0;
    out = jinja_none();
    return true;
}

bool loop_cycle(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaValue& out) {
    if (arguments.positional.empty() || !arguments.named.empty())
        return run.fail("'cycle' needs at least one value, all without names");
    out = arguments.positional[static_cast<std::size_t>(self.loop->index0) % arguments.positional.size()];
    return true;
}
bool loop_changed(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaValue& out) {
    if (!arguments.named.empty()) return run.fail("'changed' takes no arguments with names");
    JinjaListBuilder list(run);
    JinjaValue values;
    for (const JinjaValue& value : arguments.positional) {
        if (!list.push(value)) return false;
    }
    bool is_same = false;
    if (!list.finish(JinjaKind::tuple, self.loop->is_trusted, values)) return false;
    if (!self.loop->last_changed.is(JinjaKind::missing) && !jinja_equal(run, self.loop->last_changed, values, is_same))
        return false;
    if (!is_same) self.loop->last_changed = values;
    out = jinja_boolean(!is_same, self.loop->is_trusted);
    return true;
}

constexpr JinjaBuiltin kDict[] = {
    {"items", dict_items},
    {"keys", dict_keys},
    {"values", dict_values},
    {"copy", copy},
    {"get", dict_get, nullptr, {"key", "default"}, 1, true},
};
constexpr JinjaBuiltin kSequence[] = {
    {"count", element_count, nullptr, {"value"}, 1, true},
    {"index", element_index, nullptr, {"value", "start", "stop"}, 1, true},
    {"copy", copy},  // of lists only: the last row
};
constexpr JinjaBuiltin kInteger[] = {{"bit_length", bit_length}, {"conjugate", copy}};
constexpr JinjaBuiltin kReal[] = {{"is_integer", is_integer}, {"conjugate", copy}};
constexpr JinjaBuiltin kCycler[] = {{"next", cycler_next}, {"reset", cycler_reset}};
constexpr JinjaBuiltin kLoop[] = {{"cycle", nullptr, loop_cycle}, {"changed", nullptr, loop_changed}};

}  // namespace

std::span<const JinjaBuiltin> jinja_collection_methods(JinjaKind kind) {
    switch (kind) {
        case JinjaKind::dict: return kDict;
        case JinjaKind::list: return kSequence;
        case JinjaKind::tuple:
        case JinjaKind::range: return std::span(kSequence).first(2);
        case JinjaKind::integer: return kInteger;
        case JinjaKind::real: return kReal;
        case JinjaKind::cycler: return kCycler;
        case JinjaKind::loop: return kLoop;
        default: return {};
    }
}

}  // namespace mixtura
