#include "cli/roofline.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "cli/format.hpp"

namespace mixtura::cli {
namespace {

constexpr double kWidth = 960, kHeight = 560, kLeft = 80, kRight = 24, kTop = 24, kBottom = 56;

// Colours by series, in the order they appear; each is readable on white and on near-black.
constexpr std::array<std::string_view, 8> kColours{"#2f7ed8", "#d9480f", "#2b8a3e", "#9c36b5",
                                                   "#b8860b", "#0b8fa0", "#c2255c", "#868e96"};

std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else
            out += c;
    }
    return out;
}

// Both axes are logarithmic and end at powers of ten.
struct Axes {
    double x_first = 0, x_last = 0, y_first = 0, y_last = 0;  // as logarithms

    double x(double value) const {
        return kLeft + (std::log10(value) - x_first) / (x_last - x_first) * (kWidth - kLeft - kRight);
    }
    double y(double value) const {
        return kHeight - kBottom - (std::log10(value) - y_first) / (y_last - y_first) * (kHeight - kTop - kBottom);
    }
};

Axes axes_for(const MachineRates& rates, const std::vector<RooflinePoint>& points) {
    const double ridge = rates.integer_ops_per_s / rates.read_bytes_per_s;
    const double top = std::max(rates.integer_ops_per_s, rates.float_ops_per_s);
    double x_low = std::min(1.0, ridge / 2), x_high = 10 * ridge, y_low = top / 100;
    for (const RooflinePoint& point : points) {
        x_low = std::min(x_low, point.ops_per_byte);
        x_high = std::max(x_high, point.ops_per_byte);
        y_low = std::min(y_low, point.ops_per_s);
    }
    return {std::floor(std::log10(x_low)), std::ceil(std::log10(x_high)), std::floor(std::log10(y_low)),
            std::ceil(std::log10(1.2 * top))};
}

std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
    return "<line x1=\"" + decimal(x1, 1) + "\" y1=\"" + decimal(y1, 1) + "\" x2=\"" + decimal(x2, 1) + "\" y2=\"" +
           decimal(y2, 1) + "\" class=\"" + std::string(style) + "\"/>\n";
}

std::string label(double x, double y, std::string_view style, std::string_view content) {
    return "<text x=\"" + decimal(x, 1) + "\" y=\"" + decimal(y, 1) + "\" class=\"" + std::string(style) + "\">" +
           escaped(content) + "</text>\n";
}

std::string grid(const Axes& axes) {
    std::string out;
    for (double power = axes.x_first; power <= axes.x_last; ++power) {
        const double value = std::pow(10, power), x = axes.x(value);
        out += line(x, kTop, x, kHeight - kBottom, "grid");
        out += label(x, kHeight - kBottom + 20, "middle", decimal(value, power < 0 ? static_cast<int>(-power) : 0));
    }
    for (double power = axes.y_first; power <= axes.y_last; ++power) {
        const double value = std::pow(10, power), y = axes.y(value), giga = value / 1e9;
        out += line(kLeft, y, kWidth - kRight, y, "grid");
        out += label(kLeft - 8, y + 4, "end", decimal(giga, giga < 1 ? static_cast<int>(9 - power) : 0));
    }
    out += label((kLeft + kWidth - kRight) / 2, kHeight - 12, "middle", "operations per byte read");
    return out + label(kLeft - 8, kTop - 8, "end", "Gop/s");
}

// The slope of memory up to each ridge, and the two flat roofs.
std::string roofs(const Axes& axes, const MachineRates& rates) {
    std::string out;
    const double left = std::pow(10, axes.x_first), right = std::pow(10, axes.x_last);
    const double floor = std::pow(10, axes.y_first);
    const double start = std::max(left, floor / rates.read_bytes_per_s);
    const double top = std::max(rates.integer_ops_per_s, rates.float_ops_per_s);
    const auto end = top / rates.read_bytes_per_s;
    out += line(axes.x(start), axes.y(start * rates.read_bytes_per_s), axes.x(end), axes.y(top), "roof");
    out += label(axes.x(start) + 12, axes.y(start * rates.read_bytes_per_s) - 16, "roofname",
                 "memory " + decimal(rates.read_bytes_per_s / 1e9, 1) + " GB/s");
    const auto flat = [&](double rate, const std::string& name, std::string_view style) {
        out += line(axes.x(rate / rates.read_bytes_per_s), axes.y(rate), axes.x(right), axes.y(rate), style);
        out +=
            label(axes.x(right) - 4, axes.y(rate) - 6, "roofname end", name + " " + decimal(rate / 1e9, 0) + " Gop/s");
    };
    flat(rates.integer_ops_per_s, "8-bit integers", "roof");
    flat(rates.float_ops_per_s, "f32", "roof dashed");
    return out;
}

