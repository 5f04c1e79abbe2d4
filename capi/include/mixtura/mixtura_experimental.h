/**
 * @file mixtura_experimental.h
 * What may still change in any minor version: names begin with mixtura_x_, and the header wants
 * MIXTURA_ENABLE_EXPERIMENTAL defined, so that nobody depends on it unawares.  Rules as in mixtura.h.
 */
#ifndef MIXTURA_EXPERIMENTAL_H
#define MIXTURA_EXPERIMENTAL_H

#ifndef MIXTURA_ENABLE_EXPERIMENTAL
#error "mixtura_experimental.h may change in any minor version; define MIXTURA_ENABLE_EXPERIMENTAL to use it all the same"
#endif

#include <mixtura/mixtura.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Several sequences over one model, each a token further with every step; an engine for serving will replace it. */
typedef struct mixtura_x_batch mixtura_x_batch;

/** options->context_tokens is of each sequence.  INVALID_ARGUMENT, OUT_OF_RANGE, OUT_OF_HOST_MEMORY.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_x_batch_create(const mixtura_model *model,
                                                                  const mixtura_generation_options *options,
                                                                  int64_t sequence_count, mixtura_x_batch **batch)
    MIXTURA_NOEXCEPT;
/** Ends a batch.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_x_batch_destroy(mixtura_x_batch *batch) MIXTURA_NOEXCEPT;
/** Appends tokens[s] to sequence s.  `logits` [S, V] gets each sequence's row, or is NULL.  On failure every sequence is
 * as before.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_x_batch_step(mixtura_x_batch *batch, const int32_t *tokens,
                                                                size_t token_count, float *logits, size_t logit_count)
    MIXTURA_NOEXCEPT;
/** Every sequence is empty again.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_x_batch_reset(mixtura_x_batch *batch) MIXTURA_NOEXCEPT;

/** What this machine can do, measured. */
typedef struct mixtura_x_machine_rates {
    size_t struct_size;       /**< sizeof this */
    double read_bytes_per_s;  /**< from memory */
    double integer_ops_per_s; /**< 8-bit products and their sums */
    double float_ops_per_s;   /**< 32-bit fused steps, two each */
    int32_t thread_count;     /**< that were busy */
    int32_t reserved;         /**< 0 */
} mixtura_x_machine_rates;
/** Starts a mixtura_x_machine_rates. */
#define MIXTURA_X_MACHINE_RATES_INIT {sizeof(mixtura_x_machine_rates), 0.0, 0.0, 0.0, 0, 0}

/** Takes about a second, and a buffer of at most 1 GiB that is freed again.  thread_count 0: as many as may be kept busy.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_x_measure_machine(int32_t thread_count, mixtura_x_machine_rates *rates)
    MIXTURA_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
