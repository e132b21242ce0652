/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before a program: the system has PENSTOCK_TEST_THREADS threads left for it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument) {
  static atomic_int started;
  const char *most = getenv("PENSTOCK_TEST_THREADS");
  if (most && atomic_fetch_add(&started, 1) >= atoi(most))
    return EAGAIN;
  int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) =
      (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(
          RTLD_NEXT, "pthread_create");
  return create(thread, attributes, run, argument);
}
