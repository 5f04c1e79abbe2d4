// Elements: iterating, collecting, joining and slicing.
#include <algorithm>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

JinjaValue list_value(JinjaListStore* store, JinjaKind kind, bool is_trusted) {
    JinjaValue value;
    value.kind = kind;
    value.is_trusted = is_trusted;
    value.list = store;
    value.size = store->used;
    return value;
}

// A part of a slice as an index; false where it is neither an integer nor none.
bool slice_part(JinjaRun& run, const JinjaValue& part, std::optional<std::int64_t>& index) {
    if (part.is(JinjaKind::missing) || part.is(JinjaKind::none)) return true;
    if (!part.is(JinjaKind::integer) && !part.is(JinjaKind::boolean)) {
        return run.fail("a slice needs integers, found ", jinja_type_name(part));
    }
    index = part.integer;
    return true;
}

// Python's rules for what a slice of `length` elements takes: `count` of them from `start` in steps of `step`.
struct SliceRange {
    std::int64_t start = 0, stop = 0, step = 1, count = 0;
};
SliceRange slice_range(std::optional<std::int64_t> start, std::optional<std::int64_t> stop, std::int64_t step,
                       std::int64_t length) {
    const auto clamp = [&](std::int64_t index) {
        if (index < 0)
            index = index < -length ? -1 : index + length;
        else if (index >= length)
            index = step < 0 ? length - 1 : length;
        return index < 0 ? (step < 0 ? std::int64_t{-1} : std::int64_t{0}) : index;
    };
    SliceRange range;
    range.step = step;
    range.start = start ? clamp(*start) : step < 0 ? length - 1 : 0;
    range.stop = stop ? clamp(*stop) : step < 0 ? -1 : length;
    if (step > 0 && range.start < range.stop) range.count = (range.stop - range.start - 1) / step + 1;
    if (step < 0 && range.start > range.stop) range.count = (range.start - range.stop - 1) / -step + 1;
    return range;
}

// Wraps around instead of overflowing: only the stop of a slice that nothing ever reaches can.
std::int64_t element_of(const JinjaRange& range, std::int64_t index) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(range.start) +
                                     static_cast<std::uint64_t>(range.step) * static_cast<std::uint64_t>(index));
}

bool slice_text(JinjaRun& run, const JinjaValue& text, const SliceRange& range, JinjaValue& out) {
    const std::string_view bytes = jinja_text(text);
    if (!run.step_bytes(bytes.size())) return false;
    if (range.count <= 0) {
        out = jinja_slice(text, 0, 0);
        return true;
    }
    if (range.step == 1) {
        const std::size_t begin = jinja_character_offset(bytes, static_cast<std::size_t>(range.start));
        out = jinja_slice(text, begin,
                          jinja_character_offset(bytes.substr(begin), static_cast<std::size_t>(range.count)));
        return true;
    }
    const std::size_t length = jinja_character_count(bytes);
    auto* offsets = run.make<std::uint32_t>(length + 1);
    if (offsets == nullptr) return false;
    for (std::size_t i = 0, at = 0; i <= length; ++i) {
        offsets[i] = static_cast<std::uint32_t>(at);
        at += jinja_first_character(bytes.substr(at)).size();
    }
    JinjaTextBuilder builder(run);
    for (std::int64_t i = 0; i < range.count; ++i) {
        const std::size_t at = static_cast<std::size_t>(range.start + i * range.step);
        if (!builder.append(jinja_slice(text, offsets[at], offsets[at + 1] - offsets[at]))) return false;
    }
    if (!builder.finish(out)) return false;
    out.is_markup = text.is_markup;
    return true;
}

}  // namespace

bool is_jinja_iterable(const JinjaValue& value) {
    switch (value.kind) {
        case JinjaKind::undefined:
        case JinjaKind::string:
        case JinjaKind::list:
        case JinjaKind::tuple:
        case JinjaKind::dict:
        case JinjaKind::view:
        case JinjaKind::range:
        case JinjaKind::generator: return true;
        default: return false;
    }
}

