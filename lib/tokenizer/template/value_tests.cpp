// Tests, what stands behind `is`.
#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/operators.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text_case.hpp"

namespace mixtura {
namespace {

bool answer(const JinjaValue* a, bool result, JinjaValue& out) {
    out = jinja_boolean(result, is_jinja_value_trusted(a[0]));
    return true;
}

template <JinjaKind kKind>
bool is_kind(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    return answer(a, a[0].is(kKind), out);
}

bool is_defined(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    return answer(a, !a[0].is(JinjaKind::undefined), out);
}
bool is_number(JinjaRun&, const JinjaValue* a, JinjaValue& out) { return answer(a, a[0].is_number(), out); }
bool is_true(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    return answer(a, a[0].is(JinjaKind::boolean) && a[0].integer != 0, out);
}
bool is_false(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    return answer(a, a[0].is(JinjaKind::boolean) && a[0].integer == 0, out);
}
bool is_iterable(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    return answer(a, is_jinja_iterable(a[0]) || a[0].is(JinjaKind::loop), out);
}
bool is_sequence(JinjaRun&, const JinjaValue* a, JinjaValue& out) {  // has a length and takes an index
    return answer(a,
                  a[0].is(JinjaKind::undefined) || a[0].is(JinjaKind::string) || a[0].is_sequence() ||
                      a[0].is(JinjaKind::dict) || a[0].is(JinjaKind::range),
                  out);
}
bool is_callable(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    const JinjaKind kind = a[0].kind;
    return answer(a,
                  kind == JinjaKind::macro || kind == JinjaKind::function || kind == JinjaKind::method ||
                      kind == JinjaKind::joiner || kind == JinjaKind::loop || kind == JinjaKind::undefined,
                  out);
}
bool is_escaped(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    return answer(a, a[0].is(JinjaKind::string) && a[0].is_markup, out);
}
bool is_same(JinjaRun&, const JinjaValue* a, JinjaValue& out) {
    return answer(a, is_same_jinja_object(a[0], a[1]), out);
}

template <JinjaCharacterTest kTest>
bool is_case(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    JinjaValue text;
    bool result = false;
    return jinja_to_text(run, a[0], text) && test_jinja_characters(run, text, kTest, result) && answer(a, result, out);
}

template <JinjaOperator kOperator>
bool compares(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    bool result = false;
    return jinja_compare(run, kOperator, a[0], a[1], result) && answer(a, result, out);
}

// value % divisor == remainder
bool leaves(JinjaRun& run, const JinjaValue& value, const JinjaValue& divisor, std::int64_t remainder,
            const JinjaValue* a, JinjaValue& out) {
    JinjaValue rest;
    bool result = false;
    return jinja_arithmetic(run, JinjaOperator::modulo, value, divisor, rest) &&
           jinja_equal(run, rest, jinja_integer(remainder, true), result) && answer(a, result, out);
}
bool is_odd(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    return leaves(run, a[0], jinja_integer(2, true), 1, a, out);
}
bool is_even(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    return leaves(run, a[0], jinja_integer(2, true), 0, a, out);
}
bool is_divisible(JinjaRun& run, const JinjaValue* a, JinjaValue& out) { return leaves(run, a[0], a[1], 0, a, out); }

bool is_filter(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!is_jinja_key(a[0])) return run.fail(jinja_type_name(a[0]), " is no name");
    return answer(a, a[0].is(JinjaKind::string) && find_jinja_filter(jinja_text(a[0])) != nullptr, out);
}
bool is_test(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    if (!is_jinja_key(a[0])) return run.fail(jinja_type_name(a[0]), " is no name");
    return answer(a, a[0].is(JinjaKind::string) && find_jinja_test(jinja_text(a[0])) != nullptr, out);
}

constexpr JinjaBuiltin kTests[] = {
    {"defined", is_defined},
    {"undefined", is_kind<JinjaKind::undefined>},
    {"none", is_kind<JinjaKind::none>},
    {"string", is_kind<JinjaKind::string>},
    {"mapping", is_kind<JinjaKind::dict>},
    {"iterable", is_iterable},
    {"sequence", is_sequence},
    {"number", is_number},
    {"integer", is_kind<JinjaKind::integer>},
    {"float", is_kind<JinjaKind::real>},
    {"boolean", is_kind<JinjaKind::boolean>},
    {"true", is_true},
    {"false", is_false},
    {"callable", is_callable},
    {"escaped", is_escaped},
    {"odd", is_odd},
    {"even", is_even},
    {"divisibleby", is_divisible, nullptr, {"num"}, 1, false},
    {"lower", is_case<JinjaCharacterTest::lower>},
    {"upper", is_case<JinjaCharacterTest::upper>},
    {"sameas", is_same, nullptr, {"other"}, 1, false},
    {"in", compares<JinjaOperator::in>, nullptr, {"seq"}, 1, false},
    {"filter", is_filter},
    {"test", is_test},
    {"==", compares<JinjaOperator::equal>, nullptr, {"other"}, 1, true},
    {"eq", compares<JinjaOperator::equal>, nullptr, {"other"}, 1, true},
    {"equalto", compares<JinjaOperator::equal>, nullptr, {"other"}, 1, true},
    {"!=", compares<JinjaOperator::not_equal>, nullptr, {"other"}, 1, true},
    {"ne", compares<JinjaOperator::not_equal>, nullptr, {"other"}, 1, true},
    {"<", compares<JinjaOperator::less>, nullptr, {"other"}, 1, true},
    {"lt", compares<JinjaOperator::less>, nullptr, {"other"}, 1, true},
    {"lessthan", compares<JinjaOperator::less>, nullptr, {"other"}, 1, true},
    {"<=", compares<JinjaOperator::less_equal>, nullptr, {"other"}, 1, true},
    {"le", compares<JinjaOperator::less_equal>, nullptr, {"other"}, 1, true},
    {">", compares<JinjaOperator::greater>, nullptr, {"other"}, 1, true},
    {"gt", compares<JinjaOperator::greater>, nullptr, {"other"}, 1, true},
    {"greaterthan", compares<JinjaOperator::greater>, nullptr, {"other"}, 1, true},
    {">=", compares<JinjaOperator::greater_equal>, nullptr, {"other"}, 1, true},
    {"ge", compares<JinjaOperator::greater_equal>, nullptr, {"other"}, 1, true},
};

}  // namespace

std::span<const JinjaBuiltin> jinja_tests() { return kTests; }

}  // namespace mixtura
