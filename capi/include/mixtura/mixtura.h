/**
 * @file mixtura.h
 * The stable C interface of mixtura: C99, opaque handles, status codes, no exception, abort, exit or print.
 * (Line budget: one file on purpose, because binding generators read one.)
 *
 * Rules that hold for every function, so that the comments below need not repeat them (capi/README.md explains them):
 *  - A function that can fail returns a mixtura_status: 0 done, below 0 an error, above 0 an outcome that is no error.
 *    After an error mixtura_last_error_message() has a sentence, on the same thread.  Every out-parameter is then as it
 *    was before the call, and nothing is owed.
 *  - `mixtura_<noun>_create` and `_open` give one handle that the caller owns and ends with `mixtura_<noun>_destroy`,
 *    which takes NULL and cannot fail.  Handles may be destroyed in any order.  What is said to be *lent* belongs to the
 *    handle it came from and is never destroyed by the caller.
 *  - Inputs are borrowed for the call.  Text in is UTF-8 with its length in bytes and may hold NUL; only paths and names
 *    are NUL-terminated.  A pointer may be NULL where its count is 0.
 *  - Text and arrays out go to the caller's buffer: `capacity` in, the needed size to `*needed` (which may be NULL).
 *    A buffer that is too small is left alone, only `*needed` is set, and the answer is MIXTURA_BUFFER_TOO_SMALL; with capacity 0 the call
 *    asks for the size and succeeds.  Text is not NUL-terminated: its length is `*needed`.
 *  - Structures with a `struct_size` start from their `_INIT` value.  NULL for an option structure: all defaults.
 *  - Threads: `any-thread`: at any time from any thread.  `per-object`: one thread at a time for one handle.
 *    `before-use`: before other threads use the library.  `signal-safe`: any-thread, and from a signal handler.
 *  - Enumerators are permanent; new ones may come.  They travel as int32_t.
 */
#ifndef MIXTURA_MIXTURA_H
#define MIXTURA_MIXTURA_H

#include <mixtura/version.h>

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define MIXTURA_API __attribute__((visibility("default")))
#define MIXTURA_MUST_USE __attribute__((warn_unused_result))
#else
#define MIXTURA_API
#define MIXTURA_MUST_USE
#endif

