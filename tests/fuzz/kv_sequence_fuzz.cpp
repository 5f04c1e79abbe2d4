// A saved KV sequence from anywhere: it is refused without taking memory, or it is exactly what saving it again gives.
#include <mixtura/kv_cache.hpp>

#include <algorithm>

namespace {

void check(mixtura::KVDescription description, std::span<const std::byte> bytes) {
    description.bytes_max = 1 << 20;
    auto cache = mixtura::KVCache::create(std::move(description));
    if (!cache) __builtin_trap();
    const auto sequence = cache->import_sequence(bytes);
    if (!sequence) {
        if (cache->memory().bytes_held != 0 || cache->memory().sequences != 0) __builtin_trap();
        return;
    }
    const auto again = cache->export_sequence(*sequence);
    if (!again || !std::equal(again->begin(), again->end(), bytes.begin(), bytes.end())) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
    mixtura::KVDescription description = mixtura::KVDescription::uniform(2, 1, 2, mixtura::DType::f16);
    description.groups = {mixtura::KVGroup{}, mixtura::KVGroup{40, 0}};
    description.layers[1].group = 1;
    check(description, bytes);
    description.groups = {mixtura::KVGroup{}};
    description.layers[1] = {{}, 0, 3};  // a recurrent layer
    check(description, bytes);
    return 0;
}