std::vector<std::string> series_of(const std::vector<RooflinePoint>& points) {
    std::vector<std::string> names;
    for (const RooflinePoint& point : points) {
        if (std::find(names.begin(), names.end(), point.series) == names.end()) names.push_back(point.series);
    }
    return names;
}

std::string drawn(const Axes& axes, const std::vector<RooflinePoint>& points) {
    std::string out;
    const std::vector<std::string> names = series_of(points);
    for (std::size_t i = 0; i < names.size(); ++i) {
        const std::string colour(kColours[i % kColours.size()]);
        std::string path, dots;
        for (const RooflinePoint& point : points) {
            if (point.series != names[i] || point.ops_per_byte <= 0 || point.ops_per_s <= 0) continue;
            const std::string x = decimal(axes.x(point.ops_per_byte), 1), y = decimal(axes.y(point.ops_per_s), 1);
            path += (path.empty() ? "" : " ") + x + "," + y;
            dots += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"5\" fill=\"" + colour + "\"><title>" +
                    escaped(point.series + ", " + point.label) + ": " + decimal(point.ops_per_s / 1e9, 1) + " Gop/s, " +
                    decimal(100 * point.share, 0) + " % of the limit</title></circle>\n";
        }
        out += "<polyline points=\"" + path + "\" fill=\"none\" stroke=\"" + colour + "\" class=\"series\"/>\n" + dots;
        const double y = kHeight - kBottom - 16 - 18 * static_cast<double>(names.size() - 1 - i);
        out += "<circle cx=\"" + decimal(kWidth - 220, 0) + "\" cy=\"" + decimal(y - 4, 1) + "\" r=\"5\" fill=\"" +
               colour + "\"/>\n" + label(kWidth - 208, y, "", names[i]);
    }
    return out;
}

std::string table_of(const std::vector<RooflinePoint>& points) {
    std::string out =
        "<table><tr><th>what</th><th></th><th>operations per byte</th><th>Gop/s</th><th>of the limit</th></tr>\n";
    for (const RooflinePoint& point : points) {
        out += "<tr><td>" + escaped(point.series) + "</td><td>" + escaped(point.label) + "</td><td>" +
               decimal(point.ops_per_byte, 2) + "</td><td>" + decimal(point.ops_per_s / 1e9, 1) + "</td><td>" +
               decimal(100 * point.share, 0) + " %</td></tr>\n";
    }
    return out + "</table>\n";
}

constexpr std::string_view kStyle = R"(<style>
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --grid: #d8dee4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #14181d; --grid: #333b44; } }
body { background: var(--paper); color: var(--ink); font: 14px system-ui, sans-serif; max-width: 960px; margin: 2em auto; padding: 0 1em; }
svg { width: 100%; height: auto; }
svg text { fill: var(--ink); font-size: 13px; }
.middle { text-anchor: middle; } .end { text-anchor: end; }
.grid { stroke: var(--grid); } .roof { stroke: var(--ink); stroke-width: 2; } .dashed { stroke-dasharray: 6 4; }
.roofname { font-weight: 600; } .series { stroke-width: 1.5; opacity: 0.7; }
table { border-collapse: collapse; } td, th { padding: 2px 12px 2px 0; text-align: right; }
td:nth-child(-n+2), th:nth-child(-n+2) { text-align: left; } tr { border-bottom: 1px solid var(--grid); }
</style>
)";

}  // namespace

std::string roofline_html(std::string_view title, const MachineRates& rates, const std::vector<RooflinePoint>& points) {
    const Axes axes = axes_for(rates, points);
    std::string out = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" + escaped(title) +
                      "</title>\n" + std::string(kStyle) + "</head><body>\n<h1>" + escaped(title) + "</h1>\n<p>" +
                      std::to_string(rates.thread_count) +
                      " threads; all rates measured in one run. A point on a roof would be a perfect machine's.</p>\n";
    out += "<svg viewBox=\"0 0 " + decimal(kWidth, 0) + " " + decimal(kHeight, 0) +
           "\" role=\"img\" aria-label=\"roofline\">\n";
    out += grid(axes) + roofs(axes, rates) + drawn(axes, points);
    return out + "</svg>\n" + table_of(points) + "</body></html>\n";
}

}  // namespace mixtura::cli
