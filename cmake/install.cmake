# `cmake --install`: headers, libraries, the CMake package and the pkg-config file. The prefix may be moved afterwards.

include(CMakePackageConfigHelpers)

install(FILES include/caldera.h include/caldera.hpp DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
if(WIN32)
  install(FILES "${caldera_shared_file}" DESTINATION "${CMAKE_INSTALL_BINDIR}")
  install(FILES "${caldera_static_file}" "${out}/caldera.dll.lib" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
else()
  install(PROGRAMS "${caldera_shared_file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(FILES "${caldera_static_file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  foreach(link IN LISTS caldera_links)
    install(FILES "${out}/${link}" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  endforeach()
endif()

get_filename_component(caldera_shared_name "${caldera_shared_file}" NAME)
get_filename_component(caldera_static_name "${caldera_static_file}" NAME)
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/caldera")
configure_package_config_file(cmake/caldera-config.cmake.in "${CMAKE_CURRENT_BINARY_DIR}/caldera-config.cmake"
  INSTALL_DESTINATION "${package_dir}" PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file("${CMAKE_CURRENT_BINARY_DIR}/caldera-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/caldera-config.cmake" "${CMAKE_CURRENT_BINARY_DIR}/caldera-config-version.cmake"
  DESTINATION "${package_dir}")

# The pkg-config file finds its prefix from where it lies.
file(RELATIVE_PATH prefix_from_pc "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" prefix_from_pc "${prefix_from_pc}")
list(TRANSFORM caldera_system_libraries PREPEND "-l" OUTPUT_VARIABLE private_libraries)
list(JOIN private_libraries " " private_libraries)
configure_file(cmake/caldera.pc.in "${CMAKE_CURRENT_BINARY_DIR}/caldera.pc" @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/caldera.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