#ifdef __cplusplus
#define MIXTURA_NOEXCEPT noexcept
extern "C" {
#else
#define MIXTURA_NOEXCEPT
#endif

/* ---- Status ------------------------------------------------------------------------------------------------------ */

/** What a call came to.  Treat a code you do not know by its sign. */
typedef int32_t mixtura_status;

/** Values of mixtura_status. */
enum {
    MIXTURA_OK = 0,            /**< done */
    MIXTURA_END_OF_STREAM = 1, /**< there is no more */
    MIXTURA_WOULD_BLOCK = 2,   /**< nothing yet */

    MIXTURA_INTERNAL = -1,             /**< a defect of the library, or numbers that stopped being finite */
    MIXTURA_OUT_OF_HOST_MEMORY = -2,   /**< an allocation failed */
    MIXTURA_OUT_OF_DEVICE_MEMORY = -3, /**< likewise on an accelerator */
    MIXTURA_BUDGET_EXCEEDED = -4,      /**< a limit that the caller set */

    MIXTURA_INVALID_ARGUMENT = -10, /**< the message names it, what it may be and what it is */
    MIXTURA_OUT_OF_RANGE = -11,     /**< an index, id, length or position */
    MIXTURA_BUFFER_TOO_SMALL = -12, /**< see the needed size */
    MIXTURA_UNSUPPORTED = -13,      /**< well-formed, but not by this version */
    MIXTURA_VERSION_MISMATCH = -14, /**< made by another version */

    MIXTURA_IO = -20,                   /**< the system refused to read or write */
    MIXTURA_NOT_FOUND = -21,            /**< no such file, tensor, sequence, part */
    MIXTURA_CORRUPT_FILE = -22,         /**< a file contradicts itself or its format */
    MIXTURA_UNKNOWN_FORMAT = -23,       /**< the message says what the file is instead */
    MIXTURA_UNKNOWN_ARCHITECTURE = -24, /**< a model family this version does not know */

    MIXTURA_BAD_STATE = -30,        /**< not now */
    MIXTURA_CANCELLED = -31,        /**< by a cancel function or a progress callback */
    MIXTURA_CALLBACK_STOPPED = -32, /**< a callback answered other than 0 */
    MIXTURA_TIMEOUT = -33,          /**< it took longer than allowed */

    MIXTURA_DEVICE = -40,      /**< an accelerator's call failed */
    MIXTURA_DEVICE_LOST = -41, /**< an accelerator is gone */
    MIXTURA_NO_BACKEND = -42,  /**< no back-end of that name, or not on this machine */

    MIXTURA_COMM = -50,     /**< communication between processes failed */
    MIXTURA_PEER_LOST = -51 /**< a process of the group is gone */
};

/** The identifier of a code ("CORRUPT_FILE"), "UNKNOWN" for another number; static.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API const char *mixtura_status_name(mixtura_status status) MIXTURA_NOEXCEPT;

/** What the last call that failed on this thread said: one sentence, UTF-8, NUL-terminated, never NULL, "" before any
 * failure, at most 4,000 bytes.  Valid until the next call that fails on this thread.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API const char *mixtura_last_error_message(void) MIXTURA_NOEXCEPT;

/* ---- Version, build, machine ------------------------------------------------------------------------------------- */

/** major · 1,000,000 + minor · 1,000 + patch of this header; compare with mixtura_version_number(). */
#define MIXTURA_VERSION_NUMBER \
    (MIXTURA_VERSION_MAJOR * 1000000 + MIXTURA_VERSION_MINOR * 1000 + MIXTURA_VERSION_PATCH)

/** The library's MIXTURA_VERSION_NUMBER.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API int32_t mixtura_version_number(void) MIXTURA_NOEXCEPT;
/** "0.1.0"; static.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API const char *mixtura_version_string(void) MIXTURA_NOEXCEPT;
/** How the library was built, a line each: version, compiler, C library, build type.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_build_info(char *text, size_t capacity, size_t *needed) MIXTURA_NOEXCEPT;

/** Values of `feature` in mixtura_feature(). */
enum {
    MIXTURA_FEATURE_AVX2 = 1,        /**< 256-bit kernels */
    MIXTURA_FEATURE_AVX_VNNI = 2,    /**< 256-bit kernels with 8-bit products */
    MIXTURA_FEATURE_AVX512_VNNI = 3, /**< 512-bit kernels with 8-bit products */
    MIXTURA_FEATURE_AMX = 4,         /**< tile kernels */
    MIXTURA_FEATURE_NEON_DOTPROD = 5, /**< Arm kernels with 8-bit products */
    MIXTURA_FEATURE_CUDA = 6,        /**< NVIDIA GPUs */
    MIXTURA_FEATURE_NCCL = 7,        /**< groups of GPUs */
    MIXTURA_FEATURE_MPI = 8          /**< groups of processes */
};

/** 0: not built in.  1: built in, not usable on this machine.  2: usable.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API int32_t mixtura_feature(int32_t feature) MIXTURA_NOEXCEPT;

/** One set of kernels. */
typedef struct mixtura_backend_info {
    size_t struct_size;            /**< sizeof this */
    const char *name;              /**< "avx512_vnni"; what MIXTURA_FORCE_ISA calls it; static */
    const char *description;       /**< static */
    uint8_t is_deterministic;      /**< same bits as every other that is */
    uint8_t is_supported;          /**< by this processor and kernel */
    uint8_t is_chosen;             /**< what a model opened now would use */
    uint8_t reserved[5];           /**< 0 */
} mixtura_backend_info;
/** Starts a mixtura_backend_info. */
#define MIXTURA_BACKEND_INFO_INIT {sizeof(mixtura_backend_info), NULL, NULL, 0, 0, 0, {0, 0, 0, 0, 0}}

/** Back-ends of this build.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API size_t mixtura_backend_count(void) MIXTURA_NOEXCEPT;
/** Facts of one, narrowest instruction set first.  OUT_OF_RANGE.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_get_backend_info(size_t index, mixtura_backend_info *info)
    MIXTURA_NOEXCEPT;

/** How a check of mixtura_check_health() came out. */
enum {
    MIXTURA_HEALTH_OK = 0,      /**< fine */
    MIXTURA_HEALTH_NOTE = 1,    /**< works; something is worth knowing */
    MIXTURA_HEALTH_WARNING = 2, /**< works, slower or in less memory than it could */
    MIXTURA_HEALTH_FAILURE = 3  /**< does not work */
};

/** Takes one check: its permanent name ("memory_limits", "answers.avx2"), its MIXTURA_HEALTH_…, what was found, and what
 * to do about it ("" where nothing need be done).  The texts are UTF-8, NUL-terminated and lent for the call. */
typedef void (*mixtura_on_health)(const char *name, int32_t verdict, const char *found, const char *remedy,
                                  void *user_data);

/** Holds what the library was built for against what is here: instruction sets, processors and memory with their limits,
 * kernel, C library, and, where `path` (a model, or a folder for caches) is not NULL, its disk; then runs known answers
 * on every back-end that is used unasked or wished for.  `on_health` gets each check, in a fixed order, on this thread.
 * A machine that is ill is no error.  OUT_OF_HOST_MEMORY.  Takes about a quarter of a second.  Threads: any-thread.
 * Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_check_health(const char *path, mixtura_on_health on_health,
                                                                 void *user_data) MIXTURA_NOEXCEPT;
/** Known answers alone: a small built-in mixture in every weight format, and attention, on every such back-end of this
 * processor, bit for bit.  INTERNAL names the back-end and what was wrong; NO_BACKEND and INVALID_ARGUMENT for a
 * MIXTURA_FORCE_ISA that cannot be.  Takes about a quarter of a second, no file and no thread.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_self_test(void) MIXTURA_NOEXCEPT;

/* ---- Log --------------------------------------------------------------------------------------------------------- */

/** Levels of the log. */
enum {
    MIXTURA_LOG_NONE = 0,    /**< nothing */
    MIXTURA_LOG_ERROR = 1,   /**< something failed that no status reports */
    MIXTURA_LOG_WARNING = 2, /**< odd, but it goes on */
    MIXTURA_LOG_INFO = 3,    /**< a model was opened */
    MIXTURA_LOG_DEBUG = 4,   /**< decisions */
    MIXTURA_LOG_TRACE = 5    /**< steps */
};

/** Takes one message.  `room` ("model") and `file` are static, `message` (UTF-8, NUL-terminated) is lent for the call.
 * Called on whatever thread the message arises on, also on several at once.  Must not call into this library. */
typedef void (*mixtura_log_callback)(int32_t level, const char *room, const char *message, const char *file, int32_t line,
                                     void *user_data);

/** Sends messages up to `max_level` to `callback`; NULL: to nobody, as at the start.  The one process-wide state of this
 * library.  When it returns, the callback set before is not running and will not be called again.
 * Threads: any-thread, but not from a log callback.  Since: 0.1 */
MIXTURA_API void mixtura_log_set(mixtura_log_callback callback, void *user_data, int32_t max_level) MIXTURA_NOEXCEPT;

/* ---- Values that say "not set" ----------------------------------------------------------------------------------- */

/** A float option that takes its default; for fields where 0 has a meaning of its own. */
#define MIXTURA_UNSET_FLOAT (-3.40282346638528859812e+38F)
/** Likewise for int32_t. */
#define MIXTURA_UNSET_INT32 INT32_MIN
/** Likewise for a seed. */
#define MIXTURA_UNSET_SEED UINT64_MAX

/* ---- Element types and tensors ----------------------------------------------------------------------------------- */

/** What a tensor's bytes mean: plain types, GGUF's block formats from 40 on, and from 80 on the forms that weights stored
 * in several tensors (codes, scales, zero points) take in memory. */
enum {
    MIXTURA_DTYPE_UNKNOWN = 0,      /**< none */
    MIXTURA_DTYPE_F64 = 1,          /**< 64-bit float */
    MIXTURA_DTYPE_F32 = 2,          /**< 32-bit float */
    MIXTURA_DTYPE_F16 = 3,          /**< IEEE half */
    MIXTURA_DTYPE_BF16 = 4,         /**< bfloat16 */
    MIXTURA_DTYPE_F8_E4M3 = 5,      /**< 8-bit float */
    MIXTURA_DTYPE_F8_E5M2 = 6,      /**< 8-bit float */
    MIXTURA_DTYPE_F8_E8M0 = 7,      /**< power of two */
    MIXTURA_DTYPE_F8_E4M3FNUZ = 8,  /**< 8-bit float */
    MIXTURA_DTYPE_F8_E5M2FNUZ = 9,  /**< 8-bit float */
    MIXTURA_DTYPE_F6_E2M3 = 10,     /**< 6-bit float */
    MIXTURA_DTYPE_F6_E3M2 = 11,     /**< 6-bit float */
    MIXTURA_DTYPE_F4_E2M1 = 12,     /**< 4-bit float */
    MIXTURA_DTYPE_C64 = 13,         /**< complex of two f32 */
    MIXTURA_DTYPE_I64 = 20,         /**< signed integer */
    MIXTURA_DTYPE_I32 = 21,         /**< signed integer */
    MIXTURA_DTYPE_I16 = 22,         /**< signed integer */
    MIXTURA_DTYPE_I8 = 23,          /**< signed integer */
    MIXTURA_DTYPE_U64 = 24,         /**< unsigned integer */
    MIXTURA_DTYPE_U32 = 25,         /**< unsigned integer */
    MIXTURA_DTYPE_U16 = 26,         /**< unsigned integer */
    MIXTURA_DTYPE_U8 = 27,          /**< unsigned integer */
    MIXTURA_DTYPE_BOOLEAN = 28,     /**< a byte, 0 or 1 */
    MIXTURA_DTYPE_Q4_0 = 40,        /**< GGUF */
    MIXTURA_DTYPE_Q4_1 = 41,        /**< GGUF */
    MIXTURA_DTYPE_Q5_0 = 42,        /**< GGUF */
    MIXTURA_DTYPE_Q5_1 = 43,        /**< GGUF */
    MIXTURA_DTYPE_Q8_0 = 44,        /**< GGUF */
    MIXTURA_DTYPE_Q8_1 = 45,        /**< GGUF */
    MIXTURA_DTYPE_Q2_K = 46,        /**< GGUF */
    MIXTURA_DTYPE_Q3_K = 47,        /**< GGUF */
    MIXTURA_DTYPE_Q4_K = 48,        /**< GGUF */
    MIXTURA_DTYPE_Q5_K = 49,        /**< GGUF */
    MIXTURA_DTYPE_Q6_K = 50,        /**< GGUF */
    MIXTURA_DTYPE_Q8_K = 51,        /**< GGUF */
    MIXTURA_DTYPE_IQ1_S = 52,       /**< GGUF */
    MIXTURA_DTYPE_IQ1_M = 53,       /**< GGUF */
    MIXTURA_DTYPE_IQ2_XXS = 54,     /**< GGUF */
    MIXTURA_DTYPE_IQ2_XS = 55,      /**< GGUF */
    MIXTURA_DTYPE_IQ2_S = 56,       /**< GGUF */
    MIXTURA_DTYPE_IQ3_XXS = 57,     /**< GGUF */
    MIXTURA_DTYPE_IQ3_S = 58,       /**< GGUF */
    MIXTURA_DTYPE_IQ4_NL = 59,      /**< GGUF */
    MIXTURA_DTYPE_IQ4_XS = 60,      /**< GGUF */
    MIXTURA_DTYPE_TQ1_0 = 61,       /**< GGUF */
    MIXTURA_DTYPE_TQ2_0 = 62,       /**< GGUF */
    MIXTURA_DTYPE_MXFP4 = 63,       /**< GGUF */
    MIXTURA_DTYPE_NVFP4 = 64,       /**< GGUF */
    MIXTURA_DTYPE_F8_E4M3_32 = 80,  /**< an f32 scale, 32 of f8_e4m3 */
    MIXTURA_DTYPE_F8_E4M3_128 = 81, /**< an f32 scale, 128 of f8_e4m3 */
    MIXTURA_DTYPE_INT4_32 = 82,     /**< an f16 scale, a zero point, 32 codes of 4 bits */
    MIXTURA_DTYPE_INT4_64 = 83,     /**< an f16 scale, a zero point, 64 codes of 4 bits */
    MIXTURA_DTYPE_INT4_128 = 84,    /**< an f16 scale, a zero point, 128 codes of 4 bits */
    MIXTURA_DTYPE_NF4 = 85          /**< an f32 scale, 64 codes of 4 bits into NF4's map */
};

/** "bf16", "q4_k"; "unknown" for another number; static.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API const char *mixtura_dtype_name(int32_t dtype) MIXTURA_NOEXCEPT;

/** How a dtype is stored: *elements consecutive elements of the innermost extent in *bytes bytes.  INVALID_ARGUMENT for
 * another number.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_dtype_block(int32_t dtype, int64_t *elements, int64_t *bytes)
    MIXTURA_NOEXCEPT;

/** Most extents of a mixtura_tensor. */
#define MIXTURA_TENSOR_RANK_MAX 4

/** A tensor that the caller has in memory, outermost extent first: a linear layer's weight is [out, in].  For the plain
 * types any strides do; the rows of a block format are dense.  This structure never grows. */
typedef struct mixtura_tensor {
    const void *data;                              /**< NULL: there is none */
    int32_t dtype;                                 /**< MIXTURA_DTYPE_… */
    int32_t rank;                                  /**< extents in use, 1 to 4 */
    int64_t shape[MIXTURA_TENSOR_RANK_MAX];        /**< extents */
    int64_t stride_bytes[MIXTURA_TENSOR_RANK_MAX]; /**< from one index to the next; all 0: dense, not one repeated */
} mixtura_tensor;

/** A text with its length. */
typedef struct mixtura_text {
    const char *utf8; /**< may hold NUL */
    size_t bytes;     /**< its length */
} mixtura_text;

/* ---- Checkpoint: what lies on disk ------------------------------------------------------------------------------- */

/** A model's files, headers read and validated, weights not loaded.  Immutable: every function of it is any-thread. */
typedef struct mixtura_checkpoint mixtura_checkpoint;

/** The sizes a model states; 0: not stated.  H = hidden size, E = experts, V = vocabulary. */
typedef struct mixtura_model_facts {
    size_t struct_size;            /**< sizeof this */
    int64_t layer_count;           /**< decoder layers */
    int64_t hidden_size;           /**< H */
    int64_t head_count;            /**< query heads; the largest where layers differ */
    int64_t kv_head_count;         /**< key and value heads */
    int64_t head_size;             /**< elements of a head */
    int64_t ffn_size;              /**< width of a dense feed-forward */
    int64_t expert_count;          /**< E, routed experts of a sparse layer */
    int64_t experts_per_token;     /**< K */
    int64_t shared_expert_count;   /**< experts that every token visits */
    int64_t expert_ffn_size;       /**< width of one routed expert */
    int64_t vocabulary_size;       /**< V */
    int64_t context_tokens;        /**< the longest sequence it was trained for */
    uint64_t parameter_count;      /**< elements of all tensors; 0 from an open model */
    uint64_t weight_bytes;         /**< on disk of a checkpoint, in memory of a model */
    uint8_t has_tokenizer;         /**< of a model: it can encode; of a checkpoint: a vocabulary was found */
    uint8_t has_chat_template;     /**< it can chat */
    uint8_t reserved[6];           /**< 0 */
} mixtura_model_facts;
/** Starts a mixtura_model_facts. */
#define MIXTURA_MODEL_FACTS_INIT \
    {sizeof(mixtura_model_facts), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0}}

/** Texts about a model. */
enum {
    MIXTURA_ABOUT_PATH = 1,          /**< as it was opened */
    MIXTURA_ABOUT_ARCHITECTURE = 2,  /**< "qwen3moe" */
    MIXTURA_ABOUT_NAME = 3,          /**< what the file calls itself */
    MIXTURA_ABOUT_DECLARED_SIZE = 4, /**< "8x7B" */
    MIXTURA_ABOUT_FORMAT = 5,        /**< "GGUF v3"; of a checkpoint */
    MIXTURA_ABOUT_TOKENIZER = 6,     /**< "tokenizer.json" */
    MIXTURA_ABOUT_BACKEND = 7        /**< "avx512_vnni"; of a model */
};

/** One tensor of a checkpoint. */
typedef struct mixtura_tensor_info {
    size_t struct_size;    /**< sizeof this */
    int32_t dtype;         /**< MIXTURA_DTYPE_… */
    int32_t rank;          /**< extents in use, 0 to 8 */
    int64_t shape[8];      /**< outermost first */
    uint32_t file_index;   /**< of the checkpoint's files */
    uint32_t reserved;     /**< 0 */
    uint64_t offset_bytes; /**< in that file */
    uint64_t size_bytes;   /**< what mixtura_checkpoint_read() copies */
} mixtura_tensor_info;
/** Starts a mixtura_tensor_info. */
#define MIXTURA_TENSOR_INFO_INIT {sizeof(mixtura_tensor_info), 0, 0, {0, 0, 0, 0, 0, 0, 0, 0}, 0, 0, 0, 0}

