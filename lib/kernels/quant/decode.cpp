#include "kernels/quant/decode.hpp"

#include "kernels/quant/families.hpp"

namespace mixtura {

DecodeBlocks decoder(DType dtype) noexcept {
    for (const auto family : {detail::plain_decoder, detail::legacy_decoder, detail::k_decoder, detail::iq_decoder,
                              detail::ternary_decoder, detail::fp4_decoder, detail::scaled_decoder}) {
        if (const DecodeBlocks found = family(dtype)) return found;
    }
    return nullptr;
}

}  // namespace mixtura
