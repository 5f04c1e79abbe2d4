#include "cli/roofline.hpp"

#include <catch2/catch.hpp>
#include <string>

using namespace mixtura;
using namespace mixtura::cli;

namespace {

const MachineRates kRates{
    .thread_count = 2, .read_bytes_per_s = 27e9, .integer_ops_per_s = 680e9, .float_ops_per_s = 345e9};

std::size_t count(const std::string& text, std::string_view what) {
    std::size_t found = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) ++found;
    return found;
}

}  // namespace

TEST_CASE("a chart has a dot and a row for each point, and a line for each series", "[examples][short]") {
    const std::string page = roofline_html("run", kRates,
                                           {{"q4_k", "1 token", 3.5, 80e9, 0.85},
                                            {"q4_k", "32 tokens", 113, 500e9, 0.73},
                                            {"decode", "", 3.6, 70e9, 0.75}});
    CHECK(count(page, "<title>q4_k, ") == 2);
    CHECK(count(page, "<polyline") == 2);
    CHECK(count(page, "<tr><td>") == 3);
    CHECK(page.find("memory 27.0 GB/s") != std::string::npos);
    CHECK(page.find("8-bit integers 680 Gop/s") != std::string::npos);
    CHECK(page.find("f32 345 Gop/s") != std::string::npos);
    CHECK(page.find("prefers-color-scheme: dark") != std::string::npos);
}

TEST_CASE("a chart loads nothing and holds no number that is none, also without a point", "[examples][short]") {
    for (const auto& points :
         {std::vector<RooflinePoint>{}, std::vector<RooflinePoint>{{"a", "b", 1e-3, 1.0, 0}, {"c", "d", 1e7, 1e15, 1}},
          std::vector<RooflinePoint>{{"a", "b", 1, 1e9, 0}}}) {
        const std::string page = roofline_html("run", kRates, points);
        for (const char* word : {"http", "<script", "url(", "nan", "inf\""})
            CHECK(page.find(word) == std::string::npos);
        CHECK(page.size() > 1000);
    }
}

TEST_CASE("names in a chart cannot leave their place in the page", "[examples][short]") {
    const std::string page = roofline_html("</title><script>", kRates, {{"<b>&\"", "</svg>", 1, 1e9, 0.1}});
    CHECK(page.find("<script>") == std::string::npos);
    CHECK(page.find("<b>") == std::string::npos);
    CHECK(count(page, "</svg>") == 1);
    CHECK(page.find("&lt;b&gt;&amp;&quot;") != std::string::npos);
}
