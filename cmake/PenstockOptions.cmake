# SPDX-License-Identifier: Apache-2.0
#
# Flags that every target shares, and the helper that declares a library of ours.

# One set of flags for all targets: warnings are errors, floating point is
# never contracted (docs/scalars.md, "No fused multiply-add").
add_library(penstock_options INTERFACE)
target_compile_options(penstock_options INTERFACE
  -Wall -Wextra -Werror -Wno-unused-parameter -ffp-contract=off
  # g++ 12 warns of `"text" + std::string` without cause (GCC bug 105329), of
  # GoogleTest's macros after an `if`, and, in sources compiled together, takes each for a
  # header.
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-dangling-else;-Wno-subobject-linkage>")
target_include_directories(penstock_options INTERFACE
  ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})

# Which checks. Not `function`: machine code that was made at run time has no
# signature in front of it, and before its first byte there may be no memory.
if(PENSTOCK_SANITIZE STREQUAL "address+undefined")
  set(penstock_checks -fsanitize=address,undefined)
  set(penstock_sanitize_options ${penstock_checks} -fno-sanitize-recover=undefined
      $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
elseif(PENSTOCK_SANITIZE STREQUAL "thread")
  set(penstock_checks -fsanitize=thread)
  set(penstock_sanitize_options ${penstock_checks})
endif()
if(PENSTOCK_SANITIZE)
  target_link_options(penstock_options INTERFACE ${penstock_checks})
endif()

# Turns the sanitizers on or off for the folders that are added from here on, with how much
# sanitized code is optimised.
macro(penstock_sanitize_folder on level)
  set_property(DIRECTORY PROPERTY COMPILE_OPTIONS "")
  if(PENSTOCK_SANITIZE AND ${on})
    add_compile_options(${penstock_sanitize_options} ${level} -g1 -fno-omit-frame-pointer)
    if(PENSTOCK_FUZZ) # Counts the branches that an input takes. Programs do not export
      # the variable for the depth of the stack to libraries that they load.
      add_compile_options(-fsanitize=fuzzer-no-link -fno-sanitize-coverage=stack-depth)
    endif()
  endif()
endmacro()

# penstock_library(NAME SOURCES... [LINK targets...]): a static library of ours.
function(penstock_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC penstock_options ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# penstock_unit_test(NAME SOURCES... [MLIR] LINK targets...): one GoogleTest program,
# registered with ctest under its own name. Its headers: see test/unit/CMakeLists.txt.
function(penstock_unit_test name)
  cmake_parse_arguments(ARG "MLIR" "" "LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE penstock_options ${ARG_LINK} GTest::gtest GTest::gtest_main)
  set(headers penstock_unit_headers)
  if(ARG_MLIR)
    set(headers penstock_unit_mlir_headers)
  endif()
  target_compile_options(${name} PRIVATE -fPIC) # as the headers are
  target_precompile_headers(${name} REUSE_FROM ${headers})
  add_test(NAME unit.${name} COMMAND ${name})
endfunction()
