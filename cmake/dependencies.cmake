# Every library outside the project, all of them Debian packages (docs/architecture.md says why).
find_package(Threads REQUIRED)
find_package(GTest QUIET)  # not needed to run the server
find_package(spdlog REQUIRED)
find_package(PkgConfig REQUIRED)

# quire_pkg(name module...): an interface library from pkg-config.
function(quire_pkg name)
  pkg_check_modules(PKG_${name} REQUIRED IMPORTED_TARGET ${ARGN})
  add_library(${name} INTERFACE)
  target_link_libraries(${name} INTERFACE PkgConfig::PKG_${name})
endfunction()

# quire_lib(name libs...): an interface library from plain library names.
function(quire_lib name)
  add_library(${name} INTERFACE)
  foreach(lib ${ARGN})
    find_library(LIB_${lib} ${lib} REQUIRED)
    target_link_libraries(${name} INTERFACE ${LIB_${lib}})
  endforeach()
endfunction()

quire_lib(intelrdfpmath bidgcc000)
# Matches the build named 000: arguments by value, rounding mode and flags passed in calls.
target_compile_definitions(intelrdfpmath INTERFACE DECIMAL_CALL_BY_REFERENCE=0
  DECIMAL_GLOBAL_ROUNDING=0 DECIMAL_GLOBAL_EXCEPTION_FLAGS=0)
quire_lib(rocksdb rocksdb)
quire_lib(snappy snappy)
quire_pkg(zlib zlib)
quire_pkg(zstd libzstd)
quire_pkg(pcre2 libpcre2-8)
quire_pkg(icu icu-i18n icu-uc)
quire_pkg(openssl libssl libcrypto)
quire_lib(stemmer stemmer)
quire_pkg(mozjs mozjs-102)
quire_lib(s2 s2 absl_str_format_internal absl_raw_logging_internal)  # the last: inlined when optimised
quire_pkg(jemalloc jemalloc)
quire_pkg(curl libcurl)
quire_pkg(yaml yaml-cpp)
quire_pkg(mongoc libmongoc-1.0)
# bson_t is over-aligned, which templates over it ignore.
target_compile_options(mongoc INTERFACE -Wno-ignored-attributes)
