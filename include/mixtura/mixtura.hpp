// Everything of mixtura's C++ interface.  Source-stable within a minor version; the C interface is the one with an ABI.
#pragma once

#include <mixtura/version.h>
#include <mixtura/batch.hpp>
#include <mixtura/build.hpp>
#include <mixtura/cache_dtypes.hpp>
#include <mixtura/chat.hpp>
#include <mixtura/chat_template.hpp>
#include <mixtura/checkpoint.hpp>
#include <mixtura/doctor.hpp>
#include <mixtura/expert_pool.hpp>
#include <mixtura/generation.hpp>
#include <mixtura/kv_cache.hpp>
#include <mixtura/log.hpp>
#include <mixtura/machine.hpp>
#include <mixtura/model.hpp>
#include <mixtura/op_times.hpp>
#include <mixtura/router.hpp>
#include <mixtura/sampler.hpp>
#include <mixtura/status.hpp>
#include <mixtura/tokenizer.hpp>
#include <mixtura/types.hpp>
#include <mixtura/weight_mix.hpp>
