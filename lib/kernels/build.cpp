#include <mixtura/version.h>
#include <mixtura/build.hpp>

#include <array>

#include "base/text.hpp"
#include "kernels/backend.hpp"
#include "mixtura_commit.h"  // generated: cmake/MixturaCommit.cmake

#define MIXTURA_TEXT_OF(x) #x
#define MIXTURA_TEXT(x) MIXTURA_TEXT_OF(x)

namespace mixtura {

std::string_view version_text() noexcept {
    return MIXTURA_TEXT(MIXTURA_VERSION_MAJOR) "." MIXTURA_TEXT(MIXTURA_VERSION_MINOR) "." MIXTURA_TEXT(
        MIXTURA_VERSION_PATCH);
}

std::string build_text() {
    std::string lines = text("version ", version_text(), "\ncommit ", MIXTURA_COMMIT);
#if defined(__clang__)
    lines += text("\ncompiler clang ", __clang_major__, ".", __clang_minor__, ".", __clang_patchlevel__);
#elif defined(__GNUC__)
    lines += text("\ncompiler gcc ", __GNUC__, ".", __GNUC_MINOR__, ".", __GNUC_PATCHLEVEL__);
#endif
#if defined(__GLIBC__)
    lines += text("\nlibrary glibc ", __GLIBC__, ".", __GLIBC_MINOR__);
#endif
#if defined(__x86_64__)
    lines += "\nprocessor x86-64";
#elif defined(__aarch64__)
    lines += "\nprocessor aarch64";
#endif
#if defined(__OPTIMIZE__)
    lines += "\noptimised yes";
#else
    lines += "\noptimised no";
#endif
#if defined(MIXTURA_DEVELOPMENT_CHECKS)
    lines += "\ndevelopment checks yes";
#else
    lines += "\ndevelopment checks no";
#endif
    return lines;
}

std::span<const BackendInfo> backend_list() noexcept {
    constexpr std::size_t kCountMax = 16;
    static const auto list = [] {
        std::array<BackendInfo, kCountMax> all;
        for (std::size_t i = 0; i < backends().size(); ++i) {
            const Backend& backend = backends()[i];
            all.at(i) = {backend.name, backend.description, backend.is_deterministic, backend.is_supported};
        }
        return all;
    }();
    return {list.data(), backends().size()};
}

std::string_view chosen_backend_name() noexcept {
    try {
        const auto chosen = choose_backend();
        return chosen ? (*chosen)->name : std::string_view();
    } catch (...) {
        return {};
    }
}

}  // namespace mixtura
