#include "cli/forecast.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "cli/format.hpp"

using namespace mixtura;
using namespace mixtura::cli;

TEST_CASE("a forecast shows weights by node where there are several, and says nothing of one", "[examples][short]") {
    MemoryForecast forecast;
    forecast.weight_bytes = 5 << 20;
    nlohmann::ordered_json one;
    add_forecast(forecast, one);
    CHECK(one["memory"].count("nodes") == 0);
    CHECK(forecast_text(forecast).find("node") == std::string::npos);
    forecast.nodes = {{0, 3 << 20}, {2, 2 << 20}};
    nlohmann::ordered_json two;
    add_forecast(forecast, two);
    CHECK(two["memory"]["nodes"] ==
          nlohmann::ordered_json::parse(
              R"([{"node": 0, "weight_bytes": 3145728}, {"node": 2, "weight_bytes": 2097152}])"));
    const std::string text = forecast_text(forecast);
    const auto line = [&](const char* key) {
        const std::size_t at = text.find(key);
        REQUIRE(at != std::string::npos);
        return text.substr(at, text.find('\n', at) - at);
    };
    CHECK(line("weights on node 0").find(human_bytes(3 << 20)) != std::string::npos);
    CHECK(line("weights on node 2").find(human_bytes(2 << 20)) != std::string::npos);
}
