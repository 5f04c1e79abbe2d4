// What a template's author or user is told: one sentence with line and column, what was found and what was expected.
#include <mixtura/chat_template.hpp>

#include <catch2/catch.hpp>

using namespace mixtura;
using namespace std::string_view_literals;

namespace {

Status failure(std::string_view source, std::string_view json = "{}") {
    const Result<ChatTemplate> parsed = ChatTemplate::parse(source);
    if (!parsed) return parsed.status();
    TemplateInput input;
    input.json = json;
    const Result<RenderedPrompt> prompt = parsed->render(input);
    return prompt ? Status() : prompt.status();
}

std::string message(std::string_view source, std::string_view json = "{}") {
    return std::string(failure(source, json).message());
}

}  // namespace

TEST_CASE("a broken template is refused with the place and what was expected there", "[tokenizer][short]") {
    CHECK(message("{% for m in messages %}{{ m }}") ==
          "chat template line 1, column 31: the template ends, expected 'else' or 'endfor' for the 'for' of line 1");
    CHECK(message("a\n{% if x %}\n{% endfor %}") ==
          "chat template line 3, column 4: unknown tag 'endfor', expected 'elif', 'else' or 'endif' or a tag that "
          "opens a block");
    CHECK(message("x\n  {{ 1 | foo }}") == "chat template line 2, column 10: unknown filter 'foo'");
    CHECK(message("{{ 1 is foo }}") == "chat template line 1, column 6: unknown test 'foo'");
    CHECK(message("{{ 1 + }}") == "chat template line 1, column 8: found '}}', expected an expression");
    CHECK(message("{{ (1 }}") == "chat template line 1, column 7: unexpected '}', expected ')'");
    CHECK(message("{{ 'abc }}") == "chat template line 1, column 4: the string has no end, expected '");
    CHECK(message("{{ a b }}") == "chat template line 1, column 6: found 'b', expected '}}'");
    CHECK(message("{{ $ }}") == "chat template line 1, column 4: the character '$' has no meaning here");
    CHECK(message("{# never closed") == "chat template line 1, column 1: the comment has no end, expected '#}'");
    CHECK(message("{% raw %} x") == "chat template line 1, column 1: 'raw' has no end, expected '{% endraw %}'");
    CHECK(message("{% frobnicate %}") == "chat template line 1, column 4: unknown tag 'frobnicate'");
    CHECK(message("{% set true = 1 %}") == "chat template line 1, column 8: cannot assign to 'true'");
    CHECK(message("{% break %}") ==
          "chat template line 1, column 4: 'break' stands outside of any loop it could act on");
    CHECK(message("{% macro m(a, a) %}{% endmacro %}") ==
          "chat template line 1, column 15: the parameter 'a' is there twice");
    CHECK(message("{{ 99999999999999999999 }}") ==
          "chat template line 1, column 4: the number '99999999999999999999' does not fit 64 bits");
    CHECK(message("é{{ \xC3\xA9 | foo }}") ==
          "chat template line 1, column 9: unknown filter 'foo'");  // columns count characters
    CHECK(message("a\n\xFF") == "chat template line 2, column 1: the source is not UTF-8");
    CHECK(message("{{ x\0y }}"sv) == "chat template line 1, column 5: the character '\\x00' has no meaning here");
    CHECK(failure("{{ 1 + }}").code() == StatusCode::invalid_argument);
}

TEST_CASE("tags that need other files are not supported, and say so", "[tokenizer][short]") {
    for (const std::string_view tag :
         {"include 'x'", "import 'x' as y", "from 'x' import y", "extends 'x'", "block b", "autoescape true"}) {
        const Status status = failure("{% " + std::string(tag) + " %}");
        CHECK(status.code() == StatusCode::unsupported);
        CHECK(status.message().find("is not supported") != std::string_view::npos);
    }
}

TEST_CASE("a template's own refusal comes through in its words", "[tokenizer][short]") {
    const std::string_view source =
        "{% if messages[0].role != 'user' %}\n  {{ raise_exception('Only user first, not ' ~ messages[0].role) }}\n{% "
        "endif %}";
    const Status status = failure(source, R"({"messages": [{"role": "tool\u001b"}]})");
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(status.message() ==
          "chat template line 2, column 21: the template refuses this input: 'Only user first, not tool\\x1b'");
}

TEST_CASE("what a template cannot do with its input is told in its words", "[tokenizer][short]") {
    CHECK(message("{{ x.y }}") == "chat template line 1, column 5: 'x' is undefined");
    CHECK(message("{{ x.y.z }}", R"({"x": {}})") == "chat template line 1, column 7: dict has no attribute 'y'");
    CHECK(message("{{ x[3].z }}", R"({"x": []})") == "chat template line 1, column 8: list has no element 3");
    CHECK(message("{{ 'a' + x }}", R"({"x": null})") ==
          "chat template line 1, column 8: '+' does not take str and NoneType");
    CHECK(message("{{ 1 // 0 }}") == "chat template line 1, column 6: division by zero");
    CHECK(message("{{ 2 ** 64 }}") ==
          "chat template line 1, column 6: the result does not fit 64 bits, which integers have here");
    CHECK(failure("{{ 2 ** 64 }}").code() == StatusCode::out_of_range);
    CHECK(message("{{ x() }}", R"({"x": 1})") == "chat template line 1, column 5: int cannot be called");
    CHECK(message("{{ x.append(1) }}", R"({"x": []})") ==
          "chat template line 1, column 12: 'append' of list is forbidden: a template may not change values");
    CHECK(message("{{ x | replace('a') }}") == "chat template line 1, column 8: 'replace' needs the argument 'new'");
    CHECK(message("{{ x | trim(foo=1) }}") == "chat template line 1, column 8: 'trim' takes no argument named 'foo'");
    CHECK(message("{{ x | indent(1, 2, 3, 4) }}") ==
          "chat template line 1, column 8: 'indent' takes at most 3 arguments, found 4");
    CHECK(message("{% for a, b in [[1]] %}{% endfor %}") ==
          "chat template line 1, column 8: expected 2 values to take apart, found 1");
    CHECK(message("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}") ==
          "chat template line 1, column 35: macro 'm' takes at most 1 argument, found 2");
    CHECK(message("{{ [1, 'a'] | sort }}") == "chat template line 1, column 15: '<' does not compare str with int");
    CHECK(message("{% if 1 %}{{ 1 | foo }}{% endif %}") == "chat template line 1, column 18: unknown filter 'foo'");
    CHECK(message("{{ x | tojson }}") == "chat template line 1, column 8: Undefined has no form in JSON");
}

TEST_CASE("variables must be one JSON object", "[tokenizer][short]") {
    for (const std::string_view json :
         {"", "[]", "1", "{", "{\"a\": 1} x", "{\"a\": 1, \"a\": 2}", "{\"a\": \"\xFF\"}"}) {
        INFO(json);
        const Status status = failure("x", json);
        CHECK(status.code() == StatusCode::invalid_argument);
        CHECK(status.message().find("chat template's variables") != std::string_view::npos);
    }
}

TEST_CASE("a time that does not exist is refused", "[tokenizer][short]") {
    const ChatTemplate parsed = *ChatTemplate::parse("x");
    TemplateInput input;
    input.now = CivilTime{2026, 2, 29, 0, 0, 0, 0};
    CHECK(parsed.render(input).status().code() == StatusCode::invalid_argument);
}
