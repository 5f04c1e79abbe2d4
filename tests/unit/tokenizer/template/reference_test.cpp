// Renderings against Jinja2 itself, set up as Hugging Face does (tests/golden/make/make_templates.py and
// make_template_cases.py).
#include <mixtura/chat_template.hpp>

#include <catch2/catch.hpp>

#include "base/number.hpp"
#include "formats/json.hpp"
#include "support/files.hpp"
#include "support/json_text.hpp"

using namespace mixtura;
using namespace mixtura::test;

namespace {

struct Golden {
    explicit Golden(std::string_view name)
        : text(read_file(golden(name))), document(*JsonDocument::parse(text, name)), root(document.root()) {}
    std::string text;
    JsonDocument document;
    JsonValue root;
    std::string_view member(std::string_view key) const { return *root.find(key)->as_string(); }
};

Result<RenderedPrompt> render(std::string_view source, const TemplateInput& input) {
    const Result<ChatTemplate> parsed = ChatTemplate::parse(source);
    if (!parsed) return parsed.status();
    return parsed->render(input);
}

// "" where the rendering is what the reference says, else what differs.
std::string difference(const Result<RenderedPrompt>& rendered, JsonValue row) {
    if (const std::optional<JsonValue> failure = row.find("error")) {
        if (rendered)
            return "rendered '" + rendered->text() + "', the reference fails: " + std::string(*failure->as_string());
        return {};
    }
    const std::string_view expected = *row.find("text")->as_string();
    if (!rendered)
        return "failed: " + std::string(rendered.status().message()) + "; the reference renders '" +
               std::string(expected) + "'";
    if (rendered->text() != expected)
        return "rendered '" + rendered->text() + "', the reference '" + std::string(expected) + "'";
    return {};
}

}  // namespace

TEST_CASE("every chat template of the fixture renders every conversation as Jinja2 does", "[tokenizer][short]") {
    const Golden data("templates.json");
    TemplateInput input;
    input.now = *CivilTime::parse(data.member("now"));
    input.trusted = {{"bos_token", std::string(data.member("bos_token"))},
                     {"eos_token", std::string(data.member("eos_token"))}};
    std::size_t compared = 0;
    for (const JsonValue row : data.root.find("rendered")->elements()) {
        const std::string_view name = *row.find("template")->as_string();
        const std::string_view case_name = *row.find("case")->as_string();
        const std::string json = json_text(*data.root.find("cases")->find(case_name));
        input.json = json;
        INFO(name << " on " << case_name);
        CHECK(difference(render(*data.root.find("templates")->find(name)->as_string(), input), row) == "");
        ++compared;
    }
    CHECK(compared == 112);
}

TEST_CASE("thousands of small templates give what they give in Jinja2, or fail where they fail there",
          "[tokenizer][short]") {
    const Golden data("template_cases.json");
    const std::string json = json_text(*data.root.find("variables"));
    TemplateInput input;
    input.now = *CivilTime::parse(data.member("now"));
    input.json = json;
    std::size_t compared = 0;
    for (const JsonValue row : data.root.find("cases")->elements()) {
        const std::string_view source = *row.find("template")->as_string();
        const std::string found = difference(render(source, input), row);
        if (!found.empty()) {
            INFO(source);
            CHECK(found == "");
        }
        ++compared;
    }
    CHECK(compared > 5000);
}
