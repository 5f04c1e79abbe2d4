#include "kernels/quant/encode.hpp"

#include "kernels/quant/families.hpp"

namespace mixtura {

EncodeBlocks encoder(DType dtype) noexcept {
    for (const auto family :
         {detail::plain_encoder, detail::legacy_encoder, detail::q45_k_encoder, detail::q6_k_encoder,
          detail::ternary_encoder, detail::fp4_encoder, detail::scaled_encoder}) {
        if (const EncodeBlocks found = family(dtype)) return found;
    }
    return nullptr;
}

}  // namespace mixtura
