// Filters that apply another filter or a test to each element: map, select, reject and their kin.
#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/attribute_path.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

bool map_attribute(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaListBuilder& list) {
    JinjaValue attribute, fallback;
    for (const JinjaNamedValue& named : arguments.named) {
        if (named.name == "attribute")
            attribute = named.value;
        else if (named.name == "default")
            fallback = named.value;
        else
            return run.fail("'map' takes no argument named ", quoted(named.name));
    }
    JinjaAttributePath path;
    JinjaIterator iterator;
    if (!path.parse(run, attribute) || !iterator.start(run, self)) return false;
    for (JinjaValue element; iterator.next(run, element);) {
        JinjaValue found;
        if (!path.find(run, element, fallback, found) || !list.push(found)) return false;
    }
    return run.failure().is_ok();
}

bool map_filter(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaListBuilder& list) {
    if (arguments.positional.empty()) return run.fail("'map' needs the name of a filter or the argument 'attribute'");
    if (!want_text(run, arguments.positional[0], "the name of a filter")) return false;
    const std::string_view name = jinja_text(arguments.positional[0]);
    const JinjaBuiltin* filter = find_jinja_filter(name);
    JinjaIterator iterator;
    if (!iterator.start(run, self)) return false;
    for (JinjaValue element; iterator.next(run, element);) {
        JinjaValue result;
        if (filter == nullptr) return run.fail("unknown filter ", quoted(name));
        const JinjaRun::Level level(run);  // map('map', 'map', …) nests
        if (!level ||
            !call_jinja_builtin(run, *filter, element, {arguments.positional.subspan(1), arguments.named}, result))
            return false;
        if (!list.push(result)) return false;
    }
    return run.failure().is_ok();
}

bool map(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaValue& out) {
    JinjaListBuilder list(run);
    if (is_jinja_true(self)) {
        bool has_attribute = false;
        for (const JinjaNamedValue& named : arguments.named) has_attribute = has_attribute || named.name == "attribute";
        const bool is_mapped = arguments.positional.empty() && has_attribute ? map_attribute(run, self, arguments, list)
                                                                             : map_filter(run, self, arguments, list);
        if (!is_mapped) return false;
    }
    return list.finish_generator("map", self.is_trusted, out);
}

// Elements for which the test (or, without one, the value itself) is `wanted`.
bool select_elements(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, bool by_attribute,
                     bool wanted, std::string_view name, JinjaValue& out) {
    JinjaListBuilder list(run);
    std::span<const JinjaValue> rest = arguments.positional;
    JinjaAttributePath path;
    if (is_jinja_true(self)) {
        if (by_attribute) {
            if (rest.empty()) return run.fail(quoted(name), " needs the name of an attribute");
            if (!path.parse(run, rest[0])) return false;
            rest = rest.subspan(1);
        }
        const JinjaBuiltin* test = nullptr;
        std::string_view test_name;
        if (!rest.empty()) {
            if (!want_text(run, rest[0], "the name of a test")) return false;
            test_name = jinja_text(rest[0]);
            test = find_jinja_test(test_name);
        }
        JinjaIterator iterator;
        if (!iterator.start(run, self)) return false;
        for (JinjaValue element; iterator.next(run, element);) {
            JinjaValue value, result;
            if (!path.find(run, element, JinjaValue(), value)) return false;
            if (rest.empty()) {
                result = value;
            } else {
                if (test == nullptr) return run.fail("unknown test ", quoted(test_name));
                if (!call_jinja_builtin(run, *test, value, {rest.subspan(1), arguments.named}, result)) return false;
            }
            if (is_jinja_true(result) == wanted && !list.push(element)) return false;
        }
        if (!run.failure().is_ok()) return false;
    }
    return list.finish_generator(name, false, out);
}
bool select(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaValue& out) {
    return select_elements(run, self, arguments, false, true, "select", out);
}
bool reject(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaValue& out) {
    return select_elements(run, self, arguments, false, false, "reject", out);
}
bool selectattr(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaValue& out) {
    return select_elements(run, self, arguments, true, true, "selectattr", out);
}
bool rejectattr(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments, JinjaValue& out) {
    return select_elements(run, self, arguments, true, false, "rejectattr", out);
}

constexpr JinjaBuiltin kFilters[] = {
    {"map", nullptr, map},
    {"select", nullptr, select},
    {"reject", nullptr, reject},
    {"selectattr", nullptr, selectattr},
    {"rejectattr", nullptr, rejectattr},
};

}  // namespace

std::span<const JinjaBuiltin> jinja_selection_filters() { return kFilters; }

}  // namespace mixtura
