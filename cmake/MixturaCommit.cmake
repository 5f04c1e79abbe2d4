# The commit that is built, for mixtura_build_info(): asked at each build, written only when it changed, so that nothing
# is compiled again for it otherwise.  "unknown" where the source is no git checkout.
cmake_minimum_required(VERSION 3.25)
if(CMAKE_SCRIPT_MODE_FILE)
  execute_process(COMMAND git describe --always --dirty --abbrev=12 WORKING_DIRECTORY "${SOURCE}" OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(commit unknown)
  endif()
  file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#define MIXTURA_COMMIT \"@commit@\"\n" @ONLY)
else()
  add_custom_target(mixtura_commit BYPRODUCTS "${PROJECT_BINARY_DIR}/generated/mixtura_commit.h"
                    COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DHEADER=${PROJECT_BINARY_DIR}/generated/mixtura_commit.h"
                            -P "${CMAKE_CURRENT_LIST_FILE}" VERBATIM)
endif()
