// A roofline chart as one HTML file that loads nothing from elsewhere: rates over operations per byte, beneath what
// memory and arithmetic of this machine allow.
#pragma once

#include <mixtura/machine.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace mixtura::cli {

struct RooflinePoint {
    std::string series;  // points of one series share a colour and a line
    std::string label;   // "8 tokens an expert"
    double ops_per_byte = 0;
    double ops_per_s = 0;
    double share = 0;  // of the limit
};

// `title` and labels may hold any text.
std::string roofline_html(std::string_view title, const MachineRates& rates, const std::vector<RooflinePoint>& points);

}  // namespace mixtura::cli
