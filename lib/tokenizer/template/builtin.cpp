#include "tokenizer/template/builtin.hpp"

#include "base/text.hpp"

namespace mixtura {
namespace {

template <class... Tables>
const JinjaBuiltin* find_in(std::string_view name, const Tables&... tables) {
    const JinjaBuiltin* found = nullptr;
    const auto search = [&](std::span<const JinjaBuiltin> table) {
        for (const JinjaBuiltin& row : table) {
            if (row.name == name) {
                found = &row;
                return true;
            }
        }
        return false;
    };
    (search(tables) || ...);
    return found;
}

std::size_t parameter_count(const JinjaBuiltin& builtin) {
    std::size_t count = 0;
    while (count < JinjaBuiltin::kParametersMax && !builtin.parameters[count].empty()) ++count;
    return count;
}

}  // namespace

const JinjaBuiltin* find_jinja_filter(std::string_view name) {
    return find_in(name, jinja_text_filters(), jinja_value_filters(), jinja_sequence_filters(),
                   jinja_selection_filters(), jinja_order_filters(), jinja_html_filters());
}

const JinjaBuiltin* find_jinja_test(std::string_view name) { return find_in(name, jinja_tests()); }

const JinjaBuiltin* find_jinja_global(std::string_view name) { return find_in(name, jinja_globals()); }

const JinjaBuiltin* find_jinja_method(JinjaKind kind, std::string_view name) {
    if (kind == JinjaKind::string)
        return find_in(name, jinja_text_methods(), jinja_search_methods(), jinja_case_methods());
    return find_in(name, jinja_collection_methods(kind));
}

bool call_jinja_builtin(JinjaRun& run, const JinjaBuiltin& builtin, const JinjaValue& self,
                        const JinjaArguments& arguments, JinjaValue& out) {
    if (!run.step()) return false;
    if (builtin.open_function != nullptr) return builtin.open_function(run, self, arguments, out);

    const std::size_t count = parameter_count(builtin);
    const std::size_t first = self.is(JinjaKind::missing) ? 0 : 1;
    JinjaValue bound[JinjaBuiltin::kParametersMax + 1];
    if (first == 1) bound[0] = self;
    if (arguments.positional.size() > count) {
        return run.fail(quoted(builtin.name), " takes at most ", count,
                        count == 1 ? " argument, found " : " arguments, found ", arguments.positional.size());
    }
    for (std::size_t i = 0; i < arguments.positional.size(); ++i) bound[first + i] = arguments.positional[i];
    for (const JinjaNamedValue& named : arguments.named) {
        std::size_t i = 0;
        while (i < count && builtin.parameters[i] != named.name) ++i;
        if (i == count || builtin.is_positional_only) {
            return run.fail(quoted(builtin.name), " takes no argument named ", quoted(named.name));
        }
        if (!bound[first + i].is(JinjaKind::missing)) {
            return run.fail(quoted(builtin.name), " is given the argument ", quoted(named.name), " twice");
        }
        bound[first + i] = named.value;
    }
    for (std::size_t i = 0; i < builtin.required; ++i) {
        if (bound[first + i].is(JinjaKind::missing)) {
            return run.fail(quoted(builtin.name), " needs the argument ", quoted(builtin.parameters[i]));
        }
    }
    return builtin.function(run, bound, out);
}

}  // namespace mixtura
