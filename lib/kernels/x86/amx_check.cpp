// Whether this process may use AMX tiles and whether they compute what AVX-512 VNNI does; the products of
// integer_amx.cpp ask before their first tile, backend.cpp where the back-end is named.
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>

#include "base/machine.hpp"
#include "kernels/layout.hpp"
#include "kernels/x86/x86.hpp"
#include "parallel/fp_environment.hpp"

namespace mixtura {
namespace {

// Linux gives the 8 KiB of tile state to no process that has not asked (since 5.16; before, the call fails).  Granted
// once, it holds for all threads of the process and for its children, to their end, and from then on sigaltstack()
// refuses stacks that are too small for the state (the call fails where some thread has such a stack).
bool ask_for_tiles() noexcept {
    constexpr long kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

// Two panels, two pieces of 256 columns each, a whole group of 16 tokens, a group that is not, and one for the others.
constexpr std::int64_t kColumns = 512, kPanels = 2, kTokens = 16 + 11;
constexpr std::int64_t kPanelBytesMax = kColumns / 32 * (4 * kPanelRows + 2 * kPanelRows + 8 * kOperandBytes);

struct Bytes {
    std::uint64_t state;

    unsigned next() noexcept {
        state = state * 6364136223846793005U + 1442695040888963407U;
        return static_cast<unsigned>(state >> 56);
    }
};

// Any bytes, but for scales below 2 and zero points below 32: no sum leaves f32.
void make_panels(const IntegerFormat& format, std::int64_t bytes_each, Bytes& bytes, std::byte* panels) noexcept {
    const IntegerPanel panel = integer_panel(format);
    for (std::int64_t i = 0; i < kPanels * bytes_each; ++i) {
        const std::int64_t in_unit = i % panel.unit_bytes;
        const unsigned mask = in_unit < panel.zero_bytes ? 0x3F : in_unit < panel.header_bytes ? 0x1F : 0xFF;
        panels[i] = static_cast<std::byte>(bytes.next() & mask);
    }
}

bool is_same(const PanelProduct& product, PanelProductFunction tiles, PanelProductFunction narrower) noexcept {
    float expected[kTokens][kPanels * kPanelRows], found[kTokens][kPanels * kPanelRows];
    float *to_expected[kTokens], *to_found[kTokens];
    for (std::int64_t t = 0; t < kTokens; ++t) {
        to_expected[t] = expected[t];
        to_found[t] = found[t];
    }
    PanelProduct one = product;
    one.y = to_expected;
    narrower(one);
    one.y = to_found;
    tiles(one);
    return std::memcmp(expected, found, sizeof expected) == 0;
}

}  // namespace

bool amx::products_agree(const KernelTable& tiles, const KernelTable& narrower) noexcept {
    const FpEnvironment guard;  // the host chooses a back-end in a mode of its own
    // A token's activations begin a block behind those of the one before it.
    ActivationBlock activations[kColumns / kBlockColumns + kTokens];
    Bytes bytes{1};
    for (ActivationBlock& block : activations) {
        std::int32_t sum_low = 0, sum_high = 0;
        for (std::int64_t k = 0; k < kBlockColumns; ++k) {
            block.q[k] = static_cast<std::int8_t>(static_cast<int>(bytes.next() % 255) - 127);
            (k < kBlockColumns / 2 ? sum_low : sum_high) += block.q[k];
        }
        set_sums(block, static_cast<float>(1 + bytes.next()) * 0x1p-10F, sum_low, sum_high);
    }
    const void* x[kTokens];
    for (std::int64_t t = 0; t < kTokens; ++t) x[t] = activations + t;

    std::byte panels[kPanels * kPanelBytesMax];
    for (const IntegerFormat& format : kIntegerFormats) {
        const std::int64_t panel = panel_bytes(format.dtype, kColumns);
        make_panels(format, panel, bytes, panels);
        const PanelProduct product{.panels = panels,
                                   .panel_bytes = panel,
                                   .panel_count = kPanels,
                                   .columns = kColumns,
                                   .x = x,
                                   .y = nullptr,
                                   .token_count = kTokens,
                                   .accumulate = false};
        const int index = product_index(format.dtype);
        if (!is_same(product, tiles.product[index], narrower.product[index])) return false;
    }
    return true;
}

bool amx::tiles_work() noexcept {
    static const bool work = [] {
        const CpuFeatures cpu = cpu_features();
        if (!cpu.avx512_vnni || !cpu.amx_tile || !cpu.amx_int8 || !ask_for_tiles()) return false;
        KernelTable tiles{}, narrower{};
        fill_integer_products_unchecked(tiles);
        avx512::fill_integer_products_vnni(narrower);
        return products_agree(tiles, narrower);
    }();
    return work;
}

}  // namespace mixtura
