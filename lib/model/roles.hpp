// Roles of weights, as bind_weights() names them, without the numbers of layers, experts and heads.
#pragma once

#include <string>

namespace mixtura {

// "layers.3.experts.17.gate.weight" as "layers.#.experts.gate.weight".
std::string without_numbers(const std::string& role);

// "layers.3.experts.17.gate.weight" as "experts.gate", "head.weight" as "head".
std::string plain_role(const std::string& role);

}  // namespace mixtura
