// Work, memory, output and recursion are bounded, whatever a template or its input asks for.
#include <mixtura/chat_template.hpp>

#include <catch2/catch.hpp>

#include "formats/json.hpp"
#include "support/files.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

Status outcome(std::string_view source, std::string_view json = "{}", const TemplateLimits& limits = {}) {
    const Result<ChatTemplate> parsed = ChatTemplate::parse(source);
    if (!parsed) return parsed.status();
    TemplateInput input;
    input.json = json;
    input.limits = limits;
    const Result<RenderedPrompt> prompt = parsed->render(input);
    return prompt ? Status() : prompt.status();
}

bool says(const Status& status, std::string_view words) {
    return status.message().find(words) != std::string_view::npos;
}

void check_stopped(std::string_view source, std::string_view words, std::string_view json = "{}",
                   const TemplateLimits& limits = {}) {
    INFO(source.substr(0, 200));
    const Status status = outcome(source, json, limits);
    INFO(status.message());
    CHECK(status.code() == StatusCode::budget_exceeded);
    CHECK(says(status, words));
    CHECK(says(status, "chat template line "));
}

std::string repeated(std::string_view part, std::size_t count) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += part;
    return out;
}

}  // namespace

TEST_CASE("a loop of a billion rounds is stopped by the budget of steps", "[tokenizer][short]") {
    const std::string text = read_file(golden("templates.json"));
    const JsonDocument fixture = *JsonDocument::parse(text, "templates.json");
    const std::string huge(*fixture.root().find("templates")->find("huge-loop")->as_string());
    for (const std::string& source :
         {huge,
          std::string(
              "{% for i in range(100000) %}{% for j in range(100000) %}{% set x = i + j %}{% endfor %}{% endfor %}")}) {
        CHECK(outcome(source).code() == StatusCode::budget_exceeded);
    }
}

TEST_CASE("every kind of work counts as steps", "[tokenizer][short]") {
    TemplateLimits few;
    few.steps_max = 20'000;
    const std::string long_text =
        "{\"s\": \"" + repeated("ab ", 20'000) + "\", \"l\": [" + repeated("1,", 9'999) + "1]}";
    for (const std::string_view body : {"s.split(' ')",
                                        "s.upper()",
                                        "s | replace('a', 'b')",
                                        "s.rfind('zz')",
                                        "'zz' in s",
                                        "s.count('a')",
                                        "s[::2]",
                                        "s | length",
                                        "l | sort",
                                        "l == l",
                                        "l | map('string') | list",
                                        "l + l",
                                        "l | tojson",
                                        "s | tojson",
                                        "l | unique | list",
                                        "l | sum",
                                        "s | wordcount",
                                        "s.splitlines()",
                                        "s.strip('ab ')",
                                        "l | join",
                                        "l",
                                        "s | list",
                                        "l | groupby(0) | list",
                                        "s ~ s",
                                        "s | urlencode",
                                        "s | e",
                                        "9 in l",
                                        "l.index(9)",
                                        "s.isalpha()",
                                        "s | title",
                                        "s.partition('q')"}) {
        const std::string source = "{% for i in range(100000) %}{% set y = " + std::string(body) + " %}{% endfor %}";
        check_stopped(source, "20000 steps", long_text, few);
    }
}

TEST_CASE("text and lists that double in every round end at the memory limit", "[tokenizer][short]") {
    TemplateLimits small;
    small.memory_bytes_max = 1 << 20;
    for (const std::string_view step :
         {"ns.x + ns.x", "ns.x ~ ns.x", "ns.x * 2", "[ns.x, ns.x] | join", "ns.x | replace('a', 'aa')",
          "'%s%s' % (ns.x, ns.x)", "'{0}{0}'.format(ns.x)"}) {
        check_stopped("{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = " + std::string(step) +
                          " %}{% endfor %}",
                      "bytes of memory", "{}", small);
    }
    for (const std::string_view step : {"ns.x + ns.x", "ns.x * 2", "[ns.x, ns.x] | sum(start=[])"}) {
        check_stopped("{% set ns = namespace(x=[1, 2]) %}{% for i in range(60) %}{% set ns.x = " + std::string(step) +
                          " %}{% endfor %}",
                      "bytes of memory", "{}", small);
    }
    for (const std::string_view value :
         {"'x' * 9000000000000000000", "[1] * 9000000000000000000", "'%9000000000d' % 1", "'%*d' % (9000000000, 1)",
          "'{:9000000000}'.format(1)", "'x'.center(9000000000)", "'x'.zfill(9000000000)", "'x' | center(9000000000)",
          "'a' | indent(9000000000)", "'\\t'.expandtabs(9000000000)", "[1] | batch(9000000000, 1) | list",
          "'x'.ljust(9000000000)", "range(100000) | list"}) {
        check_stopped("{{ " + std::string(value) + " }}", "bytes of memory", "{}", small);
    }
}

