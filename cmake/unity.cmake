# quire_unity(target): with QUIRE_UNITY, compiles the target's sources in groups of a few, which takes half the time
# since they share their headers. Off by default: after a change of one source its whole group is compiled.
option(QUIRE_UNITY "Compile sources in groups: quicker from nothing, slower after a change" OFF)

function(quire_unity target)
  if(NOT QUIRE_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(grouped)
  foreach(source ${sources})
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    get_source_file_property(options ${source} SKIP_PRECOMPILE_HEADERS)
    get_source_file_property(defined ${source} COMPILE_DEFINITIONS)
    if(NOT alone AND NOT options AND NOT defined)
      list(APPEND grouped ${source})
    endif()
  endforeach()
  execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/unity_groups.py 6 ${grouped}
    OUTPUT_VARIABLE lines OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" lines "${lines}")
  foreach(line ${lines})
    string(REGEX MATCH "^([0-9]+) (.*)$" matched "${line}")
    set_source_files_properties(${CMAKE_MATCH_2} PROPERTIES UNITY_GROUP ${target}_${CMAKE_MATCH_1})
  endforeach()
  # One warning is of names that belong to different sources; the other of what is unnamed in included files, and in a
  # group every source is included. A build without groups looks for both.
  target_compile_options(${target} PRIVATE -Wno-shadow $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
