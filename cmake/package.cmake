# `cpack -G DEB`: one Debian package with all that `cmake --install` installs and a systemd unit (tools/package).
# The component `debian` is what only the package has; its paths go from the prefix /usr.
install(FILES ${PROJECT_SOURCE_DIR}/packaging/d3.service DESTINATION lib/systemd/system COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/default DESTINATION ../etc/default RENAME d3 COMPONENT debian
        EXCLUDE_FROM_ALL)

set(CPACK_PACKAGE_NAME d3)
set(CPACK_PACKAGE_VENDOR d3.cpp)
set(CPACK_PACKAGE_CONTACT "d3.cpp maintainers <noreply@example.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "A decision model reads a state (a text or any JSON, images, videos) and typed questions, and returns a
probability for every option. This package runs such models on a CPU: the program d3 (serve, ask, batch, ..), the
systemd unit d3.service (not started by the installation), and the shared library libd3 with its C++ headers.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_CMAKE_PROJECTS "${PROJECT_BINARY_DIR};d3;d3;/;${PROJECT_BINARY_DIR};d3;debian;/")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                                                WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION misc)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS ca-certificates)
# CPack itself adds the call of ldconfig that a shared library needs.
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/conffiles)
include(CPack)
