#include "convert.hpp"

using namespace mixtura::capi;
using mixtura::StatusCode;

namespace {

mixtura::KVCache& of(mixtura_kv_cache* cache) { return given(cache, "cache").cache; }
const mixtura::KVCache& of(const mixtura_kv_cache* cache) { return given(cache, "cache").cache; }
mixtura::SequenceId id(mixtura_sequence sequence) { return static_cast<mixtura::SequenceId>(sequence); }

// Elements of `row_count` rows of a plane.
std::size_t elements(const mixtura::KVCache& cache, std::size_t layer, std::size_t plane, std::size_t row_count) {
    const auto& layers = cache.description().layers;
    check_index(layer, layers.size(), "layer", "layers");
    check_index(plane, layers[layer].planes.size(), "plane", "planes in that layer");
    const mixtura::KVPlane& rows = layers[layer].planes[plane];
    const auto width = static_cast<std::size_t>(rows.heads * rows.size);
    if (row_count > static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(float) / width)
        fail(StatusCode::invalid_argument, "row_count is impossible: " + std::to_string(row_count));
    return row_count * width;
}

}  // namespace

extern "C" {

mixtura_status mixtura_kv_cache_create(const mixtura_kv_cache_options* options, mixtura_kv_cache** cache) noexcept {
    return guard([&] {
        given(cache, "cache");
        const mixtura_kv_cache_options defaults = MIXTURA_KV_CACHE_OPTIONS_INIT;
        const mixtura_kv_cache_options wanted = options_of(&given(options, "options"), defaults, "options");
        mixtura::KVDescription ours;
        for (const mixtura_kv_layer& layer : array(wanted.layers, wanted.layer_count, "options.layers")) {
            mixtura::KVLayer& added = ours.layers.emplace_back();
            added.group = layer.group;
            for (const mixtura_kv_plane& plane : array(layer.planes, layer.plane_count, "a layer's planes"))
                added.planes.push_back({plane.head_count, plane.size, static_cast<mixtura::DType>(plane.dtype)});
        }
        if (wanted.group_count > 0) {
            ours.groups.clear();
            for (const mixtura_kv_group& group : array(wanted.groups, wanted.group_count, "options.groups"))
                ours.groups.push_back({group.window_tokens, group.chunk_tokens});
        }
        if (wanted.tokens_max != 0) ours.tokens_max = wanted.tokens_max;
        if (wanted.bytes_max != 0) ours.bytes_max = wanted.bytes_max;
        give_handle(cache, take(mixtura::KVCache::create(std::move(ours))));
    });
}

void mixtura_kv_cache_destroy(mixtura_kv_cache* cache) noexcept { delete cache; }

mixtura_status mixtura_kv_cache_get_memory(const mixtura_kv_cache* cache, mixtura_kv_memory* memory) noexcept {
    return guard([&] {
        const mixtura::KVMemory found = of(cache).memory();
        mixtura_kv_memory out = MIXTURA_KV_MEMORY_INIT;
        out.bytes_max = found.bytes_max;
        out.bytes_held = found.bytes_held;
        out.bytes_used = found.bytes_used;
        out.blocks_used = found.blocks_used;
        out.blocks_shared = found.blocks_shared;
        out.blocks_free = found.blocks_free;
        out.sequences = found.sequences;
        out.tokens = found.tokens;
        give(memory, out, "memory");
    });
}

mixtura_status mixtura_kv_cache_create_sequence(mixtura_kv_cache* cache, mixtura_sequence* sequence) noexcept {
    return guard([&] {
        given(sequence, "sequence");
        *sequence = static_cast<mixtura_sequence>(take(of(cache).create_sequence()));
    });
}

mixtura_status mixtura_kv_cache_fork(mixtura_kv_cache* cache, mixtura_sequence sequence,
                                     mixtura_sequence* fork) noexcept {
    return guard([&] {
        given(fork, "fork");
        *fork = static_cast<mixtura_sequence>(take(of(cache).fork(id(sequence))));
    });
}

mixtura_status mixtura_kv_cache_free_sequence(mixtura_kv_cache* cache, mixtura_sequence sequence) noexcept {
    return guard([&] { check(of(cache).free_sequence(id(sequence))); });
}

mixtura_status mixtura_kv_cache_length(const mixtura_kv_cache* cache, mixtura_sequence sequence,
                                       int64_t* length) noexcept {
    return guard([&] { given(length, "length") = take(of(cache).length(id(sequence))); });
}

mixtura_status mixtura_kv_cache_append(mixtura_kv_cache* cache, mixtura_sequence sequence, int64_t count,
                                       int64_t* first) noexcept {
    return guard([&] {
        given(first, "first");
        *first = take(of(cache).append(id(sequence), count));
    });
}

mixtura_status mixtura_kv_cache_truncate(mixtura_kv_cache* cache, mixtura_sequence sequence, int64_t length) noexcept {
    return guard([&] { check(of(cache).truncate(id(sequence), length)); });
}

mixtura_status mixtura_kv_cache_release_before(mixtura_kv_cache* cache, mixtura_sequence sequence, size_t group,
                                               int64_t position) noexcept {
    return guard([&] { check(of(cache).release_before(id(sequence), group, position)); });
}

mixtura_status mixtura_kv_cache_first_visible(const mixtura_kv_cache* cache, mixtura_sequence sequence, size_t group,
                                              int64_t* position) noexcept {
    return guard([&] { given(position, "position") = take(of(cache).first_visible(id(sequence), group)); });
}

mixtura_status mixtura_kv_cache_write(mixtura_kv_cache* cache, mixtura_sequence sequence, size_t layer, size_t plane,
                                      int64_t first, size_t row_count, const float* rows) noexcept {
    return guard([&] {
        const auto values = array(rows, elements(of(cache), layer, plane, row_count), "rows");
        check(of(cache).write(id(sequence), layer, plane, first, values));
    });
}

mixtura_status mixtura_kv_cache_read(const mixtura_kv_cache* cache, mixtura_sequence sequence, size_t layer,
                                     size_t plane, int64_t first, size_t row_count, float* rows) noexcept {
    return guard([&] {
        const auto values = array(rows, elements(of(cache), layer, plane, row_count), "rows");
        check(of(cache).read(id(sequence), layer, plane, first, values));
    });
}

mixtura_status mixtura_kv_cache_view(const mixtura_kv_cache* cache, mixtura_sequence sequence, size_t layer,
                                     mixtura_kv_view* view) noexcept {
    return guard([&] {
        const mixtura::KVView found = take(of(cache).view(id(sequence), layer));
        mixtura_kv_view out = MIXTURA_KV_VIEW_INIT;
        out.base = found.base;
        out.block_stride_bytes = found.block_stride_bytes;
        out.block_table = found.block_table.data();
        out.block_count = found.block_table.size();
        out.first_block = found.first_block;
        out.length_tokens = found.length_tokens;
        out.plane_count = found.planes.size();
        give(view, out, "view");
    });
}

mixtura_status mixtura_kv_cache_plane(const mixtura_kv_cache* cache, mixtura_sequence sequence, size_t layer,
                                      size_t plane, mixtura_kv_plane_view* view) noexcept {
    return guard([&] {
        given(view, "view");
        const mixtura::KVView found = take(of(cache).view(id(sequence), layer));
        check_index(plane, found.planes.size(), "plane", "planes in that layer");
        const mixtura::KVPlaneView& p = found.planes[plane];
        *view = {p.offset_bytes,
                 p.head_stride_bytes,
                 p.row_stride_bytes,
                 p.heads,
                 p.size,
                 static_cast<std::int32_t>(p.dtype),
                 0};
    });
}

void mixtura_kv_cache_trim(mixtura_kv_cache* cache) noexcept {
    if (cache != nullptr) cache->cache.trim();
}

mixtura_status mixtura_kv_cache_export(const mixtura_kv_cache* cache, mixtura_sequence sequence, void* bytes,
                                       size_t capacity, size_t* needed) noexcept {
    return guard([&] {
        const std::vector<std::byte> found = take(of(cache).export_sequence(id(sequence)));
        give_array(std::span<const std::byte>(found), static_cast<std::byte*>(bytes), capacity, needed, "bytes");
    });
}

mixtura_status mixtura_kv_cache_import(mixtura_kv_cache* cache, const void* bytes, size_t size,
                                       mixtura_sequence* sequence) noexcept {
    return guard([&] {
        given(sequence, "sequence");
        const auto snapshot = array(static_cast<const std::byte*>(bytes), size, "bytes");
        *sequence = static_cast<mixtura_sequence>(take(of(cache).import_sequence(snapshot)));
    });
}

}  // extern "C"
