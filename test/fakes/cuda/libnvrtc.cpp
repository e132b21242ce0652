// SPDX-License-Identifier: Apache-2.0
//
// NVRTC for tests: its machine code is the text itself, for the simulated GPU of libcuda.cpp.
// Whoever compiles finds it by PENSTOCK_NVRTC.

#include <algorithm>
#include <cstring>
#include <string>

#define EXPORT extern "C" __attribute__((visibility("default"))) int

EXPORT nvrtcVersion(int *major, int *minor) { return *major = 13, *minor = 0, 0; }
static const int architectures[] = {75, 80, 86, 90};
EXPORT nvrtcGetNumSupportedArchs(int *count) { return *count = int(std::size(architectures)), 0; }
EXPORT nvrtcGetSupportedArchs(int *all) {
  return std::copy(std::begin(architectures), std::end(architectures), all), 0;
}
EXPORT nvrtcCreateProgram(std::string **program, const char *text, const char *, int,
                          const char *const *, const char *const *) {
  *program = new std::string(text);
  return 0;
}
EXPORT nvrtcDestroyProgram(std::string **program) { return delete *program, 0; }
EXPORT nvrtcCompileProgram(std::string *, int, const char *const *) { return 0; }
EXPORT nvrtcGetProgramLogSize(std::string *, size_t *bytes) { return *bytes = 1, 0; }
EXPORT nvrtcGetProgramLog(std::string *, char *log) { return *log = 0, 0; }
EXPORT nvrtcGetPTXSize(std::string *program, size_t *bytes) {
  return *bytes = program->size() + 1, 0;
}
EXPORT nvrtcGetPTX(std::string *program, char *to) {
  return std::memcpy(to, program->c_str(), program->size() + 1), 0;
}
EXPORT nvrtcGetCUBINSize(std::string *program, size_t *bytes) {
  return nvrtcGetPTXSize(program, bytes);
}
EXPORT nvrtcGetCUBIN(std::string *program, char *to) { return nvrtcGetPTX(program, to); }
