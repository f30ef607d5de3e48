# Every outside library, all of them Debian packages (tools/packages.txt).
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
# Debian's dnnl-config.cmake asks for OpenCL headers, which nothing here uses.
find_library(DNNL_LIBRARY dnnl REQUIRED)
find_path(DNNL_INCLUDE_DIR dnnl.hpp REQUIRED)
add_library(DNNL::dnnl UNKNOWN IMPORTED)
find_library(GOMP_LIBRARY libgomp.so.1 REQUIRED)  # the runtime that Debian's oneDNN is linked with
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${DNNL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR}
                      INTERFACE_LINK_LIBRARIES ${GOMP_LIBRARY})
find_package(simdjson REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(Boost 1.81 REQUIRED)
pkg_check_modules(HWY REQUIRED IMPORTED_TARGET libhwy)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
if(D3_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(D3_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()
