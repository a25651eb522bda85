# Writes OUTPUT, a C++ file that holds FILES: cmake "-DFILES=a;b" -DOUTPUT=... -P this.
# Files of one folder make a template; the first line of its README.md is "# SUMMARY".

function(kedge_write_templates files output)
  set(folders)
  foreach(path IN LISTS files)
    get_filename_component(folder ${path} DIRECTORY)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)

  set(arrays "")
  set(entries "")
  foreach(folder IN LISTS folders)
    get_filename_component(name ${folder} NAME)
    string(MAKE_C_IDENTIFIER ${name} id)
    file(STRINGS ${folder}/README.md heading LIMIT_COUNT 1)
    if(NOT heading MATCHES "^# (.+)$")
      message(FATAL_ERROR "${folder}/README.md must begin with '# what it is'")
    endif()
    string(APPEND entries "    {\"${name}\", R\"kedge(${CMAKE_MATCH_1})kedge\", kFiles_${id}},\n")
    string(APPEND arrays "constexpr TemplateFile kFiles_${id}[] = {\n")
    foreach(path IN LISTS files)
      get_filename_component(its_folder ${path} DIRECTORY)
      if(its_folder STREQUAL folder)
        get_filename_component(file_name ${path} NAME)
        file(READ ${path} content)
        string(APPEND arrays "    {\"${file_name}\", R\"kedge(${content})kedge\"},\n")
      endif()
    endforeach()
    string(APPEND arrays "};\n")
  endforeach()
  file(WRITE ${output} "#include \"cli/templates.h\"\n\nnamespace kedge::cli {\nnamespace {\n\n"
    "${arrays}\nconstexpr Template kTemplates[] = {\n${entries}};\n\n}  // namespace\n\n"
    "std::span<const Template> templates() {\n  return kTemplates;\n}\n\n"
    "}  // namespace kedge::cli\n")
endfunction()

kedge_write_templates("${FILES}" ${OUTPUT})
