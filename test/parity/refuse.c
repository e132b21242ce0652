/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before a program: of the pieces of memory that libraries or programs with PENSTOCK_TEST_OF
 * in their path ask for, number PENSTOCK_TEST_REFUSED is not there, as the C library says it. How
 * many were asked for is told at the end. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static const char *of;
static long refused;
static atomic_long asked;

__attribute__((constructor)) static void start(void) {
  const char *number = getenv("PENSTOCK_TEST_REFUSED");
  refused = number ? atol(number) : 0;
  of = getenv("PENSTOCK_TEST_OF");
}

static int isRefused(const void *caller) {
  Dl_info from;
  if (!of || !dladdr(caller, &from) || !from.dli_fname || !strstr(from.dli_fname, of) ||
      atomic_fetch_add(&asked, 1) + 1 != refused)
    return 0;
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size) {
  return isRefused(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  return isRefused(__builtin_return_address(0)) ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
  return isRefused(__builtin_return_address(0)) ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  void *memory = isRefused(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
  if (!memory)
    return ENOMEM;
  *out = memory;
  return 0;
}

__attribute__((destructor)) static void report(void) {
  if (of)
    fprintf(stderr, "asked %ld times\n", asked);
}
