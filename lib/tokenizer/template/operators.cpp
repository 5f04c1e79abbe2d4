#include "tokenizer/template/operators.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/format.hpp"
#include "tokenizer/template/html.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

std::string_view written(JinjaOperator op) {
    switch (op) {
        case JinjaOperator::add: return "+";
        case JinjaOperator::subtract: return "-";
        case JinjaOperator::multiply: return "*";
        case JinjaOperator::divide: return "/";
        case JinjaOperator::floor_divide: return "//";
        case JinjaOperator::modulo: return "%";
        default: return "**";
    }
}

bool too_large(JinjaRun& run) {
    return run.fail_as(StatusCode::out_of_range, "the result does not fit 64 bits, which integers have here");
}

// The floor of a / b and what is left over, which has the sign of b.
struct Division {
    std::int64_t quotient, remainder;
};
bool divide_down(JinjaRun& run, std::int64_t a, std::int64_t b, Division& out) {
    if (b == 0) return run.fail("division by zero");
    if (b == -1) {  // INT64_MIN / -1 has no answer, and its remainder traps on some processors
        out.remainder = 0;
        return !__builtin_sub_overflow(std::int64_t{0}, a, &out.quotient) || too_large(run);
    }
    out = {a / b, a % b};
    if (out.remainder != 0 && (out.remainder < 0) != (b < 0)) {
        --out.quotient;
        out.remainder += b;
    }
    return true;
}

bool raise(JinjaRun& run, std::int64_t base, std::int64_t exponent, bool is_trusted, JinjaValue& out) {
    if (exponent < 0) {
        if (base == 0) return run.fail("0 has no negative power");
        out = jinja_real(std::pow(static_cast<double>(base), static_cast<double>(exponent)), is_trusted);
        return true;
    }
    std::int64_t result = 1;
    for (; exponent > 0; exponent /= 2) {
        if (exponent % 2 != 0 && __builtin_mul_overflow(result, base, &result)) return too_large(run);
        if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) return too_large(run);
    }
    out = jinja_integer(result, is_trusted);
    return true;
}

bool integer_arithmetic(JinjaRun& run, JinjaOperator op, std::int64_t a, std::int64_t b, bool is_trusted,
                        JinjaValue& out) {
    std::int64_t result = 0;
    Division division{};
    switch (op) {
        case JinjaOperator::add:
            if (__builtin_add_overflow(a, b, &result)) return too_large(run);
            break;
        case JinjaOperator::subtract:
            if (__builtin_sub_overflow(a, b, &result)) return too_large(run);
            break;
        case JinjaOperator::multiply:
            if (__builtin_mul_overflow(a, b, &result)) return too_large(run);
            break;
        case JinjaOperator::floor_divide:
            if (!divide_down(run, a, b, division)) return false;
            result = division.quotient;
            break;
        case JinjaOperator::modulo:
            if (!divide_down(run, a, b == -1 ? 1 : b, division)) return false;
            result = division.remainder;
            break;
        case JinjaOperator::divide:
            if (b == 0) return run.fail("division by zero");
            out = jinja_real(static_cast<double>(a) / static_cast<double>(b), is_trusted);
            return true;
        default: return raise(run, a, b, is_trusted, out);
    }
    out = jinja_integer(result, is_trusted);
    return true;
}

bool real_arithmetic(JinjaRun& run, JinjaOperator op, double a, double b, bool is_trusted, JinjaValue& out) {
    double result = 0;
    switch (op) {
        case JinjaOperator::add: result = a + b; break;
        case JinjaOperator::subtract: result = a - b; break;
        case JinjaOperator::multiply: result = a * b; break;
        case JinjaOperator::divide:
            if (b == 0) return run.fail("division by zero");
            result = a / b;
            break;
        case JinjaOperator::floor_divide:
        case JinjaOperator::modulo: {
            if (b == 0) return run.fail("division by zero");
            double remainder = std::fmod(a, b);
            double quotient = (a - remainder) / b;
            if (remainder != 0 && (remainder < 0) != (b < 0)) {
                remainder += b;
                quotient -= 1;
            } else if (remainder == 0) {
                remainder = std::copysign(0.0, b);
            }
            if (quotient != 0) {
                const double floored = std::floor(quotient);
                quotient = quotient - floored > 0.5 ? floored + 1 : floored;
            } else {
                quotient = std::copysign(0.0, a / b);
            }
            result = op == JinjaOperator::modulo ? remainder : quotient;
            break;
        }
        default:
            if (a == 0 && b < 0) return run.fail("0 has no negative power");
            if (a < 0 && std::isfinite(b) && b != std::floor(b))
                return run.fail("a negative number has no real power with a fraction");
            result = std::pow(a, b);
            if (std::isinf(result) && std::isfinite(a) && std::isfinite(b))
                return run.fail("the result is beyond a double");
            break;
    }
    out = jinja_real(result, is_trusted);
    return true;
}

