# build/lib/libkedge_cuda.so, opened at run time where there is a GPU (src/device). It needs CUDA's
# headers and none of its libraries: the program opens libtorch_cuda.so, which brings them, first.
if(NOT KEDGE_CUDA)
  message(STATUS "no CUDA headers: kedge-train will use a GPU without captured steps")
  return()
endif()
file(GLOB plugin_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/device/plugin/*.cc)
# result.cc: what a failed check says, and terminal.cc how. All else of kedge reaches the plugin as
# objects it is given.
add_library(kedge_cuda MODULE ${plugin_sources} ${CMAKE_SOURCE_DIR}/src/core/result.cc
  ${CMAKE_SOURCE_DIR}/src/core/terminal.cc)
kedge_unite(kedge_cuda ${KEDGE_TORCH_FILES})
set_target_properties(kedge_cuda PROPERTIES
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
  POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
target_compile_definitions(kedge_cuda PRIVATE FMT_HEADER_ONLY)
target_link_libraries(kedge_cuda PRIVATE kedge_options)
# ATen's CUDA headers name handles and codes of libraries that the plugin does not use, whose own
# headers come in wheels of 770 MB.
set(handles ${CMAKE_BINARY_DIR}/cuda_handles)
function(name_handles header text)
  file(CONFIGURE OUTPUT ${handles}/${header} CONTENT "#pragma once\n${text}\n")
endfunction()
name_handles(cublas_v2.h
  "enum cublasStatus_t : int {}; typedef struct cublasContext* cublasHandle_t;")
name_handles(cublasLt.h "typedef struct cublasLtContext* cublasLtHandle_t;")
name_handles(cusparse.h
  "enum cusparseStatus_t : int {}; typedef struct cusparseContext* cusparseHandle_t;")
name_handles(cusolver_common.h "enum cusolverStatus_t : int {};")
name_handles(cusolverDn.h "typedef struct cusolverDnContext* cusolverDnHandle_t;")
# NCCL's header: that of the torch which the user brings, where it has one.
target_include_directories(kedge_cuda SYSTEM PRIVATE ${handles}
  ${KEDGE_TORCH}/nvidia/nccl/include ${KEDGE_CUDA}/include ${KEDGE_CUDA}/../nccl/include
  ${KEDGE_TORCH}/torch/include ${KEDGE_TORCH}/torch/include/torch/csrc/api/include)
