#include "tokenizer/template/compare.hpp"

#include <algorithm>
#include <cmath>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

int sign_of(bool is_less, bool is_greater) { return is_greater ? 1 : is_less ? -1 : 0; }

// Exact: a double of 2^63 or more is beyond every int64, one below that has an integer part which fits.
int compare_integer_with_real(std::int64_t integer, double real) {
    if (real >= 0x1p63) return -1;
    if (real < -0x1p63) return 1;
    const auto whole = static_cast<std::int64_t>(real);
    if (integer != whole) return sign_of(integer<whole, integer> whole);
    const double fraction = real - static_cast<double>(whole);
    return sign_of(fraction > 0, fraction < 0);
}

bool is_nan(const JinjaValue& value) { return value.is(JinjaKind::real) && std::isnan(value.real); }

bool equal_elements(JinjaRun& run, const JinjaValue& a, const JinjaValue& b, bool& result) {
    result = a.size == b.size;
    for (std::uint32_t i = 0; result && i < a.size; ++i) {
        if (!jinja_equal(run, a.list->items[a.offset + i], b.list->items[b.offset + i], result)) return false;
    }
    return true;
}

bool equal_dicts(JinjaRun& run, const JinjaDict& a, const JinjaDict& b, bool& result) {
    result = a.count == b.count;
    for (std::uint32_t i = 0; result && i < a.count; ++i) {
        const JinjaEntry* other = find_in_jinja_dict(b, a.entries[i].key);
        result = other != nullptr;
        if (result && !jinja_equal(run, a.entries[i].value, other->value, result)) return false;
    }
    return true;
}

bool fail_ordered(JinjaRun& run, JinjaOperator op, const JinjaValue& a, const JinjaValue& b) {
    const std::string_view written = op == JinjaOperator::less         ? "<"
                                     : op == JinjaOperator::less_equal ? "<="
                                     : op == JinjaOperator::greater    ? ">"
                                                                       : ">=";
    return run.fail("'", written, "' does not compare ", jinja_type_name(a), " with ", jinja_type_name(b));
}

bool holds(JinjaOperator op, int order) {
    switch (op) {
        case JinjaOperator::less: return order < 0;
        case JinjaOperator::less_equal: return order <= 0;
        case JinjaOperator::greater: return order > 0;
        default: return order >= 0;
    }
}

}  // namespace

bool is_jinja_true(const JinjaValue& value) {
    switch (value.kind) {
        case JinjaKind::missing:
        case JinjaKind::undefined:
        case JinjaKind::none: return false;
        case JinjaKind::boolean:
        case JinjaKind::integer: return value.integer != 0;
        case JinjaKind::real: return value.real != 0;
        case JinjaKind::string:
        case JinjaKind::list:
        case JinjaKind::tuple: return value.size != 0;
        case JinjaKind::dict:
        case JinjaKind::view: return value.dict->count != 0;
        case JinjaKind::range: return value.range->count != 0;
        default: return true;
    }
}

double jinja_number_as_real(const JinjaValue& number) {
    return number.is(JinjaKind::real) ? number.real : static_cast<double>(number.integer);
}

int compare_jinja_numbers(const JinjaValue& a, const JinjaValue& b) {
    const bool a_is_real = a.is(JinjaKind::real);
    const bool b_is_real = b.is(JinjaKind::real);
    if (a_is_real && b_is_real) return sign_of(a.real<b.real, a.real> b.real);
    if (a_is_real) return -compare_integer_with_real(b.integer, a.real);
    if (b_is_real) return compare_integer_with_real(a.integer, b.real);
    return sign_of(a.integer<b.integer, a.integer> b.integer);
}

bool is_same_jinja_object(const JinjaValue& a, const JinjaValue& b) {
    if (a.kind != b.kind) return false;
    switch (a.kind) {
        case JinjaKind::missing:
        case JinjaKind::none: return true;
        case JinjaKind::boolean:
        case JinjaKind::integer: return a.integer == b.integer;  // Python keeps small integers once; so do we, all
        case JinjaKind::real: return a.real == b.real;
        case JinjaKind::string: return jinja_text(a) == jinja_text(b) && a.is_markup == b.is_markup;
        case JinjaKind::list:
        case JinjaKind::tuple: return a.list == b.list && a.offset == b.offset && a.size == b.size;
        case JinjaKind::view: return false;
        default: return a.dict == b.dict;  // every other member is a pointer as well
    }
}

bool jinja_equal(JinjaRun& run, const JinjaValue& a, const JinjaValue& b, bool& result) {
    const JinjaRun::Level level(run);
    if (!level || !run.step()) return false;
    if (a.is_number() && b.is_number()) {
        result = !is_nan(a) && !is_nan(b) && compare_jinja_numbers(a, b) == 0;
        return true;
    }
    result = false;
    if (a.kind != b.kind) return true;
    switch (a.kind) {
        case JinjaKind::undefined: result = true; return true;
        case JinjaKind::string:
            if (a.size != b.size) return true;
            if (!run.step_bytes(a.size)) return false;
            result = jinja_text(a) == jinja_text(b);
            return true;
        case JinjaKind::list:
        case JinjaKind::tuple: return equal_elements(run, a, b, result);
        case JinjaKind::dict: return equal_dicts(run, *a.dict, *b.dict, result);
        case JinjaKind::range:
            result = a.range->count == b.range->count &&
                     (a.range->count == 0 ||
                      (a.range->start == b.range->start && (a.range->count == 1 || a.range->step == b.range->step)));
            return true;
        default: result = is_same_jinja_object(a, b); return true;
    }
}

