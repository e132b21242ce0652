// SPDX-License-Identifier: Apache-2.0
//
// What text that is compiled with -fsanitize=thread,alignment calls (shim_memory.h). A file of its
// own: a program that needs the rest of the shim alone may have a sanitizer's runtime.
#include "shim_memory.h"

#include <stdio.h>
#include <string.h>

#define PST_PC ((uintptr_t)__builtin_return_address(0))
extern "C" {
#define PST_OF_SIZE(size)                                                                          \
  PST_SHIM void __tsan_read##size(void *at) { pst_access(at, size, PST_READ, PST_PC); }            \
  PST_SHIM void __tsan_write##size(void *at) { pst_access(at, size, PST_WRITE, PST_PC); }          \
  PST_SHIM void __tsan_unaligned_read##size(void *at) { pst_access(at, size, PST_READ, PST_PC); }  \
  PST_SHIM void __tsan_unaligned_write##size(void *at) { pst_access(at, size, PST_WRITE, PST_PC); }
PST_OF_SIZE(1)
PST_OF_SIZE(2)
PST_OF_SIZE(4)
PST_OF_SIZE(8)
PST_OF_SIZE(16)
PST_SHIM void __tsan_read_range(void *at, size_t bytes) { pst_access(at, bytes, PST_READ, PST_PC); }
PST_SHIM void __tsan_write_range(void *at, size_t bytes) {
  pst_access(at, bytes, PST_WRITE, PST_PC);
}
PST_SHIM void *__tsan_memcpy(void *to, const void *from, size_t bytes) {
  pst_access(from, bytes, PST_READ, PST_PC);
  pst_access(to, bytes, PST_WRITE, PST_PC);
  return memcpy(to, from, bytes);
}
PST_SHIM void *__tsan_memmove(void *to, const void *from, size_t bytes) {
  pst_access(from, bytes, PST_READ, PST_PC);
  pst_access(to, bytes, PST_WRITE, PST_PC);
  return memmove(to, from, bytes);
}
PST_SHIM void *__tsan_memset(void *at, int value, size_t bytes) {
  pst_access(at, bytes, PST_WRITE, PST_PC);
  return memset(at, value, bytes);
}
PST_SHIM void __tsan_init() {}
PST_SHIM void __tsan_func_entry(void *) {}
PST_SHIM void __tsan_func_exit() {}

/// A finding of -fsanitize=alignment: the first fields of clang's record (all of them are in
/// compiler-rt's ubsan_handlers.h).
struct pst_mismatch {
  const char *file;
  unsigned line, column;
  const void *type;
  unsigned char log_alignment;
};
PST_SHIM void __ubsan_handle_type_mismatch_v1(const pst_mismatch *where, uintptr_t at) {
  char what[128];
  snprintf(what, sizeof what, "accesses an address %zu bytes off a boundary of %u (line %u)",
           (size_t)(at & ((1u << where->log_alignment) - 1)), 1u << where->log_alignment,
           where->line);
  pst_report(what, PST_PC);
}
PST_SHIM void __ubsan_handle_alignment_assumption(const void *, uintptr_t, uintptr_t, uintptr_t) {}

/// Findings of the sanitizers of arithmetic, whose records begin with where they are: NVRTC takes
/// it that nothing of the kind happens, and leaves out checks behind it.
static void undefined(const char *what, const void *record, uintptr_t at) {
  const pst_mismatch *where = (const pst_mismatch *)record;
  char said[128];
  snprintf(said, sizeof said, "%s (line %u)", what, where->line);
  pst_report(said, at);
}
#define PST_UNDEFINED(name, what, ...)                                                             \
  PST_SHIM void __ubsan_handle_##name(const void *record, __VA_ARGS__) {                           \
    undefined(what, record, PST_PC);                                                               \
  }
PST_UNDEFINED(add_overflow, "a sum of signed integers overflows", uintptr_t, uintptr_t)
PST_UNDEFINED(sub_overflow, "a difference of signed integers overflows", uintptr_t, uintptr_t)
PST_UNDEFINED(mul_overflow, "a product of signed integers overflows", uintptr_t, uintptr_t)
PST_UNDEFINED(negate_overflow, "the least integer is negated", uintptr_t)
PST_UNDEFINED(divrem_overflow, "a quotient has no value", uintptr_t, uintptr_t)
PST_UNDEFINED(shift_out_of_bounds, "a shift is as wide as its type", uintptr_t, uintptr_t)
PST_UNDEFINED(float_cast_overflow, "a number is none of the integer type", uintptr_t)
}
