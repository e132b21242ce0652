# SPDX-License-Identifier: Apache-2.0
#
# Finds LLVM and MLIR 19, and sets up TableGen.
#
# Only the shared libraries `MLIR` and `LLVM` are linked: naming a component
# too would put a second copy of MLIR into the binary. With PENSTOCK_STATIC_LLVM
# only the archives are, of which the linker takes what is used.

execute_process(COMMAND llvm-config-19 --prefix
  OUTPUT_VARIABLE PENSTOCK_LLVM_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE)
find_package(MLIR 19.1 REQUIRED CONFIG HINTS ${PENSTOCK_LLVM_PREFIX}/lib/cmake/mlir)

list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(penstock_mlir INTERFACE)
target_include_directories(penstock_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS} ${LLVM_INCLUDE_DIRS})
if(PENSTOCK_STATIC_LLVM)
  # By file: the targets of a distribution's components say that they need its shared LLVM.
  file(GLOB archives ${PENSTOCK_LLVM_PREFIX}/lib/libMLIR*.a ${PENSTOCK_LLVM_PREFIX}/lib/libLLVM*.a)
  if(NOT archives)
    message(FATAL_ERROR "PENSTOCK_STATIC_LLVM: no archives of LLVM in ${PENSTOCK_LLVM_PREFIX}/lib")
  endif()
  target_link_libraries(penstock_mlir INTERFACE -Wl,--gc-sections -Wl,--start-group ${archives} -Wl,--end-group
    z zstd tinfo)
else()
  target_link_libraries(penstock_mlir INTERFACE MLIR LLVM)
  # libMLIR lies outside the default search path, so programs need an RPATH.
  set(CMAKE_BUILD_RPATH ${PENSTOCK_LLVM_PREFIX}/lib)
  list(APPEND CMAKE_INSTALL_RPATH ${PENSTOCK_LLVM_PREFIX}/lib)
endif()

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
