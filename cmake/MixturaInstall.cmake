# What `cmake --install` leaves: a prefix that stands alone and may be moved.  Components: runtime (the shared library and
# the program), development (headers, static library, CMake package, mixtura.pc, guides).
include(CMakePackageConfigHelpers)

set(mixtura_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/mixtura")
set(mixtura_doc_dir "${CMAKE_INSTALL_DATAROOTDIR}/doc/mixtura")

install(TARGETS mixtura_shared mixtura_static EXPORT mixtura_targets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/mixtura" "${PROJECT_SOURCE_DIR}/capi/include/mixtura"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
install(FILES "${PROJECT_SOURCE_DIR}/capi/README.md" DESTINATION "${mixtura_doc_dir}" COMPONENT development)

# What the licences ask of whoever passes these on: the libraries hold PCRE2 and utf8proc in machine code, the program
# nlohmann-json and CLI11 too.
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${mixtura_doc_dir}" COMPONENT runtime)
foreach(package libpcre2-dev libutf8proc-dev nlohmann-json3-dev libcli11-dev)
  install(FILES "/usr/share/doc/${package}/copyright" DESTINATION "${mixtura_doc_dir}/third-party"
          RENAME "${package}.copyright" COMPONENT runtime OPTIONAL)
endforeach()

# The CMake package; before 1.0 a minor version may break source and ABI, so only its own patches are compatible.
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(mixtura_compatibility SameMinorVersion)
else()
  set(mixtura_compatibility SameMajorVersion)
endif()
set(mixtura_build_package "${PROJECT_BINARY_DIR}/cmake")  # found with CMAKE_PREFIX_PATH=<build folder>
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/mixturaConfig.cmake.in" "${mixtura_build_package}/mixturaConfig.cmake"
                              INSTALL_DESTINATION "${mixtura_package_dir}" NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file("${mixtura_build_package}/mixturaConfigVersion.cmake" COMPATIBILITY ${mixtura_compatibility})
install(FILES "${mixtura_build_package}/mixturaConfig.cmake" "${mixtura_build_package}/mixturaConfigVersion.cmake"
        DESTINATION "${mixtura_package_dir}" COMPONENT development)
install(EXPORT mixtura_targets NAMESPACE mixtura:: FILE mixturaTargets.cmake DESTINATION "${mixtura_package_dir}"
        COMPONENT development)
export(EXPORT mixtura_targets NAMESPACE mixtura:: FILE "${mixtura_build_package}/mixturaTargets.cmake")

# mixtura.pc finds its prefix from where it lies.
set(mixtura_pc_dir "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH mixtura_prefix_of_pc "/prefix/${mixtura_pc_dir}" "/prefix")
configure_file("${CMAKE_CURRENT_LIST_DIR}/mixtura.pc.in" "${PROJECT_BINARY_DIR}/mixtura.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/mixtura.pc" DESTINATION "${mixtura_pc_dir}" COMPONENT development)
