/* Another runtime: its own embedding, norms, attention and loop; from mixtura it takes three objects and no model file:
 * a KVCache that keeps its keys and values, a Router and an ExpertPool that are its feed-forward.  C99. */
#include <mixtura/mixtura.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LAYERS = 2, HIDDEN = 64, HEADS = 4, HEAD = 16, WIDTH = 96, EXPERTS = 8, CHOSEN = 2, TOKENS = 40, VOCABULARY = 50 };

/* The weights this runtime has loaded from wherever it likes. */
typedef struct layer_weights {
    float query[HIDDEN * HIDDEN], key[HIDDEN * HIDDEN], value[HIDDEN * HIDDEN], output[HIDDEN * HIDDEN];
    float gate[EXPERTS * HIDDEN];
    float experts[3][EXPERTS * WIDTH * HIDDEN]; /* gate and up [E, F, H], down [E, H, F] */
} layer_weights;

typedef struct runtime {
    float embedding[VOCABULARY * HIDDEN];
    layer_weights layers[LAYERS];
    mixtura_router *routers[LAYERS];
    mixtura_expert_pool *pools[LAYERS];
    mixtura_kv_cache *cache;
    mixtura_route_plan *plan;
    mixtura_sequence sequence;
} runtime;

/* Ends the program with mixtura's sentence; a real host would hand it to whoever asked. */
static void must(mixtura_status status) {
    if (status == MIXTURA_OK) return;
    fprintf(stderr, "%s: %s\n", mixtura_status_name(status), mixtura_last_error_message());
    exit(1);
}

static void fill(float *values, size_t count, float scale, uint64_t seed) {
    for (size_t i = 0; i < count; ++i) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = scale * ((float)(seed >> 40) / 8388608.0F - 1.0F);
    }
}

static void multiply(const float *matrix, int rows, int columns, const float *x, float *y) {
    for (int r = 0; r < rows; ++r) {
        float sum = 0;
        for (int c = 0; c < columns; ++c) sum += matrix[r * columns + c] * x[c];
        y[r] = sum;
    }
}

static void normalise(const float *x, float *y) {
    float squares = 0;
    for (int i = 0; i < HIDDEN; ++i) squares += x[i] * x[i];
    const float scale = 1.0F / sqrtf(squares / HIDDEN + 1e-6F);
    for (int i = 0; i < HIDDEN; ++i) y[i] = x[i] * scale;
}

/* The row of one head at one position, straight out of the cache's blocks: no copy. */
static const float *row(const mixtura_kv_view *view, const mixtura_kv_plane_view *plane, int head, int64_t position) {
    const char *block = (const char *)view->base + (size_t)view->block_table[position / MIXTURA_KV_BLOCK_TOKENS] *
                                                       view->block_stride_bytes;
    return (const float *)(const void *)(block + plane->offset_bytes + (size_t)head * plane->head_stride_bytes +
                                         (size_t)(position % MIXTURA_KV_BLOCK_TOKENS) * plane->row_stride_bytes);
}

/* This runtime's own causal attention of one query at `position`. */
static void attend(runtime *r, size_t layer, int64_t position, const float *query, float *mixed) {
    mixtura_kv_view view = MIXTURA_KV_VIEW_INIT;
    mixtura_kv_plane_view keys, values;
    must(mixtura_kv_cache_view(r->cache, r->sequence, layer, &view));
    must(mixtura_kv_cache_plane(r->cache, r->sequence, layer, 0, &keys));
    must(mixtura_kv_cache_plane(r->cache, r->sequence, layer, 1, &values));
    for (int head = 0; head < HEADS; ++head) {
        float largest = -INFINITY, total = 0, scores[TOKENS];
        for (int64_t p = 0; p <= position; ++p) {
            const float *key = row(&view, &keys, head, p);
            scores[p] = 0;
            for (int i = 0; i < HEAD; ++i) scores[p] += query[head * HEAD + i] * key[i];
            scores[p] /= sqrtf(HEAD);
            if (scores[p] > largest) largest = scores[p];
        }
        for (int i = 0; i < HEAD; ++i) mixed[head * HEAD + i] = 0;
        for (int64_t p = 0; p <= position; ++p) {
            const float weight = expf(scores[p] - largest), *value = row(&view, &values, head, p);
            total += weight;
            for (int i = 0; i < HEAD; ++i) mixed[head * HEAD + i] += weight * value[i];
        }
        for (int i = 0; i < HEAD; ++i) mixed[head * HEAD + i] /= total;
    }
}

