"""mixtura for Python: the C interface (libmixtura.so) through ctypes; wants nothing but the standard library and, for
arrays, numpy.  Copy this file beside a program; README.md has examples.

Line budget: one file on purpose, since it is copied.  The tables under "Tables" mirror mixtura.h word for word (the test
holds every structure, constant and prototype against the header); what follows them is the interface.

 - The library: load(path), else $MIXTURA_LIBRARY, else beside this file, else where the system looks for libraries.
 - Failures raise Error or one of its classes (also MemoryError, ValueError, … where Python has a name for it).
 - Objects end with close(), a `with` block or the garbage collector, in any order; used after that they raise BadState.
   So do objects of one thread at a time (Generation, Chat, KVCache, Sampler, …) where two calls meet.
 - Arrays go in without a copy where they are of the right type and dense (expert weights: with any strides).  Arrays
   that come out are views of the library's memory where the text says "lent until …": take .copy() to keep one longer.
   They keep their object alive, but not against its close().
 - Answers stream: Generation.stream(), Chat.reply() and Model.chat() give generators.  The answer is computed on a thread
   of its own, a few pieces ahead of the reader; closing or dropping the generator, or Ctrl-C, ends it.
 - Exceptions in callbacks stop the call and come out of it; none passes through C."""
from __future__ import annotations

import atexit
import contextlib
import ctypes as C
import ctypes.util
import json
import logging
import math
import os
import pathlib
import queue
import threading
import types
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, Union

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]
    Ids = npt.NDArray[np.int32]
    Counts = npt.NDArray[np.int64]
    Array = npt.NDArray[Any]

Tokens = Union[Sequence[int], "Ids"]
T = TypeVar("T")
VERSION = (0, 1, 0)  # of the header this was written for

# ---- Tables: constants -------------------------------------------------------------------------------------------------


class Code(IntEnum):
    """MIXTURA_…: what a call came to."""
    OK = 0
    END_OF_STREAM = 1
    WOULD_BLOCK = 2
    INTERNAL = -1
    OUT_OF_HOST_MEMORY = -2
    OUT_OF_DEVICE_MEMORY = -3
    BUDGET_EXCEEDED = -4
    INVALID_ARGUMENT = -10
    OUT_OF_RANGE = -11
    BUFFER_TOO_SMALL = -12
    UNSUPPORTED = -13
    VERSION_MISMATCH = -14
    IO = -20
    NOT_FOUND = -21
    CORRUPT_FILE = -22
    UNKNOWN_FORMAT = -23
    UNKNOWN_ARCHITECTURE = -24
    BAD_STATE = -30
    CANCELLED = -31
    CALLBACK_STOPPED = -32
    TIMEOUT = -33
    DEVICE = -40
    DEVICE_LOST = -41
    NO_BACKEND = -42
    COMM = -50
    PEER_LOST = -51


Feature = IntEnum("Feature", "AVX2 AVX_VNNI AVX512_VNNI AMX NEON_DOTPROD CUDA NCCL MPI")
Log = IntEnum("Log", "NONE ERROR WARNING INFO DEBUG TRACE", start=0)
About = IntEnum("About", "PATH ARCHITECTURE NAME DECLARED_SIZE FORMAT TOKENIZER BACKEND")
AddedTokens = IntEnum("AddedTokens", "ALL SPECIAL_ONLY NONE", start=0)
AddBos = IntEnum("AddBos", "MODEL_DEFAULT YES NO", start=0)
TokenIs = IntFlag("TokenIs", "END SPECIAL ADDED")
Scoring = IntEnum("Scoring", "SOFTMAX SIGMOID SOFTMAX_OF_CHOSEN SPARSEMIXER", start=0)
GroupScore = IntEnum("GroupScore", "LARGEST SUM_OF_TOP_TWO", start=0)
Overflow = IntEnum("Overflow", "NEXT_BEST DROP", start=0)
Activation = IntEnum("Activation", "SILU GELU GELU_TANH QUICK_GELU RELU", start=0)
WeightAt = IntEnum("WeightAt", "OUTPUT INPUT", start=0)
Health = IntEnum("Health", "OK NOTE WARNING FAILURE", start=0)
Finish = IntEnum("Finish", "NONE STOP_TOKEN STOP_STRING MAX_TOKENS CONTEXT_FULL CANCELLED CALLBACK", start=0)

# Names as mixtura_dtype_name() gives them: 0 on, 20 on, 40 on, 80 on.
DTYPES: dict[str, int] = {name: first + i for first, names in (
    (0, "unknown f64 f32 f16 bf16 f8_e4m3 f8_e5m2 f8_e8m0 f8_e4m3fnuz f8_e5m2fnuz f6_e2m3 f6_e3m2 f4_e2m1 c64"),
    (20, "i64 i32 i16 i8 u64 u32 u16 u8 bool"),
    (40, "q4_0 q4_1 q5_0 q5_1 q8_0 q8_1 q2_k q3_k q4_k q5_k q6_k q8_k iq1_s iq1_m iq2_xxs iq2_xs iq2_s iq3_xxs iq3_s "
         "iq4_nl iq4_xs tq1_0 tq2_0 mxfp4 nvfp4"),
    (80, "f8_e4m3_32 f8_e4m3_128 int4_32 int4_64 int4_128 nf4")) for i, name in enumerate(names.split())}
# How a model's keys and values are kept: an element type for both, or keys+values.
CACHE_DTYPES: dict[str, int] = {"f32": 2, "f16": 3, "bf16": 4, "f8": 5, "q8": 44, "f16+f8": 327683, "bf16+f8": 327684, "f16+q8": 2883587,
                                "bf16+q8": 2883588}
_NUMPY_OF = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "c64": "<c8", "i64": "<i8", "i32": "<i4", "i16": "<i2", "i8": "|i1",
             "u64": "<u8", "u32": "<u4", "u16": "<u2", "u8": "|u1", "bool": "|b1", "bf16": "<u2"}

UNSET_FLOAT = -3.40282346638528859812e+38
UNSET_INT32 = -(1 << 31)
UNSET_SEED = (1 << 64) - 1
NO_TOKEN = -1
TENSOR_RANK_MAX = 4
KV_BLOCK_TOKENS = 32

# ---- Tables: types, callbacks, structures, functions ---------------------------------------------------------------------
# A letter a type; *name: pointer to that structure; P, Z, L, U: where a pointer, a size_t, an int64_t, a uint64_t goes.
_TYPES: dict[str, Any] = {
    "v": None, "p": C.c_void_p, "s": C.c_char_p, "z": C.c_size_t, "i": C.c_int32, "I": C.c_uint32, "l": C.c_int64, "u": C.c_uint64,
    "f": C.c_float, "d": C.c_double, "B": C.c_uint8, "P": C.POINTER(C.c_void_p), "Z": C.POINTER(C.c_size_t),
    "L": C.POINTER(C.c_int64), "U": C.POINTER(C.c_uint64)}

# Name, result, parameters.
_CALLBACKS = """
log_callback v i s s s i p
on_health v s i s s p
progress_callback i u u p
logits_callback i p z p z z p
on_logits i l p z p
on_hidden i l l p z z p
on_route i l l p p
change_router i l l p p
on_piece i p z p p
on_text i p z p
"""

# Name, then field:type, *n for arrays.
_STRUCTURES = """
backend_info struct_size:z name:s description:s is_deterministic:B is_supported:B is_chosen:B reserved:B*5
tensor data:p dtype:i rank:i shape:l*4 stride_bytes:l*4
text utf8:p bytes:z
model_facts struct_size:z layer_count:l hidden_size:l head_count:l kv_head_count:l head_size:l ffn_size:l expert_count:l
  experts_per_token:l shared_expert_count:l expert_ffn_size:l vocabulary_size:l context_tokens:l parameter_count:u
  weight_bytes:u has_tokenizer:B has_chat_template:B reserved:B*6
tensor_info struct_size:z dtype:i rank:i shape:l*8 file_index:I reserved:I offset_bytes:u size_bytes:u
memory_forecast struct_size:z weight_bytes:u cache_bytes:u scratch_bytes:u context_tokens:l routed_parameters:u
  multiplied_parameters:u read_bytes:u
forecast_options struct_size:z context_tokens:l cache_dtype:i reserved:i weights:s
model_options struct_size:z thread_count:i reserved:i on_progress:progress_callback user_data:p weights:s
weight_error struct_size:z role:s kind:s parameter_count:u error_sum:d square_sum:d largest:d from:i to:i
encode_options struct_size:z added_tokens:i add_bos:i
text_span utf8:p bytes:z is_trusted:B reserved:B*7
special_tokens struct_size:z bos:i eos:i eot:i eom:i unk:i pad:i sep:i mask:i fim_prefix:i fim_suffix:i fim_middle:i reserved:i
variable name:s value:text
render_options struct_size:z trusted:p trusted_count:z trusted_roles:p trusted_role_count:z now:s add_generation_prompt:i
  reserved:i
logit_bias token:i bias:f
sampling_options struct_size:z logit_bias:p logit_bias_count:z repetition_penalty:f presence_penalty:f frequency_penalty:f
  no_repeat_ngram:i edit_logits:logits_callback edit_logits_user_data:p temperature:f top_k:i top_p:f min_p:f typical_p:f
  logprobs:i seed:u completion:u
token_logprob token:i logprob:f
sampled struct_size:z token:i probability:f logprob:f likeliest_count:i likeliest:p
router_policy struct_size:z top_k:l group_count:l groups_kept:l is_masked:p is_masked_count:z scoring:i group_score:i
  overflow:i routed_scale:f temperature:f renormalise_floor:f renormalise_bias:f sparsemixer_epsilon:f logit_clamp:f
  cumulative_probability:f capacity_factor:f renormalise:B renormalise_after_drop:B reserved:B*2
router_spec struct_size:z hidden_size:l expert_count:l gate_width:l is_inner_silu:B reserved:B*7 policy:p gate:p inner_gate:p
  gate_bias:p selection_bias:p
route_view struct_size:z token_count:l choice_count:l expert_count:l slot_count:l expert_ids:p weights:p experts_of_token:p
  offsets:p token_of_slot:p slot_of_token_choice:p load:p dropped:l rerouted:l clamped:l non_finite:l padding:l
expert_spec struct_size:z hidden_size:l expert_count:l width:l shared_width:l activation:i weight_at:i clamp_limit:f
  clamp_alpha:f shared_scale:f thread_count:i tensor_count:z gate:p up:p down:p gate_bias:p up_bias:p down_bias:p
  shared_gate:p shared_up:p shared_down:p shared_score:p
expert_pool_stats struct_size:z hidden_size:l expert_count:l weight_bytes:u tokens:u expert_runs:u choices:u
kv_plane head_count:l size:l dtype:i reserved:i
kv_layer planes:p plane_count:z group:z
kv_group window_tokens:l chunk_tokens:l
kv_cache_options struct_size:z layers:p layer_count:z groups:p group_count:z tokens_max:l bytes_max:u
kv_plane_view offset_bytes:z head_stride_bytes:z row_stride_bytes:z head_count:l size:l dtype:i reserved:i
kv_view struct_size:z base:p block_stride_bytes:z block_table:p block_count:z first_block:l length_tokens:l plane_count:z
kv_memory struct_size:z bytes_max:u bytes_held:u bytes_used:u blocks_used:u blocks_shared:u blocks_free:u sequences:u tokens:u
generation_options struct_size:z context_tokens:l step_tokens:l thread_count:i cache_dtype:i change_router:change_router user_data:p
feed_options struct_size:z on_logits:on_logits on_hidden:on_hidden on_route:on_route user_data:p
request struct_size:z prompt:p prompt_count:z sampling:p stop_tokens:p stop_token_count:z stop_strings:p stop_string_count:z
  tokens_max:l on_piece:on_piece on_route:on_route user_data:p
answer struct_size:z utf8:p bytes:z tokens:p token_count:z prompt_tokens:l reused_tokens:l prefill_seconds:d
  decode_seconds:d finish:i reserved:i
generation_memory struct_size:z cache_bytes:u scratch_bytes:u thread_count:i reserved:i
chat_options struct_size:z generation:p request:p chat_template:p variables_json:text now:s
x_machine_rates struct_size:z read_bytes_per_s:d integer_ops_per_s:d float_ops_per_s:d thread_count:i reserved:i
"""

