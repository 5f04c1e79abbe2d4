# Every option of the build, in one place.  All are named MIXTURA_*, so that a host project's own options stay apart.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
endif()

# A subproject is quiet by default: no tests, no examples, the host's warnings are its own affair.
set(mixtura_default ${PROJECT_IS_TOP_LEVEL})
if(DEFINED BUILD_TESTING)
  set(mixtura_tests_default ${BUILD_TESTING})
else()
  set(mixtura_tests_default ${mixtura_default})
endif()

option(MIXTURA_DEVELOPER_MODE "Warnings are errors, development checks are on" ${mixtura_default})
option(MIXTURA_BUILD_TESTS "Build the tests (needs Catch2 2.13)" ${mixtura_tests_default})
option(MIXTURA_BUILD_EXAMPLES "Build the examples and the command-line program" ${mixtura_default})
option(MIXTURA_INSTALL "cmake --install copies the libraries, their headers and packages" ${mixtura_default})
option(MIXTURA_BUILD_FUZZERS "Build the libFuzzer targets (needs clang)" OFF)
set(MIXTURA_ENABLE_CUDA AUTO CACHE STRING "Build the CUDA back-end: ON, OFF or AUTO (where nvcc is found and cuda/ holds code)")
set(MIXTURA_SANITIZE "" CACHE STRING "Sanitizers for everything, e.g. address,undefined or thread")
