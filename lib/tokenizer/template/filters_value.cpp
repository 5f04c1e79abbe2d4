// Filters on single values.
#include <cmath>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/format.hpp"
#include "tokenizer/template/loop.hpp"
#include "tokenizer/template/operators.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/python_number.hpp"
#include "tokenizer/template/tojson.hpp"

namespace mixtura {
namespace {

bool default_value(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    const bool replaces_false = is_given(a[2]) && is_jinja_true(a[2]);
    if (!a[0].is(JinjaKind::undefined) && !(replaces_false && !is_jinja_true(a[0]))) {
        out = a[0];
        return true;
    }
    if (!is_given(a[1])) return jinja_borrow(run, {}, true, out);
    out = a[1];
    return true;
}

bool absolute(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (a[0].is(JinjaKind::undefined)) return fail_jinja_undefined(run, a[0]);
    if (!a[0].is_number()) return run.fail("'abs' needs a number, found ", jinja_type_name(a[0]));
    const bool is_negative = a[0].is(JinjaKind::real) ? std::signbit(a[0].real) : a[0].integer < 0;
    return jinja_signed(run, a[0], is_negative, out);
}

bool too_large(JinjaRun& run) {
    return run.fail_as(StatusCode::out_of_range, "the number does not fit 64 bits, which integers have here");
}

bool whole_part(JinjaRun& run, double real, bool is_trusted, JinjaValue& out) {
    if (!(std::fabs(real) < 0x1p63)) return too_large(run);
    out = jinja_integer(static_cast<std::int64_t>(real), is_trusted);
    return true;
}

bool to_integer(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t base = 10;
    if (a[0].is(JinjaKind::undefined)) return fail_jinja_undefined(run, a[0]);
    if (!want_integer(run, a[2], "the base", base)) return false;
    out = is_given(a[1]) ? a[1] : jinja_integer(0, true);
    if (a[0].is(JinjaKind::integer) || a[0].is(JinjaKind::boolean)) {
        out = jinja_integer(a[0].integer, a[0].is_trusted);
    } else if (a[0].is(JinjaKind::real)) {
        if (!std::isnan(a[0].real)) return whole_part(run, a[0].real, a[0].is_trusted, out);
    } else if (a[0].is(JinjaKind::string)) {
        const std::string_view text = jinja_text(a[0]);
        const bool is_trusted = is_wholly_trusted(a[0]);
        std::int64_t value = 0;
        if (!run.step_bytes(text.size())) return false;
        const PythonNumber parsed = parse_python_integer(text, base, value);
        if (parsed == PythonNumber::too_large) return too_large(run);
        if (parsed == PythonNumber::valid) {
            out = jinja_integer(value, is_trusted);
        } else if (const std::optional<double> real = parse_python_real(text); real && std::isfinite(*real)) {
            return whole_part(run, *real, is_trusted, out);
        }
    }
    return true;
}

bool to_real(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (a[0].is(JinjaKind::undefined)) return fail_jinja_undefined(run, a[0]);
    out = is_given(a[1]) ? a[1] : jinja_real(0, true);
    if (a[0].is_number()) {
        out = jinja_real(jinja_number_as_real(a[0]), a[0].is_trusted);
    } else if (a[0].is(JinjaKind::string)) {
        if (!run.step_bytes(a[0].size)) return false;
        if (const std::optional<double> real = parse_python_real(jinja_text(a[0])))
            out = jinja_real(*real, is_wholly_trusted(a[0]));
    }
    return true;
}

// To the nearest with so many decimals, half to even by the number's exact value.
double round_real(double value, std::int64_t precision) {
    if (!std::isfinite(value) || precision > 330) return value;
    if (precision < -330) return std::copysign(0.0, value);
    if (precision >= 0) {
        const double rounded = *parse_double(python_real_digits(std::fabs(value), 'f', precision));
        return std::copysign(rounded, value);
    }
    const double unit = std::pow(10.0, static_cast<double>(-precision));
    return std::nearbyint(value / unit) * unit;
}

std::int64_t round_integer(std::int64_t value, std::int64_t precision) {
    if (precision >= 0) return value;
    if (precision < -18) return 0;
    std::int64_t unit = 1;
    for (; precision < 0; ++precision) unit *= 10;
    const std::int64_t rest = value % unit;
    const std::int64_t magnitude = rest < 0 ? -rest : rest;
    const std::int64_t quotient = value / unit;
    const bool goes_up = magnitude > unit - magnitude || (magnitude == unit - magnitude && quotient % 2 != 0);
    std::int64_t rounded = value - rest;
    const std::int64_t step = goes_up ? (value < 0 ? -unit : unit) : 0;
    return __builtin_add_overflow(rounded, step, &rounded) ? value : rounded;
}

bool round(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t precision = 0;
    std::string_view method = "common";
    if (!want_integer(run, a[1], "the precision", precision)) return false;
    if (is_given(a[2])) {
        if (!want_text(run, a[2], "the method")) return false;
        method = jinja_text(a[2]);
    }
    if (method != "common" && method != "ceil" && method != "floor") {
        return run.fail("the method must be 'common', 'ceil' or 'floor', found ", quoted(method));
    }
    if (a[0].is(JinjaKind::undefined)) return fail_jinja_undefined(run, a[0]);
    if (!a[0].is_number()) return run.fail("'round' needs a number, found ", jinja_type_name(a[0]));
    if (method == "common") {
        out = a[0].is(JinjaKind::real) ? jinja_real(round_real(a[0].real, precision), a[0].is_trusted)
                                       : jinja_integer(round_integer(a[0].integer, precision), a[0].is_trusted);
        return true;
    }
    const double unit = std::pow(10.0, static_cast<double>(precision));
    const double scaled = jinja_number_as_real(a[0]) * unit;
    if (!std::isfinite(scaled) || unit == 0)
        return run.fail("'round' cannot round this number to ", precision, " digits");
    out = jinja_real((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / unit, a[0].is_trusted);
    return true;
}

bool length(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    std::int64_t count = 0;
    if (a[0].is(JinjaKind::string) && !run.step_bytes(a[0].size)) return false;
    if (a[0].is(JinjaKind::loop)) {
        if (!jinja_loop_length(run, *a[0].loop, count)) return false;
    } else if (const std::optional<std::int64_t> known = jinja_length(a[0])) {
        count = *known;
    } else {
        return run.fail(jinja_type_name(a[0]), " has no length");
    }
    out = jinja_integer(count, is_jinja_value_trusted(a[0]));
    return true;
}

bool attribute(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    bool was_found = false;
    if (!want_text(run, a[1], "the name of the attribute")) return false;
    if (!jinja_property(run, a[0], jinja_text(a[1]), out, was_found)) return false;
    return was_found || make_jinja_undefined(run, JinjaUndefined::Reason::attribute, a[0].kind, jinja_text(a[1]), out);
}

bool file_size(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue number;
    const JinjaValue argument[2] = {a[0], JinjaValue()};
    if (!to_real(run, argument, number)) return false;
    const bool is_binary = is_given(a[1]) && is_jinja_true(a[1]);
    const double base = is_binary ? 1024 : 1000;
    const bool is_trusted = number.is_trusted;
    if (number.real == 1) return jinja_copy(run, "1 Byte", is_trusted, out);
    if (number.real < base) {
        JinjaValue bytes;
        if (!whole_part(run, number.real, is_trusted, bytes)) return false;
        return jinja_copy(run, text(bytes.integer, " Bytes"), is_trusted, out);
    }
    static constexpr std::string_view kPrefixes = "kMGTPEZY";
    double unit = base;
    std::size_t prefix = 0;
    while (prefix + 1 < kPrefixes.size() && number.real >= unit * base) {
        unit *= base;
        ++prefix;
    }
    const char letter = is_binary && prefix == 0 ? 'K' : kPrefixes[prefix];
    return jinja_copy(run, text(format_fixed(number.real / unit, 1), " ", letter, is_binary ? "iB" : "B"), is_trusted,
                      out);
}

constexpr JinjaBuiltin kFilters[] = {
    {"default", default_value, nullptr, {"default_value", "boolean"}, 0, false},
    {"d", default_value, nullptr, {"default_value", "boolean"}, 0, false},
    {"tojson", jinja_tojson, nullptr, {"ensure_ascii", "indent", "separators", "sort_keys"}, 0, false},
    {"length", length},
    {"count", length},
    {"int", to_integer, nullptr, {"default", "base"}, 0, false},
    {"float", to_real, nullptr, {"default"}, 0, false},
    {"abs", absolute},
    {"round", round, nullptr, {"precision", "method"}, 0, false},
    {"attr", attribute, nullptr, {"name"}, 1, false},
    {"filesizeformat", file_size, nullptr, {"binary"}, 0, false},
};

}  // namespace

std::span<const JinjaBuiltin> jinja_value_filters() { return kFilters; }

}  // namespace mixtura