/** Opens a .gguf file, a .safetensors file or index, or a checkpoint's folder, and reads headers only.  NOT_FOUND, IO,
 * UNKNOWN_FORMAT, UNSUPPORTED, CORRUPT_FILE.  Blocks on the disk.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_checkpoint_open(const char *path, mixtura_checkpoint **checkpoint)
    MIXTURA_NOEXCEPT;
/** Ends a checkpoint.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_checkpoint_destroy(mixtura_checkpoint *checkpoint) MIXTURA_NOEXCEPT;
/** Sizes.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_checkpoint_get_facts(const mixtura_checkpoint *checkpoint,
                                                                    mixtura_model_facts *facts) MIXTURA_NOEXCEPT;
/** A text; `about` is MIXTURA_ABOUT_….  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_checkpoint_text(const mixtura_checkpoint *checkpoint, int32_t about,
                                                                   char *text, size_t capacity, size_t *needed)
    MIXTURA_NOEXCEPT;
/** What is odd but no reason to refuse, a line each.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_checkpoint_warnings(const mixtura_checkpoint *checkpoint, char *text,
                                                                       size_t capacity, size_t *needed) MIXTURA_NOEXCEPT;
/** Tensors; 0 for NULL.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API size_t mixtura_checkpoint_tensor_count(const mixtura_checkpoint *checkpoint) MIXTURA_NOEXCEPT;
/** The index of a tensor by its name.  NOT_FOUND.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_checkpoint_find(const mixtura_checkpoint *checkpoint, const char *name,
                                                                   size_t *index) MIXTURA_NOEXCEPT;
/** Where a tensor lies and what it is.  OUT_OF_RANGE.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_checkpoint_tensor(const mixtura_checkpoint *checkpoint, size_t index,
                                                                     mixtura_tensor_info *info) MIXTURA_NOEXCEPT;
/** Its name as the file spells it.  OUT_OF_RANGE.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_checkpoint_tensor_name(const mixtura_checkpoint *checkpoint, size_t index,
                                                                          char *text, size_t capacity, size_t *needed)
    MIXTURA_NOEXCEPT;
/** Copies its bytes, as the file stores them; `capacity` is at least size_bytes.  OUT_OF_RANGE, BUFFER_TOO_SMALL, IO,
 * CORRUPT_FILE where the file shrank since.  Blocks on the disk.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_checkpoint_read(const mixtura_checkpoint *checkpoint, size_t index,
                                                                   void *bytes, size_t capacity) MIXTURA_NOEXCEPT;

/* ---- Forecast: what opening a model takes ------------------------------------------------------------------------ */

/** The memory a model and a context will need, from headers alone. */
typedef struct mixtura_memory_forecast {
    size_t struct_size;            /**< sizeof this */
    uint64_t weight_bytes;         /**< of the weights, as they will lie in memory */
    uint64_t cache_bytes;          /**< keys, values and states of one sequence of context_tokens */
    uint64_t scratch_bytes;        /**< of a forward pass */
    int64_t context_tokens;        /**< that the above counts with */
    uint64_t routed_parameters;    /**< of the experts chosen for a token, over all layers */
    uint64_t multiplied_parameters; /**< all that a token is multiplied with */
    uint64_t read_bytes;           /**< of weights, for one token; at most */
} mixtura_memory_forecast;
/** Starts a mixtura_memory_forecast. */
#define MIXTURA_MEMORY_FORECAST_INIT {sizeof(mixtura_memory_forecast), 0, 0, 0, 0, 0, 0, 0}

/** How a model's keys and values are kept: an element type alone, or keys + 65536 · values. */
enum {
    MIXTURA_CACHE_F32 = 2,            /**< 32-bit float */
    MIXTURA_CACHE_F16 = 3,            /**< IEEE half; where nothing is said */
    MIXTURA_CACHE_BF16 = 4,           /**< bfloat16 */
    MIXTURA_CACHE_F8 = 5,             /**< f8_e4m3 with a scale a row */
    MIXTURA_CACHE_Q8 = 44,            /**< q8_0: int8 with a scale every 32 */
    MIXTURA_CACHE_F16_F8 = 327683,    /**< keys in f16, values in f8 */
    MIXTURA_CACHE_BF16_F8 = 327684,   /**< keys in bf16, values in f8 */
    MIXTURA_CACHE_F16_Q8 = 2883587,   /**< keys in f16, values in q8 */
    MIXTURA_CACHE_BF16_Q8 = 2883588   /**< keys in bf16, values in q8 */
};

/** Reads headers only.  `context_tokens` 0: the model's own; `cache_dtype`: MIXTURA_CACHE_…, 0: f16.  Errors as
 * mixtura_model_open(), INVALID_ARGUMENT for a pair the model cannot keep.  Blocks on the disk.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_model_forecast(const char *path, int64_t context_tokens,
                                                                  int32_t cache_dtype, mixtura_memory_forecast *forecast)
    MIXTURA_NOEXCEPT;

/** What a forecast counts with. */
typedef struct mixtura_forecast_options {
    size_t struct_size;     /**< sizeof this */
    int64_t context_tokens; /**< 0: the model's own */
    int32_t cache_dtype;    /**< MIXTURA_CACHE_…; 0: f16 */
    int32_t reserved;       /**< 0 */
    const char *weights;    /**< as in mixtura_model_options; NULL: as the file has them */
} mixtura_forecast_options;
/** Starts a mixtura_forecast_options. */
#define MIXTURA_FORECAST_OPTIONS_INIT {sizeof(mixtura_forecast_options), 0, 0, 0, NULL}

/** mixtura_model_forecast() of a model whose weights become something else on the way in.  Errors: as there,
 * INVALID_ARGUMENT for weights that mixtura_model_open() would refuse.  Blocks on the disk.  Threads: any-thread.
 * Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_model_forecast_with(const char *path,
                                                                       const mixtura_forecast_options *options,
                                                                       mixtura_memory_forecast *forecast)
    MIXTURA_NOEXCEPT;

/* ---- Model ------------------------------------------------------------------------------------------------------- */

/** A checkpoint's weights in memory, with its tokenizer and chat template.  Immutable: every function of it is
 * any-thread.  Generations and chats made from it keep what they need of it. */
typedef struct mixtura_model mixtura_model;

/** Told how loading goes, on the opening thread; other than 0 cancels (CANCELLED). */
typedef int (*mixtura_progress_callback)(uint64_t bytes_done, uint64_t bytes_total, void *user_data);

/** How to open a model. */
typedef struct mixtura_model_options {
    size_t struct_size;                    /**< sizeof this */
    int32_t thread_count;                  /**< for loading, and of its expert pools; 0: as many as may be kept busy */
    int32_t reserved;                      /**< 0 */
    mixtura_progress_callback on_progress; /**< or NULL */
    void *user_data;                       /**< of on_progress */
    const char *weights;                   /**< what 16- and 32-bit weights become: "mixed", "q8_0", or by role as in
                                                "experts=q4_k,attention=q6_k"; NULL: as the file has them */
} mixtura_model_options;
/** Starts a mixtura_model_options. */
#define MIXTURA_MODEL_OPTIONS_INIT {sizeof(mixtura_model_options), 0, 0, NULL, NULL, NULL}

/** What mixtura_model_options.weights cost one matrix.  The relative error is the root of error_sum / square_sum. */
typedef struct mixtura_weight_error {
    size_t struct_size;       /**< sizeof this */
    const char *role;         /**< "layers.3.experts.17.up.weight"; lent by the model */
    const char *kind;         /**< "experts.up"; lent by the model */
    uint64_t parameter_count; /**< numbers in it */
    double error_sum;         /**< sum of (w - w')^2 */
    double square_sum;        /**< sum of w^2 */
    double largest;           /**< largest |w - w'| */
    int32_t from;             /**< MIXTURA_DTYPE_… in the file */
    int32_t to;               /**< MIXTURA_DTYPE_… in memory */
} mixtura_weight_error;
/** Starts a mixtura_weight_error. */
#define MIXTURA_WEIGHT_ERROR_INIT {sizeof(mixtura_weight_error), NULL, NULL, 0, 0.0, 0.0, 0.0, 0, 0}

/** Opens what mixtura_checkpoint_open() opens and loads its weights.  Errors: as there; UNKNOWN_ARCHITECTURE;
 * UNSUPPORTED; OUT_OF_HOST_MEMORY; CANCELLED.  Blocks on the disk.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_model_open(const char *path, const mixtura_model_options *options,
                                                              mixtura_model **model) MIXTURA_NOEXCEPT;
/** Ends a handle; the memory goes when the last generation or chat made from it does.  What the model lent ends with
 * this call.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_model_destroy(mixtura_model *model) MIXTURA_NOEXCEPT;
/** Sizes.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_model_get_facts(const mixtura_model *model, mixtura_model_facts *facts)
    MIXTURA_NOEXCEPT;
/** Matrices that mixtura_model_options.weights changed; 0 for NULL.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API size_t mixtura_model_weight_error_count(const mixtura_model *model) MIXTURA_NOEXCEPT;
/** One of them, in layer order.  OUT_OF_RANGE.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_model_get_weight_error(const mixtura_model *model, size_t index,
                                                                          mixtura_weight_error *error) MIXTURA_NOEXCEPT;
/** A text; `about` is MIXTURA_ABOUT_….  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_model_text(const mixtura_model *model, int32_t about, char *text,
                                                              size_t capacity, size_t *needed) MIXTURA_NOEXCEPT;
/** What is odd but no reason to refuse, a line each.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_model_warnings(const mixtura_model *model, char *text, size_t capacity,
                                                                  size_t *needed) MIXTURA_NOEXCEPT;

/* ---- Tokenizer --------------------------------------------------------------------------------------------------- */

/** A vocabulary: text to ids and back.  Immutable: every function of it is any-thread. */
typedef struct mixtura_tokenizer mixtura_tokenizer;

/** No token. */
#define MIXTURA_NO_TOKEN (-1)