/* `count` tokens at once; hidden [count, HIDDEN] becomes the last layer's output. */
static void forward(runtime *r, const int *tokens, int count, float *hidden) {
    static float normed[TOKENS * HIDDEN], query[TOKENS * HIDDEN], keys[TOKENS * HIDDEN], values[TOKENS * HIDDEN],
        added[TOKENS * HIDDEN];
    int64_t first = 0;
    must(mixtura_kv_cache_append(r->cache, r->sequence, count, &first));
    for (int t = 0; t < count; ++t)
        for (int i = 0; i < HIDDEN; ++i) hidden[t * HIDDEN + i] = r->embedding[tokens[t] * HIDDEN + i];
    for (size_t layer = 0; layer < LAYERS; ++layer) {
        const layer_weights *w = &r->layers[layer];
        for (int t = 0; t < count; ++t) {
            normalise(hidden + t * HIDDEN, normed + t * HIDDEN);
            multiply(w->query, HIDDEN, HIDDEN, normed + t * HIDDEN, query + t * HIDDEN);
            multiply(w->key, HIDDEN, HIDDEN, normed + t * HIDDEN, keys + t * HIDDEN);
            multiply(w->value, HIDDEN, HIDDEN, normed + t * HIDDEN, values + t * HIDDEN);
        }
        must(mixtura_kv_cache_write(r->cache, r->sequence, layer, 0, first, (size_t)count, keys));
        must(mixtura_kv_cache_write(r->cache, r->sequence, layer, 1, first, (size_t)count, values));
        for (int t = 0; t < count; ++t) {
            float mixed[HIDDEN], projected[HIDDEN];
            attend(r, layer, first + t, query + t * HIDDEN, mixed);
            multiply(w->output, HIDDEN, HIDDEN, mixed, projected);
            for (int i = 0; i < HIDDEN; ++i) hidden[t * HIDDEN + i] += projected[i];
            normalise(hidden + t * HIDDEN, normed + t * HIDDEN);
        }
        /* The feed-forward is mixtura's: who computes what, and the mixed output. */
        must(mixtura_router_route(r->routers[layer], normed, (size_t)count, NULL, NULL, r->plan));
        must(mixtura_expert_pool_run(r->pools[layer], normed, (size_t)count, r->plan, added));
        for (int i = 0; i < count * HIDDEN; ++i) hidden[i] += added[i];
    }
}

