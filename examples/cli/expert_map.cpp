#include "cli/expert_map.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string_view>

#include "cli/format.hpp"
#include "cli/output.hpp"

namespace mixtura::cli {
namespace {

// What a cell tells: its load by an even share of the layer's choices.
enum Heat : std::size_t { kNone, kUnderHalf, kUnderEven, kUpToTwice, kMore, kHeatCount };
constexpr std::array<std::string_view, kHeatCount> kMeanings{"none", "under half an even share", "under it",
                                                             "up to twice", "more"};
constexpr std::array<std::string_view, kHeatCount> kAscii{".", "-", "+", "*", "#"};
constexpr std::array<std::string_view, kHeatCount> kBlocks{"·", "░", "▒", "▓", "█"};
// 256-colour backgrounds from nearly black over blue and orange to yellow: the order survives in shades of grey too.
constexpr std::array<std::string_view, kHeatCount> kColours{"\x1b[48;5;234m", "\x1b[48;5;18m", "\x1b[48;5;61m",
                                                            "\x1b[48;5;172m", "\x1b[48;5;227m"};

Heat heat_of(double load, double even_share) {
    if (load <= 0) return kNone;
    if (load < even_share / 2) return kUnderHalf;
    if (load < even_share) return kUnderEven;
    return load <= 2 * even_share ? kUpToTwice : kMore;
}

std::string cell(Heat heat, MapInk ink, std::size_t width) {
    std::string out;
    if (ink == MapInk::colours) return std::string(kColours[heat]) + std::string(width, ' ') + "\x1b[0m";
    for (std::size_t i = 0; i < width; ++i) out += ink == MapInk::blocks ? kBlocks[heat] : kAscii[heat];
    return out;
}

std::string right(const std::string& text, std::size_t width) {
    return std::string(width - std::min(width, text.size()), ' ') + text;
}

std::int64_t sum_of(std::span<const std::int64_t> counts) {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

std::string busiest(std::span<const std::int64_t> counts) {
    const auto most = std::max_element(counts.begin(), counts.end());
    const std::int64_t all = sum_of(counts);
    if (all == 0) return "none chosen";
    return right(std::to_string(most - counts.begin()), 3) + " " +
           right(std::to_string((100 * *most + all / 2) / all), 3) + " %";
}

std::string numbers(const ExpertLoad& load, std::size_t experts) {
    const auto widest = [](const std::vector<std::int64_t>& layer) {
        return layer.empty() ? std::int64_t{0} : *std::max_element(layer.begin(), layer.end());
    };
    std::int64_t largest = static_cast<std::int64_t>(experts) - 1;
    for (const auto& layer : load.layers) largest = std::max(largest, widest(layer));
    const std::size_t width = std::to_string(largest).size() + 2;
    std::string out = "  layer";
    for (std::size_t e = 0; e < experts; ++e) out += right(std::to_string(e), width);
    out += '\n';
    for (std::size_t l = 0; l < load.layers.size(); ++l) {
        out += "  " + right(std::to_string(l), 5);
        for (const std::int64_t count : load.layers[l]) out += right(std::to_string(count), width);
        out += load.layers[l].empty() ? "  dense\n" : "\n";
    }
    return out;
}

std::string legend(MapInk ink) {
    std::string out = " ";
    for (std::size_t heat = 0; heat < kHeatCount; ++heat) {
        out += " " + cell(static_cast<Heat>(heat), ink, ink == MapInk::colours ? 2 : 1) + " " +
               std::string(kMeanings[heat]) + (heat + 1 < kHeatCount ? "," : "");
    }
    return out + "\n";
}

std::string heat_map(const ExpertLoad& load, std::size_t experts, const MapStyle& style) {
    constexpr std::size_t kMargins = 2 + 5 + 2 + 3 + 11;  // "  layer  " and "   none chosen"
    const std::size_t room = std::max<std::size_t>(style.columns, kMargins + 16) - kMargins;
    const std::size_t experts_a_cell = (experts + room - 1) / room,
                      cells = (experts + experts_a_cell - 1) / experts_a_cell;
    const std::size_t width = 2 * cells <= room ? 2 : 1;
    const std::string last = "to " + std::to_string(experts - 1);
    std::string out = "  layer  " + std::string("expert 0 ") + last;
    const std::size_t heading = 9 + last.size();
    out += std::string(cells * width > heading ? cells * width - heading : 0, ' ') + "   busiest\n";
    for (std::size_t l = 0; l < load.layers.size(); ++l) {
        const std::span<const std::int64_t> counts = load.layers[l];
        out += "  " + right(std::to_string(l), 5) + "  ";
        if (counts.empty()) {
            out += "dense\n";
            continue;
        }
        const double even_share = static_cast<double>(sum_of(counts)) / static_cast<double>(counts.size());
        std::size_t shown = 0;
        for (std::size_t first = 0; first < counts.size(); first += experts_a_cell, ++shown) {
            const auto part = counts.subspan(first, std::min(experts_a_cell, counts.size() - first));
            const double mean = static_cast<double>(sum_of(part)) / static_cast<double>(part.size());
            out += cell(heat_of(mean, even_share), style.ink, width);
        }
        out += std::string(std::max(cells * width, heading) - shown * width + 3, ' ') + busiest(counts) + "\n";
    }
    out += legend(style.ink);
    if (experts_a_cell > 1) {
        out += "  a cell is the mean of " + std::to_string(experts_a_cell) + " experts";
        if (const std::size_t rest = experts % experts_a_cell; rest > 0)
            out += ", the last one of " + std::to_string(rest);
        out += ": the terminal is too narrow for " + std::to_string(experts) + "\n";
    }
    return out;
}

bool is_set(const char* variable, std::string_view part) {
    const char* value = std::getenv(variable);
    return value != nullptr && std::string_view(value).find(part) != std::string_view::npos;
}

// The locale's character set as the three variables name it, the first that is set deciding.
bool is_utf8() {
    for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        if (const char* value = std::getenv(variable); value != nullptr && *value != '\0') {
            return is_set(variable, "UTF-8") || is_set(variable, "utf8") || is_set(variable, "UTF8") ||
                   is_set(variable, "utf-8");
        }
    }
    return false;
}

}  // namespace

MapStyle map_style() {
    MapStyle style;
    if (::isatty(STDOUT_FILENO) != 1) return style;
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.columns = size.ws_col;
    style.ink = is_utf8() ? MapInk::blocks : MapInk::ascii;
    if (wants_colour() && (is_set("TERM", "256color") || is_set("COLORTERM", "truecolor"))) style.ink = MapInk::colours;
    return style;
}

std::string expert_map(const ExpertLoad& load, const MapStyle& style) {
    if (load.token_count == 0) return "  no token of an answer went through the layers yet\n";
    std::size_t experts = 0;
    for (const auto& layer : load.layers) experts = std::max(experts, layer.size());
    if (experts == 0) return "  this model has no experts: every layer is dense\n";
    const std::string heading = "  experts chosen for " + grouped(static_cast<std::uint64_t>(load.token_count)) +
                                (load.token_count == 1 ? " token" : " tokens") + " of the last answer\n";
    return heading + (style.ink == MapInk::numbers ? numbers(load, experts) : heat_map(load, experts, style));
}

}  // namespace mixtura::cli
