# kedge_room(NAME [TORCH] [COLD] [JSON] [USES room...] [LINKS library...] [ALONE file...]) builds
# src/NAME as an OBJECT library (self-registering plug-ins vanish from static ones) and its
# *_test.cc as NAME_test. TORCH: it includes libtorch. JSON: most of its files use nlohmann-json,
# which is pre-compiled for it. Several files of TORCH rooms and of COLD rooms with JSON are
# compiled at once (kedge_unite).
# ALONE: files that are left out of that, because a name of theirs is another file's too.
# COLD: see kedge_cold.
enable_testing()

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12.1)
  message(FATAL_ERROR "g++ ${CMAKE_CXX_COMPILER_VERSION} has no <expected>; 12.1 or newer is "
    "needed. On Ubuntu 22.04: enable jammy-updates, apt-get update, apt-get install g++-12")
endif()

add_library(kedge_options INTERFACE)
target_include_directories(kedge_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
if(NOT KEDGE_FUZZ) # the warnings are g++'s; the fuzzers are built by clang
  # Warnings stop the build only with the g++ that CI has, Debian's 12.2. Each version sees other
  # things that are not there (13 references to temporaries wherever a function is given one), and
  # a user's build must not end on those.
  if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12.3)
    set(strictness -Werror)
  else()
    set(strictness -Wno-dangling-reference)
  endif()
  target_compile_options(kedge_options INTERFACE -Wall -Wextra -Wconversion ${strictness}
    # g++ sees overlaps and writes past the end in std::string and fmt's buffers that cannot be, and
    # values that are not set in std::expected and std::optional
    -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread
    -Wno-maybe-uninitialized
    # and takes files that are compiled together for headers, whose classes may not hold what is one
    # file's own
    -Wno-subobject-linkage
    # It begins to collect its garbage at 128 MB, which a pre-compiled header alone fills: 12% of a
    # file's time.
    --param=ggc-min-heapsize=524288)
  # nlohmann-json before 3.11 (Ubuntu 22.04) converts itself to std::optional, which g++ reports
  # wherever a json is returned as one.
  find_package(nlohmann_json REQUIRED)
  if(nlohmann_json_VERSION VERSION_LESS 3.11)
    target_compile_options(kedge_options INTERFACE -Wno-conversion)
  endif()
endif()
if(KEDGE_SANITIZE)
  if(KEDGE_TRAIN)
    message(FATAL_ERROR "KEDGE_SANITIZE needs KEDGE_TRAIN=OFF: libtorch is not instrumented")
  endif()
  set(sanitize -fsanitize=${KEDGE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_compile_options(kedge_options INTERFACE ${sanitize})
  target_link_options(kedge_options INTERFACE ${sanitize})
endif()

# All rooms below `uses`, nearest first, without repeats.
function(kedge_closure out)
  set(all ${ARGN})
  foreach(room ${ARGN})
    get_property(below GLOBAL PROPERTY KEDGE_USES_${room})
    list(APPEND all ${below})
  endforeach()
  list(REMOVE_DUPLICATES all)
  set(${out} ${all} PARENT_SCOPE)
endfunction()

# kedge_cold(TARGET): nothing in it runs often enough for the optimiser to be felt (it decides what
# others shall do: libtorch, a scheduler), so that -O1, in three quarters of the time, will do.
function(kedge_cold target)
  target_compile_options(${target} PRIVATE -O1)
  # From 13 on -O2 also sets two options that a pre-compiled header and its users must agree on.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${target} PRIVATE -munroll-only-small-loops -mvzeroupper)
  endif()
endfunction()

# kedge_unite(TARGET COUNT): so many of its files are compiled at once, because much of their time
# goes into what their headers instantiate: 0.6 s for nlohmann-json, 2.5 s for libtorch, 5 s in nn.
# COUNT keeps what an edit rebuilds small.
set(KEDGE_JSON_FILES 3)
set(KEDGE_TORCH_FILES 8)
function(kedge_unite target count)
  if(KEDGE_UNITE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${count}
      CXX_COMPILER_LAUNCHER "${KEDGE_UNITED_LAUNCHER}")
  endif()
endfunction()

# An executable from rooms: OBJECT libraries do not pass their objects on, so each is named. Cold
# rooms are last: of a template that several rooms instantiate, the linker takes the first.
function(kedge_link target)
  kedge_closure(rooms ${ARGN})
  get_property(cold GLOBAL PROPERTY KEDGE_COLD)
  set(hot ${rooms})
  list(REMOVE_ITEM hot "" ${cold})
  list(REMOVE_ITEM rooms "" ${hot})
  foreach(room ${hot} ${rooms})
    target_link_libraries(${target} PRIVATE kedge_${room})
  endforeach()
  target_link_libraries(${target} PRIVATE kedge_options)
endfunction()

function(kedge_room name)
  cmake_parse_arguments(ROOM "TORCH;COLD;JSON" "" "USES;LINKS;ALONE" ${ARGN})
  kedge_closure(below ${ROOM_USES})
  set_property(GLOBAL PROPERTY KEDGE_USES_${name} ${below})

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/src/${name}/plugin/") # cmake/cuda_plugin.cmake builds it
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  if(sources)
    add_library(kedge_${name} OBJECT ${sources})
    if(ROOM_TORCH)
      kedge_unite(kedge_${name} ${KEDGE_TORCH_FILES})
    elseif(ROOM_JSON AND ROOM_COLD)
      kedge_unite(kedge_${name} ${KEDGE_JSON_FILES})
    endif()
    foreach(file ${ROOM_ALONE})
      set_source_files_properties(src/${name}/${file} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endforeach()
    target_link_libraries(kedge_${name} PUBLIC kedge_options kedge_base)
    if(ROOM_COLD)
      kedge_cold(kedge_${name})
      set_property(GLOBAL APPEND PROPERTY KEDGE_COLD ${name})
    endif()
  else()
    add_library(kedge_${name} INTERFACE)
  endif()
  foreach(library ${ROOM_LINKS})
    if(sources)
      target_link_libraries(kedge_${name} PUBLIC kedge_${library}_library)
    endif()
  endforeach()
  set(pre_compiled kedge_pch)
  if(ROOM_JSON)
    set(pre_compiled kedge_json_pch)
  elseif(ROOM_TORCH)
    set(pre_compiled kedge_torch_pch)
  endif()
  if(sources)
    if(ROOM_TORCH)
      target_link_libraries(kedge_${name} PUBLIC kedge_torch)
    endif()
    kedge_use_pre_compiled(kedge_${name} ${pre_compiled})
  endif()

  if(tests)
    add_executable(${name}_test ${tests})
    kedge_link(${name}_test ${name} ${below})
    target_link_libraries(${name}_test PRIVATE kedge_gtest)
    # Relative, so that ccache serves clones in other folders too: tests run in the project's root.
    target_compile_definitions(${name}_test PRIVATE KEDGE_FIXTURES="tests/fixtures")
    if(ROOM_TORCH)
      target_sources(${name}_test PRIVATE ${CMAKE_SOURCE_DIR}/tests/torch_main.cc)
      target_link_libraries(${name}_test PRIVATE kedge_torch)
      kedge_unite(${name}_test ${KEDGE_TORCH_FILES})
    endif()
    kedge_use_pre_compiled(${name}_test ${pre_compiled} test)
    add_test(NAME ${name}_test COMMAND ${name}_test --gtest_brief=1
      WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()
