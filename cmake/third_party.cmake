# Third-party code: static or header-only, so that a binary copied to another machine runs there.
# Only libtorch stays a shared library. docs/dependencies.md says why each is here.

find_program(CCACHE ccache)
if(CCACHE)
  # The sloppiness lets ccache serve files that use a pre-compiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
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

# fmt, nlohmann-json and xxhash are header-only here.
add_library(kedge_base INTERFACE)
target_compile_definitions(kedge_base INTERFACE FMT_HEADER_ONLY)
target_link_libraries(kedge_base INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

add_library(kedge_yaml_library INTERFACE)
target_link_libraries(kedge_yaml_library INTERFACE kedge_yaml-cpp_static)
add_library(kedge_jpeg_library INTERFACE)
target_link_libraries(kedge_jpeg_library INTERFACE kedge_jpeg_static)
add_library(kedge_png_library INTERFACE)
target_link_libraries(kedge_png_library INTERFACE kedge_png16_static kedge_z_static)

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
  target_link_libraries(kedge_torch INTERFACE
    ${torch_root}/lib/libtorch_cpu.so ${torch_root}/lib/libc10.so)
  # libtorch_cpu.so of the CUDA wheel looks for its two NVIDIA libraries beside the wheel.
  target_link_options(kedge_torch INTERFACE -Wl,--allow-shlib-undefined -Wl,--disable-new-dtags)
  set(CMAKE_BUILD_RPATH "$ORIGIN/../lib;${torch_root}/lib;${KEDGE_TORCH}/nvidia/cu13/lib")

  # torch/torch.h costs 20 CPU-seconds a file, and as a pre-compiled header still 9, because g++
  # instantiates its pending templates anew each time. These two are small: 2 to 4 seconds.
  function(kedge_pre_compile name)
    file(WRITE ${CMAKE_BINARY_DIR}/${name}.cc "\n")
    add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cc)
    target_link_libraries(${name} PUBLIC kedge_options kedge_base kedge_torch)
    target_precompile_headers(${name} PRIVATE ${ARGN})
    target_compile_options(${name} PRIVATE -fpch-preprocess)
  endfunction()
  kedge_pre_compile(kedge_torch_pch <torch/types.h> <torch/utils.h>)
  kedge_pre_compile(kedge_torch_nn_pch ${CMAKE_SOURCE_DIR}/src/nn/internal/modules.h)
endif()

# kedge_use_torch(TARGET ROOM): only models need the modules.
function(kedge_use_torch target room)
  target_link_libraries(${target} PUBLIC kedge_torch)
  if(room STREQUAL "nn")
    target_precompile_headers(${target} REUSE_FROM kedge_torch_nn_pch)
  else()
    target_precompile_headers(${target} REUSE_FROM kedge_torch_pch)
  endif()
  target_compile_options(${target} PRIVATE -fpch-preprocess)
endfunction()
