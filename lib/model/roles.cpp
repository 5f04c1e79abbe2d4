#include "model/roles.hpp"

#include "base/text.hpp"

namespace mixtura {

std::string without_numbers(const std::string& role) {
    constexpr std::string_view kLayers = "layers.", kExperts = ".experts.", kHeads = ".heads.";
    if (role.compare(0, kLayers.size(), kLayers) != 0) return role;
    std::string out = text(kLayers, "#", role.substr(role.find('.', kLayers.size())));
    for (const std::string_view word : {kExperts, kHeads}) {
        const std::size_t at = out.find(word);
        if (at == std::string::npos) continue;
        const std::size_t number = at + word.size();
        out.erase(number, out.find('.', number) + 1 - number);
    }
    return out;
}

std::string plain_role(const std::string& role) {
    constexpr std::string_view kLayer = "layers.#.", kWeight = ".weight";
    std::string out = without_numbers(role);
    if (out.compare(0, kLayer.size(), kLayer) == 0) out.erase(0, kLayer.size());
    if (out.size() > kWeight.size() && out.compare(out.size() - kWeight.size(), kWeight.size(), kWeight) == 0)
        out.erase(out.size() - kWeight.size());
    return out;
}

}  // namespace mixtura