bool jinja_ordered(JinjaRun& run, JinjaOperator op, const JinjaValue& a, const JinjaValue& b, bool& result) {
    const JinjaRun::Level level(run);
    if (!level || !run.step()) return false;
    if (a.is(JinjaKind::undefined)) return fail_jinja_undefined(run, a);
    if (b.is(JinjaKind::undefined)) return fail_jinja_undefined(run, b);
    if (a.is_number() && b.is_number()) {
        result = !is_nan(a) && !is_nan(b) && holds(op, compare_jinja_numbers(a, b));
        return true;
    }
    if (a.kind != b.kind) return fail_ordered(run, op, a, b);
    if (a.is(JinjaKind::string)) {
        if (!run.step_bytes(std::min(a.size, b.size))) return false;
        const int order = jinja_text(a).compare(jinja_text(b));  // the order of UTF-8 bytes is that of code points
        result = holds(op, order);
        return true;
    }
    if (!a.is_sequence()) return fail_ordered(run, op, a, b);
    for (std::uint32_t i = 0; i < std::min(a.size, b.size); ++i) {
        bool is_equal = false;
        const JinjaValue& x = a.list->items[a.offset + i];
        const JinjaValue& y = b.list->items[b.offset + i];
        if (!jinja_equal(run, x, y, is_equal)) return false;
        if (!is_equal) return jinja_ordered(run, op, x, y, result);
    }
    result = holds(op, sign_of(a.size<b.size, a.size> b.size));
    return true;
}

bool jinja_contains(JinjaRun& run, const JinjaValue& container, const JinjaValue& item, bool& result) {
    result = false;
    switch (container.kind) {
        case JinjaKind::string:
            if (item.is(JinjaKind::undefined))
                return run.fail("'in' needs text to look for in text, found an undefined value");
            if (!item.is(JinjaKind::string))
                return run.fail("'in' needs text to look for in text, found ", jinja_type_name(item));
            if (!run.step_bytes(container.size + item.size)) return false;
            result = find_jinja_text(jinja_text(container), jinja_text(item)) != std::string_view::npos;
            return true;
        case JinjaKind::dict:
            if (!is_jinja_key(item)) return run.fail(jinja_type_name(item), " cannot be the key of a dict");
            result = find_in_jinja_dict(*container.dict, item) != nullptr;
            return run.step();
        case JinjaKind::view:
            if (container.view == JinjaViewKind::keys && is_jinja_key(item)) {
                result = find_in_jinja_dict(*container.dict, item) != nullptr;
                return run.step();
            }
            break;
        default: break;
    }
    JinjaIterator iterator;
    if (!iterator.start(run, container)) return false;
    JinjaValue element;
    while (!result && iterator.next(run, element)) {
        if (!jinja_equal(run, element, item, result)) return false;
    }
    return run.failure().is_ok();
}

bool jinja_compare(JinjaRun& run, JinjaOperator op, const JinjaValue& a, const JinjaValue& b, bool& result) {
    switch (op) {
        case JinjaOperator::equal: return jinja_equal(run, a, b, result);
        case JinjaOperator::in: return jinja_contains(run, b, a, result);
        case JinjaOperator::not_equal:
            if (!jinja_equal(run, a, b, result)) return false;
            result = !result;
            return true;
        case JinjaOperator::not_in:
            if (!jinja_contains(run, b, a, result)) return false;
            result = !result;
            return true;
        default: return jinja_ordered(run, op, a, b, result);
    }
}

bool sort_jinja_values(JinjaRun& run, JinjaValue* keys, JinjaValue* items, std::size_t count, bool is_descending) {
    // Merges runs of 1, 2, 4 … elements: a comparison that fails ends it at once, which std::stable_sort cannot.
    auto* order = run.make<std::uint32_t>(count);
    auto* merged = run.make<std::uint32_t>(count);
    auto* copy = run.make<JinjaValue>(count);
    if (order == nullptr || merged == nullptr || copy == nullptr) return false;
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
    for (std::size_t width = 1; width < count; width *= 2) {
        for (std::size_t begin = 0; begin < count; begin += 2 * width) {
            std::size_t left = begin;
            const std::size_t middle = std::min(begin + width, count);
            std::size_t right = middle;
            const std::size_t end = std::min(begin + 2 * width, count);
            for (std::size_t at = begin; at < end; ++at) {
                bool takes_right = left == middle;
                if (!takes_right && right < end) {  // equal keys stay as they are, ascending or descending
                    const JinjaValue& a = keys[order[is_descending ? left : right]];
                    const JinjaValue& b = keys[order[is_descending ? right : left]];
                    if (!jinja_ordered(run, JinjaOperator::less, a, b, takes_right)) return false;
                }
                merged[at] = takes_right ? order[right++] : order[left++];
            }
        }
        std::swap(order, merged);
    }
    for (JinjaValue* values : {keys, items}) {
        for (std::size_t i = 0; i < count; ++i) copy[i] = values[order[i]];
        std::copy_n(copy, count, values);
    }
    return true;
}

}  // namespace mixtura
