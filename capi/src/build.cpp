// Version, build, back-ends, log, element types: what is known without any handle.
#include <mixtura/build.hpp>
#include <mixtura/doctor.hpp>
#include <mixtura/log.hpp>
#include <mixtura/types.hpp>

#include "arguments.hpp"

using namespace mixtura::capi;

extern "C" {

int32_t mixtura_version_number(void) noexcept { return MIXTURA_VERSION_NUMBER; }
const char* mixtura_version_string(void) noexcept { return mixtura::version_text().data(); }

mixtura_status mixtura_build_info(char* text, size_t capacity, size_t* needed) noexcept {
    return guard([&] { give_text(mixtura::build_text(), text, capacity, needed); });
}

int32_t mixtura_feature(int32_t feature) noexcept {
    const auto backend = [](std::string_view name) -> int32_t {
        for (const mixtura::BackendInfo& info : mixtura::backend_list())
            if (info.name == name) return info.is_supported ? 2 : 1;
        return 0;
    };
    switch (feature) {
        case MIXTURA_FEATURE_AVX2: return backend("avx2");
        case MIXTURA_FEATURE_AVX_VNNI: return backend("avx_vnni");
        case MIXTURA_FEATURE_AVX512_VNNI: return backend("avx512_vnni");
        case MIXTURA_FEATURE_AMX: return backend("amx_int8");
        default: return 0;  // not built in, or not known
    }
}

size_t mixtura_backend_count(void) noexcept { return mixtura::backend_list().size(); }

mixtura_status mixtura_get_backend_info(size_t index, mixtura_backend_info* info) noexcept {
    return guard([&] {
        const auto list = mixtura::backend_list();
        check_index(index, list.size(), "index", "back-ends");
        const mixtura::BackendInfo& found = list[index];
        mixtura_backend_info out = MIXTURA_BACKEND_INFO_INIT;
        out.name = found.name.data();
        out.description = found.description.data();
        out.is_deterministic = found.is_deterministic;
        out.is_supported = found.is_supported;
        out.is_chosen = mixtura::chosen_backend_name() == found.name;
        give(info, out, "info");
    });
}

mixtura_status mixtura_check_health(const char* path, mixtura_on_health on_health, void* user_data) noexcept {
    return guard([&] {
        given(on_health, "on_health");
        mixtura::HealthOptions options;
        if (path != nullptr) options.path = path;
        for (const mixtura::HealthCheck& one : take(mixtura::check_health(options)))
            on_health(one.name.c_str(), static_cast<std::int32_t>(one.verdict), one.found.c_str(), one.remedy.c_str(),
                      user_data);
    });
}

mixtura_status mixtura_self_test(void) noexcept {
    return guard([] { check(mixtura::self_test()); });
}

void mixtura_log_set(mixtura_log_callback callback, void* user_data, int32_t max_level) noexcept {
    mixtura::set_log_sink(callback, user_data, static_cast<mixtura::LogLevel>(max_level));
}

mixtura_status mixtura_dtype_block(int32_t dtype, int64_t* elements, int64_t* bytes) noexcept {
    return guard([&] {
        const mixtura::DTypeInfo& type = mixtura::dtype_info(static_cast<mixtura::DType>(dtype));
        if (type.block_bytes == 0)
            fail(mixtura::StatusCode::invalid_argument, "there is no element type " + std::to_string(dtype));
        given(elements, "elements");
        given(bytes, "bytes") = type.block_bytes;
        *elements = type.block_elements;
    });
}

const char* mixtura_dtype_name(int32_t dtype) noexcept {
    return mixtura::dtype_name(static_cast<mixtura::DType>(dtype)).data();
}

}  // extern "C"
