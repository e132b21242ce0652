# SPDX-License-Identifier: Apache-2.0
#
# Writes OUTPUT, a C++ file with the text of INPUT. Run with `cmake -P`. Bytes,
# because compilers limit the length of a string literal.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE ${OUTPUT} "// Generated from penstock.cuh.
#include \"codegen/cuda/Printer.h\"

static constexpr unsigned char bytes[] = {${bytes}0};

std::string_view penstock::codegen::cudaHeader() {
  return {reinterpret_cast<const char *>(bytes), sizeof bytes - 1};
}
")
