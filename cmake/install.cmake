# What `./dev install` installs: the tool, libquire.so with every layer inside, the public headers,
# a CMake package (find_package(quire), target quire::quire) and a pkg-config file. The library is a
# shared one so that its users link one name and need none of the -dev packages.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

file(WRITE ${PROJECT_BINARY_DIR}/shared.cc "")
add_library(quire_shared SHARED ${PROJECT_BINARY_DIR}/shared.cc)
set_target_properties(quire_shared PROPERTIES OUTPUT_NAME quire EXPORT_NAME quire
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_compile_features(quire_shared INTERFACE cxx_std_20)
target_include_directories(quire_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
# Everything the public headers declare, whether or not another layer uses it.
target_link_options(quire_shared PRIVATE
  -Wl,--whole-archive $<TARGET_FILE:quire_patterns> $<TARGET_FILE:quire_api>
  $<TARGET_FILE:quire_bson> $<TARGET_FILE:quire_base>
  -Wl,--no-whole-archive -Wl,-Bsymbolic-functions)
target_link_libraries(quire_shared PRIVATE quire_patterns)

install(TARGETS quire_shared EXPORT quire-targets DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET quire)
  install(TARGETS quire DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(DIRECTORY include/quire DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT quire-targets NAMESPACE quire:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quire
  FILE quire-config.cmake)
write_basic_package_version_file(quire-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/quire-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/quire)

# The prefix is that of the file itself, wherever it was installed.
configure_file(cmake/quire.pc.in quire.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/quire.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
