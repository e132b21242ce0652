# SPDX-License-Identifier: Apache-2.0
#
# Finds LLVM and MLIR 19, and sets up TableGen.
#
# Programs link the shared libraries `MLIR` and `LLVM`: naming a component too would put
# a second copy of MLIR into them. A target with the property PENSTOCK_LLVM_ARCHIVES links the
# archives, of which the linker takes what is used: what is installed starts 30 ms sooner,
# compiles in less memory, and needs no LLVM on the machine. `penstock-opt` alone does.

execute_process(COMMAND llvm-config-19 --prefix
  OUTPUT_VARIABLE PENSTOCK_LLVM_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE)
find_package(MLIR 19.1 REQUIRED CONFIG HINTS ${PENSTOCK_LLVM_PREFIX}/lib/cmake/mlir)

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(penstock_mlir INTERFACE)
target_include_directories(penstock_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
# By file: the targets of a distribution's components say that they need its shared LLVM.
file(GLOB archives ${PENSTOCK_LLVM_PREFIX}/lib/libMLIR*.a ${PENSTOCK_LLVM_PREFIX}/lib/libLLVM*.a)
if(NOT archives)
  message(FATAL_ERROR "no archives of LLVM and MLIR in ${PENSTOCK_LLVM_PREFIX}/lib")
endif()
add_library(penstock_mlir_archives INTERFACE)
target_link_libraries(penstock_mlir_archives INTERFACE
  -Wl,--gc-sections -Wl,--start-group ${archives} -Wl,--end-group z zstd tinfo)
add_library(penstock_mlir_shared INTERFACE)
target_link_libraries(penstock_mlir_shared INTERFACE MLIR LLVM)
target_link_libraries(penstock_mlir INTERFACE
  $<IF:$<BOOL:$<TARGET_PROPERTY:PENSTOCK_LLVM_ARCHIVES>>,penstock_mlir_archives,penstock_mlir_shared>)
# libMLIR lies outside the default search path.
set(CMAKE_BUILD_RPATH ${PENSTOCK_LLVM_PREFIX}/lib)

# TableGen reads include paths from the directory property.
include_directories(SYSTEM ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})

# penstock_mlir_headers(targets...): for what includes MLIR, whose headers cost more than our
# sources. Where only some folders are sanitized, the others' header is not theirs.
function(penstock_mlir_headers)
  if(PENSTOCK_SANITIZE AND PENSTOCK_SANITIZED AND NOT PENSTOCK_SANITIZE_COMPILER)
    return()
  endif()
  foreach(target IN LISTS ARGN)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      target_compile_options(${target} PRIVATE -fPIC) # as the header is
    endif()
    target_precompile_headers(${target} REUSE_FROM penstock_dialect)
  endforeach()
endfunction()