# What the _INIT values hold beside struct_size, where it is not 0.
_INITIAL: dict[str, dict[str, Any]] = {
    "special_tokens": dict.fromkeys("bos eos eot eom unk pad sep mask fim_prefix fim_suffix fim_middle".split(), NO_TOKEN),
    "render_options": {"add_generation_prompt": UNSET_INT32},
    "sampling_options": {
        **dict.fromkeys("repetition_penalty presence_penalty frequency_penalty temperature top_p min_p typical_p".split(), UNSET_FLOAT),
        **dict.fromkeys("no_repeat_ngram top_k logprobs".split(), UNSET_INT32), "seed": UNSET_SEED},
    "sampled": {"token": NO_TOKEN, "logprob": UNSET_FLOAT},
    "router_policy": {"top_k": 1, "group_count": 1, "groups_kept": 1, "routed_scale": 1.0,
                      "temperature": 1.0, "sparsemixer_epsilon": 0.01},
    "expert_spec": {"clamp_alpha": 1.702, "shared_scale": 1.0, "tensor_count": 1}}

# Name, result, parameters.  Handles are p, and so is memory of the caller's.
_FUNCTIONS = """
status_name s i
last_error_message s
version_number i
version_string s
build_info i p z Z
feature i i
backend_count z
get_backend_info i z *backend_info
check_health i s on_health p
self_test i
log_set v log_callback p i
dtype_name s i
dtype_block i i L L
checkpoint_open i s P
checkpoint_destroy v p
checkpoint_get_facts i p *model_facts
checkpoint_text i p i p z Z
checkpoint_warnings i p p z Z
checkpoint_tensor_count z p
checkpoint_find i p s Z
checkpoint_tensor i p z *tensor_info
checkpoint_tensor_name i p z p z Z
checkpoint_read i p z p z
model_forecast i s l i *memory_forecast
model_forecast_with i s *forecast_options *memory_forecast
model_open i s *model_options P
model_destroy v p
model_get_facts i p *model_facts
model_weight_error_count z p
model_get_weight_error i p z *weight_error
model_text i p i p z Z
model_warnings i p p z Z
tokenizer_open i s P
tokenizer_of_model i p P
tokenizer_destroy v p
tokenizer_encode i p s z *encode_options p z Z
tokenizer_encode_spans i p *text_span z p z Z
tokenizer_decode i p p z i p z Z
tokenizer_token_bytes i p i p z Z
tokenizer_token_text i p i p z Z
tokenizer_find i p s z
tokenizer_size z p
tokenizer_token_flags i p i
tokenizer_get_special_tokens i p *special_tokens
stream_decoder_create i p i P
stream_decoder_destroy v p
stream_decoder_push i p i *text
stream_decoder_finish i p *text
template_parse i s z P
template_open i s s P
template_of_model i p P
template_destroy v p
template_render i p s z *render_options P
prompt_destroy v p
prompt_text i p p z Z
prompt_spans i p *text_span z Z
model_get_sampling_defaults i p *sampling_options
sampler_create i l *sampling_options P
sampler_destroy v p
sampler_sample i p p z p z z *sampled
sampler_probabilities i p p z p z z p
router_create i *router_spec P
router_destroy v p
model_router p p l
router_get_policy i p *router_policy
router_expert_count l p
router_hidden_size l p
router_route i p p z *router_policy p p
router_logits i p p z p
route_logits i p z l p *router_policy p p
route_plan_create i P
route_plan_destroy v p
route_plan_view i p *route_view
route_plan_set i p z z l p p
expert_pool_create i *expert_spec P
expert_pool_destroy v p
model_experts p p l
expert_pool_get_stats i p *expert_pool_stats
expert_pool_run i p p z p p
kv_cache_create i *kv_cache_options P
kv_cache_destroy v p
kv_cache_get_memory i p *kv_memory
kv_cache_create_sequence i p U
kv_cache_fork i p u U
kv_cache_free_sequence i p u
kv_cache_length i p u L
kv_cache_append i p u l L
kv_cache_truncate i p u l
kv_cache_release_before i p u z l
kv_cache_first_visible i p u z L
kv_cache_write i p u z z l z p
kv_cache_read i p u z z l z p
kv_cache_view i p u z *kv_view
kv_cache_plane i p u z z *kv_plane_view
kv_cache_trim v p
kv_cache_export i p u p z Z
kv_cache_import i p p z U
finish_name s i
generation_create i p *generation_options P
generation_destroy v p
generation_feed i p p z *feed_options
generation_logits i p P Z
generation_tokens i p P Z
generation_truncate i p l
generation_run i p *request *answer
generation_expert_load i p l p z Z
generation_cancel v p
generation_get_memory i p *generation_memory
chat_create i p *chat_options P
chat_destroy v p
chat_add i p s s z
chat_reply i p on_text p *answer
chat_regenerate i p on_text p *answer
chat_message_count z p
chat_message i p z *text *text
chat_truncate i p z
chat_set_sampling i p *sampling_options
chat_prompt i p p z Z
chat_cancel v p
chat_generation p p
x_batch_create i p *generation_options l P
x_batch_destroy v p
x_batch_step i p p z p z
x_batch_reset i p
x_measure_machine i i *x_machine_rates
"""


def _read_tables() -> None:
    for line in _CALLBACKS.split("\n"):
        if words := line.split():
            _TYPES[words[0]] = C.CFUNCTYPE(*(_TYPES[word] for word in words[1:]))
    for line in _STRUCTURES.replace("\n  ", " ").split("\n"):
        if words := line.split():
            fields = []
            for name, _, kind in (word.partition(":") for word in words[1:]):
                kind, _, count = kind.partition("*")
                fields.append((name, _TYPES[kind] * int(count) if count else _TYPES[kind]))
            _TYPES[words[0]] = structure = type("mixtura_" + words[0], (C.Structure,), {"_fields_": fields})
            _TYPES["*" + words[0]] = C.POINTER(structure)


_read_tables()


def _new(name: str, /, **values: Any) -> Any:
    """A structure at its _INIT value, with these fields.  A pointer may be given as what it points to, which then lives as
    long as the structure."""
    kind = _TYPES[name]
    made = kind()
    made.kept = kept = [values]
    if kind._fields_[0][0] == "struct_size":
        made.struct_size = C.sizeof(kind)
    types_of = dict(kind._fields_)
    for field, value in {**_INITIAL.get(name, {}), **values}.items():
        if types_of[field] is C.c_void_p:
            if isinstance(value, (C.Structure, C.Array)):
                value = C.addressof(value)
            elif isinstance(value, bytes):
                value = C.cast(C.c_char_p(value), C.c_void_p)
            elif hasattr(value, "ctypes"):
                value = value.ctypes.data
            kept.append(value)
        setattr(made, field, value)
    return made


def _many(name: str, items: Sequence[Any]) -> Any:
    """An array of structures, whose parts live as long as it; None for none."""
    if not items:
        return None
    made = (_TYPES[name] * len(items))(*items)
    made.kept = items
    return made


def _text(data: bytes) -> Any:
    return _new("text", utf8=data, bytes=len(data))


# ---- Errors --------------------------------------------------------------------------------------------------------------


class Error(Exception):
    """What a call of the library failed with."""
    _code = Code.INTERNAL

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code: int = self._code if code is None else code

    @property
    def name(self) -> str:
        """"CORRUPT_FILE"; "UNKNOWN" for a code of a newer library."""
        return Code(self.code).name if self.code in Code.__members__.values() else "UNKNOWN"

    def __str__(self) -> str:
        return f"{self.name}: {self.args[0]}"


class OutOfMemory(Error, MemoryError):
    _code = Code.OUT_OF_HOST_MEMORY


class InvalidArgument(Error, ValueError):
    _code = Code.INVALID_ARGUMENT


class OutOfRange(Error, IndexError):
    _code = Code.OUT_OF_RANGE


class NotFound(Error, LookupError):
    _code = Code.NOT_FOUND


class Unsupported(Error, NotImplementedError):
    _code = Code.UNSUPPORTED


class BadState(Error, RuntimeError):
    _code = Code.BAD_STATE


class Cancelled(Error):
    _code = Code.CANCELLED


class LibraryNotFound(Error):
    """libmixtura.so is not there, or of another version."""
    _code = Code.NOT_FOUND


_ERRORS: dict[int, type[Error]] = {
    one._code: one for one in (OutOfMemory, InvalidArgument, OutOfRange, NotFound, Unsupported, BadState, Cancelled)}


def _check(status: int) -> None:
    if status < 0:
        message = _function("last_error_message")().decode("utf-8", "replace")
        raise _ERRORS.get(status, Error)(message, status)


# ---- The library -----------------------------------------------------------------------------------------------------------

_functions: dict[str, Any] = {}
_loading = threading.Lock()


def load(path: str | os.PathLike[str] | None = None) -> str:
    """Loads the library from `path`, or where the text at the top says; gives what it was loaded from.  Everything else calls it
    where nobody did; a second call does nothing."""
    with _loading:
        if _functions:
            return str(_functions["path"])
        beside = pathlib.Path(__file__).resolve().parent / "libmixtura.so"
        wanted = os.fspath(path) if path is not None else os.environ.get("MIXTURA_LIBRARY")
        found = wanted or (str(beside) if beside.exists() else None) or ctypes.util.find_library("mixtura")
        if found is None:
            raise LibraryNotFound(f"libmixtura.so was not found: $MIXTURA_LIBRARY is not set, there is no {beside}, and the system "
                                  "knows no library of that name")
        try:
            library = C.CDLL(found)
            names = [line.split() for line in _FUNCTIONS.strip().split("\n")]
            table: dict[str, Any] = {}
            for name, result, *parameters in names:
                table[name] = function = library["mixtura_" + name]
                function.restype, function.argtypes = _TYPES[result], [_TYPES[parameter] for parameter in parameters]
                if name == "version_number":  # before a function that another version may lack
                    number = function()
                    if number // 1000 != VERSION[0] * 1000 + VERSION[1] or number % 1000 < VERSION[2]:
                        raise LibraryNotFound(
                            f"{found} is of version {number // 1000000}.{number // 1000 % 1000}.{number % 1000}, expected "
                                              f"{VERSION[0]}.{VERSION[1]}.{VERSION[2]} or a later patch of it", Code.VERSION_MISMATCH)
        except (OSError, AttributeError) as e:
            raise LibraryNotFound(f"{found} is no library of mixtura: {e}") from e
        _functions.update(table, path=found)
        return found


def _function(name: str) -> Any:
    if not _functions:
        load()
    return _functions[name]


def _do(name: str, *arguments: Any) -> None:
    """Calls a function that gives a status."""
    _check(_function(name)(*arguments))


def _out(kind: str, name: str, *arguments: Any) -> Any:
    """The same for one whose last parameter is where a number or pointer goes."""
    value = _TYPES[kind]()
    _do(name, *arguments, C.byref(value))
    return value.value


def _fill(structure: str, name: str, *arguments: Any) -> Any:
    made = _new(structure)
    _do(name, *arguments, C.byref(made))
    return made


def _gather(kind: Any, first: int, name: str, *arguments: Any) -> Any:
    """What a function gives to the caller's buffer, as an array of `kind`; room for `first` is tried first."""
    needed = C.c_size_t()
    while True:
        buffer = (kind * first)()
        status = _function(name)(*arguments, buffer, first, C.byref(needed))
        if status == Code.BUFFER_TOO_SMALL or (first == 0 and needed.value > 0 and status == Code.OK):
            first = needed.value
            continue
        _check(status)
        return buffer if first == needed.value else (kind * needed.value).from_buffer(buffer)


