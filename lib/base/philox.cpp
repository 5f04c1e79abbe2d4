#include "base/philox.hpp"

namespace mixtura {

PhiloxCounter philox4x32(PhiloxCounter c, PhiloxKey k) noexcept {
    constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
    constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;  // golden ratio and sqrt(3) - 1
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t product0 = static_cast<std::uint64_t>(kMultiplier0) * c[0];
        const std::uint64_t product1 = static_cast<std::uint64_t>(kMultiplier1) * c[2];
        c = {static_cast<std::uint32_t>(product1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(product1),
             static_cast<std::uint32_t>(product0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(product0)};
        k[0] += kWeyl0;
        k[1] += kWeyl1;
    }
    return c;
}

}  // namespace mixtura