/** Which added tokens are recognised where a text spells them. */
enum {
    MIXTURA_ADDED_TOKENS_ALL = 0,          /**< as the Hugging Face tokenizers library */
    MIXTURA_ADDED_TOKENS_SPECIAL_ONLY = 1, /**< those that are special or control */
    MIXTURA_ADDED_TOKENS_NONE = 2          /**< the text is only text */
};
/** What is put around a text. */
enum {
    MIXTURA_ADD_BOS_MODEL_DEFAULT = 0, /**< what the vocabulary's own rules say */
    MIXTURA_ADD_BOS_YES = 1,           /**< BOS in front */
    MIXTURA_ADD_BOS_NO = 2             /**< nothing */
};
/** What a token is; bits. */
enum {
    MIXTURA_TOKEN_IS_END = 1,     /**< ends a reply */
    MIXTURA_TOKEN_IS_SPECIAL = 2, /**< special or control */
    MIXTURA_TOKEN_IS_ADDED = 4    /**< added to the vocabulary */
};

/** How to encode. */
typedef struct mixtura_encode_options {
    size_t struct_size;   /**< sizeof this */
    int32_t added_tokens; /**< MIXTURA_ADDED_TOKENS_… */
    int32_t add_bos;      /**< MIXTURA_ADD_BOS_… */
} mixtura_encode_options;
/** Starts a mixtura_encode_options. */
#define MIXTURA_ENCODE_OPTIONS_INIT {sizeof(mixtura_encode_options), 0, 0}

/** A piece of a prompt: trusted text (the program's, the template's) may spell turn markers, other text cannot.  This
 * structure never grows. */
typedef struct mixtura_text_span {
    const char *utf8;    /**< may hold NUL */
    size_t bytes;        /**< its length */
    uint8_t is_trusted;  /**< 0 or 1 */
    uint8_t reserved[7]; /**< 0 */
} mixtura_text_span;

/** The tokens with a role; MIXTURA_NO_TOKEN: none. */
typedef struct mixtura_special_tokens {
    size_t struct_size; /**< sizeof this */
    int32_t bos;        /**< begin of a text */
    int32_t eos;        /**< end of a text */
    int32_t eot;        /**< end of a turn */
    int32_t eom;        /**< end of a message that expects a tool's answer */
    int32_t unk;        /**< unknown */
    int32_t pad;        /**< padding */
    int32_t sep;        /**< separator */
    int32_t mask;       /**< mask */
    int32_t fim_prefix; /**< fill in the middle */
    int32_t fim_suffix; /**< fill in the middle */
    int32_t fim_middle; /**< fill in the middle */
    int32_t reserved;   /**< 0 */
} mixtura_special_tokens;
/** Starts a mixtura_special_tokens. */
#define MIXTURA_SPECIAL_TOKENS_INIT {sizeof(mixtura_special_tokens), -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0}

/** Opens a GGUF file's vocabulary, a folder with tokenizer.json or tokenizer.model, or one of these files.  NOT_FOUND, IO,
 * UNKNOWN_FORMAT, CORRUPT_FILE, UNSUPPORTED.  Blocks on the disk.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_tokenizer_open(const char *path, mixtura_tokenizer **tokenizer)
    MIXTURA_NOEXCEPT;
/** The model's own, as a handle that the caller owns.  NOT_FOUND and the like where it has none that works.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_tokenizer_of_model(const mixtura_model *model,
                                                                      mixtura_tokenizer **tokenizer) MIXTURA_NOEXCEPT;
/** Ends a tokenizer.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_tokenizer_destroy(mixtura_tokenizer *tokenizer) MIXTURA_NOEXCEPT;
/** Ids of a text; bytes that are no UTF-8 never fail.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_tokenizer_encode(const mixtura_tokenizer *tokenizer, const char *utf8,
                                                                    size_t bytes, const mixtura_encode_options *options,
                                                                    int32_t *tokens, size_t capacity, size_t *needed)
    MIXTURA_NOEXCEPT;
/** Ids of a prompt made of spans, as if they were one text; nothing untrusted becomes an added token.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_tokenizer_encode_spans(const mixtura_tokenizer *tokenizer,
                                                                          const mixtura_text_span *spans,
                                                                          size_t span_count, int32_t *tokens,
                                                                          size_t capacity, size_t *needed)
    MIXTURA_NOEXCEPT;
/** The text of ids; `skip_special` other than 0 leaves special tokens out.  OUT_OF_RANGE.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_tokenizer_decode(const mixtura_tokenizer *tokenizer,
                                                                    const int32_t *tokens, size_t token_count,
                                                                    int32_t skip_special, char *text, size_t capacity,
                                                                    size_t *needed) MIXTURA_NOEXCEPT;
/** The bytes one token stands for, also where they are no whole character.  OUT_OF_RANGE.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_tokenizer_token_bytes(const mixtura_tokenizer *tokenizer, int32_t token,
                                                                         char *bytes, size_t capacity, size_t *needed)
    MIXTURA_NOEXCEPT;
/** A token as the vocabulary spells it; empty for an id it leaves out.  OUT_OF_RANGE.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_tokenizer_token_text(const mixtura_tokenizer *tokenizer, int32_t token,
                                                                        char *text, size_t capacity, size_t *needed)
    MIXTURA_NOEXCEPT;
/** The id that the vocabulary spells so, or MIXTURA_NO_TOKEN.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API int32_t mixtura_tokenizer_find(const mixtura_tokenizer *tokenizer, const char *utf8, size_t bytes)
    MIXTURA_NOEXCEPT;
/** Ids are in [0, size); 0 for NULL.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API size_t mixtura_tokenizer_size(const mixtura_tokenizer *tokenizer) MIXTURA_NOEXCEPT;
/** MIXTURA_TOKEN_IS_… bits; 0 for an id it has not.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API int32_t mixtura_tokenizer_token_flags(const mixtura_tokenizer *tokenizer, int32_t token) MIXTURA_NOEXCEPT;
/** The tokens with a role.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_tokenizer_get_special_tokens(const mixtura_tokenizer *tokenizer,
                                                                            mixtura_special_tokens *special)
    MIXTURA_NOEXCEPT;

/** Text out of ids one at a time: only whole UTF-8 comes out. */
typedef struct mixtura_stream_decoder mixtura_stream_decoder;
/** Keeps what it needs of the tokenizer.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_stream_decoder_create(const mixtura_tokenizer *tokenizer,
                                                                         int32_t skip_special,
                                                                         mixtura_stream_decoder **decoder)
    MIXTURA_NOEXCEPT;
/** Ends a decoder.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_stream_decoder_destroy(mixtura_stream_decoder *decoder) MIXTURA_NOEXCEPT;
/** The text that this token made whole, lent until the next call on this decoder.  OUT_OF_RANGE, and then nothing
 * changed.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_stream_decoder_push(mixtura_stream_decoder *decoder, int32_t token,
                                                                       mixtura_text *text) MIXTURA_NOEXCEPT;
/** The rest, lent likewise; afterwards the decoder is as new.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_stream_decoder_finish(mixtura_stream_decoder *decoder,
                                                                         mixtura_text *text) MIXTURA_NOEXCEPT;

/* ---- Chat template ----------------------------------------------------------------------------------------------- */

/** The prompt layout a model was trained with.  Immutable: every function of it is any-thread. */
typedef struct mixtura_template mixtura_template;
/** A rendered prompt, in spans of the template's text and of data.  Immutable: any-thread. */
typedef struct mixtura_prompt mixtura_prompt;

/** A name and a text that the host vouches for ("bos_token").  This structure never grows. */
typedef struct mixtura_variable {
    const char *name;   /**< NUL-terminated */
    mixtura_text value; /**< counts as the template's own */
} mixtura_variable;

/** How to render. */
typedef struct mixtura_render_options {
    size_t struct_size;               /**< sizeof this */
    const mixtura_variable *trusted;  /**< win over the JSON */
    size_t trusted_count;             /**< of them */
    const char *const *trusted_roles; /**< roles that count as the template's own where a message spells them exactly */
    size_t trusted_role_count;        /**< of them */
    const char *now;                  /**< "2026-07-04T12:30" for templates that show the date; NULL: the clock, in UTC */
    int32_t add_generation_prompt;    /**< 0 or 1; MIXTURA_UNSET_INT32: what the JSON says */
    int32_t reserved;                 /**< 0 */
} mixtura_render_options;
/** Starts a mixtura_render_options. */
#define MIXTURA_RENDER_OPTIONS_INIT {sizeof(mixtura_render_options), NULL, 0, NULL, 0, NULL, MIXTURA_UNSET_INT32, 0}

/** Parses Jinja source.  INVALID_ARGUMENT with line and column.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_template_parse(const char *utf8, size_t bytes,
                                                                  mixtura_template **result) MIXTURA_NOEXCEPT;
/** Reads it from a checkpoint's folder, a GGUF file, a JSON file or a file of its own.  `name` chooses among named ones;
 * NULL: "default".  NOT_FOUND, CORRUPT_FILE.  Blocks on the disk.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_template_open(const char *path, const char *name,
                                                                 mixtura_template **result) MIXTURA_NOEXCEPT;
/** The model's own, as a handle that the caller owns.  NOT_FOUND.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_template_of_model(const mixtura_model *model, mixtura_template **result)
    MIXTURA_NOEXCEPT;
/** Ends a template.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_template_destroy(mixtura_template *chat_template) MIXTURA_NOEXCEPT;
/** Renders one JSON object: "messages", "tools" and whatever else the template asks for.  All of it is data.
 * INVALID_ARGUMENT, BUDGET_EXCEEDED.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_template_render(const mixtura_template *chat_template, const char *json,
                                                                   size_t json_bytes,
                                                                   const mixtura_render_options *options,
                                                                   mixtura_prompt **prompt) MIXTURA_NOEXCEPT;
/** Ends a prompt.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_prompt_destroy(mixtura_prompt *prompt) MIXTURA_NOEXCEPT;
/** All of it as one text.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_prompt_text(const mixtura_prompt *prompt, char *text, size_t capacity,
                                                               size_t *needed) MIXTURA_NOEXCEPT;
/** Its spans, for mixtura_tokenizer_encode_spans(); their text is lent as long as the prompt lives.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_prompt_spans(const mixtura_prompt *prompt, mixtura_text_span *spans,
                                                                size_t capacity, size_t *needed) MIXTURA_NOEXCEPT;

/* ---- Sampler ----------------------------------------------------------------------------------------------------- */

/** Sees and may change the logits [V] of one position.  `tokens` are the prompt's (prompt_count of them), then the
 * output's.  On the thread that samples; the pointers end with the call; other than 0 stops (CALLBACK_STOPPED). */
typedef int (*mixtura_logits_callback)(float *logits, size_t logit_count, const int32_t *tokens, size_t token_count,
                                       size_t prompt_count, void *user_data);

/** Added to a token's logit; -infinity rules it out.  This structure never grows. */
typedef struct mixtura_logit_bias {
    int32_t token; /**< id */
    float bias;    /**< added */
} mixtura_logit_bias;