std::optional<std::int64_t> jinja_length(const JinjaValue& value) {
    switch (value.kind) {
        case JinjaKind::undefined: return 0;
        case JinjaKind::string: return static_cast<std::int64_t>(jinja_character_count(jinja_text(value)));
        case JinjaKind::list:
        case JinjaKind::tuple: return value.size;
        case JinjaKind::dict:
        case JinjaKind::view: return value.dict->count;
        case JinjaKind::range: return value.range->count;
        default: return std::nullopt;
    }
}

bool JinjaIterator::start(JinjaRun& run, const JinjaValue& value) {
    source_ = value;
    at_ = 0;
    return is_jinja_iterable(value) || run.fail(jinja_type_name(value), " cannot be iterated over");
}

bool JinjaIterator::next(JinjaRun& run, JinjaValue& element) {
    switch (source_.kind) {
        case JinjaKind::string: {
            const std::string_view rest = jinja_text(source_).substr(at_);
            if (rest.empty()) return false;
            const std::size_t length = jinja_first_character(rest).size();
            element = jinja_slice(source_, at_, length);
            at_ += static_cast<std::uint32_t>(length);
            break;
        }
        case JinjaKind::list:
        case JinjaKind::tuple:
            if (at_ == source_.size) return false;
            element = source_.list->items[source_.offset + at_++];
            break;
        case JinjaKind::dict:
        case JinjaKind::view: {
            if (at_ == source_.dict->count) return false;
            const JinjaEntry& entry = source_.dict->entries[at_++];
            if (source_.is(JinjaKind::dict) || source_.view == JinjaViewKind::keys)
                element = entry.key;
            else if (source_.view == JinjaViewKind::values)
                element = entry.value;
            else if (!make_jinja_pair(run, entry.key, entry.value, element))
                return false;
            break;
        }
        case JinjaKind::range:
            if (at_ == source_.range->count) return false;
            element = jinja_integer(element_of(*source_.range, at_++), source_.is_trusted);
            break;
        case JinjaKind::generator:
            if (source_.generator->next == source_.generator->end) return false;
            element = source_.generator->list->items[source_.generator->next++];
            break;
        default: return false;
    }
    return run.step();
}

bool JinjaListBuilder::push(const JinjaValue& value) {
    if (store_ == nullptr || store_->used == store_->capacity) {
        const std::uint32_t used = size();
        const std::uint32_t capacity = used + used / 2 + 4;
        auto* items = run_.make<JinjaValue>(capacity);
        if (items == nullptr) return false;
        if (store_ == nullptr) {
            store_ = run_.make<JinjaListStore>();
            if (store_ == nullptr) return false;
        } else {
            std::copy_n(store_->items, used, items);
        }
        store_->items = items;
        store_->capacity = capacity;
    }
    store_->items[store_->used++] = value;
    return true;
}

bool JinjaListBuilder::finish(JinjaKind kind, bool is_trusted, JinjaValue& out) {
    if (store_ == nullptr) store_ = run_.make<JinjaListStore>();
    if (store_ == nullptr) return false;
    out = list_value(store_, kind, is_trusted);
    return true;
}

bool JinjaListBuilder::finish_generator(std::string_view name, bool is_trusted, JinjaValue& out) {
    JinjaValue list;
    auto* generator = run_.make<JinjaGenerator>();
    if (generator == nullptr || !finish(JinjaKind::list, is_trusted, list)) return false;
    generator->list = list.list;
    generator->end = list.size;
    generator->name = name;
    out = JinjaValue();
    out.kind = JinjaKind::generator;
    out.is_trusted = is_trusted;
    out.generator = generator;
    return true;
}

