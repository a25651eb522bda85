# The page (web/dist, when it has been built) as a file of the server's room.
set(page ${CMAKE_SOURCE_DIR}/web/dist)
file(GLOB_RECURSE page_files CONFIGURE_DEPENDS LIST_DIRECTORIES false ${page}/*)
set(embedded ${CMAKE_BINARY_DIR}/embedded_page.cc)
find_program(PYTHON3 python3 REQUIRED)
add_custom_command(OUTPUT ${embedded}
  COMMAND ${PYTHON3} ${CMAKE_SOURCE_DIR}/tools/embed_page.py ${embedded} ${page}
          ${page_files}
  DEPENDS ${page_files} ${CMAKE_SOURCE_DIR}/tools/embed_page.py
  COMMENT "Embedding web/dist" VERBATIM)
target_sources(kedge_server PRIVATE ${embedded})
target_compile_definitions(kedge_server PRIVATE KEDGE_VERSION="${PROJECT_VERSION}")