static void make(runtime *r) {
    const mixtura_kv_plane planes[2] = {{HEADS, HEAD, MIXTURA_DTYPE_F32, 0}, {HEADS, HEAD, MIXTURA_DTYPE_F32, 0}};
    const mixtura_kv_layer layers[LAYERS] = {{planes, 2, 0}, {planes, 2, 0}};
    mixtura_kv_cache_options cache = MIXTURA_KV_CACHE_OPTIONS_INIT;
    cache.layers = layers;
    cache.layer_count = LAYERS;
    cache.bytes_max = 1 << 20;
    must(mixtura_kv_cache_create(&cache, &r->cache));
    must(mixtura_route_plan_create(&r->plan));
    fill(r->embedding, VOCABULARY * HIDDEN, 1.0F, 1);
    for (uint64_t l = 0; l < LAYERS; ++l) {
        layer_weights *w = &r->layers[l];
        fill(w->query, HIDDEN * HIDDEN, 0.2F, 10 * l + 2);
        fill(w->key, HIDDEN * HIDDEN, 0.2F, 10 * l + 3);
        fill(w->value, HIDDEN * HIDDEN, 0.2F, 10 * l + 4);
        fill(w->output, HIDDEN * HIDDEN, 0.2F, 10 * l + 5);
        fill(w->gate, EXPERTS * HIDDEN, 0.5F, 10 * l + 6);
        for (uint64_t m = 0; m < 3; ++m) fill(w->experts[m], EXPERTS * WIDTH * HIDDEN, 0.1F, 10 * l + 7 + m);

        mixtura_tensor gate = {NULL, MIXTURA_DTYPE_F32, 2, {EXPERTS, HIDDEN, 0, 0}, {0, 0, 0, 0}};
        gate.data = w->gate;
        mixtura_router_policy policy = MIXTURA_ROUTER_POLICY_INIT;
        policy.top_k = CHOSEN;
        policy.renormalise = 1;
        mixtura_router_spec router = MIXTURA_ROUTER_SPEC_INIT;
        router.hidden_size = HIDDEN;
        router.expert_count = EXPERTS;
        router.policy = &policy;
        router.gate = &gate;
        must(mixtura_router_create(&router, &r->routers[l]));

        mixtura_tensor experts[3];
        for (int m = 0; m < 3; ++m) {
            const mixtura_tensor up = {NULL, MIXTURA_DTYPE_F32, 3, {EXPERTS, WIDTH, HIDDEN, 0}, {0, 0, 0, 0}};
            const mixtura_tensor down = {NULL, MIXTURA_DTYPE_F32, 3, {EXPERTS, HIDDEN, WIDTH, 0}, {0, 0, 0, 0}};
            experts[m] = m < 2 ? up : down;
            experts[m].data = w->experts[m];
        }
        mixtura_expert_spec spec = MIXTURA_EXPERT_SPEC_INIT;
        spec.hidden_size = HIDDEN;
        spec.expert_count = EXPERTS;
        spec.width = WIDTH;
        spec.tensor_count = 1;
        spec.gate = &experts[0];
        spec.up = &experts[1];
        spec.down = &experts[2];
        must(mixtura_expert_pool_create(&spec, &r->pools[l])); /* packs them: the host may free its own now */
    }
}

int main(void) {
    runtime *r = calloc(1, sizeof *r);
    static float at_once[TOKENS * HIDDEN], one_by_one[TOKENS * HIDDEN];
    int tokens[TOKENS];
    if (r == NULL) return 1;
    make(r);
    for (int t = 0; t < TOKENS; ++t) tokens[t] = (t * 7 + 3) % VOCABULARY;

    must(mixtura_kv_cache_create_sequence(r->cache, &r->sequence));
    forward(r, tokens, TOKENS, at_once);
    must(mixtura_kv_cache_free_sequence(r->cache, r->sequence));
    must(mixtura_kv_cache_create_sequence(r->cache, &r->sequence));
    for (int t = 0; t < TOKENS; ++t) forward(r, tokens + t, 1, one_by_one + t * HIDDEN);

    double sum = 0;
    int equal = 1;
    for (int i = 0; i < TOKENS * HIDDEN; ++i) {
        sum += fabs((double)at_once[i]);
        equal = equal && at_once[i] == one_by_one[i];
    }
    mixtura_kv_memory memory = MIXTURA_KV_MEMORY_INIT;
    must(mixtura_kv_cache_get_memory(r->cache, &memory));
    printf("%d tokens at once and one by one: %s; mean |h| %.4f; %llu tokens in %llu blocks\n", TOKENS,
           equal ? "the same bits" : "DIFFERENT", sum / (TOKENS * HIDDEN), (unsigned long long)memory.tokens,
           (unsigned long long)memory.blocks_used);

    for (int l = 0; l < LAYERS; ++l) {
        mixtura_expert_pool_destroy(r->pools[l]);
        mixtura_router_destroy(r->routers[l]);
    }
    mixtura_route_plan_destroy(r->plan);
    mixtura_kv_cache_destroy(r->cache);
    free(r);
    return equal ? 0 : 1;
}
