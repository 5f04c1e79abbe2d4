# Flags that every target of this project is built with.  Baseline instruction set only: kernels that use more carry
# function-level target attributes (design.md, CPU dispatch), so no inline std function is ever emitted with AVX in it.

add_library(mixtura_flags INTERFACE)
target_compile_features(mixtura_flags INTERFACE cxx_std_20)
target_compile_options(mixtura_flags INTERFACE
  # One rounding per written operation: GCC 12 fuses a*b+c inside target functions even with -std=c++20 unless told not to.
  -ffp-contract=off
  # Messages name a source file from the top level on, not where it lay on the building machine.
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
  -fvisibility=hidden -fvisibility-inlines-hidden
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wcast-qual -Wundef)
set_property(GLOBAL PROPERTY MIXTURA_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(MIXTURA_DEVELOPER_MODE)
  target_compile_options(mixtura_flags INTERFACE -Werror)
  target_compile_definitions(mixtura_flags INTERFACE MIXTURA_DEVELOPMENT_CHECKS=1)
endif()

if(MIXTURA_SANITIZE)
  target_compile_options(mixtura_flags INTERFACE -fsanitize=${MIXTURA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(mixtura_flags INTERFACE -fsanitize=${MIXTURA_SANITIZE})
endif()
if(MIXTURA_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "MIXTURA_BUILD_FUZZERS needs clang (libFuzzer); this is ${CMAKE_CXX_COMPILER_ID}. Configure with -DCMAKE_CXX_COMPILER=clang++.")
  endif()
  target_compile_options(mixtura_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
