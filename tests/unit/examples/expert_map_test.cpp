// The heat map of /experts, from counts made by hand.
#include <algorithm>
#include <catch2/catch.hpp>

#include "cli/expert_map.hpp"

using namespace mixtura;
using cli::expert_map;
using cli::MapInk;

namespace {

// A dense layer, an even one, and one where expert 0 got nothing and expert 3 most.
const ExpertLoad kLoad{10, {{}, {5, 5, 5, 5}, {0, 1, 6, 13}}};

std::size_t lines_of(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("the expert map in a pipe is the counts themselves, whatever the width", "[examples][short]") {
    CHECK(expert_map(kLoad, {MapInk::numbers, 10}) ==
          "  experts chosen for 10 tokens of the last answer\n"
          "  layer   0   1   2   3\n"
          "      0  dense\n"
          "      1   5   5   5   5\n"
          "      2   0   1   6  13\n");
}

TEST_CASE("the expert map on a terminal compares each count with an even share of its layer", "[examples][short]") {
    CHECK(expert_map(kLoad, {MapInk::blocks, 80}) ==
          "  experts chosen for 10 tokens of the last answer\n"
          "  layer  expert 0 to 3   busiest\n"
          "      0  dense\n"
          "      1  ▓▓▓▓▓▓▓▓          0  25 %\n"
          "      2  ··░░▓▓██          3  65 %\n"
          "  · none, ░ under half an even share, ▒ under it, ▓ up to twice, █ more\n");
    CHECK(expert_map(kLoad, {MapInk::ascii, 80}) ==
          "  experts chosen for 10 tokens of the last answer\n"
          "  layer  expert 0 to 3   busiest\n"
          "      0  dense\n"
          "      1  ********          0  25 %\n"
          "      2  ..--**##          3  65 %\n"
          "  . none, - under half an even share, + under it, * up to twice, # more\n");
    const std::string colours = expert_map(kLoad, {MapInk::colours, 80});
    CHECK(colours.find("\x1b[48;5;227m  \x1b[0m") != std::string::npos);
    CHECK(lines_of(colours) == 6);
}

TEST_CASE("the expert map joins experts that a terminal has no room for, and says so", "[examples][short]") {
    ExpertLoad load{1, {std::vector<std::int64_t>(130, 1)}};
    // All of them would need 130 columns; 57 are left beside the margins, so three experts share a cell.
    load.layers[0][129] = 0;
    const std::string narrow = expert_map(load, {MapInk::ascii, 80});
    CHECK(narrow ==
          "  experts chosen for 1 token of the last answer\n"
          "  layer  expert 0 to 129" +
              std::string(32, ' ') +
              "busiest\n"
              "      0  " +
              std::string(43, '*') +
              ".     0   1 %\n"
              "  . none, - under half an even share, + under it, * up to twice, # more\n"
              "  a cell is the mean of 3 experts, the last one of 1: the terminal is too narrow for 130\n");
    const std::string wide = expert_map(load, {MapInk::ascii, 400});
    CHECK(wide.find("a cell is the mean") == std::string::npos);
    CHECK(wide.find(std::string(258, '*') + "..") != std::string::npos);
}

TEST_CASE("no line of the expert map is longer than its terminal, however many experts there are",
          "[examples][short]") {
    for (const std::size_t columns : {40U, 60U, 80U, 133U, 300U}) {
        for (const std::size_t experts : {1U, 7U, 8U, 57U, 58U, 128U, 256U, 1024U}) {
            ExpertLoad load{3, {std::vector<std::int64_t>(experts, 2), std::vector<std::int64_t>(experts, 0)}};
            const std::string map = expert_map(load, {MapInk::ascii, columns});
            std::size_t begin = map.find('\n') + 1;  // behind the heading
            for (int row = 0; row < 3; ++row) {
                const std::size_t end = map.find('\n', begin);
                INFO(columns << " columns, " << experts << " experts");
                CHECK(end - begin <= columns);
                begin = end + 1;
            }
        }
    }
}

TEST_CASE("the expert map of a dense model and of no answer is a sentence", "[examples][short]") {
    CHECK(expert_map({5, {{}, {}}}, {MapInk::blocks, 80}) == "  this model has no experts: every layer is dense\n");
    CHECK(expert_map({0, {{}, {}}}, {MapInk::blocks, 80}) == "  no token of an answer went through the layers yet\n");
}