/** How the next token is chosen; the steps run in the order of the fields.  A field at its UNSET value takes the model's
 * default and, where that is unset too, the value named here, which changes nothing. */
typedef struct mixtura_sampling_options {
    size_t struct_size;                  /**< sizeof this */
    const mixtura_logit_bias *logit_bias; /**< at most one a token */
    size_t logit_bias_count;             /**< of them */
    float repetition_penalty;            /**< 1; above 0 */
    float presence_penalty;              /**< 0 */
    float frequency_penalty;             /**< 0 */
    int32_t no_repeat_ngram;             /**< 0 = off */
    mixtura_logits_callback edit_logits; /**< or NULL */
    void *edit_logits_user_data;         /**< of edit_logits */
    float temperature;                   /**< 1; 0: the likeliest token */
    int32_t top_k;                       /**< 0 = off */
    float top_p;                         /**< 1 = off */
    float min_p;                         /**< 0 = off */
    float typical_p;                     /**< 1 = off */
    int32_t logprobs;                    /**< unset: none; n: of the chosen token and the n likeliest */
    uint64_t seed;                       /**< 0 */
    uint64_t completion;                 /**< which of several answers to one prompt */
} mixtura_sampling_options;
/** Starts a mixtura_sampling_options: everything unset. */
#define MIXTURA_SAMPLING_OPTIONS_INIT                                                                            \
    {sizeof(mixtura_sampling_options), NULL, 0, MIXTURA_UNSET_FLOAT, MIXTURA_UNSET_FLOAT, MIXTURA_UNSET_FLOAT,  \
     MIXTURA_UNSET_INT32, NULL, NULL, MIXTURA_UNSET_FLOAT, MIXTURA_UNSET_INT32, MIXTURA_UNSET_FLOAT,            \
     MIXTURA_UNSET_FLOAT, MIXTURA_UNSET_FLOAT, MIXTURA_UNSET_INT32, MIXTURA_UNSET_SEED, 0}

/** A token and the logarithm of its probability.  This structure never grows. */
typedef struct mixtura_token_logprob {
    int32_t token; /**< id */
    float logprob; /**< natural logarithm */
} mixtura_token_logprob;

/** One draw. */
typedef struct mixtura_sampled {
    size_t struct_size;                       /**< sizeof this */
    int32_t token;                            /**< the one drawn */
    float probability;                        /**< in the distribution it was drawn from */
    float logprob;                            /**< in the model's own; MIXTURA_UNSET_FLOAT where not asked for */
    int32_t likeliest_count;                  /**< of `likeliest` */
    const mixtura_token_logprob *likeliest;   /**< descending; lent until the sampler's or generation's next call */
} mixtura_sampled;
/** Starts a mixtura_sampled. */
#define MIXTURA_SAMPLED_INIT {sizeof(mixtura_sampled), MIXTURA_NO_TOKEN, 0, MIXTURA_UNSET_FLOAT, 0, NULL}

/** What the model's generation_config.json asks for: temperature 0, the likeliest token, where it does not ask for
 * sampling; other fields unset where it states nothing.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_model_get_sampling_defaults(const mixtura_model *model,
                                                                           mixtura_sampling_options *options)
    MIXTURA_NOEXCEPT;

/** One position's logits in, a token out; works with any source of logits. */
typedef struct mixtura_sampler mixtura_sampler;
/** INVALID_ARGUMENT names the field.  Copies the options.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_sampler_create(int64_t vocabulary_size,
                                                                  const mixtura_sampling_options *options,
                                                                  mixtura_sampler **sampler) MIXTURA_NOEXCEPT;
/** Ends a sampler.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_sampler_destroy(mixtura_sampler *sampler) MIXTURA_NOEXCEPT;
/** Chooses the token that follows `tokens`, of which the first prompt_count are the prompt's.  logits [V] are not
 * changed.  INVALID_ARGUMENT, CALLBACK_STOPPED.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_sampler_sample(mixtura_sampler *sampler, const float *logits,
                                                                  size_t logit_count, const int32_t *tokens,
                                                                  size_t token_count, size_t prompt_count,
                                                                  mixtura_sampled *sampled) MIXTURA_NOEXCEPT;
/** The distribution [V] that mixtura_sampler_sample() would draw from.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_sampler_probabilities(mixtura_sampler *sampler, const float *logits,
                                                                         size_t logit_count, const int32_t *tokens,
                                                                         size_t token_count, size_t prompt_count,
                                                                         float *probabilities) MIXTURA_NOEXCEPT;

/* ---- Router ------------------------------------------------------------------------------------------------------ */

/** Which experts a token goes to, and with what weight.  T tokens, H hidden size, E experts, K choices.  Immutable. */
typedef struct mixtura_router mixtura_router;
/** Where T tokens went.  Its memory is reused from call to call. */
typedef struct mixtura_route_plan mixtura_route_plan;

/** How logits become scores. */
enum {
    MIXTURA_SCORING_SOFTMAX = 0,           /**< over all experts */
    MIXTURA_SCORING_SIGMOID = 1,           /**< of each logit */
    MIXTURA_SCORING_SOFTMAX_OF_CHOSEN = 2, /**< choose by logit, softmax over the chosen */
    MIXTURA_SCORING_SPARSEMIXER = 3        /**< Phi-3.5-MoE */
};
/** What a group of experts is worth. */
enum {
    MIXTURA_GROUP_SCORE_LARGEST = 0,       /**< its best expert */
    MIXTURA_GROUP_SCORE_SUM_OF_TOP_TWO = 1 /**< its two best */
};
/** What happens to a choice whose expert is full. */
enum {
    MIXTURA_OVERFLOW_NEXT_BEST = 0, /**< the best expert with room */
    MIXTURA_OVERFLOW_DROP = 1       /**< dropped, and counted */
};

/** What a router does with its logits.  INIT changes nothing and chooses one expert; mixtura_router_get_policy() gives
 * what the checkpoint asks for. */
typedef struct mixtura_router_policy {
    size_t struct_size;             /**< sizeof this */
    int64_t top_k;                  /**< experts of a token, 1 to E */
    int64_t group_count;            /**< experts lie in groups of equal size; 1 or more */
    int64_t groups_kept;            /**< only the experts of so many groups may be chosen */
    const uint8_t *is_masked;       /**< [E], other than 0: may not be chosen; or NULL */
    size_t is_masked_count;         /**< E, or 0 */
    int32_t scoring;                /**< MIXTURA_SCORING_… */
    int32_t group_score;            /**< MIXTURA_GROUP_SCORE_… */
    int32_t overflow;               /**< MIXTURA_OVERFLOW_… */
    float routed_scale;             /**< multiplies the weights at the end; 1 */
    float temperature;              /**< logits are divided by it; 1 */
    float renormalise_floor;        /**< the weights' sum is at least this; 0 */
    float renormalise_bias;         /**< added to the sum; 0 */
    float sparsemixer_epsilon;      /**< 0.01 */
    float logit_clamp;              /**< logits are cut to ± this; 0 = off */
    float cumulative_probability;   /**< only as many experts as reach this share; 0 = off */
    float capacity_factor;          /**< an expert takes ceil(T · K / E · factor) choices; 0 = off */
    uint8_t renormalise;            /**< the weights are divided by their sum */
    uint8_t renormalise_after_drop; /**< a dropped choice's weight goes to the token's others */
    uint8_t reserved[2];            /**< 0 */
} mixtura_router_policy;
/** Starts a mixtura_router_policy. */
#define MIXTURA_ROUTER_POLICY_INIT                                                                                  \
    {sizeof(mixtura_router_policy), 1, 1, 1, NULL, 0, 0, 0, 0, 1.0F, 1.0F, 0.0F, 0.0F, 0.01F, 0.0F, 0.0F, 0.0F, 0, 0, \
     {0, 0}}

/** A router to be made. */
typedef struct mixtura_router_spec {
    size_t struct_size;                  /**< sizeof this */
    int64_t hidden_size;                 /**< H */
    int64_t expert_count;                /**< E */
    int64_t gate_width;                  /**< W of the inner layer of a two-layer gate; 0: one layer */
    uint8_t is_inner_silu;               /**< two-layer gate: silu between the layers, else relu */
    uint8_t reserved[7];                 /**< 0 */
    const mixtura_router_policy *policy; /**< what the checkpoint asks for; NULL: INIT's */
    const mixtura_tensor *gate;          /**< [E, H], or [E, W] of a two-layer gate; f32, f16 or bf16 */
    const mixtura_tensor *inner_gate;    /**< [W, H] of a two-layer gate, else NULL */
    const mixtura_tensor *gate_bias;     /**< [E], added to the logits; or NULL */
    const mixtura_tensor *selection_bias; /**< [E], added to the scores for the choice; or NULL */
} mixtura_router_spec;
/** Starts a mixtura_router_spec. */
#define MIXTURA_ROUTER_SPEC_INIT \
    {sizeof(mixtura_router_spec), 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, 0}, NULL, NULL, NULL, NULL, NULL}

/** What a plan holds, lent until the plan's next change. */
typedef struct mixtura_route_view {
    size_t struct_size;                  /**< sizeof this */
    int64_t token_count;                 /**< T */
    int64_t choice_count;                /**< K */
    int64_t expert_count;                /**< E */
    int64_t slot_count;                  /**< used choices */
    const int32_t *expert_ids;           /**< [T, K], by score descending; -1: unused */
    const float *weights;                /**< [T, K]; 0 where unused */
    const int32_t *experts_of_token;     /**< [T], 0 to K */
    const int64_t *offsets;              /**< [E + 1]: expert e has slots offsets[e] up to offsets[e + 1] */
    const int32_t *token_of_slot;        /**< [slot_count], by expert, then by token */
    const int32_t *slot_of_token_choice; /**< [T, K]; -1 where unused */
    const int64_t *load;                 /**< [E] choices each expert got */
    int64_t dropped;                     /**< choices that found no room */
    int64_t rerouted;                    /**< choices that went to a next best expert */
    int64_t clamped;                     /**< logits that logit_clamp changed */
    int64_t non_finite;                  /**< tokens with a logit that is not finite */
    int64_t padding;                     /**< tokens that the padding mask left out */
} mixtura_route_view;
/** Starts a mixtura_route_view. */
#define MIXTURA_ROUTE_VIEW_INIT \
    {sizeof(mixtura_route_view), 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0}

