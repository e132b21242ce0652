# SPDX-License-Identifier: Apache-2.0
#
# Precompiled headers. The file of one names the tree that it is in, so ccache is told what it is
# made of instead, and finds what was compiled with it in every tree.

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang") # as CMake passes it on, without the path of its text, which nothing reads
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -Xclang -include-pch -Xclang <PCH_FILE>)
endif()

# penstock_precompile(TARGET HEADERS... [FILES files...] [TEXT text]): FILES are those that the headers
# consist of, ours by their contents and others by their time; TEXT is what else tells them apart.
function(penstock_precompile target)
  cmake_parse_arguments(ARG "" "TEXT" "FILES" ${ARGN})
  target_precompile_headers(${target} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
  set(made_of "${ARG_TEXT}\n")
  foreach(file IN LISTS ARG_FILES)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(IS_PREFIX CMAKE_SOURCE_DIR "${file}" ours)
    if(ours)
      file(SHA256 ${file} what)
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
      cmake_path(RELATIVE_PATH file BASE_DIRECTORY ${CMAKE_SOURCE_DIR})
    else()
      file(TIMESTAMP ${file} what UTC)
    endif()
    string(APPEND made_of "${what} ${file}\n")
  endforeach()
  file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.pch.sum "${made_of}")
endfunction()

# penstock_standard_headers(TARGET [HEADERS... FILES files...]): the headers of C++ and, for a target whose
# sources all take long to read the same others, those. g++ reads each header where it is named: so
# a source that names too few is found.
function(penstock_standard_headers target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "FILES" ${ARGN})
  file(GLOB packaged /usr/include/c++/*/vector)
  penstock_precompile(${target} <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <condition_variable> <cstdio> <deque>
    <functional> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string> <thread> <unordered_map> <variant> <vector>
    ${ARG_UNPARSED_ARGUMENTS}
    TEXT "${ARG_UNPARSED_ARGUMENTS}" FILES ${CMAKE_CURRENT_FUNCTION_LIST_FILE} ${packaged} ${ARG_FILES})
endfunction()
