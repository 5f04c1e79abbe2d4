// Functions every template can call.
#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/calendar.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

constexpr std::uint64_t kRangeMax = 100000;  // elements; the limit of Jinja's own sandbox

bool range(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    auto* range = run.make<JinjaRange>();
    if (range == nullptr) return false;
    std::int64_t first = 0, second = 0;
    if (!want_integer(run, a[0], "a bound of 'range'", first) || !want_integer(run, a[1], "a bound of 'range'", second))
        return false;
    range->start = is_given(a[1]) ? first : 0;
    range->stop = is_given(a[1]) ? second : first;
    if (!want_integer(run, a[2], "the step of 'range'", range->step)) return false;
    if (range->step == 0) return run.fail("the step of 'range' must not be 0");
    const auto start = static_cast<std::uint64_t>(range->start);
    const auto stop = static_cast<std::uint64_t>(range->stop);
    const auto step = static_cast<std::uint64_t>(range->step);
    std::uint64_t count = 0;
    if (range->step > 0 && range->start < range->stop) count = (stop - start - 1) / step + 1;
    if (range->step < 0 && range->start > range->stop) count = (start - stop - 1) / (0 - step) + 1;
    if (count > kRangeMax) {
        return run.fail_as(StatusCode::budget_exceeded, "a range of ", count, " elements is larger than ", kRangeMax,
                           ", the limit");
    }
    range->count = static_cast<std::int64_t>(count);
    out.kind = JinjaKind::range;
    out.is_trusted = a[0].is_trusted && (!is_given(a[1]) || a[1].is_trusted) && (!is_given(a[2]) || a[2].is_trusted);
    out.range = range;
    return true;
}

// What dict(…) and namespace(…) are made of: a dict or pairs, then arguments with names.
bool collect_entries(JinjaRun& run, const JinjaArguments& arguments, std::string_view name, JinjaValue& dict) {
    if (arguments.positional.size() > 1) return run.fail(quoted(name), " takes at most one argument without a name");
    JinjaListBuilder keys(run);
    JinjaListBuilder values(run);
    bool is_trusted = true;
    if (!arguments.positional.empty()) {
        JinjaValue pairs = arguments.positional[0];
        is_trusted = pairs.is_trusted;
        if (pairs.is(JinjaKind::dict)) {
            pairs.kind = JinjaKind::view;
            pairs.view = JinjaViewKind::items;
        }
        JinjaIterator iterator;
        if (!iterator.start(run, pairs)) return false;
        for (JinjaValue pair; iterator.next(run, pair);) {
            JinjaListBuilder parts(run);
            if (!collect_jinja_elements(run, pair, parts)) return false;
            if (parts.size() != 2) return run.fail(quoted(name), " needs pairs, found ", parts.size(), " values");
            if (!is_jinja_key(parts[0])) return run.fail(jinja_type_name(parts[0]), " cannot be the key of a dict");
            if (!keys.push(parts[0]) || !values.push(parts[1])) return false;
        }
        if (!run.failure().is_ok()) return false;
    }
    for (const JinjaNamedValue& named : arguments.named) {
        JinjaValue key;
        if (!jinja_borrow(run, named.name, named.is_name_trusted, key) || !keys.push(key) || !values.push(named.value))
            return false;
    }
    auto* entries = run.make<JinjaEntry>(keys.size());
    if (entries == nullptr) return false;
    for (std::uint32_t i = 0; i < keys.size(); ++i) entries[i] = {keys[i], values[i]};
    return make_jinja_dict(run, entries, keys.size(), is_trusted, dict);
}

bool dict(JinjaRun& run, const JinjaValue&, const JinjaArguments& arguments, JinjaValue& out) {
    return collect_entries(run, arguments, "dict", out);
}

bool name_space(JinjaRun& run, const JinjaValue&, const JinjaArguments& arguments, JinjaValue& out) {
    JinjaValue entries;
    auto* made = run.make<JinjaNamespace>();
    if (made == nullptr || !collect_entries(run, arguments, "namespace", entries)) return false;
    made->entries = entries.dict->entries;
    made->count = made->capacity = entries.dict->count;
    out.kind = JinjaKind::name_space;
    out.is_trusted = entries.is_trusted;
    out.name_space = made;
    return true;
}

bool cycler(JinjaRun& run, const JinjaValue&, const JinjaArguments& arguments, JinjaValue& out) {
    if (arguments.positional.empty() || !arguments.named.empty())
        return run.fail("'cycler' needs at least one value, all without names");
    JinjaListBuilder items(run);
    auto* made = run.make<JinjaCycler>();
    if (made == nullptr) return false;
    for (const JinjaValue& item : arguments.positional) {
        if (!items.push(item)) return false;
    }
    out.kind = JinjaKind::cycler;
    out.is_trusted = true;
    out.cycler = made;
    return items.finish(JinjaKind::tuple, true, made->items);
}

bool joiner(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    auto* made = run.make<JinjaJoiner>();
    if (made == nullptr) return false;
    made->separator = a[0];
    out.kind = JinjaKind::joiner;
    out.is_trusted = true;
    out.joiner = made;
    return is_given(a[0]) || jinja_borrow(run, ", ", true, made->separator);
}

bool raise_exception(JinjaRun& run, const JinjaValue* a, JinjaValue&) {
    JinjaValue words;
    return jinja_to_text(run, a[0], words) &&
           run.fail("the template refuses this input: ", quoted(jinja_text(words), 400));
}

bool strftime_now(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!want_text(run, a[0], "the format of 'strftime_now'")) return false;
    // The longest directive that is written with two bytes gives 24; a width of four digits is cut to 1024 bytes.
    if (!run.step_bytes(std::uint64_t{a[0].size} * 1024)) return false;
    return jinja_copy(run, format_civil_time(run.now(), jinja_text(a[0])), is_wholly_trusted(a[0]), out);
}

constexpr JinjaBuiltin kGlobals[] = {
    {"range", range, nullptr, {"start", "stop", "step"}, 1, true},
    {"dict", nullptr, dict},
    {"namespace", nullptr, name_space},
    {"cycler", nullptr, cycler},
    {"joiner", joiner, nullptr, {"sep"}, 0, false},
    {"raise_exception", raise_exception, nullptr, {"message"}, 1, false},
    {"strftime_now", strftime_now, nullptr, {"format"}, 1, false},
};

}  // namespace

std::span<const JinjaBuiltin> jinja_globals() { return kGlobals; }

}  // namespace mixtura