/** Copies the weights.  INVALID_ARGUMENT, OUT_OF_HOST_MEMORY.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_router_create(const mixtura_router_spec *spec, mixtura_router **router)
    MIXTURA_NOEXCEPT;
/** Ends a router; leaves one that a model lent alone.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_router_destroy(mixtura_router *router) MIXTURA_NOEXCEPT;
/** The router of one layer, over the model's weights, lent as long as the model's handle; NULL for a dense layer or a
 * number that is none.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API const mixtura_router *mixtura_model_router(const mixtura_model *model, int64_t layer) MIXTURA_NOEXCEPT;
/** What the checkpoint asks for; `is_masked` is lent as long as the router.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_router_get_policy(const mixtura_router *router,
                                                                     mixtura_router_policy *policy) MIXTURA_NOEXCEPT;
/** E; 0 for NULL.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API int64_t mixtura_router_expert_count(const mixtura_router *router) MIXTURA_NOEXCEPT;
/** H; 0 for NULL.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API int64_t mixtura_router_hidden_size(const mixtura_router *router) MIXTURA_NOEXCEPT;
/** hidden [T, H] in, a plan out.  `policy` NULL: the router's own.  `padding_mask` [T], 0 for rows of padding, or NULL.
 * INVALID_ARGUMENT.  Threads: any-thread, each with a plan of its own.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_router_route(const mixtura_router *router, const float *hidden,
                                                                size_t token_count, const mixtura_router_policy *policy,
                                                                const uint8_t *padding_mask, mixtura_route_plan *plan)
    MIXTURA_NOEXCEPT;
/** hidden [T, H] in, logits [T, E] out, as the gate gives them.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_router_logits(const mixtura_router *router, const float *hidden,
                                                                 size_t token_count, float *logits) MIXTURA_NOEXCEPT;
/** The same choice from logits [T, E] that somebody else computed; `selection_bias` [E] or NULL.
 * Threads: any-thread, each with a plan of its own.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_route_logits(const float *logits, size_t token_count,
                                                                int64_t expert_count, const float *selection_bias,
                                                                const mixtura_router_policy *policy,
                                                                const uint8_t *padding_mask, mixtura_route_plan *plan)
    MIXTURA_NOEXCEPT;

/** An empty plan.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_route_plan_create(mixtura_route_plan **plan) MIXTURA_NOEXCEPT;
/** Ends a plan.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_route_plan_destroy(mixtura_route_plan *plan) MIXTURA_NOEXCEPT;
/** What it holds.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_route_plan_view(const mixtura_route_plan *plan,
                                                                   mixtura_route_view *view) MIXTURA_NOEXCEPT;
/** A plan that the caller wrote or stored: expert_ids [T, K] (-1: unused, behind the used) and weights [T, K]; the rest
 * is worked out.  INVALID_ARGUMENT.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_route_plan_set(mixtura_route_plan *plan, size_t token_count,
                                                                  size_t choice_count, int64_t expert_count,
                                                                  const int32_t *expert_ids, const float *weights)
    MIXTURA_NOEXCEPT;

/* ---- Expert pool ------------------------------------------------------------------------------------------------- */

/** The experts of one layer: y[t] = sum over k of weight[t, k] · expert(x[t]) (+ shared(x[t])).  Immutable. */
typedef struct mixtura_expert_pool mixtura_expert_pool;

/** act of expert(x) = down · act(gate · x, up · x). */
enum {
    MIXTURA_ACTIVATION_SILU = 0,       /**< x · sigmoid(x) */
    MIXTURA_ACTIVATION_GELU = 1,       /**< with erf */
    MIXTURA_ACTIVATION_GELU_TANH = 2,  /**< with tanh */
    MIXTURA_ACTIVATION_QUICK_GELU = 3, /**< x · sigmoid(1.702 x) */
    MIXTURA_ACTIVATION_RELU = 4        /**< max(x, 0) */
};
/** Where a choice's weight is multiplied in. */
enum {
    MIXTURA_WEIGHT_AT_OUTPUT = 0, /**< of the expert */
    MIXTURA_WEIGHT_AT_INPUT = 1   /**< Llama 4 */
};

/** Experts to be packed.  Each of `gate`, `up` and `down` is one tensor with E in front, or an array of E matrices. */
typedef struct mixtura_expert_spec {
    size_t struct_size;                 /**< sizeof this */
    int64_t hidden_size;                /**< H */
    int64_t expert_count;               /**< E */
    int64_t width;                      /**< F of a routed expert */
    int64_t shared_width;               /**< of the shared expert; 0: none.  Several are one of their summed width */
    int32_t activation;                 /**< MIXTURA_ACTIVATION_… */
    int32_t weight_at;                  /**< MIXTURA_WEIGHT_AT_… */
    float clamp_limit;                  /**< above 0: gpt-oss' clamped form */
    float clamp_alpha;                  /**< of it; 1.702 */
    float shared_scale;                 /**< multiplies the shared output; 1 */
    int32_t thread_count;               /**< of runs, the caller included; 0: as many as may be kept busy */
    size_t tensor_count;                /**< of gate, up and down each: 1 ([E, F, H], [E, H, F]) or E ([F, H], [H, F]) */
    const mixtura_tensor *gate;         /**< NULL: experts without a gate */
    const mixtura_tensor *up;           /**< F by H each */
    const mixtura_tensor *down;         /**< H by F each */
    const mixtura_tensor *gate_bias;    /**< [E, F] f32, or NULL */
    const mixtura_tensor *up_bias;      /**< [E, F] f32, or NULL */
    const mixtura_tensor *down_bias;    /**< [E, H] f32, or NULL */
    const mixtura_tensor *shared_gate;  /**< [shared_width, H], or NULL */
    const mixtura_tensor *shared_up;    /**< [shared_width, H], or NULL */
    const mixtura_tensor *shared_down;  /**< [H, shared_width], or NULL */
    const mixtura_tensor *shared_score; /**< [1, H]: the shared output times sigmoid(it · x); or NULL */
} mixtura_expert_spec;
/** Starts a mixtura_expert_spec. */
#define MIXTURA_EXPERT_SPEC_INIT                                                                                      \
    {sizeof(mixtura_expert_spec), 0, 0, 0, 0, 0, 0, 0.0F, 1.702F, 1.0F, 0, 1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, \
     NULL, NULL, NULL}

/** What a pool is and has done. */
typedef struct mixtura_expert_pool_stats {
    size_t struct_size;    /**< sizeof this */
    int64_t hidden_size;   /**< H */
    int64_t expert_count;  /**< E */
    uint64_t weight_bytes; /**< in memory */
    uint64_t tokens;       /**< run so far */
    uint64_t expert_runs;  /**< how often an expert's weights were read */
    uint64_t choices;      /**< (token, expert) pairs */
} mixtura_expert_pool_stats;
/** Starts a mixtura_expert_pool_stats. */
#define MIXTURA_EXPERT_POOL_STATS_INIT {sizeof(mixtura_expert_pool_stats), 0, 0, 0, 0, 0, 0}

/** Packs the weights into memory of its own.  INVALID_ARGUMENT, UNSUPPORTED, OUT_OF_HOST_MEMORY.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_expert_pool_create(const mixtura_expert_spec *spec,
                                                                      mixtura_expert_pool **pool) MIXTURA_NOEXCEPT;
/** Ends a pool; leaves one that a model lent alone.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_expert_pool_destroy(mixtura_expert_pool *pool) MIXTURA_NOEXCEPT;
/** The experts of one layer, lent as mixtura_model_router().  Threads: any-thread.  Since: 0.1 */
MIXTURA_API const mixtura_expert_pool *mixtura_model_experts(const mixtura_model *model, int64_t layer) MIXTURA_NOEXCEPT;
/** Figures.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_expert_pool_get_stats(const mixtura_expert_pool *pool,
                                                                         mixtura_expert_pool_stats *stats)
    MIXTURA_NOEXCEPT;
/** hidden [T, H] and a plan of T tokens in, output [T, H] overwritten; they do not overlap.  INVALID_ARGUMENT,
 * OUT_OF_HOST_MEMORY.  Threads: any-thread; calls take turns.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_expert_pool_run(const mixtura_expert_pool *pool, const float *hidden,
                                                                   size_t token_count, const mixtura_route_plan *plan,
                                                                   float *output) MIXTURA_NOEXCEPT;

/* ---- Key/value cache --------------------------------------------------------------------------------------------- */

/** Keys and values of many sequences in blocks of 32 tokens that sequences share until one of them writes. */
typedef struct mixtura_kv_cache mixtura_kv_cache;
/** A sequence of a cache; never given twice by one. */
typedef uint64_t mixtura_sequence;

/** Tokens of a block. */
#define MIXTURA_KV_BLOCK_TOKENS 32

/** One matrix row a token leaves behind, as keys or as values.  This structure never grows. */
typedef struct mixtura_kv_plane {
    int64_t head_count; /**< heads */
    int64_t size;       /**< elements of one head's row */
    int32_t dtype;      /**< f32, f16, bf16, q8_0 or f8_e4m3 */
    int32_t reserved;   /**< 0 */
} mixtura_kv_plane;
/** One layer.  This structure never grows. */
typedef struct mixtura_kv_layer {
    const mixtura_kv_plane *planes; /**< keys, then values; or NULL */
    size_t plane_count;             /**< of them */
    size_t group;                   /**< index of its group */
} mixtura_kv_layer;
/** Layers of a group see equally far back.  This structure never grows. */
typedef struct mixtura_kv_group {
    int64_t window_tokens; /**< a query at q sees (q - window, q]; 0: no window */
    int64_t chunk_tokens;  /**< a query at q sees from the last multiple of it; 0: no chunks */
} mixtura_kv_group;

/** A cache to be made. */
typedef struct mixtura_kv_cache_options {
    size_t struct_size;             /**< sizeof this */
    const mixtura_kv_layer *layers; /**< in order */
    size_t layer_count;             /**< of them */
    const mixtura_kv_group *groups; /**< NULL: one group that sees everything */
    size_t group_count;             /**< of them */
    int64_t tokens_max;             /**< of one sequence; 0: no limit */
    uint64_t bytes_max;             /**< of all blocks; 0: what the machine or its cgroup has */
} mixtura_kv_cache_options;
/** Starts a mixtura_kv_cache_options. */
#define MIXTURA_KV_CACHE_OPTIONS_INIT {sizeof(mixtura_kv_cache_options), NULL, 0, NULL, 0, 0, 0}

/** Where a plane lies in each block.  A row of q8_0 is blocks of 32 elements, an f16 and 32 int8, the last filled up with
 * zeros; of f8_e4m3 the row's own scale as f32 and an e4m3 an element.  An element is code · scale, rounded once to f32.
 * This structure never grows. */