bool repeat(JinjaRun& run, const JinjaValue& sequence, const JinjaValue& times, JinjaValue& out) {
    const std::uint64_t count = times.integer < 0 ? 0 : static_cast<std::uint64_t>(times.integer);
    if (sequence.is(JinjaKind::string)) {
        JinjaTextBuilder builder(run);
        if (!builder.append_repeated(sequence, count) || !builder.finish(out)) return false;
        out.is_markup = sequence.is_markup;
        return true;
    }
    if (sequence.size > 0 && count > run.bytes_max() / sizeof(JinjaValue) / sequence.size) return run.out_of_memory();
    JinjaListBuilder list(run);
    for (std::uint64_t i = 0; sequence.size > 0 && i < count; ++i) {
        if (!run.step(sequence.size)) return false;
        for (std::uint32_t j = 0; j < sequence.size; ++j) {
            if (!list.push(sequence.list->items[sequence.offset + j])) return false;
        }
    }
    return list.finish(sequence.kind, sequence.is_trusted && times.is_trusted, out);
}

bool is_integral(const JinjaValue& value) { return value.is(JinjaKind::integer) || value.is(JinjaKind::boolean); }

bool is_repeatable(const JinjaValue& value) { return value.is(JinjaKind::string) || value.is_sequence(); }

}  // namespace

bool is_jinja_value_trusted(const JinjaValue& value) {
    return value.is(JinjaKind::string) ? is_wholly_trusted(value) : value.is_trusted;
}

bool jinja_arithmetic(JinjaRun& run, JinjaOperator op, const JinjaValue& left, const JinjaValue& right,
                      JinjaValue& out) {
    if (left.is_number() && right.is_number()) {
        const bool is_trusted = left.is_trusted && right.is_trusted;
        if (!left.is(JinjaKind::real) && !right.is(JinjaKind::real)) {
            return integer_arithmetic(run, op, left.integer, right.integer, is_trusted, out);
        }
        return real_arithmetic(run, op, jinja_number_as_real(left), jinja_number_as_real(right), is_trusted, out);
    }
    if (left.is(JinjaKind::string) && op == JinjaOperator::modulo) return format_jinja_percent(run, left, right, out);
    if (left.is(JinjaKind::undefined)) return fail_jinja_undefined(run, left);
    if (right.is(JinjaKind::undefined)) return fail_jinja_undefined(run, right);
    if (op == JinjaOperator::add && left.is(JinjaKind::string) && right.is(JinjaKind::string)) {
        if (left.is_markup == right.is_markup) return jinja_concatenate(run, left, right, out);
        JinjaValue escaped;
        if (!escape_jinja_html(run, left.is_markup ? right : left, escaped)) return false;
        return left.is_markup ? jinja_concatenate(run, left, escaped, out)
                              : jinja_concatenate(run, escaped, right, out);
    }
    if (op == JinjaOperator::add && left.is_sequence() && right.kind == left.kind)
        return join_jinja_lists(run, left, right, out);
    if (op == JinjaOperator::multiply && is_repeatable(left) && is_integral(right))
        return repeat(run, left, right, out);
    if (op == JinjaOperator::multiply && is_repeatable(right) && is_integral(left))
        return repeat(run, right, left, out);
    return run.fail("'", written(op), "' does not take ", jinja_type_name(left), " and ", jinja_type_name(right));
}

bool jinja_signed(JinjaRun& run, const JinjaValue& operand, bool is_negative, JinjaValue& out) {
    if (operand.is(JinjaKind::undefined)) return fail_jinja_undefined(run, operand);
    if (!operand.is_number())
        return run.fail("'", is_negative ? "-" : "+", "' does not take ", jinja_type_name(operand));
    if (operand.is(JinjaKind::real)) {
        out = jinja_real(is_negative ? -operand.real : operand.real, operand.is_trusted);
        return true;
    }
    std::int64_t result = operand.integer;
    if (is_negative && __builtin_sub_overflow(std::int64_t{0}, operand.integer, &result)) return too_large(run);
    out = jinja_integer(result, operand.is_trusted);
    return true;
}

}  // namespace mixtura