TEST_CASE("the prompt has a limit of its own", "[tokenizer][short]") {
    TemplateLimits limits;
    limits.output_bytes_max = 1000;
    check_stopped("{% for i in range(1000) %}ab{% endfor %}", "beyond 1000 bytes", "{}", limits);
    CHECK(outcome("{% for i in range(500) %}ab{% endfor %}", "{}", limits).is_ok());
    CHECK(outcome("{% set x %}{% for i in range(1000) %}ab{% endfor %}{% endset %}", "{}", limits).is_ok());
}

TEST_CASE("recursion ends at the depth limit, in macros, loops and nested values", "[tokenizer][short]") {
    for (const std::string_view source :
         {"{% macro f(n) %}{{ f(n + 1) }}{% endmacro %}{{ f(0) }}",
          "{% macro f(n) %}{{ [f([n]) | upper ~ 'x'] if n else '' }}{% endmacro %}{{ f(1) }}",
          "{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}",
          "{% macro f() %}{{ caller is defined }}{% call f() %}{% endcall %}{% endmacro %}{{ f() }}",
          "{% macro f(a=f()) %}{% endmacro %}{{ f() }}",
          "{% set ns = namespace(x=1) %}{% for i in range(2000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}",
          "{% set ns = namespace(x=1) %}{% for i in range(2000) %}{% set ns.x = {'a': ns.x} %}{% endfor %}{{ ns.x | "
          "tojson }}",
          "{% set ns = namespace(x=1, y=1) %}{% for i in range(2000) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] "
          "%}{% endfor %}{{ ns.x == ns.y }}",
          "{% set ns = namespace(x=1, y=1) %}{% for i in range(2000) %}{% set ns.x = [ns.x] %}{% set ns.y = [ns.y] "
          "%}{% endfor %}{{ ns.x < ns.y }}",
          "{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}"}) {
        check_stopped(source, "1000 levels");
    }
    // Tuples nested deeper than a key may be are no keys.
    const Status status = outcome(
        "{% set ns = namespace(x=1) %}{% for i in range(2000) %}{% set ns.x = (ns.x,) %}{% endfor %}{{ {ns.x: 1} }}");
    CHECK(says(status, "cannot be the key"));
}

TEST_CASE("a template nests at most a hundred levels, and is at most 256 KiB long", "[tokenizer][short]") {
    const auto nested = [](std::string_view open, std::string_view middle, std::string_view close, std::size_t count) {
        return repeated(open, count) + std::string(middle) + repeated(close, count);
    };
    for (const std::size_t count : {std::size_t{101}, std::size_t{20'000}}) {
        check_stopped("{{ " + nested("(", "1", ")", count) + " }}", "nests deeper than 100");
        check_stopped("{{ " + nested("[", "1", "]", count) + " }}", "nests deeper than 100");
        check_stopped("{{ " + nested("{1:", "1", "}", count) + " }}", "nests deeper than 100");
        check_stopped("{{ " + nested("not ", "1", "", count) + " }}", "nests deeper than 100");
        check_stopped("{{ " + nested("-", "1", "", count) + " }}", "nests deeper than 100");
        check_stopped("{{ " + nested("x[", "1", "]", count) + " }}", "nests deeper than 100");
        check_stopped("{{ " + nested("f(", "1", ")", count) + " }}", "nests deeper than 100");
        check_stopped("{{ " + nested("1 if 1 else ", "1", "", count) + " }}", "nests deeper than 100");
        check_stopped("{% set " + nested("(", "x", ")", count) + " = 1 %}", "nests deeper than 100");
        check_stopped(nested("{%if 1%}", "x", "{%endif%}", std::min<std::size_t>(count, 10'000)),
                      "nests deeper than 100");
    }
    check_stopped("{{ x" + repeated("|e", 300) + " }}", "deeper than 200");
    check_stopped("{{ x" + repeated(".e", 300) + " }}", "deeper than 200");
    CHECK(outcome("{{ " + nested("(", "1", ")", 90) + " }}").is_ok());
    CHECK(outcome("{{ 1" + repeated(" + 1", 20'000) + " }}").is_ok());  // a chain is no nesting
    CHECK(outcome("{% if 0 %}" + repeated("{% elif 0 %}", 5'000) + "{% endif %}").is_ok());
    const Status status = outcome(std::string(300'000, 'x'));
    CHECK(status.code() == StatusCode::invalid_argument);
    CHECK(says(status, "expected at most 262144"));
}

TEST_CASE("data nested deeper than JSON documents may be is refused before the template sees it",
          "[tokenizer][short]") {
    const std::string json = "{\"x\": " + repeated("[", 200) + repeated("]", 200) + "}";
    CHECK(outcome("{{ x }}", json).code() == StatusCode::invalid_argument);
}

TEST_CASE("text built up piece by piece takes memory in proportion to its length", "[tokenizer][short]") {
    TemplateLimits limits;
    limits.memory_bytes_max = 8 << 20;  // 20,000 pieces of 40 bytes: 0.8 MB of text, 8 GB if each round copied it
    CHECK(outcome("{% set ns = namespace(x='', l=[]) %}{% for i in range(20000) %}{% set ns.x = ns.x + "
                  "'0123456789012345678901234567890123456789' %}"
                  "{% set ns.l = ns.l + [i] %}{% endfor %}{{ ns.x | length }}{{ ns.l | length }}",
                  "{}", limits)
              .is_ok());
}