typedef struct mixtura_kv_plane_view {
    size_t offset_bytes;      /**< from the block's start */
    size_t head_stride_bytes; /**< from head to head */
    size_t row_stride_bytes;  /**< from token to token */
    int64_t head_count;       /**< heads */
    int64_t size;             /**< elements of a row */
    int32_t dtype;            /**< MIXTURA_DTYPE_… */
    int32_t reserved;         /**< 0 */
} mixtura_kv_plane_view;

/** One layer of one sequence for reading: position p is row p mod 32 of block block_table[p div 32], which lies at
 * base + id · block_stride_bytes.  Lent until the cache's next append, truncate, release, free or import. */
typedef struct mixtura_kv_view {
    size_t struct_size;           /**< sizeof this */
    const void *base;             /**< of all blocks */
    size_t block_stride_bytes;    /**< from block to block */
    const int32_t *block_table;   /**< by position div 32; -1 where released */
    size_t block_count;           /**< entries of block_table */
    int64_t first_block;          /**< blocks below it were released */
    int64_t length_tokens;        /**< positions at or above it are not to be read */
    size_t plane_count;           /**< planes of the layer: ask mixtura_kv_cache_plane() */
} mixtura_kv_view;
/** Starts a mixtura_kv_view. */
#define MIXTURA_KV_VIEW_INIT {sizeof(mixtura_kv_view), NULL, 0, NULL, 0, 0, 0, 0}

/** Memory of a cache. */
typedef struct mixtura_kv_memory {
    size_t struct_size;     /**< sizeof this */
    uint64_t bytes_max;     /**< the budget */
    uint64_t bytes_held;    /**< taken from the system */
    uint64_t bytes_used;    /**< of these, in blocks that a sequence holds */
    uint64_t blocks_used;   /**< blocks that a sequence holds */
    uint64_t blocks_shared; /**< held by two sequences or more */
    uint64_t blocks_free;   /**< kept for reuse */
    uint64_t sequences;     /**< alive */
    uint64_t tokens;        /**< sum of their lengths */
} mixtura_kv_memory;
/** Starts a mixtura_kv_memory. */
#define MIXTURA_KV_MEMORY_INIT {sizeof(mixtura_kv_memory), 0, 0, 0, 0, 0, 0, 0, 0}

/** Reserves addresses but no memory yet.  INVALID_ARGUMENT, OUT_OF_HOST_MEMORY.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_create(const mixtura_kv_cache_options *options,
                                                                   mixtura_kv_cache **cache) MIXTURA_NOEXCEPT;
/** Ends a cache.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_kv_cache_destroy(mixtura_kv_cache *cache) MIXTURA_NOEXCEPT;
/** Figures.  Threads: any-thread beside other const functions.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_get_memory(const mixtura_kv_cache *cache, mixtura_kv_memory *memory)
    MIXTURA_NOEXCEPT;
/** An empty sequence.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_create_sequence(mixtura_kv_cache *cache,
                                                                            mixtura_sequence *sequence) MIXTURA_NOEXCEPT;
/** A second sequence with the same content, which shares all blocks.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_fork(mixtura_kv_cache *cache, mixtura_sequence sequence,
                                                                 mixtura_sequence *fork) MIXTURA_NOEXCEPT;
/** Ends a sequence.  NOT_FOUND.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_free_sequence(mixtura_kv_cache *cache,
                                                                          mixtura_sequence sequence) MIXTURA_NOEXCEPT;
/** Its length in tokens.  Threads: any-thread beside other const functions.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_length(const mixtura_kv_cache *cache,
                                                                   mixtura_sequence sequence, int64_t *length)
    MIXTURA_NOEXCEPT;
/** Reserves the next `count` positions (zeroed) and gives the first.  OUT_OF_RANGE, BUDGET_EXCEEDED,
 * OUT_OF_HOST_MEMORY.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_append(mixtura_kv_cache *cache, mixtura_sequence sequence,
                                                                   int64_t count, int64_t *first) MIXTURA_NOEXCEPT;
/** Forgets the positions from `length` on.  OUT_OF_RANGE.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_truncate(mixtura_kv_cache *cache, mixtura_sequence sequence,
                                                                     int64_t length) MIXTURA_NOEXCEPT;
/** Releases the group's blocks that lie wholly below `position`.  OUT_OF_RANGE.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_release_before(mixtura_kv_cache *cache,
                                                                           mixtura_sequence sequence, size_t group,
                                                                           int64_t position) MIXTURA_NOEXCEPT;
/** The lowest position that the next token appended sees.  Threads: any-thread beside other const functions.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_first_visible(const mixtura_kv_cache *cache,
                                                                          mixtura_sequence sequence, size_t group,
                                                                          int64_t *position) MIXTURA_NOEXCEPT;
/** Stores rows [row_count, heads · size] at positions first on.  OUT_OF_RANGE, BAD_STATE where a block is shared.
 * Threads: calls for different rows may run at once.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_write(mixtura_kv_cache *cache, mixtura_sequence sequence,
                                                                  size_t layer, size_t plane, int64_t first,
                                                                  size_t row_count, const float *rows) MIXTURA_NOEXCEPT;
/** The same rows back, as stored.  Threads: any-thread beside other const functions.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_read(const mixtura_kv_cache *cache, mixtura_sequence sequence,
                                                                 size_t layer, size_t plane, int64_t first,
                                                                 size_t row_count, float *rows) MIXTURA_NOEXCEPT;
/** The blocks themselves, for an attention of the caller's.  Threads: any-thread beside other const functions.
 * Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_view(const mixtura_kv_cache *cache, mixtura_sequence sequence,
                                                                 size_t layer, mixtura_kv_view *view) MIXTURA_NOEXCEPT;
/** Where a plane of a layer lies in each block; the same for every sequence.  NOT_FOUND, OUT_OF_RANGE.
 * Threads: any-thread beside other const functions.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_plane(const mixtura_kv_cache *cache, mixtura_sequence sequence,
                                                                  size_t layer, size_t plane,
                                                                  mixtura_kv_plane_view *view) MIXTURA_NOEXCEPT;
/** Gives the blocks kept for reuse back to the system.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_kv_cache_trim(mixtura_kv_cache *cache) MIXTURA_NOEXCEPT;
/** A sequence as bytes, for a cache of the same layers.  Threads: any-thread beside other const functions.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_export(const mixtura_kv_cache *cache, mixtura_sequence sequence,
                                                                   void *bytes, size_t capacity, size_t *needed)
    MIXTURA_NOEXCEPT;
/** And back.  Every byte is distrusted: UNKNOWN_FORMAT, VERSION_MISMATCH, CORRUPT_FILE, INVALID_ARGUMENT for other
 * layers.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_kv_cache_import(mixtura_kv_cache *cache, const void *bytes, size_t size,
                                                                   mixtura_sequence *sequence) MIXTURA_NOEXCEPT;

/* ---- Generation -------------------------------------------------------------------------------------------------- */

/** One sequence over a model, with its own threads and its own keys and values.  The same tokens give the same logits,
 * bit for bit, however they are fed. */
typedef struct mixtura_generation mixtura_generation;

/** Told, while a generation is made, what the checkpoint asks of the router of mixture layer `layer`, ascending: what it
 * leaves in `policy` is in force for that generation.  A mask that it points to is read as soon as it is back.  Other than
 * 0: the call that makes the generation ends with CALLBACK_STOPPED.  A capacity is UNSUPPORTED there: what fits would hang
 * on how the tokens are cut into steps. */
typedef int (*mixtura_change_router)(int64_t layer, int64_t expert_count, mixtura_router_policy *policy, void *user_data);

/** How to make one. */
typedef struct mixtura_generation_options {
    size_t struct_size;                  /**< sizeof this */
    int64_t context_tokens;              /**< longest sequence; 0: the model's own context */
    int64_t step_tokens;                 /**< most tokens computed at once; takes memory, changes no bit; 0: 2048 */
    int32_t thread_count;                /**< 0: as many as may be kept busy */
    int32_t cache_dtype;                 /**< of keys and values: MIXTURA_CACHE_…; 0: f16 */
    mixtura_change_router change_router; /**< or NULL: the checkpoint's own policies */
    void *user_data;                     /**< of change_router */
} mixtura_generation_options;
/** Starts a mixtura_generation_options. */
#define MIXTURA_GENERATION_OPTIONS_INIT {sizeof(mixtura_generation_options), 0, 0, 0, 0, NULL, NULL}

/** Takes the logits [V] of the token at `position`; lent for the call, on the calling thread.  Other than 0 from this and
 * the next two: nothing more is told, and the feed ends with CALLBACK_STOPPED once the step that runs is done. */
typedef int (*mixtura_on_logits)(int64_t position, const float *logits, size_t logit_count, void *user_data);
/** Takes hidden [T, H] of the step's tokens, the first at `position`, before layer `layer`; layer = layer count: after
 * the final norm.  Lent for the call. */
typedef int (*mixtura_on_hidden)(int64_t position, int64_t layer, const float *hidden, size_t token_count,
                                  size_t hidden_size, void *user_data);
/** Takes where the step's tokens, the first at `position`, went in mixture layer `layer`; lent for the call. */
typedef int (*mixtura_on_route)(int64_t position, int64_t layer, const mixtura_route_view *route, void *user_data);
/** Takes a piece of an answer: text that became whole UTF-8 (perhaps none) and the token it ends with; lent for the
 * call.  On the generating thread; other than 0 ends the answer (MIXTURA_FINISH_CALLBACK). */
typedef int (*mixtura_on_piece)(const char *utf8, size_t bytes, const mixtura_sampled *sampled, void *user_data);
/** Takes a piece of an answer's text; lent for the call.  On the thread that called; other than 0 ends the answer. */
typedef int (*mixtura_on_text)(const char *utf8, size_t bytes, void *user_data);

/** What to watch while tokens are fed. */
typedef struct mixtura_feed_options {
    size_t struct_size;          /**< sizeof this */
    mixtura_on_logits on_logits; /**< of every token fed; NULL: only the last one's are computed */
    mixtura_on_hidden on_hidden; /**< or NULL */
    mixtura_on_route on_route;   /**< or NULL */
    void *user_data;             /**< of all three */
} mixtura_feed_options;
/** Starts a mixtura_feed_options. */
#define MIXTURA_FEED_OPTIONS_INIT {sizeof(mixtura_feed_options), NULL, NULL, NULL, NULL}

