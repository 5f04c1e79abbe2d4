/* The version of mixtura, in this one place: CMake and the C++ and C headers all read it from here.
 * Plain C, so that a build script or a C compiler can read it too. */
#ifndef MIXTURA_VERSION_H
#define MIXTURA_VERSION_H

#define MIXTURA_VERSION_MAJOR 0
#define MIXTURA_VERSION_MINOR 1
#define MIXTURA_VERSION_PATCH 0

#endif
