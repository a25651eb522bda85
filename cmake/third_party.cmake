# Third-party code: static or header-only, so that a binary copied to another machine runs there.
# Only libtorch stays a shared library. docs/dependencies.md says why each is here.

find_program(CCACHE ccache)
if(CCACHE)
  # The sloppiness lets ccache serve files that use a pre-compiled header; without absolute paths in
  # what it compares it serves every clone on the machine.
  set(ccache ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1)
  # It takes the compiler's word for what a file includes, in place of preprocessing it first.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache} CCACHE_DEPEND=1 ${CCACHE})
  # Except for the files that CMake makes of several: absolute paths are in them.
  set(KEDGE_UNITED_LAUNCHER ${ccache} ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()
find_package(Threads REQUIRED)

function(kedge_static_library name)
  find_library(KEDGE_LIB_${name} NAMES lib${name}.a REQUIRED)
  add_library(kedge_${name}_static INTERFACE)
  target_link_libraries(kedge_${name}_static INTERFACE ${KEDGE_LIB_${name}})
endfunction()

kedge_static_library(yaml-cpp)
kedge_static_library(jpeg)
kedge_static_library(png16)
kedge_static_library(z)
kedge_static_library(sqlite3)
kedge_static_library(zstd)
kedge_static_library(ssl)
kedge_static_library(crypto)
kedge_static_library(utf8proc)

# xxhash is header-only here.
add_library(kedge_fmt STATIC ${CMAKE_SOURCE_DIR}/cmake/fmt.cc)
add_library(kedge_json STATIC ${CMAKE_SOURCE_DIR}/cmake/json.cc)
target_link_libraries(kedge_json PRIVATE kedge_options)
# g++ 13 sees fmt's own buffers overflow; they do not.
set_source_files_properties(${CMAKE_SOURCE_DIR}/cmake/fmt.cc ${CMAKE_SOURCE_DIR}/cmake/json.cc
  PROPERTIES COMPILE_OPTIONS -w)
add_library(kedge_base INTERFACE)
target_link_libraries(kedge_base INTERFACE kedge_fmt kedge_json Threads::Threads ${CMAKE_DL_LIBS})

add_library(kedge_yaml_library INTERFACE)
target_link_libraries(kedge_yaml_library INTERFACE kedge_yaml-cpp_static)
add_library(kedge_jpeg_library INTERFACE)
target_link_libraries(kedge_jpeg_library INTERFACE kedge_jpeg_static)
add_library(kedge_png_library INTERFACE)
target_link_libraries(kedge_png_library INTERFACE kedge_png16_static kedge_z_static)
add_library(kedge_sqlite_library INTERFACE)
target_link_libraries(kedge_sqlite_library INTERFACE kedge_sqlite3_static)
add_library(kedge_zstd_library INTERFACE)
target_link_libraries(kedge_zstd_library INTERFACE kedge_zstd_static)

add_library(kedge_utf8proc_library INTERFACE)
target_link_libraries(kedge_utf8proc_library INTERFACE kedge_utf8proc_static)

add_library(kedge_z_library INTERFACE)
target_link_libraries(kedge_z_library INTERFACE kedge_z_static)
find_path(KEDGE_EIGEN Eigen/Core PATH_SUFFIXES eigen3 REQUIRED)
add_library(kedge_eigen_library INTERFACE)
target_include_directories(kedge_eigen_library SYSTEM INTERFACE ${KEDGE_EIGEN})
# Boost 1.74 knows the coroutines of g++ by itself, but not those of clang, whose clang-tidy reads
# the same files.
add_library(kedge_boost_library INTERFACE)
target_compile_definitions(kedge_boost_library INTERFACE
  BOOST_ASIO_HAS_CO_AWAIT BOOST_ASIO_HAS_STD_COROUTINE)
# Static, unlike the OpenSSL that libcurl and libpq bring: the server's own TLS.
add_library(kedge_openssl_library INTERFACE)
target_link_libraries(kedge_openssl_library INTERFACE kedge_ssl_static kedge_crypto_static)

find_package(GTest REQUIRED)
add_library(kedge_gtest INTERFACE)
target_link_libraries(kedge_gtest INTERFACE GTest::gmock GTest::gtest GTest::gtest_main)

if(KEDGE_TRAIN)
  if(NOT KEDGE_TORCH)
    message(FATAL_ERROR "KEDGE_TORCH is not set; use ./dev build, or pass the folder above torch/")
  endif()
  set(torch_root ${KEDGE_TORCH}/torch)
  add_library(kedge_torch INTERFACE)
  target_include_directories(kedge_torch SYSTEM INTERFACE
    ${torch_root}/include ${torch_root}/include/torch/csrc/api/include)
  # libtorch was built with NDEBUG; without it some of its classes (at::RecordFunction) differ.
  target_compile_definitions(kedge_torch INTERFACE NDEBUG)
  target_link_libraries(kedge_torch INTERFACE
    ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)
  # libtorch_cpu.so of the CUDA wheel looks for its two NVIDIA libraries beside the wheel.
  target_link_options(kedge_torch INTERFACE -Wl,--allow-shlib-undefined -Wl,--disable-new-dtags)
  set(CMAKE_BUILD_RPATH "$ORIGIN/../lib;${torch_root}/lib;${KEDGE_TORCH}/nvidia/cu13/lib")

  # libtorch's headers bring a newer fmt, in another inline namespace, and its rooms see that one.
  add_library(kedge_torch_fmt STATIC ${CMAKE_SOURCE_DIR}/cmake/fmt.cc)
  target_include_directories(kedge_torch_fmt SYSTEM PRIVATE ${torch_root}/include)
  target_link_libraries(kedge_torch INTERFACE kedge_torch_fmt)
endif()

# Pre-compiled headers. torch/torch.h costs 20 CPU-seconds a file, and pre-compiled still 9, because
# g++ instantiates its pending templates anew each time; those named here cost 1 to 4.
# Headers of our own are named by <...>: absolute paths would keep ccache from serving other clones.
function(kedge_find_pre_compiled target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(${target} PRIVATE -fpch-preprocess)
endfunction()
# kedge_pre_compile(NAME LIBRARY HEADER...) makes NAME, and NAME_test for tests, which are not
# optimised: their own code is small and what they test is.
function(kedge_pre_compile name library)
  file(WRITE ${CMAKE_BINARY_DIR}/pre_compiled.cc "\n")
  foreach(target ${name} ${name}_test)
    add_library(${target} OBJECT ${CMAKE_BINARY_DIR}/pre_compiled.cc)
    target_link_libraries(${target} PUBLIC kedge_options kedge_base ${library})
    target_precompile_headers(${target} PRIVATE ${ARGN} <algorithm> <chrono> <filesystem>
      <functional> <map> <optional> <string> <vector> <fmt/format.h> <core/result.h>)
    kedge_find_pre_compiled(${target})
  endforeach()
  target_precompile_headers(${name}_test PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
  target_link_libraries(${name}_test PUBLIC kedge_gtest)
  target_compile_options(${name}_test PRIVATE -O0)
endfunction()
if(NOT KEDGE_FUZZ) # clang does not know g++'s pre-compiled headers
  kedge_pre_compile(kedge_pch kedge_base)
  # nlohmann-json in a pre-compiled header costs a file 0.4 s that does not use it, and saves 0.4 to
  # 1 s where it is used: its rooms have their own.
  kedge_pre_compile(kedge_json_pch kedge_base <cmake/json.h>)
endif()
if(KEDGE_TRAIN)
  kedge_pre_compile(kedge_torch_pch kedge_torch <torch/types.h> <torch/utils.h>)
endif()

# kedge_use_pre_compiled(TARGET HEADERS [test])
function(kedge_use_pre_compiled target headers)
  if(KEDGE_FUZZ)
    return()
  endif()
  if(ARGN)
    set(headers ${headers}_test)
    target_compile_options(${target} PRIVATE -O0)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
  kedge_find_pre_compiled(${target})
endfunction()
