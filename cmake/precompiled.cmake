# quire_precompiled(target [TEST]): compiles the target's sources behind one precompiled header of the
# standard library, or of that and GoogleTest. Both are made once; their users share every option that
# changes code. ./dev tidy FILE reads a source without them and shows what it does not include itself.
file(WRITE ${PROJECT_BINARY_DIR}/precompiled.cc "")
add_library(quire_precompiled OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
target_precompile_headers(quire_precompiled PRIVATE <algorithm> <array> <atomic> <chrono> <cmath>
  <cstdint> <cstring> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
  <string_view> <thread> <unordered_map> <utility> <variant> <vector>)
# Tests are compiled in half the time that -O2 takes, and spend theirs in the libraries they test.
function(quire_test_options target)
  target_compile_options(${target} PRIVATE -O0)
  if(QUIRE_FUZZ)  # what is fuzzed, and looked at for undefined behaviour, is the product
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined,fuzzer-no-link)
  endif()
endfunction()
if(GTest_FOUND)
  add_library(quire_precompiled_test OBJECT ${PROJECT_BINARY_DIR}/precompiled.cc)
  target_link_libraries(quire_precompiled_test GTest::gmock)
  quire_test_options(quire_precompiled_test)
  get_target_property(standard_headers quire_precompiled PRECOMPILE_HEADERS)
  target_precompile_headers(quire_precompiled_test PRIVATE ${standard_headers} <gmock/gmock.h> <gtest/gtest.h>)
endif()

function(quire_precompiled target)
  if("TEST" IN_LIST ARGN)
    target_precompile_headers(${target} REUSE_FROM quire_precompiled_test)
    quire_test_options(${target})
  else()
    target_precompile_headers(${target} REUSE_FROM quire_precompiled)
  endif()
endfunction()
