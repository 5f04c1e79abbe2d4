// What a template can call by name: filters, tests, global functions and the methods of Python's types, each a row of a
// table with its parameters, so that arguments are bound in one place as Python binds them.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "tokenizer/template/run.hpp"

namespace mixtura {

struct JinjaNamedValue {
    std::string_view name;
    JinjaValue value;
    bool is_name_trusted = true;  // false where the name came out of a caller's dict
};

struct JinjaArguments {
    std::span<const JinjaValue> positional;
    std::span<const JinjaNamedValue> named;
};

struct JinjaBuiltin {
    static constexpr std::size_t kParametersMax = 6;

    // `arguments`: the value filtered, tested or called on (global functions have none), then one for each parameter,
    // kind missing where the call leaves it out.
    using Function = bool (*)(JinjaRun& run, const JinjaValue* arguments, JinjaValue& out);
    // For functions that take any number of arguments.
    using OpenFunction = bool (*)(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments,
                                  JinjaValue& out);

    std::string_view name;
    Function function = nullptr;
    OpenFunction open_function = nullptr;  // exactly one of the two
    std::array<std::string_view, kParametersMax> parameters{};
    std::uint32_t required = 0;       // leading parameters a call must give
    bool is_positional_only = false;  // Python's own methods mostly
};

// Null where there is none of that name.
const JinjaBuiltin* find_jinja_filter(std::string_view name);
const JinjaBuiltin* find_jinja_test(std::string_view name);
const JinjaBuiltin* find_jinja_global(std::string_view name);
const JinjaBuiltin* find_jinja_method(JinjaKind kind, std::string_view name);

// Binds the arguments and calls.  `self` is the value filtered, tested or called on; kind missing for global functions.
bool call_jinja_builtin(JinjaRun& run, const JinjaBuiltin& builtin, const JinjaValue& self,
                        const JinjaArguments& arguments, JinjaValue& out);

// The tables, by file.
std::span<const JinjaBuiltin> jinja_text_filters();
std::span<const JinjaBuiltin> jinja_html_filters();
std::span<const JinjaBuiltin> jinja_sequence_filters();
std::span<const JinjaBuiltin> jinja_selection_filters();
std::span<const JinjaBuiltin> jinja_order_filters();
std::span<const JinjaBuiltin> jinja_value_filters();
std::span<const JinjaBuiltin> jinja_tests();
std::span<const JinjaBuiltin> jinja_globals();
std::span<const JinjaBuiltin> jinja_text_methods();
std::span<const JinjaBuiltin> jinja_search_methods();
std::span<const JinjaBuiltin> jinja_case_methods();
std::span<const JinjaBuiltin> jinja_collection_methods(JinjaKind kind);

}  // namespace mixtura