def _gather_bytes(name: str, *arguments: Any, first: int = 256) -> bytes:
    return bytes(_gather(C.c_char, first, name, *arguments))


def _gather_text(name: str, *arguments: Any, first: int = 256) -> str:
    return _gather_bytes(name, *arguments, first=first).decode("utf-8", "replace")


def _record(kind: Callable[..., T], structure: Any) -> T:
    return kind(**{name: getattr(structure, name) for name in kind._fields})  # type: ignore[attr-defined]


def _dtype(name: str) -> int:
    if name not in DTYPES:
        raise InvalidArgument(f"{name!r} is no element type; they are {', '.join(DTYPES)}")
    return DTYPES[name]


def _cache_dtype(name: str) -> int:
    if name not in CACHE_DTYPES:
        raise InvalidArgument(f"cache_dtype is {name!r}, expected {', '.join(CACHE_DTYPES)}")
    return CACHE_DTYPES[name]


def _utf8(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape")


def _string(address: int | None, count: int) -> str:
    return C.string_at(address, count).decode("utf-8", "replace") if address and count else ""


# ---- Arrays ----------------------------------------------------------------------------------------------------------------


def _numpy() -> Any:
    import numpy
    return numpy


class _Lent:
    """Memory of the library's as numpy sees it; holds its owner."""

    def __init__(self, keeper: Any, address: int, dtype: str, shape: tuple[int, ...],
                 strides: tuple[int, ...] | None, writable: bool) -> None:
        self.keeper = keeper
        self.__array_interface__ = {"version": 3, "typestr": dtype, "shape": shape, "data": (address, not writable), "strides": strides}


def _lend(keeper: Any, address: int | None, dtype: str, *shape: int,
          strides: tuple[int, ...] | None = None, writable: bool = False) -> Any:
    np = _numpy()
    if not address or 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(_Lent(keeper, address, dtype, shape, strides, writable))


def _floats(values: Any, columns: int | None, name: str) -> Any:
    """A dense float32 matrix [T, columns]; the same memory where it is one already.  `columns` None: of any width."""
    array = _numpy().ascontiguousarray(values, dtype="<f4")
    if array.ndim != 2 or columns not in (None, array.shape[1]):
        raise InvalidArgument(f"{name} has shape {list(array.shape)}, expected [tokens, {columns or 'any width'}]")
    return array


def _place(out: Any, shape: tuple[int, ...]) -> Any:
    """Where a result goes: `out` where it fits exactly, or fresh memory."""
    np = _numpy()
    if out is None:
        return np.empty(shape, "<f4")
    flags = out.flags if isinstance(out, np.ndarray) else None
    if flags is None or out.shape != shape or out.dtype != np.dtype("<f4") or not flags.c_contiguous or not flags.writeable:
        raise InvalidArgument(f"out is not a writable dense float32 array of shape {list(shape)}")
    return out


def _vector(values: Any, dtype: str, count: int | None, name: str) -> Any:
    """A dense vector of `count` values, or None."""
    if values is None:
        return None
    array = _numpy().ascontiguousarray(values, dtype=dtype)
    if array.ndim != 1 or count not in (None, array.shape[0]):
        raise InvalidArgument(f"{name} has shape {list(array.shape)}, expected [{count if count is not None else 'any length'}]")
    return array


def _at(array: Any) -> int | None:
    return None if array is None else int(array.ctypes.data)


def _ids(tokens: Tokens) -> Any:
    """(address, count, what holds it) of token ids."""
    if hasattr(tokens, "ctypes"):
        array = _vector(tokens, "<i4", None, "tokens")
        return array.ctypes.data, len(array), array
    try:
        made = (C.c_int32 * len(tokens))(*tokens)
    except TypeError as e:
        raise TypeError(f"tokens: expected a sequence of integers: {e}") from e
    return C.addressof(made), len(made), made


@dataclass(frozen=True)
class Tensor:
    """An array whose bytes mean something numpy has no name for: bf16 in uint16, or a GGUF block format in uint8 (then with the
    shape in elements, outermost first)."""
    array: Array
    dtype: str
    shape: tuple[int, ...] | None = None


def _tensor(value: Any, name: str) -> Any:
    """The mixtura_tensor of an array or a Tensor, with the array's own strides; None for None."""
    if value is None:
        return None
    np = _numpy()
    given = value if isinstance(value, Tensor) else None
    array = np.asarray(given.array if given else value)
    if given:
        kind = given.dtype
    elif array.dtype.name == "bfloat16":  # of ml_dtypes
        kind = "bf16"
    else:
        kind = next((kind for kind, code in _NUMPY_OF.items() if array.dtype == np.dtype(code) and kind != "bf16"), "unknown")
    if kind not in DTYPES or kind == "unknown" or not array.dtype.isnative:
        raise InvalidArgument(f"{name} has element type {kind if given else array.dtype}, which mixtura does not know")
    shape = given.shape if given and given.shape is not None else array.shape
    if not 1 <= len(shape) <= TENSOR_RANK_MAX:
        raise InvalidArgument(f"{name} has {len(shape)} extents, expected 1 to {TENSOR_RANK_MAX}")
    if kind in _NUMPY_OF:
        if array.dtype.itemsize != np.dtype(_NUMPY_OF[kind]).itemsize or tuple(shape) != array.shape:
            raise InvalidArgument(
                f"{name} of {kind} comes as {array.dtype} of shape {list(array.shape)}, expected {_NUMPY_OF[kind]} of {list(shape)}")
        if array.size > 1 and not any(array.strides):
            array = np.ascontiguousarray(array)  # one value repeated: in C, strides of 0 mean "dense"
        strides = array.strides
    else:
        array = np.ascontiguousarray(array)
        expected = _block_bytes(kind, shape, name)
        if array.nbytes != expected:
            raise InvalidArgument(f"{name} of {kind} and shape {list(shape)} has {array.nbytes} bytes, expected {expected}")
        strides = ()
    pad = [0] * TENSOR_RANK_MAX
    return _new("tensor", data=array, dtype=DTYPES[kind], rank=len(shape),
                shape=(C.c_int64 * TENSOR_RANK_MAX)(*[*shape, *pad][:TENSOR_RANK_MAX]),
                stride_bytes=(C.c_int64 * TENSOR_RANK_MAX)(*[*strides, *pad][:TENSOR_RANK_MAX]))


def _block(kind: str) -> tuple[int, int]:
    """Elements of a block of that type, and the bytes it takes."""
    elements, size = C.c_int64(), C.c_int64()
    _do("dtype_block", DTYPES[kind], C.byref(elements), C.byref(size))
    return elements.value, size.value


def _block_bytes(kind: str, shape: Sequence[int], name: str) -> int:
    elements, size = _block(kind)
    count = 1
    for extent in shape:
        count *= extent
    if shape[-1] % elements:
        raise InvalidArgument(f"{name} of {kind} has rows of {shape[-1]}, expected a multiple of {elements}")
    return count // elements * size


# ---- Callbacks ---------------------------------------------------------------------------------------------------------------


class _Callbacks:
    """The callbacks of one call: holds what Python gave, and carries the first exception over the library to the caller."""

    def __init__(self) -> None:
        self.failure: BaseException | None = None

    def wrap(self, kind: str, function: Callable[..., Any] | None) -> Any:
        """`function` as the library calls it: what it gives, where that counts, is whether to stop."""
        if function is None:
            return _TYPES[kind]()
        called: Callable[..., Any] = function

        def call(*arguments: Any) -> int:
            if self.failure is None:
                try:
                    return 1 if called(*arguments) else 0
                except BaseException as e:
                    self.failure = e
            return 1

        return _TYPES[kind](call)

    def check(self, status: int) -> None:
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        _check(status)


# ---- Objects -----------------------------------------------------------------------------------------------------------------


class _Handle:
    """What every object has: an end, and a count of who is inside."""
    _destroy = ""          # the function that ends it; "": lent by `_owner`
    _is_exclusive = False  # one call at a time

    def __init__(self, pointer: int | None, owner: _Handle | None = None) -> None:
        self._pointer, self._owner = pointer, owner
        self._guard = threading.Lock()
        self._users, self._is_busy, self._is_closed = 0, False, False
        self._run: _Run | None = None  # the answer that streams from it

    @contextlib.contextmanager
    def _use(self, exclusive: bool | None = None) -> Iterator[int]:
        """The pointer, which outlives the block."""
        exclusive = self._is_exclusive if exclusive is None else exclusive
        with contextlib.ExitStack() as stack:
            if self._owner is not None:
                stack.enter_context(self._owner._use(False))
            with self._guard:
                if self._is_closed or self._pointer is None:
                    raise BadState(f"this {type(self).__name__} is closed")
                if exclusive and self._is_busy:
                    raise BadState(
                        f"this {type(self).__name__} is busy with another call; an answer that streams has to be read to its end or closed")
                self._users += 1
                self._is_busy = self._is_busy or exclusive
            try:
                yield self._pointer
            finally:
                with self._guard:
                    self._users -= 1
                    if exclusive:
                        self._is_busy = False
                self._end()

    def _end(self) -> None:
        with self._guard:
            if not self._is_closed or self._users > 0:
                return
            pointer, self._pointer = self._pointer, None
        if pointer is not None and self._destroy:
            _function(self._destroy)(pointer)

    def close(self) -> None:
        """Ends it now; an answer that streams from it ends first.  Again: nothing."""
        if self._run is not None:
            self._run.abort()
        self._is_closed = True
        self._end()

    def __enter__(self: _H) -> _H:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # half made, or the interpreter is going
            self.close()


_H = TypeVar("_H", bound=_Handle)


# ---- Streams -----------------------------------------------------------------------------------------------------------------

_END = object()
_AHEAD = 32  # pieces computed before they are read
_runs: weakref.WeakSet[_Run] = weakref.WeakSet()


class _Run:
    """One answer on a thread of its own.  It never refers to its Stream, so that one that is dropped ends it."""

    def __init__(self, work: Callable[[_Run], Any], cancel: Callable[[], None]) -> None:
        self.pieces: queue.Queue[Any] = queue.Queue(_AHEAD)
        self.is_stopped = threading.Event()
        self.result: Any = None
        self.failure: BaseException | None = None
        self.cancel = cancel
        # A daemon, since the interpreter joins others before _abort_all() could end them.
        self.thread = threading.Thread(target=self._main, args=(work,), name="mixtura", daemon=True)
        _runs.add(self)
        self.thread.start()

    def _main(self, work: Callable[[_Run], Any]) -> None:
        try:
            self.result = work(self)
        except BaseException as e:
            self.failure = e
        finally:
            del work
            if not self.put(_END):  # nobody is to read what is left, but somebody may be waiting for more
                with contextlib.suppress(queue.Empty):
                    while True:
                        self.pieces.get_nowait()
                self.pieces.put(_END)

    def put(self, piece: Any) -> bool:
        """False once nobody reads any more."""
        while not self.is_stopped.is_set():
            with contextlib.suppress(queue.Full):
                self.pieces.put(piece, timeout=0.05)
                return True
        return False

    def abort(self) -> None:
        self.is_stopped.set()
        if self.thread is threading.current_thread():  # closed by a callback, or by the collector
            return
        while self.thread.is_alive():
            with contextlib.suppress(Error):
                self.cancel()  # again and again: one that comes before the library has begun is lost
            self.thread.join(0.02)


@atexit.register
def _abort_all() -> None:
    for run in list(_runs):
        run.abort()
    if _functions:
        _functions["log_set"](_TYPES["log_callback"](), None, 0)


class Stream(Generator[T, None, "Answer"]):
    """Pieces of an answer as they come.  It begins with the first next(); close(), the garbage collector or an exception in
    next() (KeyboardInterrupt) ends it early.  `answer` is there once it has ended by itself, and the value of `yield from`."""

    def __init__(self, work: Callable[[_Run], Answer], cancel: Callable[[], None]) -> None:
        self._work: Callable[[_Run], Answer] | None = work
        self._cancel = cancel
        self._run: _Run | None = None
        self.answer: Answer | None = None

    def send(self, value: None) -> T:
        if self._run is None:
            if self._work is None:
                raise StopIteration(self.answer)
            work, self._work = self._work, None
            self._run = _Run(work, self._cancel)
        try:
            piece = self._run.pieces.get()
        except BaseException:  # KeyboardInterrupt
            self.close()
            raise
        if piece is not _END:
            return piece  # type: ignore[no-any-return]
        run, self._run = self._run, None
        run.thread.join()
        if run.is_stopped.is_set():  # its Chat or Generation was closed
            raise StopIteration
        if run.failure is not None:
            raise run.failure
        self.answer = run.result
        raise StopIteration(self.answer)

    def throw(self, typ: Any, val: Any = None, tb: types.TracebackType | None = None) -> T:
        self.close()
        if isinstance(val, BaseException):
            raise val.with_traceback(tb)
        raise (typ if val is None else typ(val)) if isinstance(typ, type) else typ

    def close(self) -> None:
        self._work = None
        run, self._run = self._run, None
        if run is not None:
            run.abort()

    def __enter__(self) -> Stream[T]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()


# ---- What is known without a model --------------------------------------------------------------------------------------------


def version() -> str:
    """The library's."""
    return str(_function("version_string")().decode())


def build_info() -> str:
    return _gather_text("build_info")


def feature(which: int) -> int:
    """0: not built in.  1: built in, not usable on this machine.  2: usable."""
    return int(_function("feature")(which))


def self_test() -> None:
    """Known answers on every back-end of this processor; raises where one is wrong."""
    _do("self_test")


class HealthCheck(NamedTuple):
    name: str
    verdict: int  # Health
    found: str
    remedy: str   # empty where nothing need be done


def check_health(path: str | os.PathLike[str] | None = None) -> list[HealthCheck]:
    """What the library was built for against what is here, and known answers; with a path, its disk too."""
    checks: list[HealthCheck] = []

    def on_health(name: bytes, verdict: int, found: bytes, remedy: bytes, _: Any) -> None:
        checks.append(HealthCheck(name.decode(), Health(verdict) if verdict in list(Health) else verdict, found.decode(), remedy.decode()))

    callbacks = _Callbacks()
    wrapped = callbacks.wrap("on_health", on_health)
    callbacks.check(_function("check_health")(None if path is None else os.fsencode(path), wrapped, None))
    return checks


class Backend(NamedTuple):
    """A set of kernels."""
    name: str
    description: str
    is_deterministic: bool
    is_supported: bool
    is_chosen: bool


def backends() -> list[Backend]:
    """Narrowest instruction set first."""
    found = [_fill("backend_info", "get_backend_info", i) for i in range(_function("backend_count")())]
    return [Backend(b.name.decode(), b.description.decode(), bool(b.is_deterministic), bool(b.is_supported),
                    bool(b.is_chosen)) for b in found]


class MachineRates(NamedTuple):
    read_bytes_per_s: float
    integer_ops_per_s: float
    float_ops_per_s: float
    thread_count: int


def measure_machine(threads: int = 0) -> MachineRates:
    """What this machine can do; takes about a second.  Experimental."""
    return _record(MachineRates, _fill("x_machine_rates", "x_measure_machine", threads))


_log_sink: Any = None
_LOG_LEVELS: dict[int, int] = {Log.ERROR: logging.ERROR, Log.WARNING: logging.WARNING, Log.INFO: logging.INFO,
                               Log.DEBUG: logging.DEBUG, Log.TRACE: 5}


def log_to(logger: logging.Logger | None, level: int = Log.INFO) -> None:
    """Sends messages up to `level` to `logger`, each room's to a child of its own; None: to nobody.  Handlers must not use mixtura."""
    global _log_sink
    parent = logger or logging.getLogger("mixtura")

    def receive(level: int, room: bytes, message: bytes, file: bytes, line: int, _: Any) -> None:
        with contextlib.suppress(Exception):
            child, number = parent.getChild(room.decode()), _LOG_LEVELS.get(level, logging.DEBUG)
            if child.isEnabledFor(number):
                child.handle(child.makeRecord(child.name, number, file.decode(), line, message.decode("utf-8", "replace"), (), None))

    sink = _TYPES["log_callback"](receive) if logger is not None else _TYPES["log_callback"]()
    _function("log_set")(sink, None, level)
    _log_sink = sink  # only now may the one before go


# ---- Checkpoint and forecast ---------------------------------------------------------------------------------------------------


class Facts(NamedTuple):
    """Sizes a model states; 0: not stated."""
    layer_count: int
    hidden_size: int
    head_count: int
    kv_head_count: int
    head_size: int
    ffn_size: int
    expert_count: int
    experts_per_token: int
    shared_expert_count: int
    expert_ffn_size: int
    vocabulary_size: int
    context_tokens: int
    parameter_count: int
    weight_bytes: int
    has_tokenizer: bool
    has_chat_template: bool


class Forecast(NamedTuple):
    weight_bytes: int
    cache_bytes: int
    scratch_bytes: int
    context_tokens: int
    routed_parameters: int
    multiplied_parameters: int
    read_bytes: int


def _facts(found: Any) -> Facts:
    return _record(Facts, found)._replace(has_tokenizer=bool(found.has_tokenizer), has_chat_template=bool(found.has_chat_template))


def forecast(path: str | os.PathLike[str], context_tokens: int = 0, cache_dtype: str = "f16", weights: str | None = None) -> Forecast:
    """The memory a model and a context will need, from headers alone; `weights` as in Model()."""
    options = _new("forecast_options", context_tokens=context_tokens, cache_dtype=_cache_dtype(cache_dtype),
                   weights=None if weights is None else _utf8(weights))
    return _record(Forecast, _fill("memory_forecast", "model_forecast_with", os.fsencode(path), options))


class TensorInfo(NamedTuple):
    name: str
    number: int
    dtype: str
    shape: tuple[int, ...]
    file_index: int
    offset_bytes: int
    size_bytes: int


class Checkpoint(_Handle):
    """A model's files, headers read and validated, weights not loaded."""
    _destroy = "checkpoint_destroy"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(_out("p", "checkpoint_open", os.fsencode(path)))

    @property
    def facts(self) -> Facts:
        with self._use() as pointer:
            return _facts(_fill("model_facts", "checkpoint_get_facts", pointer))

    def text(self, about: int) -> str:
        with self._use() as pointer:
            return _gather_text("checkpoint_text", pointer, about)

    @property
    def warnings(self) -> list[str]:
        with self._use() as pointer:
            return _gather_text("checkpoint_warnings", pointer).splitlines()

    def __len__(self) -> int:
        with self._use() as pointer:
            return int(_function("checkpoint_tensor_count")(pointer))

    def __getitem__(self, which: str | int) -> TensorInfo:
        with self._use() as pointer:
            index = which if isinstance(which, int) else _out("z", "checkpoint_find", pointer, _utf8(which))
            info = _fill("tensor_info", "checkpoint_tensor", pointer, index)
            name = _gather_text("checkpoint_tensor_name", pointer, index)
        return TensorInfo(name, index, _function("dtype_name")(info.dtype).decode(), tuple(info.shape[:info.rank]), info.file_index,
                          info.offset_bytes, info.size_bytes)

    def __iter__(self) -> Iterator[TensorInfo]:
        return (self[i] for i in range(len(self)))

    def read(self, which: str | int) -> Array:
        """A tensor's bytes, straight into an array: of its own type, bf16 as uint16 (`values << 16` is f32), block formats as
        uint8 in one dimension."""
        info = self[which]
        np = _numpy()
        if info.dtype in _NUMPY_OF:
            array = np.empty(info.shape, _NUMPY_OF[info.dtype])
        else:
            array = np.empty(info.size_bytes, "|u1")
        with self._use() as pointer:
            _do("checkpoint_read", pointer, info.number, array.ctypes.data, array.nbytes)
        return array  # type: ignore[no-any-return]


# ---- Tokenizer and chat template -----------------------------------------------------------------------------------------------


class SpecialTokens(NamedTuple):
    """The tokens with a role; NO_TOKEN: none."""
    bos: int
    eos: int
    eot: int
    eom: int
    unk: int
    pad: int
    sep: int
    mask: int
    fim_prefix: int
    fim_suffix: int
    fim_middle: int


Spans = Sequence["tuple[str | bytes, bool]"]


class Tokenizer(_Handle):
    """Text to ids and back.  Works without numpy: ids are lists."""
    _destroy = "tokenizer_destroy"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """A GGUF file's vocabulary, a folder with tokenizer.json or tokenizer.model, or one of these files."""
        super().__init__(_out("p", "tokenizer_open", os.fsencode(path)))

    def encode(self, text: str | bytes, added_tokens: int = AddedTokens.ALL, add_bos: int = AddBos.MODEL_DEFAULT) -> list[int]:
        data = _utf8(text)
        options = _new("encode_options", added_tokens=added_tokens, add_bos=add_bos)
        with self._use() as pointer:
            return list(_gather(C.c_int32, len(data) + 8, "tokenizer_encode", pointer, data, len(data), options))

    def encode_spans(self, spans: Spans) -> list[int]:
        """Ids of a prompt made of (text, is trusted): nothing untrusted becomes an added token."""
        texts = [(_utf8(text), trusted) for text, trusted in spans]
        given = _many("text_span", [_new("text_span", utf8=text, bytes=len(text), is_trusted=bool(trusted)) for text, trusted in texts])
        with self._use() as pointer:
            return list(_gather(C.c_int32, sum(len(text) for text, _ in texts) + 8, "tokenizer_encode_spans",
                                pointer, given, len(texts)))

    def decode(self, tokens: Tokens, skip_special: bool = False) -> str:
        address, count, kept = _ids(tokens)
        with self._use() as pointer:
            return _gather_text("tokenizer_decode", pointer, address, count, skip_special, first=8 * count + 8)

    def token_bytes(self, token: int) -> bytes:
        with self._use() as pointer:
            return _gather_bytes("tokenizer_token_bytes", pointer, token)

    def token_text(self, token: int) -> str:
        """As the vocabulary spells it; empty for an id it leaves out."""
        with self._use() as pointer:
            return _gather_text("tokenizer_token_text", pointer, token)

    def find(self, text: str | bytes) -> int:
        """The id that the vocabulary spells so, or NO_TOKEN."""
        data = _utf8(text)
        with self._use() as pointer:
            return int(_function("tokenizer_find")(pointer, data, len(data)))

    def __len__(self) -> int:
        with self._use() as pointer:
            return int(_function("tokenizer_size")(pointer))

    def flags(self, token: int) -> TokenIs:
        with self._use() as pointer:
            return TokenIs(_function("tokenizer_token_flags")(pointer, token))

    @property
    def special_tokens(self) -> SpecialTokens:
        with self._use() as pointer:
            return _record(SpecialTokens, _fill("special_tokens", "tokenizer_get_special_tokens", pointer))

    def stream_decoder(self, skip_special: bool = False) -> StreamDecoder:
        with self._use() as pointer:
            return StreamDecoder(_out("p", "stream_decoder_create", pointer, skip_special))


class StreamDecoder(_Handle):
    """Text out of ids one at a time: only whole characters come out.  Made by Tokenizer.stream_decoder()."""
    _destroy = "stream_decoder_destroy"
    _is_exclusive = True

    def push(self, token: int) -> str:
        with self._use() as pointer:
            text = _fill("text", "stream_decoder_push", pointer, token)
            return _string(text.utf8, text.bytes)

    def finish(self) -> str:
        """The rest; afterwards the decoder is as new."""
        with self._use() as pointer:
            text = _fill("text", "stream_decoder_finish", pointer)
            return _string(text.utf8, text.bytes)


class Message(NamedTuple):
    role: str
    content: str


Messages = Iterable["Message | tuple[str, str] | Mapping[str, Any]"]
ROLES = ("system", "user", "assistant", "tool")


def _messages(messages: Messages) -> list[dict[str, Any]]:
    return [dict(m) if isinstance(m, Mapping) else {"role": m[0], "content": m[1]} for m in messages]


class Prompt(NamedTuple):
    """A rendered prompt as (bytes, is the template's own)."""
    spans: list[tuple[bytes, bool]]

    @property
    def text(self) -> str:
        return b"".join(text for text, _ in self.spans).decode("utf-8", "replace")


class ChatTemplate(_Handle):
    """The prompt layout a model was trained with."""
    _destroy = "template_destroy"

    def __init__(self, source: str) -> None:
        """Parses Jinja source."""
        data = _utf8(source)
        super().__init__(_out("p", "template_parse", data, len(data)))

    @classmethod
    def open(cls, path: str | os.PathLike[str], name: str | None = None) -> ChatTemplate:
        """From a checkpoint's folder, a GGUF file, a JSON file or a file of its own."""
        return cls._of(_out("p", "template_open", os.fsencode(path), None if name is None else _utf8(name)))

    @classmethod
    def _of(cls, pointer: int) -> ChatTemplate:
        made = cls.__new__(cls)
        _Handle.__init__(made, pointer)
        return made

    def render(self, messages: Messages, *, trusted: Mapping[str, str] = types.MappingProxyType({}),
               trusted_roles: Iterable[str] = ROLES,
               now: str | None = None, add_generation_prompt: bool | None = None, **variables: Any) -> Prompt:
        """`variables` (tools=[…], …) are data; `trusted` texts count as the template's own.  now: "2026-07-04T12:30"."""
        data = _utf8(json.dumps({**variables, "messages": _messages(messages)}))
        roles = [_utf8(role) for role in trusted_roles]
        options = _new("render_options", trusted=_many("variable", [_new("variable", name=_utf8(n),
                                                                         value=_text(_utf8(v))) for n, v in trusted.items()]),
                       trusted_count=len(trusted), trusted_roles=(C.c_char_p * len(roles))(*roles) if roles else None,
                       trusted_role_count=len(roles), now=None if now is None else _utf8(now),
                       add_generation_prompt=UNSET_INT32 if add_generation_prompt is None else int(add_generation_prompt))
        with self._use() as pointer:
            prompt = _out("p", "template_render", pointer, data, len(data), options)
        try:
            spans = _gather(_TYPES["text_span"], 32, "prompt_spans", prompt)
            return Prompt([(C.string_at(s.utf8, s.bytes) if s.bytes else b"", bool(s.is_trusted)) for s in spans])
        finally:
            _function("prompt_destroy")(prompt)


# ---- Sampling ------------------------------------------------------------------------------------------------------------------


@dataclass
class Sampling:
    """How the next token is chosen, in this order; None: the model's default.  edit_logits(logits, tokens, prompt_count) may
    change logits [V] in place (lent for the call, as tokens are); True from it stops."""
    logit_bias: Mapping[int, float] | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    no_repeat_ngram: int | None = None
    edit_logits: Callable[[Floats, Ids, int], bool | None] | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    typical_p: float | None = None
    logprobs: int | None = None
    seed: int | None = None
    completion: int = 0

    def _struct(self, callbacks: _Callbacks) -> Any:
        values = {name: value for name, value in vars(self).items() if value is not None}
        if bias := values.pop("logit_bias", None):
            values.update(logit_bias=_many("logit_bias", [_new("logit_bias", token=t, bias=b) for t, b in bias.items()]),
                          logit_bias_count=len(bias))
        if edit := values.pop("edit_logits", None):
            values["edit_logits"] = callbacks.wrap("logits_callback", lambda logits, n, tokens, t, prompt_count, _: edit(
                _lend(None, logits, "<f4", n, writable=True), _lend(None, tokens, "<i4", t), prompt_count))
        return _new("sampling_options", **values)


class Sampled(NamedTuple):
    """One draw; logprob and likeliest [(token, logprob)] where Sampling.logprobs asked for them."""
    token: int
    probability: float
    logprob: float | None
    likeliest: list[tuple[int, float]]


def _sampled(found: Any) -> Sampled:
    likeliest = (_TYPES["token_logprob"] * found.likeliest_count).from_address(found.likeliest) if found.likeliest_count else ()
    return Sampled(found.token, found.probability, None if found.logprob <= UNSET_FLOAT else found.logprob,
                   [(t.token, t.logprob) for t in likeliest])


class Sampler(_Handle):
    """One position's logits in, a token out; works with any source of logits.  Sampler(32000, temperature=0.7, seed=42)"""
    _destroy = "sampler_destroy"
    _is_exclusive = True

    def __init__(self, vocabulary_size: int, **sampling: Any) -> None:
        self._callbacks = _Callbacks()
        self._options = Sampling(**sampling)._struct(self._callbacks)
        self._vocabulary_size = vocabulary_size
        super().__init__(_out("p", "sampler_create", vocabulary_size, self._options))

    def _call(self, name: str, logits: Any, tokens: Tokens, prompt_count: int | None, result: Any) -> None:
        row = _vector(logits, "<f4", self._vocabulary_size, "logits")
        address, count, kept = _ids(tokens)
        with self._use() as pointer:
            self._callbacks.check(_function(name)(pointer, _at(row), len(row), address, count,
                                                  count if prompt_count is None else prompt_count, result))

    def sample(self, logits: Floats, tokens: Tokens = (), prompt_count: int | None = None) -> Sampled:
        """The token that follows `tokens`, of which the first prompt_count (None: all) are the prompt's."""
        found = _new("sampled")
        self._call("sampler_sample", logits, tokens, prompt_count, C.byref(found))
        return _sampled(found)

    def probabilities(self, logits: Floats, tokens: Tokens = (), prompt_count: int | None = None) -> Floats:
        """The distribution [V] that sample() would draw from."""
        out = _place(None, (self._vocabulary_size,))
        self._call("sampler_probabilities", logits, tokens, prompt_count, _at(out))
        return out  # type: ignore[no-any-return]


# ---- Router --------------------------------------------------------------------------------------------------------------------


@dataclass
class RouterPolicy:
    """What a router does with its logits; mixtura.h describes each field.  RouterPolicy() changes nothing and chooses one expert;
    Router.policy is what the checkpoint asks for, and dataclasses.replace() changes it."""
    top_k: int = 1
    group_count: int = 1
    groups_kept: int = 1
    is_masked: Sequence[bool] | None = None
    scoring: int = Scoring.SOFTMAX
    group_score: int = GroupScore.LARGEST
    overflow: int = Overflow.NEXT_BEST
    routed_scale: float = 1.0
    temperature: float = 1.0
    renormalise_floor: float = 0.0
    renormalise_bias: float = 0.0
    sparsemixer_epsilon: float = 0.01
    logit_clamp: float = 0.0
    cumulative_probability: float = 0.0
    capacity_factor: float = 0.0
    renormalise: bool = False
    renormalise_after_drop: bool = False

    @classmethod
    def _of(cls, found: Any) -> RouterPolicy:
        values = {name: getattr(found, name) for name in cls.__dataclass_fields__}
        mask = C.string_at(found.is_masked, found.is_masked_count) if found.is_masked_count else None
        values["is_masked"] = None if mask is None else [bool(one) for one in mask]
        for name in ("renormalise", "renormalise_after_drop"):
            values[name] = bool(values[name])
        return cls(**values)

    def _struct(self) -> Any:
        values = dict(vars(self))
        mask = values.pop("is_masked")
        if mask is not None:
            values.update(is_masked=bytes(1 if masked else 0 for masked in mask), is_masked_count=len(mask))
        return _new("router_policy", **values)


class RouteView:
    """Where T tokens went, in arrays that are lent: of a callback for its call, of a RoutePlan until its next change."""

    def __init__(self, view: Any, keeper: Any = None) -> None:
        self._view, self._keeper = view, keeper

    def _now(self) -> Any:
        return self._view

    def _lent(self, field: str, dtype: str, *sizes: str) -> Any:
        view = self._now()
        return _lend(self._keeper, getattr(view, field), dtype, *(getattr(view, size) for size in sizes))

    token_count = property(lambda self: int(self._now().token_count), doc="T")
    choice_count = property(lambda self: int(self._now().choice_count), doc="K")
    expert_count = property(lambda self: int(self._now().expert_count), doc="E")
    slot_count = property(lambda self: int(self._now().slot_count), doc="used choices")
    dropped = property(lambda self: int(self._now().dropped), doc="choices that found no room")
    rerouted = property(lambda self: int(self._now().rerouted), doc="choices that went to a next best expert")
    clamped = property(lambda self: int(self._now().clamped), doc="logits that logit_clamp changed")
    non_finite = property(lambda self: int(self._now().non_finite), doc="tokens with a logit that is not finite")
    padding = property(lambda self: int(self._now().padding), doc="tokens that the padding mask left out")

    @property
    def expert_ids(self) -> Ids:
        """[T, K], by score descending; -1: unused"""
        return self._lent("expert_ids", "<i4", "token_count", "choice_count")  # type: ignore[no-any-return]

    @property
    def weights(self) -> Floats:
        """[T, K]; 0 where unused"""
        return self._lent("weights", "<f4", "token_count", "choice_count")  # type: ignore[no-any-return]

    @property
    def experts_of_token(self) -> Ids:
        """[T], 0 to K"""
        return self._lent("experts_of_token", "<i4", "token_count")  # type: ignore[no-any-return]

    @property
    def offsets(self) -> Counts:
        """[E + 1]: expert e has slots offsets[e] up to offsets[e + 1]"""
        view = self._now()
        return _lend(self._keeper, view.offsets, "<i8", view.expert_count + 1)  # type: ignore[no-any-return]

    @property
    def token_of_slot(self) -> Ids:
        """[slot_count], by expert, then by token"""
        return self._lent("token_of_slot", "<i4", "slot_count")  # type: ignore[no-any-return]

    @property
    def slot_of_token_choice(self) -> Ids:
        """[T, K]; -1 where unused"""
        return self._lent("slot_of_token_choice", "<i4", "token_count", "choice_count")  # type: ignore[no-any-return]

    @property
    def load(self) -> Counts:
        """[E] choices each expert got"""
        return self._lent("load", "<i8", "expert_count")  # type: ignore[no-any-return]


class RoutePlan(_Handle, RouteView):
    """A route that lasts; given to Router.route() again, its memory is used again."""
    _destroy = "route_plan_destroy"
    _is_exclusive = True

    def __init__(self) -> None:
        _Handle.__init__(self, _out("p", "route_plan_create"))
        self._keeper = self

    def _now(self) -> Any:
        with self._use(False) as pointer:
            return _fill("route_view", "route_plan_view", pointer)

    def set(self, expert_ids: Ids, weights: Floats, expert_count: int) -> RoutePlan:
        """A plan that the caller wrote or stored: [T, K] each, ids of -1 behind the used ones."""
        np = _numpy()
        ids, shares = np.ascontiguousarray(expert_ids, "<i4"), np.ascontiguousarray(weights, "<f4")
        if ids.ndim != 2 or ids.shape != shares.shape:
            raise InvalidArgument(
                f"expert_ids and weights have shapes {list(ids.shape)} and {list(shares.shape)}, expected [T, K] of both")
        with self._use() as pointer:
            _do("route_plan_set", pointer, ids.shape[0], ids.shape[1], expert_count, _at(ids), _at(shares))
        return self


class Router(_Handle):
    """Which experts a token goes to, and with what weight."""
    _destroy = "router_destroy"

    def __init__(self, gate: Any, *, policy: RouterPolicy | None = None, inner_gate: Any = None,
                 gate_bias: Any = None, selection_bias: Any = None,
                 is_inner_silu: bool = False) -> None:
        """gate [E, H] (of a two-layer gate [E, W], with inner_gate [W, H]), gate_bias and selection_bias [E]: float32,
        float16, bfloat16 or a Tensor.  The weights are copied."""
        outer, inner = _tensor(gate, "gate"), _tensor(inner_gate, "inner_gate")
        spec = _new("router_spec", expert_count=outer.shape[0], hidden_size=(inner or outer).shape[1],
                    gate_width=inner.shape[0] if inner else 0,
                    is_inner_silu=is_inner_silu, policy=policy._struct() if policy else None, gate=outer, inner_gate=inner,
                    gate_bias=_tensor(gate_bias, "gate_bias"), selection_bias=_tensor(selection_bias, "selection_bias"))
        super().__init__(_out("p", "router_create", spec))

    @property
    def expert_count(self) -> int:
        with self._use() as pointer:
            return int(_function("router_expert_count")(pointer))

    @property
    def hidden_size(self) -> int:
        with self._use() as pointer:
            return int(_function("router_hidden_size")(pointer))

    @property
    def policy(self) -> RouterPolicy:
        with self._use() as pointer:
            return RouterPolicy._of(_fill("router_policy", "router_get_policy", pointer))

    def route(self, hidden: Any, policy: RouterPolicy | None = None, padding_mask: Any = None,
              plan: RoutePlan | None = None) -> RoutePlan:
        """hidden [T, H] in; a new plan out, or the one given.  padding_mask [T]: 0 for rows of padding."""
        rows = _floats(hidden, self.hidden_size, "hidden")
        mask = _vector(padding_mask, "|u1", len(rows), "padding_mask")
        plan = RoutePlan() if plan is None else plan
        with self._use() as pointer, plan._use() as place:
            _do("router_route", pointer, _at(rows), len(rows), policy._struct() if policy else None, _at(mask), place)
        return plan

    def logits(self, hidden: Any, out: Floats | None = None) -> Floats:
        """[T, E], as the gate gives them."""
        rows = _floats(hidden, self.hidden_size, "hidden")
        result = _place(out, (len(rows), self.expert_count))
        with self._use() as pointer:
            _do("router_logits", pointer, _at(rows), len(rows), _at(result))
        return result  # type: ignore[no-any-return]


def route_logits(logits: Any, policy: RouterPolicy, selection_bias: Any = None, padding_mask: Any = None,
                 plan: RoutePlan | None = None) -> RoutePlan:
    """Router.route() from logits [T, E] that somebody else computed."""
    rows = _floats(logits, None, "logits")
    bias = _vector(selection_bias, "<f4", rows.shape[1], "selection_bias")
    mask = _vector(padding_mask, "|u1", len(rows), "padding_mask")
    plan = RoutePlan() if plan is None else plan
    with plan._use() as place:
        _do("route_logits", _at(rows), len(rows), rows.shape[1], _at(bias), policy._struct(), _at(mask), place)
    return plan


# ---- Experts -------------------------------------------------------------------------------------------------------------------


class ExpertPoolStats(NamedTuple):
    weight_bytes: int
    tokens: int
    expert_runs: int
    choices: int


class ExpertPool(_Handle):
    """The experts of one layer: y[t] = sum over k of weight[t, k] · expert(x[t]) (+ shared(x[t]))."""
    _destroy = "expert_pool_destroy"

    def __init__(self, gate: Any, up: Any, down: Any, *, gate_bias: Any = None, up_bias: Any = None,
                 down_bias: Any = None, shared_gate: Any = None, shared_up: Any = None, shared_down: Any = None,
                 shared_score: Any = None, activation: int = Activation.SILU, weight_at: int = WeightAt.OUTPUT,
                 clamp_limit: float = 0.0, clamp_alpha: float = 1.702, shared_scale: float = 1.0, threads: int = 0) -> None:
        """gate (or None) and up are [E, F, H], down is [E, H, F]: one array each, or a list of E matrices; any strides, no copy
        is made of them in Python.  Biases [E, F] and [E, H] are float32."""
        def role(value: Any, name: str) -> Any:
            if value is None:
                return None, 1
            if isinstance(value, (list, tuple)):
                return _many("tensor", [_tensor(one, f"{name}[{e}]") for e, one in enumerate(value)]), len(value)
            return _many("tensor", [_tensor(value, name)]), 1

        (ups, count), (gates, gate_count), (downs, down_count) = role(up, "up"), role(gate, "gate"), role(down, "down")
        if ups is None or downs is None or down_count != count or (gate is not None and gate_count != count):
            raise InvalidArgument("gate, up and down are to be one array each or lists of the same length")
        rank = ups[0].rank
        shared = _tensor(shared_up, "shared_up")
        self._hidden_size = int(ups[0].shape[rank - 1])
        spec = _new("expert_spec", hidden_size=self._hidden_size, expert_count=ups[0].shape[0] if rank == 3 and count == 1 else count,
                    width=ups[0].shape[rank - 2], shared_width=shared.shape[0] if shared else 0,
                    activation=activation, weight_at=weight_at,
                    clamp_limit=clamp_limit, clamp_alpha=clamp_alpha, shared_scale=shared_scale,
                    thread_count=threads, tensor_count=count,
                    gate=gates, up=ups, down=downs, gate_bias=_tensor(gate_bias, "gate_bias"), up_bias=_tensor(up_bias, "up_bias"),
                    down_bias=_tensor(down_bias, "down_bias"), shared_gate=_tensor(shared_gate, "shared_gate"), shared_up=shared,
                    shared_down=_tensor(shared_down, "shared_down"), shared_score=_tensor(shared_score, "shared_score"))
        super().__init__(_out("p", "expert_pool_create", spec))

    def run(self, hidden: Any, plan: RoutePlan, out: Floats | None = None) -> Floats:
        """hidden [T, H] and a plan of T tokens in, [T, H] out: in `out` (which does not overlap hidden) or new."""
        rows = _floats(hidden, self._hidden_size, "hidden")
        result = _place(out, rows.shape)
        if out is not None and _numpy().may_share_memory(rows, result):
            raise InvalidArgument("out overlaps hidden")
        with self._use() as pointer, plan._use(False) as place:
            _do("expert_pool_run", pointer, _at(rows), len(rows), place, _at(result))
        return result  # type: ignore[no-any-return]

    @property
    def stats(self) -> ExpertPoolStats:
        with self._use() as pointer:
            return _record(ExpertPoolStats, _fill("expert_pool_stats", "expert_pool_get_stats", pointer))


class _LentRouter(Router):
    _destroy = ""

    def __init__(self, pointer: int, model: Model) -> None:
        _Handle.__init__(self, pointer, model)


class _LentPool(ExpertPool):
    _destroy = ""

    def __init__(self, pointer: int, model: Model) -> None:
        _Handle.__init__(self, pointer, model)
        self._hidden_size = model.facts.hidden_size


# ---- Key/value cache -----------------------------------------------------------------------------------------------------------


class KVPlane(NamedTuple):
    """One matrix row a token leaves behind, as keys or as values."""
    head_count: int
    size: int
    dtype: str = "f16"


class KVLayer(NamedTuple):
    planes: Sequence[KVPlane]
    group: int = 0


class KVGroup(NamedTuple):
    """Layers of a group see equally far back."""
    window_tokens: int = 0
    chunk_tokens: int = 0


class KVMemory(NamedTuple):
    bytes_max: int
    bytes_held: int
    bytes_used: int
    blocks_used: int
    blocks_shared: int
    blocks_free: int
    sequences: int
    tokens: int


class KVView(NamedTuple):
    """One layer of one sequence for reading.  Position p is blocks[plane][p // 32][p % 32], an array
    [heads, size]; None where the block was released.  Lent until the cache's next append, truncate, release, free or import."""
    first_block: int
    length_tokens: int
    blocks: list[list[Array | None]]


class KVCache(_Handle):
    """Keys and values of many sequences (numbers) in blocks that sequences share until one of them writes."""
    _destroy = "kv_cache_destroy"
    _is_exclusive = True

    def __init__(self, layers: Sequence[KVLayer], groups: Sequence[KVGroup] = (), tokens_max: int = 0, bytes_max: int = 0) -> None:
        self._layers = [list(layer.planes) for layer in layers]
        made = []
        for layer in layers:
            planes = _many("kv_plane", [_new("kv_plane", head_count=p.head_count, size=p.size, dtype=_dtype(p.dtype))
                                        for p in layer.planes])
            made.append(_new("kv_layer", planes=planes, plane_count=len(layer.planes), group=layer.group))
        seen = _many("kv_group", [_new("kv_group", window_tokens=g.window_tokens, chunk_tokens=g.chunk_tokens) for g in groups])
        options = _new("kv_cache_options", layers=_many("kv_layer", made), layer_count=len(made), groups=seen, group_count=len(groups),
                       tokens_max=tokens_max, bytes_max=bytes_max)
        super().__init__(_out("p", "kv_cache_create", options))

    @property
    def memory(self) -> KVMemory:
        with self._use() as pointer:
            return _record(KVMemory, _fill("kv_memory", "kv_cache_get_memory", pointer))

    def create_sequence(self) -> int:
        with self._use() as pointer:
            return int(_out("u", "kv_cache_create_sequence", pointer))

    def fork(self, sequence: int) -> int:
        """A second sequence with the same content, which shares all blocks."""
        with self._use() as pointer:
            return int(_out("u", "kv_cache_fork", pointer, sequence))

    def free_sequence(self, sequence: int) -> None:
        with self._use() as pointer:
            _do("kv_cache_free_sequence", pointer, sequence)

    def length(self, sequence: int) -> int:
        with self._use() as pointer:
            return int(_out("l", "kv_cache_length", pointer, sequence))

    def append(self, sequence: int, count: int) -> int:
        """Reserves the next `count` positions (zeroed) and gives the first."""
        with self._use() as pointer:
            return int(_out("l", "kv_cache_append", pointer, sequence, count))

    def truncate(self, sequence: int, length: int) -> None:
        with self._use() as pointer:
            _do("kv_cache_truncate", pointer, sequence, length)

    def release_before(self, sequence: int, group: int, position: int) -> None:
        with self._use() as pointer:
            _do("kv_cache_release_before", pointer, sequence, group, position)

    def first_visible(self, sequence: int, group: int = 0) -> int:
        with self._use() as pointer:
            return int(_out("l", "kv_cache_first_visible", pointer, sequence, group))

    def _plane(self, layer: int, plane: int) -> KVPlane:
        if not 0 <= layer < len(self._layers) or not 0 <= plane < len(self._layers[layer]):
            raise OutOfRange(f"there is no plane {plane} of layer {layer}")
        return self._layers[layer][plane]

    def write(self, sequence: int, layer: int, plane: int, first: int, rows: Any) -> None:
        """rows [n, heads, size] or [n, heads · size], float32, to positions first on."""
        found = self._plane(layer, plane)
        values = _numpy().ascontiguousarray(rows, "<f4")
        if values.ndim not in (2, 3) or values[:1].size not in (0, found.head_count * found.size) or 0 in values.shape[1:]:
            raise InvalidArgument(f"rows have shape {list(values.shape)}, expected [n, {found.head_count}, {found.size}]")
        with self._use() as pointer:
            _do("kv_cache_write", pointer, sequence, layer, plane, first, len(values), _at(values))

    def read(self, sequence: int, layer: int, plane: int, first: int, count: int, out: Floats | None = None) -> Floats:
        """[count, heads, size], as stored."""
        found = self._plane(layer, plane)
        if count < 0:
            raise OutOfRange(f"count is {count}, expected 0 or more")
        values = _place(out, (count, found.head_count, found.size))
        with self._use() as pointer:
            _do("kv_cache_read", pointer, sequence, layer, plane, first, count, _at(values))
        return values  # type: ignore[no-any-return]

    def view(self, sequence: int, layer: int) -> KVView:
        """The blocks themselves, for an attention of the caller's; bf16 comes as uint16, q8_0 and f8_e4m3 as the bytes of a row."""
        with self._use() as pointer:
            view = _fill("kv_view", "kv_cache_view", pointer, sequence, layer)
            planes = [_fill("kv_plane_view", "kv_cache_plane", pointer, sequence, layer, plane) for plane in range(view.plane_count)]
            table = (C.c_int32 * view.block_count).from_address(view.block_table) if view.block_count else ()
            names = {code: name for name, code in DTYPES.items()}
            blocks = []
            for p in planes:
                dtype = _NUMPY_OF.get(names[p.dtype], "|u1")
                size = p.size if names[p.dtype] in _NUMPY_OF else p.row_stride_bytes
                strides = (p.row_stride_bytes, p.head_stride_bytes, _numpy().dtype(dtype).itemsize)
                blocks.append([None if block < 0 else _lend(self, view.base + block * view.block_stride_bytes + p.offset_bytes, dtype,
                                                            KV_BLOCK_TOKENS, p.head_count, size, strides=strides) for block in table])
        return KVView(view.first_block, view.length_tokens, blocks)

    def trim(self) -> None:
        """Gives the blocks kept for reuse back to the system."""
        with self._use() as pointer:
            _function("kv_cache_trim")(pointer)

    def export_sequence(self, sequence: int) -> bytes:
        with self._use() as pointer:
            return _gather_bytes("kv_cache_export", pointer, sequence, first=0)

    def import_sequence(self, data: bytes) -> int:
        """From a cache of the same layers."""
        with self._use() as pointer:
            return int(_out("u", "kv_cache_import", pointer, data, len(data)))


# ---- Model ---------------------------------------------------------------------------------------------------------------------


class WeightError(NamedTuple):
    """What Model(weights=...) cost one matrix."""
    role: str  # "layers.3.experts.17.up.weight"
    kind: str  # "experts.up"
    from_dtype: str
    to_dtype: str
    parameter_count: int
    relative_error: float  # root of sum (w - w')^2 / sum w^2
    largest: float         # |w - w'|


class Model(_Handle):
    """A checkpoint's weights in memory, with its tokenizer and chat template.  Generations and chats made from it
    outlive it; its routers and experts do not."""
    _destroy = "model_destroy"

    def __init__(self, path: str | os.PathLike[str], *, threads: int = 0,
                 on_progress: Callable[[int, int], bool | None] | None = None, weights: str | None = None) -> None:
        """on_progress(bytes done, of how many): True cancels (Cancelled).  `weights`: what 16- and 32-bit weights become on the
        way into memory ("mixed", "q8_0", "experts=q4_k,attention=q6_k"); weight_errors then tells the price."""
        callbacks = _Callbacks()
        # Always there, so that Ctrl-C gets a word in.
        progress = callbacks.wrap("progress_callback", lambda done, total, _: on_progress(done, total) if on_progress else None)
        place = C.c_void_p()
        callbacks.check(_function("model_open")(os.fsencode(path),
                                                _new("model_options", thread_count=threads, on_progress=progress,
                                                     weights=None if weights is None else _utf8(weights)), C.byref(place)))
        super().__init__(place.value)
        self._lazy = threading.RLock()
        self._made: dict[str, Any] = {}

    def _once(self, name: str, make: Callable[[], T]) -> T:
        with self._lazy:
            if name not in self._made:
                self._made[name] = make()
            return self._made[name]  # type: ignore[no-any-return]

    def close(self) -> None:
        made, self._made = getattr(self, "_made", {}), {}
        for one in made.values():
            one.close()
        super().close()

    @property
    def facts(self) -> Facts:
        with self._use() as pointer:
            return _facts(_fill("model_facts", "model_get_facts", pointer))

    def text(self, about: int) -> str:
        with self._use() as pointer:
            return _gather_text("model_text", pointer, about)

    @property
    def warnings(self) -> list[str]:
        with self._use() as pointer:
            return _gather_text("model_warnings", pointer).splitlines()

    @property
    def weight_errors(self) -> list[WeightError]:
        errors = []
        with self._use() as pointer:
            for index in range(_function("model_weight_error_count")(pointer)):
                found = _new("weight_error")
                _do("model_get_weight_error", pointer, index, C.byref(found))
                relative = math.sqrt(found.error_sum / found.square_sum) if found.square_sum > 0 else 0.0
                errors.append(WeightError(found.role.decode(), found.kind.decode(),
                                          *(_function("dtype_name")(getattr(found, end)).decode() for end in ("from", "to")),
                                          found.parameter_count, relative, found.largest))
        return errors

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's own, which ends with it; NotFound and the like where it has none that works."""
        def make() -> Tokenizer:
            made = Tokenizer.__new__(Tokenizer)
            with self._use() as pointer:
                _Handle.__init__(made, _out("p", "tokenizer_of_model", pointer))
            return made
        return self._once("tokenizer", make)

    @property
    def chat_template(self) -> ChatTemplate:
        def make() -> ChatTemplate:
            with self._use() as pointer:
                return ChatTemplate._of(_out("p", "template_of_model", pointer))
        return self._once("chat_template", make)

    @property
    def sampling_defaults(self) -> Sampling:
        """What the model's generation_config.json asks for."""
        with self._use() as pointer:
            found = _fill("sampling_options", "model_get_sampling_defaults", pointer)
        values: dict[str, Any] = {}
        for name in Sampling.__dataclass_fields__:
            if name not in ("logit_bias", "edit_logits") and getattr(found, name) not in (UNSET_FLOAT, UNSET_INT32, UNSET_SEED):
                values[name] = getattr(found, name)
        return Sampling(**values)

    def router(self, layer: int) -> Router | None:
        """The router of one layer, over the model's weights; None for a dense layer."""
        with self._use() as pointer:
            found = _function("model_router")(pointer, layer)
            return _LentRouter(found, self) if found else None

    def experts(self, layer: int) -> ExpertPool | None:
        with self._use() as pointer:
            found = _function("model_experts")(pointer, layer)
            return _LentPool(found, self) if found else None

    def prompt(self, messages: Messages, template: ChatTemplate | None = None, **variables: Any) -> list[int]:
        """The ids of a conversation that asks for an answer.  Its text cannot become a turn marker."""
        special = self.tokenizer.special_tokens
        trusted = {name: self.tokenizer.token_bytes(token).decode("utf-8", "replace")
                   for name, token in (("bos_token", special.bos), ("eos_token", special.eos)) if token != NO_TOKEN}
        rendered = (template or self.chat_template).render(messages, trusted=trusted, add_generation_prompt=True, **variables)
        return self.tokenizer.encode_spans(rendered.spans)

    def _chatting(self) -> Generation:
        return self._once("generation", lambda: Generation(self, record_routes=True))

    def chat(self, messages: Messages, *, template: ChatTemplate | None = None, tokens_max: int = 0, stop: Iterable[str] = (),
             variables: Mapping[str, Any] = types.MappingProxyType({}), **sampling: Any) -> Stream[str]:
        """Answers a conversation: `for piece in model.chat([{"role": "user", "content": "Why?"}], temperature=0)`.  One at a time; the
        beginning that a conversation shares with the one before is not computed again.  Chat keeps a conversation for you."""
        prompt = self.prompt(messages, template, **variables)
        return self._chatting()._stream(prompt, Sampling(**sampling), None, stop, tokens_max, None, lambda piece: piece.text)

    def last_routes(self) -> Ids:
        """Of the last chat(): Generation.last_routes()."""
        return self._chatting().last_routes()


# ---- Generation ----------------------------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """Text that became whole (perhaps none) and the token it ends with."""
    text: str
    token: int
    probability: float
    logprob: float | None
    likeliest: list[tuple[int, float]]


class Answer(NamedTuple):
    text: str
    tokens: list[int]
    prompt_tokens: int
    reused_tokens: int
    prefill_seconds: float
    decode_seconds: float
    finish: int


def _answer(found: Any) -> Answer:
    tokens = list((C.c_int32 * found.token_count).from_address(found.tokens)) if found.token_count else []
    return Answer(_string(found.utf8, found.bytes), tokens, found.prompt_tokens, found.reused_tokens,
                  found.prefill_seconds, found.decode_seconds,
                  Finish(found.finish) if found.finish in list(Finish) else found.finish)


class GenerationMemory(NamedTuple):
    cache_bytes: int
    scratch_bytes: int
    thread_count: int


OnRoute = Callable[[int, int, RouteView], object]
ChangeRouter = Callable[[int, int, RouterPolicy], Union[RouterPolicy, None]]


class _Routes:
    """Expert ids of every position, [positions, L, K]."""

    def __init__(self, layers: int, choices: int) -> None:
        self.ids, self.count = _numpy().full((64, layers, choices), -1, "<i4"), 0

    def note(self, position: int, layer: int, view: Any) -> None:
        tokens, choices = view.token_count, view.choice_count
        if position + tokens > len(self.ids) or choices > self.ids.shape[2]:
            before = self.ids
            shape = (max(2 * len(before), position + tokens), before.shape[1], max(choices, before.shape[2]))
            self.ids = _numpy().full(shape, -1, "<i4")
            self.ids[:len(before), :, :before.shape[2]] = before
        rows = self.ids[position:position + tokens, layer]
        rows[:, :choices] = _lend(None, view.expert_ids, "<i4", tokens, choices)
        rows[:, choices:] = -1
        self.count = position + tokens


def _stops(stop: Iterable[str]) -> tuple[Any, int]:
    texts = [_text(_utf8(one)) for one in ([stop] if isinstance(stop, str) else stop)]
    return _many("text", texts), len(texts)


def _change_router(callbacks: _Callbacks, change: ChangeRouter | None, kept: list[Any]) -> Any:
    """`kept` holds what the library reads when the callback is back."""
    if change is None:
        return callbacks.wrap("change_router", None)
    called: ChangeRouter = change

    def call(layer: int, expert_count: int, address: int, _: Any) -> None:
        place = _TYPES["router_policy"].from_address(address)
        policy = called(layer, expert_count, RouterPolicy._of(place))
        if policy is not None:
            kept.append(policy._struct())
            C.memmove(address, C.addressof(kept[-1]), C.sizeof(place))

    return callbacks.wrap("change_router", call)


def _make(name: str, model: int, context_tokens: int, step_tokens: int, threads: int, cache_dtype: str,
          change_router: ChangeRouter | None, arguments: Callable[[Any], tuple[Any, ...]]) -> int | None:
    """What makes a generation, or something that holds one: arguments(generation_options) are the others of the function."""
    callbacks, kept, place = _Callbacks(), list[Any](), C.c_void_p()
    options = _new("generation_options", context_tokens=context_tokens, step_tokens=step_tokens, thread_count=threads,
                   cache_dtype=_cache_dtype(cache_dtype), change_router=_change_router(callbacks, change_router, kept))
    callbacks.check(_function(name)(model, *arguments(options), C.byref(place)))
    return place.value


def _expert_load(generation: int, layer: int) -> Counts:
    found = _gather(C.c_int64, 256, "generation_expert_load", generation, layer)
    return _numpy().array(found, "<i8")  # type: ignore[no-any-return]


class _Answering(_Handle):
    """What Generation and Chat share: an answer is computed on a thread and read as a stream."""
    _is_exclusive = True
    _cancel = ""

    def __init__(self, pointer: int | None) -> None:
        self._wants_cancel = False
        super().__init__(pointer)

    def cancel(self) -> None:
        """Ends the answer that is under way.  From any thread."""
        self._wants_cancel = True
        with self._use(False) as pointer:
            _function(self._cancel)(pointer)

    def _begin(self, work: Callable[[_Run, int], Answer]) -> Stream[Any]:
        def in_thread(run: _Run) -> Answer:
            with self._use() as pointer:
                self._run, self._wants_cancel = run, False
                try:
                    return work(run, pointer)
                finally:
                    self._run = None
        return Stream(in_thread, self.cancel)

    def _goes_on(self, run: _Run) -> bool:
        """Whether a callback may let the library go on; a cancel() that came before the library had begun is given again."""
        if self._wants_cancel:
            self.cancel()
        return not run.is_stopped.is_set()


class Generation(_Answering):
    """One sequence over a model, with its own threads and its own keys and values."""
    _destroy = "generation_destroy"
    _cancel = "generation_cancel"

    def __init__(self, model: Model, *, context_tokens: int = 0, step_tokens: int = 0, threads: int = 0, cache_dtype: str = "f16",
                 record_routes: bool = False, change_router: ChangeRouter | None = None) -> None:
        """change_router(layer, expert_count, policy) gets what the checkpoint asks of each mixture layer's router; the policy it
        returns, if any, is in force instead."""
        facts = model.facts
        with model._use() as pointer:
            super().__init__(_make("generation_create", pointer, context_tokens, step_tokens, threads, cache_dtype, change_router,
                                   lambda options: (options,)))
        self._routes = _Routes(facts.layer_count, facts.experts_per_token) if record_routes and facts.expert_count else None
        self._layer_count = facts.layer_count

    def _on_route(self, callbacks: _Callbacks, on_route: OnRoute | None) -> Any:
        routes = self._routes
        if routes is None and on_route is None:
            return callbacks.wrap("on_route", None)

        def call(position: int, layer: int, address: int, _: Any) -> None:
            view = _TYPES["route_view"].from_address(address)
            if routes is not None:
                routes.note(position, layer, view)
            if on_route is not None:
                on_route(position, layer, RouteView(view))
            if self._wants_cancel:
                self.cancel()
        return callbacks.wrap("on_route", call)

    def feed(self, tokens: Tokens, *, on_logits: Callable[[int, Floats], object] | None = None,
             on_hidden: Callable[[int, int, Floats], object] | None = None, on_route: OnRoute | None = None) -> None:
        """Appends tokens to the sequence.  on_logits(position, [V]), on_hidden(position, layer, [T, H]) and
        on_route(position, layer, RouteView) get arrays that are lent for their call.  On failure the sequence is as before."""
        address, count, kept = _ids(tokens)
        callbacks = _Callbacks()

        def logits(position: int, at: int, n: int, _: Any) -> None:
            on_logits(position, _lend(None, at, "<f4", n))  # type: ignore[misc]

        def hidden(position: int, layer: int, at: int, rows: int, columns: int, _: Any) -> None:
            on_hidden(position, layer, _lend(None, at, "<f4", rows, columns))  # type: ignore[misc]

        with self._use() as pointer:
            self._wants_cancel = False
            options = _new("feed_options", on_logits=callbacks.wrap("on_logits", on_logits and logits),
                           on_hidden=callbacks.wrap("on_hidden", on_hidden and hidden), on_route=self._on_route(callbacks, on_route))
            callbacks.check(_function("generation_feed")(pointer, address, count, options))

    def _view(self, name: str, dtype: str) -> Any:
        place, count = C.c_void_p(), C.c_size_t()
        with self._use() as pointer:
            _do(name, pointer, C.byref(place), C.byref(count))
        return _lend(self, place.value, dtype, count.value)

    @property
    def logits(self) -> Floats:
        """[V] of the last token fed, empty before the first; lent until the next call that changes this Generation."""
        return self._view("generation_logits", "<f4")  # type: ignore[no-any-return]

    @property
    def tokens(self) -> Ids:
        """The sequence; lent likewise."""
        return self._view("generation_tokens", "<i4")  # type: ignore[no-any-return]

    def truncate(self, length: int) -> None:
        """Forgets the tokens from `length` on."""
        with self._use() as pointer:
            _do("generation_truncate", pointer, length)

    def stream(self, prompt: Tokens, *, sampling: Sampling | None = None, stop_tokens: Tokens | None = None, stop: Iterable[str] = (),
               tokens_max: int = 0, on_route: OnRoute | None = None) -> Stream[Piece]:
        """Answers `prompt`, whatever is in the sequence; the longest common beginning is not computed again.
        stop_tokens None: the model's end tokens.  on_route is called on the answer's thread."""
        return self._stream(prompt, sampling, stop_tokens, stop, tokens_max, on_route, lambda piece: piece)

    def _stream(self, prompt: Tokens, sampling: Sampling | None, stop_tokens: Tokens | None, stop: Iterable[str], tokens_max: int,
                on_route: OnRoute | None, form: Callable[[Piece], T]) -> Stream[T]:
        callbacks = _Callbacks()
        ids = _ids(prompt)
        ends = None if stop_tokens is None else _ids(stop_tokens if len(stop_tokens) else (NO_TOKEN,))
        strings, string_count = _stops(stop)

        def work(run: _Run, pointer: int) -> Answer:
            def on_piece(at: int, length: int, sampled: int, _: Any) -> bool:
                run.put(form(Piece(_string(at, length), *_sampled(_TYPES["sampled"].from_address(sampled)))))
                return not self._goes_on(run)
            answer = _new("answer")
            request = _new("request", prompt=ids[0], prompt_count=ids[1], sampling=(sampling or Sampling())._struct(callbacks),
                           stop_tokens=ends[0] if ends else None, stop_token_count=len(stop_tokens) if stop_tokens is not None else 0,
                           stop_strings=strings, stop_string_count=string_count, tokens_max=tokens_max,
                           on_piece=callbacks.wrap("on_piece", on_piece), on_route=self._on_route(callbacks, on_route))
            callbacks.check(_function("generation_run")(pointer, request, answer))
            return _answer(answer)

        return self._begin(work)

    def run(self, prompt: Tokens, **options: Any) -> Answer:
        """stream() to its end."""
        stream = self.stream(prompt, **options)
        for _ in stream:
            pass
        assert stream.answer is not None
        return stream.answer

    def expert_load(self, layer: int) -> Counts:
        """Of the last answer: how often a layer chose each expert, [E]; empty for a dense layer."""
        with self._use() as pointer:
            return _expert_load(pointer, layer)

    def last_routes(self) -> Ids:
        """[tokens, layers, k] expert ids by score descending, -1 in dense layers, of every token in the sequence that was
        computed: the last one of an answer is not.  Only with record_routes; valid until the next tokens are computed."""
        if self._routes is None:
            return _numpy().empty((0, self._layer_count, 0), "<i4")  # type: ignore[no-any-return]
        return self._routes.ids[:self._routes.count]  # type: ignore[no-any-return]

    @property
    def memory(self) -> GenerationMemory:
        with self._use() as pointer:
            return _record(GenerationMemory, _fill("generation_memory", "generation_get_memory", pointer))


# ---- Chat ----------------------------------------------------------------------------------------------------------------------


class Chat(_Answering):
    """A conversation with a model, laid out by its chat template.  Its text can never become a turn marker."""
    _destroy = "chat_destroy"
    _cancel = "chat_cancel"

    def __init__(self, model: Model, messages: Messages = (), *, template: ChatTemplate | None = None,
                 variables: Mapping[str, Any] | None = None,
                 now: str | None = None, tokens_max: int = 0, stop: Iterable[str] = (), context_tokens: int = 0, step_tokens: int = 0,
                 threads: int = 0, cache_dtype: str = "f16", change_router: ChangeRouter | None = None, **sampling: Any) -> None:
        """`variables` are further variables of the template; `sampling` as in Sampling, change_router as in Generation."""
        self._callbacks = _Callbacks()
        self._sampling = Sampling(**sampling)._struct(self._callbacks)
        strings, string_count = _stops(stop)
        request = _new("request", sampling=self._sampling, stop_strings=strings, stop_string_count=string_count, tokens_max=tokens_max)
        with contextlib.ExitStack() as stack:
            layout = stack.enter_context(template._use()) if template is not None else None
            variables_json = _text(_utf8(json.dumps(dict(variables or {}))))
            super().__init__(_make("chat_create", stack.enter_context(model._use()), context_tokens, step_tokens, threads, cache_dtype,
                                   change_router, lambda options: (_new("chat_options", generation=options, request=request,
                                                                        chat_template=layout, variables_json=variables_json,
                                                                        now=None if now is None else _utf8(now)),)))
        for message in _messages(messages):
            self.add(message["role"], message["content"])

    def add(self, role: str, content: str) -> None:
        data = _utf8(content)
        with self._use() as pointer:
            _do("chat_add", pointer, _utf8(role), data, len(data))

    def _reply(self, name: str) -> Stream[str]:
        def work(run: _Run, pointer: int) -> Answer:
            def on_text(at: int, length: int, _: Any) -> bool:
                run.put(_string(at, length))
                return not self._goes_on(run)
            answer = _new("answer")
            self._callbacks.failure = None
            self._callbacks.check(_function(name)(pointer, self._callbacks.wrap("on_text", on_text), None, answer))
            return _answer(answer)
        return self._begin(work)

    def reply(self) -> Stream[str]:
        """Answers the conversation so far and adds the answer to it: also one that was ended early."""
        return self._reply("chat_reply")

    def regenerate(self) -> Stream[str]:
        """Takes the last answer back and answers again: another draw where sampling is on."""
        return self._reply("chat_regenerate")

    @property
    def messages(self) -> list[Message]:
        found = []
        with self._use() as pointer:
            for i in range(_function("chat_message_count")(pointer)):
                role, content = _new("text"), _new("text")
                _do("chat_message", pointer, i, role, content)
                found.append(Message(_string(role.utf8, role.bytes), _string(content.utf8, content.bytes)))
        return found

    def truncate(self, message_count: int) -> None:
        """Forgets the messages from `message_count` on."""
        with self._use() as pointer:
            _do("chat_truncate", pointer, message_count)

    def set_sampling(self, **sampling: Any) -> None:
        """How later answers are sampled."""
        options = Sampling(**sampling)._struct(self._callbacks)
        with self._use() as pointer:
            _do("chat_set_sampling", pointer, options)
        self._sampling = options

    @property
    def prompt(self) -> str:
        """The prompt that reply() would feed."""
        with self._use() as pointer:
            return _gather_text("chat_prompt", pointer, first=4096)

    @property
    def memory(self) -> GenerationMemory:
        with self._use() as pointer:
            return _record(GenerationMemory, _fill("generation_memory", "generation_get_memory", _function("chat_generation")(pointer)))

    def expert_load(self, layer: int) -> Counts:
        """Generation.expert_load() of the last answer."""
        with self._use() as pointer:
            return _expert_load(_function("chat_generation")(pointer), layer)


# ---- Batch (experimental) ------------------------------------------------------------------------------------------------------


class Batch(_Handle):
    """Several sequences over one model, each a token further with every step.  May change in any minor version."""
    _destroy = "x_batch_destroy"
    _is_exclusive = True

    def __init__(self, model: Model, sequence_count: int, *, context_tokens: int = 0, step_tokens: int = 0,
                 threads: int = 0, cache_dtype: str = "f16", change_router: ChangeRouter | None = None) -> None:
        self._shape = (sequence_count, model.facts.vocabulary_size)
        with model._use() as pointer:
            super().__init__(_make("x_batch_create", pointer, context_tokens, step_tokens, threads, cache_dtype, change_router,
                                   lambda options: (options, sequence_count)))

    def step(self, tokens: Tokens, out: Floats | None = None) -> Floats:
        """Appends tokens[s] to sequence s; logits [S, V] in `out` or new."""
        address, count, kept = _ids(tokens)
        result = _place(out, self._shape)
        with self._use() as pointer:
            _do("x_batch_step", pointer, address, count, _at(result), result.size)
        return result  # type: ignore[no-any-return]

    def reset(self) -> None:
        """Every sequence is empty again."""
        with self._use() as pointer:
            _do("x_batch_reset", pointer)
