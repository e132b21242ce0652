# SPDX-License-Identifier: Apache-2.0
#
# A toolchain: Debian's cross compilers for 64-bit ARM. Programs that are run while building are this
# machine's, libraries those that scripts/setup unpacks; what is built runs under QEMU.
include(${CMAKE_CURRENT_LIST_DIR}/PenstockArm64Root.cmake)
if(NOT EXISTS ${PENSTOCK_ARM64_ROOT}/usr/include)
  message(FATAL_ERROR "no libraries for 64-bit ARM in ${PENSTOCK_ARM64_ROOT}: scripts/setup fetches them")
endif()
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_SYSROOT ${PENSTOCK_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(kind LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
# Not by QEMU's -L, with which a program that opens `/` or `/tmp` finds those of the root.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static ${PENSTOCK_ARM64_ROOT}/lib/ld-linux-aarch64.so.1 --library-path
  ${PENSTOCK_ARM64_ROOT}/lib/aarch64-linux-gnu:${PENSTOCK_ARM64_ROOT}/usr/lib/aarch64-linux-gnu)
