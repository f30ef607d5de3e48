# `cmake --install`: the program, the shared library with its headers, and what CMake and pkg-config read of it.
include(CMakePackageConfigHelpers)
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # what is installed need not be all that can be built

install(TARGETS d3 RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT d3)
set(described ${PROJECT_BINARY_DIR}/share)  # written where d3 is built (src/cli/CMakeLists.txt)
install(FILES ${described}/d3.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT d3)
install(FILES ${described}/d3.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME d3
        COMPONENT d3)
install(FILES ${described}/_d3 DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT d3)
install(FILES ${described}/d3.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT d3)
if(D3_BUILD_LIBRARY)
  set(config_directory ${CMAKE_INSTALL_LIBDIR}/cmake/d3)
  install(TARGETS d3_shared EXPORT d3Targets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT d3)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/d3 DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT d3)
  install(EXPORT d3Targets NAMESPACE d3:: DESTINATION ${config_directory} COMPONENT d3)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/d3Config.cmake.in ${PROJECT_BINARY_DIR}/d3Config.cmake
                                INSTALL_DESTINATION ${config_directory})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/d3ConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/d3Config.cmake ${PROJECT_BINARY_DIR}/d3ConfigVersion.cmake
          DESTINATION ${config_directory} COMPONENT d3)
  file(RELATIVE_PATH prefix_of_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/d3.pc.in ${PROJECT_BINARY_DIR}/d3.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/d3.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT d3)
endif()

install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT d3)
install(FILES ${PROJECT_SOURCE_DIR}/models/demo/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/models/demo COMPONENT d3)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT d3)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT d3)