/** Why an answer ended. */
enum {
    MIXTURA_FINISH_NONE = 0,         /**< it goes on */
    MIXTURA_FINISH_STOP_TOKEN = 1,   /**< the model ended it */
    MIXTURA_FINISH_STOP_STRING = 2,  /**< a stop string came */
    MIXTURA_FINISH_MAX_TOKENS = 3,   /**< the limit was reached */
    MIXTURA_FINISH_CONTEXT_FULL = 4, /**< the context was */
    MIXTURA_FINISH_CANCELLED = 5,    /**< by a cancel function */
    MIXTURA_FINISH_CALLBACK = 6      /**< a callback answered other than 0 */
};
/** "stop_token"; "unknown" for another number; static.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API const char *mixtura_finish_name(int32_t reason) MIXTURA_NOEXCEPT;

/** What to answer, and when to stop. */
typedef struct mixtura_request {
    size_t struct_size;                       /**< sizeof this */
    const int32_t *prompt;                    /**< tokens; not used by chats */
    size_t prompt_count;                      /**< of them */
    const mixtura_sampling_options *sampling; /**< NULL: the model's defaults */
    const int32_t *stop_tokens;               /**< NULL: the model's end tokens */
    size_t stop_token_count;                  /**< 0 with stop_tokens other than NULL: none */
    const mixtura_text *stop_strings;         /**< none of them empty */
    size_t stop_string_count;                 /**< of them */
    int64_t tokens_max;                       /**< of the answer; 0: no limit */
    mixtura_on_piece on_piece;                /**< or NULL; not used by chats */
    mixtura_on_route on_route;                /**< where every token computed for it goes, or NULL */
    void *user_data;                          /**< of both */
} mixtura_request;
/** Starts a mixtura_request. */
#define MIXTURA_REQUEST_INIT {sizeof(mixtura_request), NULL, 0, NULL, NULL, 0, NULL, 0, 0, NULL, NULL, NULL}

/** How an answer went. */
typedef struct mixtura_answer {
    size_t struct_size;     /**< sizeof this */
    const char *utf8;       /**< its text; lent until the next call on the generation or chat */
    size_t bytes;           /**< its length */
    const int32_t *tokens;  /**< lent likewise; the stop token is not among them */
    size_t token_count;     /**< of them */
    int64_t prompt_tokens;  /**< of the prompt */
    int64_t reused_tokens;  /**< of the prompt, already in the cache */
    double prefill_seconds; /**< until the first token */
    double decode_seconds;  /**< for the others */
    int32_t finish;         /**< MIXTURA_FINISH_… */
    int32_t reserved;       /**< 0 */
} mixtura_answer;
/** Starts a mixtura_answer. */
#define MIXTURA_ANSWER_INIT {sizeof(mixtura_answer), NULL, 0, NULL, 0, 0, 0, 0.0, 0.0, 0, 0}

/** Memory of a generation. */
typedef struct mixtura_generation_memory {
    size_t struct_size;     /**< sizeof this */
    uint64_t cache_bytes;   /**< held by keys, values and states */
    uint64_t scratch_bytes; /**< held by the forward pass */
    int32_t thread_count;   /**< of its pool, the caller included */
    int32_t reserved;       /**< 0 */
} mixtura_generation_memory;
/** Starts a mixtura_generation_memory. */
#define MIXTURA_GENERATION_MEMORY_INIT {sizeof(mixtura_generation_memory), 0, 0, 0, 0}

/** Keeps what it needs of the model.  INVALID_ARGUMENT, OUT_OF_RANGE, OUT_OF_HOST_MEMORY.
 * Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_generation_create(const mixtura_model *model,
                                                                     const mixtura_generation_options *options,
                                                                     mixtura_generation **generation) MIXTURA_NOEXCEPT;
/** Ends a generation.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_generation_destroy(mixtura_generation *generation) MIXTURA_NOEXCEPT;
/** Appends tokens to the sequence.  INVALID_ARGUMENT, OUT_OF_RANGE, CANCELLED, CALLBACK_STOPPED, INTERNAL (numbers that
 * stopped being finite); on failure the sequence is as before.  Of a model with an encoder the first feed, and the first
 * after a cut to 0, is the source it reads, all at once; behind it the sequence begins with the decoder's start token,
 * and further feeds go on with that.  A run's prompt is a source likewise.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_generation_feed(mixtura_generation *generation, const int32_t *tokens,
                                                                   size_t token_count,
                                                                   const mixtura_feed_options *options) MIXTURA_NOEXCEPT;
/** Logits [V] of the last token fed, lent until the next call on the generation; NULL and 0 before the first.
 * Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_generation_logits(const mixtura_generation *generation,
                                                                     const float **logits, size_t *logit_count)
    MIXTURA_NOEXCEPT;
/** The sequence, lent likewise.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_generation_tokens(const mixtura_generation *generation,
                                                                     const int32_t **tokens, size_t *token_count)
    MIXTURA_NOEXCEPT;
/** Forgets the tokens from `length` on.  OUT_OF_RANGE.  A model with recurrent layers keeps their states at some lengths
 * only and computes the tokens behind one of these again, with the errors of mixtura_generation_feed(); on failure the
 * sequence is as before.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_generation_truncate(mixtura_generation *generation, int64_t length)
    MIXTURA_NOEXCEPT;
/** Answers request->prompt, whatever is in the sequence; the longest common beginning is not computed again.  `answer`
 * may be NULL.  Errors as mixtura_generation_feed() and mixtura_sampler_sample(); UNSUPPORTED for stop strings without a
 * tokenizer.  A cancel or a stop while the prompt is computed is an error (CANCELLED, CALLBACK_STOPPED), later it ends
 * the answer (MIXTURA_FINISH_…).  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_generation_run(mixtura_generation *generation,
                                                                  const mixtura_request *request,
                                                                  mixtura_answer *answer) MIXTURA_NOEXCEPT;
/** Of the last run: how often layer `layer` chose each expert, [E]; nothing for a dense layer.
 * Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_generation_expert_load(const mixtura_generation *generation,
                                                                          int64_t layer, int64_t *choices,
                                                                          size_t capacity, size_t *needed)
    MIXTURA_NOEXCEPT;
/** Ends the feed or run that is under way, at the next token or step; one that has not begun is not ended.
 * Threads: signal-safe.  Since: 0.1 */
MIXTURA_API void mixtura_generation_cancel(mixtura_generation *generation) MIXTURA_NOEXCEPT;
/** Figures.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_generation_get_memory(const mixtura_generation *generation,
                                                                         mixtura_generation_memory *memory)
    MIXTURA_NOEXCEPT;

/* ---- Chat -------------------------------------------------------------------------------------------------------- */

/** A conversation with a model, laid out by its chat template.  Its text can never become a turn marker. */
typedef struct mixtura_chat mixtura_chat;

/** How to chat. */
typedef struct mixtura_chat_options {
    size_t struct_size;                           /**< sizeof this */
    const mixtura_generation_options *generation; /**< NULL: its defaults */
    const mixtura_request *request;               /**< sampling, stops and on_route of every answer; NULL: the model's */
    const mixtura_template *chat_template;        /**< instead of the model's own, or NULL */
    mixtura_text variables_json;                  /**< further variables of the template as one JSON object; NULL: none */
    const char *now;                              /**< as in mixtura_render_options */
} mixtura_chat_options;
/** Starts a mixtura_chat_options. */
#define MIXTURA_CHAT_OPTIONS_INIT {sizeof(mixtura_chat_options), NULL, NULL, NULL, {NULL, 0}, NULL}

/** The roles that every template knows; any other text may do too. */
#define MIXTURA_ROLE_SYSTEM "system"
/** See MIXTURA_ROLE_SYSTEM. */
#define MIXTURA_ROLE_USER "user"
/** See MIXTURA_ROLE_SYSTEM. */
#define MIXTURA_ROLE_ASSISTANT "assistant"
/** See MIXTURA_ROLE_SYSTEM. */
#define MIXTURA_ROLE_TOOL "tool"

/** Keeps what it needs of the model.  Errors: as mixtura_generation_create(); NOT_FOUND where the model has no tokenizer
 * or no chat template.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_chat_create(const mixtura_model *model,
                                                               const mixtura_chat_options *options, mixtura_chat **chat)
    MIXTURA_NOEXCEPT;
/** Ends a chat.  Threads: per-object.  Since: 0.1 */
MIXTURA_API void mixtura_chat_destroy(mixtura_chat *chat) MIXTURA_NOEXCEPT;
/** Adds a message; `role` is NUL-terminated.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_chat_add(mixtura_chat *chat, const char *role, const char *utf8,
                                                            size_t bytes) MIXTURA_NOEXCEPT;
/** Answers the conversation so far and adds the answer to it.  `on_text` and `answer` may be NULL.  On failure the
 * conversation is as before.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_chat_reply(mixtura_chat *chat, mixtura_on_text on_text, void *user_data,
                                                              mixtura_answer *answer) MIXTURA_NOEXCEPT;
/** Takes the last answer back and answers again, with the next completion number.  BAD_STATE where the last message is
 * no answer.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_chat_regenerate(mixtura_chat *chat, mixtura_on_text on_text,
                                                                   void *user_data, mixtura_answer *answer)
    MIXTURA_NOEXCEPT;
/** Messages of the conversation; 0 for NULL.  Threads: per-object.  Since: 0.1 */
MIXTURA_API size_t mixtura_chat_message_count(const mixtura_chat *chat) MIXTURA_NOEXCEPT;
/** One of them, lent until the next call on the chat that changes it; `role` or `content` may be NULL.  OUT_OF_RANGE.
 * Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_chat_message(const mixtura_chat *chat, size_t index, mixtura_text *role,
                                                                mixtura_text *content) MIXTURA_NOEXCEPT;
/** Forgets the messages from `message_count` on.  OUT_OF_RANGE.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_chat_truncate(mixtura_chat *chat, size_t message_count) MIXTURA_NOEXCEPT;
/** How later answers are sampled.  INVALID_ARGUMENT.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_chat_set_sampling(mixtura_chat *chat,
                                                                     const mixtura_sampling_options *sampling)
    MIXTURA_NOEXCEPT;
/** The prompt that mixtura_chat_reply() would feed, as text.  Threads: per-object.  Since: 0.1 */
MIXTURA_API MIXTURA_MUST_USE mixtura_status mixtura_chat_prompt(const mixtura_chat *chat, char *text, size_t capacity,
                                                               size_t *needed) MIXTURA_NOEXCEPT;
/** Ends the reply that is under way; one that has not begun is not ended.  Threads: signal-safe.  Since: 0.1 */
MIXTURA_API void mixtura_chat_cancel(mixtura_chat *chat) MIXTURA_NOEXCEPT;
/** The chat's own generation, for its memory and expert loads; lent as long as the chat.  Threads: any-thread.  Since: 0.1 */
MIXTURA_API const mixtura_generation *mixtura_chat_generation(const mixtura_chat *chat) MIXTURA_NOEXCEPT;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif
