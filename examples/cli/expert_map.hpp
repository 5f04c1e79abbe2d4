// What /experts shows: how often each layer chose each expert, as a heat map.  A pure function of the counts and of
// what the terminal can show.
#pragma once

#include <mixtura/generation.hpp>

#include <cstddef>
#include <string>

namespace mixtura::cli {

enum class MapInk { numbers, ascii, blocks, colours };

struct MapStyle {
    MapInk ink = MapInk::numbers;
    std::size_t columns = 80;  // of the terminal; numbers are for pipes and know no width
};

// What stdout can show: numbers in a pipe; colours, blocks or ASCII on a terminal, in this order.
MapStyle map_style();

// Rows are layers, columns experts.  Numbers are the counts themselves.  Otherwise a cell tells how a count compares
// with an even share of its layer's choices, and stands for the mean of several experts, which a line then says, where
// a terminal is too narrow for all of them.
std::string expert_map(const ExpertLoad& load, const MapStyle& style);

}  // namespace mixtura::cli
