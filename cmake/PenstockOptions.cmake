# Flags that every target shares, and the helper that declares a library of ours.

# One set of flags for all targets: warnings are errors, floating point is
# never contracted (design: section 6, "no fma in the semantics").
add_library(penstock_options INTERFACE)
target_compile_options(penstock_options INTERFACE
  -Wall -Wextra -Werror -Wno-unused-parameter -ffp-contract=off
  # g++ 12 warns of `"text" + std::string` without cause (GCC bug 105329), and of
  # GoogleTest's macros after an `if`.
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-dangling-else>")
target_include_directories(penstock_options INTERFACE
  ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})

if(PENSTOCK_SANITIZE STREQUAL "address+undefined")
  target_compile_options(penstock_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(penstock_options INTERFACE -fsanitize=address,undefined)
elseif(PENSTOCK_SANITIZE STREQUAL "thread")
  target_compile_options(penstock_options INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(penstock_options INTERFACE -fsanitize=thread)
endif()

# penstock_library(NAME SOURCES... [LINK targets...]): a static library of ours.
function(penstock_library name)
  cmake_parse_arguments(ARG "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC penstock_options ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# penstock_unit_test(NAME SOURCES... LINK targets...): one GoogleTest program,
# registered with ctest under its own name.
function(penstock_unit_test name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE penstock_options ${ARG_LINK} GTest::gtest GTest::gtest_main)
  add_test(NAME unit.${name} COMMAND ${name})
endfunction()
