# SPDX-License-Identifier: Apache-2.0
#
# Compares the symbols that a library defines for others with a list.
execute_process(COMMAND ${NM} -D --defined-only --format=posix ${LIBRARY}
  OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE " [^\n]*" "" found "${symbols}")
file(READ ${WANTED} wanted)
foreach(list found wanted)
  string(STRIP "${${list}}" ${list})
  string(REPLACE "\n" ";" ${list} "${${list}}")
  list(SORT ${list})
endforeach()
if(NOT found STREQUAL wanted)
  set(more ${found})
  set(less ${wanted})
  list(REMOVE_ITEM more ${wanted})
  list(REMOVE_ITEM less ${found})
  message(FATAL_ERROR "exported and not in ${WANTED}: ${more}\nin the list and not exported: ${less}")
endif()
