// The part of `mixtura inspect` that says what loading the model and a context would take.
#pragma once

#include <mixtura/model.hpp>

#include <nlohmann/json.hpp>
#include <string>

namespace mixtura::cli {

// For people.  A model that this version cannot compute with gets one line that says why.
std::string forecast_text(const Result<MemoryForecast>& forecast);

// Adds "memory" to `out`: an object, or null with the reason in "memory_error".
void add_forecast(const Result<MemoryForecast>& forecast, nlohmann::ordered_json& out);

}  // namespace mixtura::cli
