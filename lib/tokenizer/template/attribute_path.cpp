#include "tokenizer/template/attribute_path.hpp"

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/python_number.hpp"
#include "tokenizer/template/text_case.hpp"

namespace mixtura {

bool JinjaAttributePath::parse(JinjaRun& run, const JinjaValue& attribute) {
    parts_.clear();
    if (!is_given_and_not_none(attribute)) return true;
    if (!attribute.is(JinjaKind::string)) {
        parts_.push_back(attribute);
        return true;
    }
    const std::string_view path = jinja_text(attribute);
    if (!run.step(1 + path.size())) return false;
    for (std::size_t begin = 0;;) {
        const std::size_t end = std::min(path.find('.', begin), path.size());
        const JinjaValue part = jinja_slice(attribute, begin, end - begin);
        bool is_number = false;
        std::int64_t index = 0;
        if (!test_jinja_characters(run, part, JinjaCharacterTest::digit, is_number)) return false;
        if (is_number && parse_python_integer(jinja_text(part), 10, index) == PythonNumber::valid)
            parts_.push_back(jinja_integer(index, true));
        else
            parts_.push_back(part);
        if (end == path.size()) return true;
        begin = end + 1;
    }
}

bool JinjaAttributePath::find(JinjaRun& run, const JinjaValue& element, const JinjaValue& fallback,
                              JinjaValue& out) const {
    out = element;
    for (const JinjaValue& part : parts_) {
        JinjaValue inner;
        if (!run.step() || !jinja_item(run, out, part, inner)) return false;
        out = inner;
        if (out.is(JinjaKind::undefined) && is_given_and_not_none(fallback)) out = fallback;
    }
    return true;
}

bool jinja_sort_key(JinjaRun& run, const JinjaAttributePath& path, const JinjaValue& element,
                    const JinjaValue& fallback, bool is_case_sensitive, JinjaValue& out) {
    JinjaValue found;
    if (!path.find(run, element, fallback, found)) return false;
    if (!is_case_sensitive && found.is(JinjaKind::string)) return change_jinja_case(run, found, JinjaCase::lower, out);
    out = found;
    return true;
}

}  // namespace mixtura
