# A build for AArch64 on another Debian machine, whose tests run under qemu-user:
#   cmake -S . -B build-aarch64 -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake
# It needs g++-aarch64-linux-gnu, qemu-user and the arm64 packages of libpcre2-dev and libutf8proc-dev (.ci/run).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# Without -L: with the cross compiler's /usr/aarch64-linux-gnu as a prefix the loader is of one glibc build and libc.so.6,
# found by its usual path, of another, and pthread_create then walks a list without end.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)  # notes on how GCC 10 passed pairs of floats
