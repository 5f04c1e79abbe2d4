// A saved KV sequence from anywhere: it is refused without taking memory, or it is exactly what saving it again gives.
#include <mixtura/kv_cache.hpp>

#include <algorithm>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    mixtura::KVDescription description = mixtura::KVDescription::uniform(2, 1, 2, mixtura::DType::f16);
    description.groups = {mixtura::KVGroup{}, mixtura::KVGroup{40, 0}};
    description.layers[1].group = 1;
    description.bytes_max = 1 << 20;
    auto cache = mixtura::KVCache::create(description);
    if (!cache) __builtin_trap();
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    const auto sequence = cache->import_sequence(bytes);
    if (!sequence) {
        if (cache->memory().bytes_held != 0 || cache->memory().sequences != 0) __builtin_trap();
        return 0;
    }
    const auto again = cache->export_sequence(*sequence);
    if (!again || !std::equal(again->begin(), again->end(), bytes.begin(), bytes.end())) __builtin_trap();
    return 0;
}
