// Methods of text about upper and lower case and kinds of characters.
#include "tokenizer/template/builtin.hpp"
#include "tokenizer/template/text_case.hpp"

namespace mixtura {
namespace {

template <JinjaCase kCase>
bool change(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    return change_jinja_case(run, a[0], kCase, out);
}

template <JinjaCharacterTest kTest>
bool test(JinjaRun& run, const JinjaValue* a, JinjaValue& out) {
    bool result = false;
    if (!test_jinja_characters(run, a[0], kTest, result)) return false;
    out = jinja_boolean(result, is_wholly_trusted(a[0]));
    return true;
}

constexpr JinjaBuiltin kMethods[] = {
    {"upper", change<JinjaCase::upper>},
    {"lower", change<JinjaCase::lower>},
    {"title", change<JinjaCase::title>},
    {"capitalize", change<JinjaCase::capitalized>},
    {"swapcase", change<JinjaCase::swapped>},
    {"casefold", change<JinjaCase::folded>},
    {"isalnum", test<JinjaCharacterTest::alphanumeric>},
    {"isalpha", test<JinjaCharacterTest::alpha>},
    {"isascii", test<JinjaCharacterTest::ascii>},
    {"isdecimal", test<JinjaCharacterTest::decimal>},
    {"isdigit", test<JinjaCharacterTest::digit>},
    {"isidentifier", test<JinjaCharacterTest::identifier>},
    {"islower", test<JinjaCharacterTest::lower>},
    {"isnumeric", test<JinjaCharacterTest::numeric>},
    {"isprintable", test<JinjaCharacterTest::printable>},
    {"isspace", test<JinjaCharacterTest::space>},
    {"istitle", test<JinjaCharacterTest::title>},
    {"isupper", test<JinjaCharacterTest::upper>},
};

}  // namespace

std::span<const JinjaBuiltin> jinja_case_methods() { return kMethods; }

}  // namespace mixtura
