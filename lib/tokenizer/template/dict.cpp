#include "tokenizer/template/dict.hpp"

#include <algorithm>
#include <cmath>

#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

constexpr std::uint32_t kSearchedMax = 8;  // entries that a plain search is fastest for
constexpr int kKeyNestingMax = 16;

bool is_key(const JinjaValue& value, int nesting) {
    switch (value.kind) {
        case JinjaKind::list:
        case JinjaKind::dict:
        case JinjaKind::view: return false;
        case JinjaKind::tuple:
            if (nesting == kKeyNestingMax) return false;
            for (std::uint32_t i = 0; i < value.size; ++i) {
                if (!is_key(value.list->items[value.offset + i], nesting + 1)) return false;
            }
            return true;
        default: return true;
    }
}

int rank(const JinjaValue& key) {
    switch (key.kind) {
        case JinjaKind::none: return 0;
        case JinjaKind::boolean:
        case JinjaKind::integer:
        case JinjaKind::real: return 1;
        case JinjaKind::string: return 2;
        case JinjaKind::tuple: return 3;
        default: return 4 + static_cast<int>(key.kind);
    }
}

int sign_of(bool is_less, bool is_greater) { return is_greater ? 1 : is_less ? -1 : 0; }

// A total order of keys in which exactly Python's equal keys are equal (NaNs count as one key behind all numbers).
int compare_keys(const JinjaValue& a, const JinjaValue& b) {
    if (const int ranks = rank(a) - rank(b); ranks != 0) return ranks;
    switch (a.kind) {
        case JinjaKind::none:
        case JinjaKind::undefined: return 0;
        case JinjaKind::boolean:
        case JinjaKind::integer:
        case JinjaKind::real: {
            const bool a_is_nan = a.is(JinjaKind::real) && std::isnan(a.real);
            const bool b_is_nan = b.is(JinjaKind::real) && std::isnan(b.real);
            return a_is_nan || b_is_nan ? sign_of(b_is_nan && !a_is_nan, a_is_nan && !b_is_nan)
                                        : compare_jinja_numbers(a, b);
        }
        case JinjaKind::string: return jinja_text(a).compare(jinja_text(b));
        case JinjaKind::tuple:
            for (std::uint32_t i = 0; i < std::min(a.size, b.size); ++i) {
                const int order = compare_keys(a.list->items[a.offset + i], b.list->items[b.offset + i]);
                if (order != 0) return order;
            }
            return sign_of(a.size<b.size, a.size> b.size);
        default: return sign_of(std::less<>()(a.dict, b.dict), std::less<>()(b.dict, a.dict));
    }
}

int compare_with_text(const JinjaValue& key, std::string_view text) {
    return key.is(JinjaKind::string) ? jinja_text(key).compare(text) : rank(key) - 2;
}

template <class Compare>
const JinjaEntry* find(const JinjaDict& dict, const Compare& compare) {
    if (dict.sorted == nullptr) {
        for (std::uint32_t i = 0; i < dict.count; ++i) {
            if (compare(dict.entries[i].key) == 0) return &dict.entries[i];
        }
        return nullptr;
    }
    const std::uint32_t* end = dict.sorted + dict.count;
    const std::uint32_t* found = std::partition_point<const std::uint32_t*>(
        dict.sorted, end, [&](std::uint32_t i) { return compare(dict.entries[i].key) < 0; });
    return found != end && compare(dict.entries[*found].key) == 0 ? &dict.entries[*found] : nullptr;
}

}  // namespace

bool is_jinja_key(const JinjaValue& value) { return is_key(value, 0); }

const JinjaEntry* find_in_jinja_dict(const JinjaDict& dict, const JinjaValue& key) {
    return find(dict, [&](const JinjaValue& other) { return compare_keys(other, key); });
}

const JinjaEntry* find_in_jinja_dict(const JinjaDict& dict, std::string_view key) {
    return find(dict, [&](const JinjaValue& other) { return compare_with_text(other, key); });
}

bool make_jinja_dict(JinjaRun& run, JinjaEntry* entries, std::size_t count, bool is_trusted, JinjaValue& out) {
    auto* dict = run.make<JinjaDict>();
    auto* order = run.make<std::uint32_t>(count);
    if (dict == nullptr || order == nullptr || !run.step(1 + count)) return false;
    for (std::size_t i = 0; i < count; ++i) order[i] = static_cast<std::uint32_t>(i);
    const auto is_before = [&](std::uint32_t a, std::uint32_t b) {
        const int keys = compare_keys(entries[a].key, entries[b].key);
        return keys != 0 ? keys < 0 : a < b;
    };
    std::sort(order, order + count, is_before);

    // Of equal keys the first keeps its place and takes the last value; the others are marked missing and squeezed out.
    bool has_duplicates = false;
    for (std::size_t i = 0; i < count;) {
        const std::size_t first = i++;
        while (i < count && compare_keys(entries[order[first]].key, entries[order[i]].key) == 0) ++i;
        if (i - first == 1) continue;
        has_duplicates = true;
        entries[order[first]].value = entries[order[i - 1]].value;
        for (std::size_t same = first + 1; same < i; ++same) entries[order[same]].key.kind = JinjaKind::missing;
    }
    dict->entries = entries;
    dict->count = static_cast<std::uint32_t>(count);
    if (has_duplicates) {
        const auto* end =
            std::remove_if(entries, entries + count, [](const JinjaEntry& e) { return e.key.is(JinjaKind::missing); });
        dict->count = static_cast<std::uint32_t>(end - entries);
        for (std::uint32_t i = 0; i < dict->count; ++i) order[i] = i;
        std::sort(order, order + dict->count, is_before);
    }
    if (dict->count > kSearchedMax) dict->sorted = order;
    out = JinjaValue();
    out.kind = JinjaKind::dict;
    out.is_trusted = is_trusted;
    out.dict = dict;
    return true;
}

bool make_jinja_key(JinjaRun& run, std::string_view name, bool is_trusted, JinjaValue& out) {
    return jinja_borrow(run, name, is_trusted, out);
}

const JinjaEntry* find_in_jinja_namespace(const JinjaNamespace& name_space, std::string_view name) {
    for (std::uint32_t i = 0; i < name_space.count; ++i) {
        if (compare_with_text(name_space.entries[i].key, name) == 0) return &name_space.entries[i];
    }
    return nullptr;
}

bool set_in_jinja_namespace(JinjaRun& run, JinjaNamespace& name_space, const JinjaValue& key, const JinjaValue& value) {
    if (!run.step(1 + name_space.count / 16)) return false;
    for (std::uint32_t i = 0; i < name_space.count; ++i) {
        if (compare_keys(name_space.entries[i].key, key) == 0) {
            name_space.entries[i].value = value;
            return true;
        }
    }
    if (name_space.count == name_space.capacity) {
        const std::uint32_t capacity = name_space.capacity * 2 + 4;
        auto* entries = run.make<JinjaEntry>(capacity);
        if (entries == nullptr) return false;
        std::copy_n(name_space.entries, name_space.count, entries);
        name_space.entries = entries;
        name_space.capacity = capacity;
    }
    name_space.entries[name_space.count++] = {key, value};
    return true;
}

}  // namespace mixtura