bool make_jinja_pair(JinjaRun& run, const JinjaValue& first, const JinjaValue& second, JinjaValue& out) {
    auto* store = run.make<JinjaListStore>();
    auto* items = run.make<JinjaValue>(2);
    if (store == nullptr || items == nullptr) return false;
    items[0] = first;
    items[1] = second;
    *store = {items, 2, 2};
    out = list_value(store, JinjaKind::tuple, true);
    return true;
}

bool collect_jinja_elements(JinjaRun& run, const JinjaValue& iterable, JinjaListBuilder& list) {
    JinjaIterator iterator;
    if (!iterator.start(run, iterable)) return false;
    for (JinjaValue element; iterator.next(run, element);) {
        if (!list.push(element)) return false;
    }
    return run.failure().is_ok();
}

bool join_jinja_lists(JinjaRun& run, const JinjaValue& left, const JinjaValue& right, JinjaValue& out) {
    const std::size_t size = std::size_t{left.size} + right.size;
    if (!run.step(1 + right.size)) return false;
    JinjaListStore* store = left.list;
    std::uint32_t offset = left.offset;
    // A list that ends its store grows in place: one built up element by element is copied about once, not each time.
    if (store->used != left.offset + left.size || store->capacity - store->used < right.size) {
        if (!run.step(1 + left.size)) return false;
        if (size > run.bytes_max() / sizeof(JinjaValue)) return run.out_of_memory();
        store = run.make<JinjaListStore>();
        const std::size_t capacity = size + size / 2 + 4;
        auto* items = run.make<JinjaValue>(capacity);
        if (store == nullptr || items == nullptr) return false;
        std::copy_n(left.list->items + left.offset, left.size, items);
        *store = {items, left.size, static_cast<std::uint32_t>(capacity)};
        offset = 0;
    }
    std::copy_n(right.list->items + right.offset, right.size, store->items + store->used);
    store->used += right.size;
    out = left;
    out.list = store;
    out.offset = offset;
    out.size = static_cast<std::uint32_t>(size);
    out.is_trusted = left.is_trusted && right.is_trusted;
    return true;
}

bool jinja_slice_of(JinjaRun& run, const JinjaValue& object, const JinjaValue& start, const JinjaValue& stop,
                    const JinjaValue& step, JinjaValue& out) {
    if (object.is(JinjaKind::undefined)) return fail_jinja_undefined(run, object);
    std::optional<std::int64_t> first, last, stride;
    if (!slice_part(run, start, first) || !slice_part(run, stop, last) || !slice_part(run, step, stride)) return false;
    if (stride == 0) return run.fail("the step of a slice cannot be 0");
    const bool is_sliceable = object.is(JinjaKind::string) || object.is_sequence() || object.is(JinjaKind::range);
    if (!is_sliceable) return run.fail(jinja_type_name(object), " cannot be sliced");
    // No step beyond the length differs from one of the length, and -2^63 has no opposite.
    const std::int64_t length = *jinja_length(object);
    const SliceRange range = slice_range(first, last, std::clamp(stride.value_or(1), -length - 1, length + 1), length);
    if (object.is(JinjaKind::string)) return slice_text(run, object, range, out);
    if (object.is(JinjaKind::range)) {
        auto* part = run.make<JinjaRange>();
        if (part == nullptr) return false;
        const JinjaRange steps{0, 0, object.range->step, 0};
        *part = {element_of(*object.range, range.start), element_of(*object.range, range.stop),
                 element_of(steps, range.step), range.count};
        out = object;
        out.range = part;
        return true;
    }
    if (!run.step()) return false;
    if (range.step == 1 || range.count <= 0) {
        out = object;
        out.offset += static_cast<std::uint32_t>(range.count <= 0 ? 0 : range.start);
        out.size = static_cast<std::uint32_t>(range.count);
        return true;
    }
    JinjaListBuilder list(run);
    for (std::int64_t i = 0; i < range.count; ++i) {
        if (!run.step() || !list.push(object.list->items[object.offset + range.start + i * range.step])) return false;
    }
    return list.finish(object.kind, object.is_trusted, out);
}

}  // namespace mixtura
