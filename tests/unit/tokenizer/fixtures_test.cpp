// Ids and texts that the formats' own libraries gave (tests/golden/make/make_tokenizers.py,
// make_tokenizer_components.py).
#include <catch2/catch.hpp>

#include "unit/tokenizer/cases.hpp"

using namespace mixtura;
using namespace mixtura::test;

TEST_CASE("every golden string has the reference's ids and text, from each form of its vocabulary",
          "[tokenizer][short]") {
    for (const Fixture& fixture : fixtures()) {
        INFO(fixture.path);
        const Tokenizer tokenizer = open_tokenizer(fixture.path);
        const JsonDocument cases = golden_json("tokenizers/" + fixture.name + "/cases.json");
        CHECK(check_cases(tokenizer, cases.root().find("cases").value(), fixture.mode) >= 218);
    }
}

TEST_CASE("small vocabularies of every composition have the tokenizers library's ids and texts", "[tokenizer][short]") {
    const JsonDocument components = golden_json("tokenizers/components.json");
    const TemporaryFolder folder;
    std::size_t count = 0;
    for (const JsonValue entry : components.root().find("tokenizers")->elements()) {
        INFO(entry.find("name")->as_string().value());
        const std::string path = folder.write("tokenizer.json", entry.find("spec")->as_string().value());
        CHECK(check_cases(open_tokenizer(path), entry.find("cases").value(), AddedTokens::all) > 250);
        ++count;
    }
    CHECK(count == 12);
}
