/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions of the tests of the C API. Each includes it once. */
#pragma once

#include "api/c/penstock.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;
static int failures = 0;
static const char *cache_folder = "";

/* From any thread. */
#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      pthread_mutex_lock(&counting);                                                               \
      printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                             \
      ++failures;                                                                                  \
      pthread_mutex_unlock(&counting);                                                             \
    }                                                                                              \
  } while (0)

static pst_program *compile_text(const char *text, const char *name) {
  pst_compile_options options = PST_COMPILE_OPTIONS_INIT;
  pst_program *program = NULL;
  options.cache_folder = cache_folder;
  if (pst_compile(text, strlen(text), name, &options, &program) != PST_OK)
    printf("%s", pst_program_messages(program));
  EXPECT(pst_program_name(program) != NULL);
  return program;
}

/* Two threads over one column in memory, whose file a parameter would name. */
static inline pst_session *open_on(const pst_program *program, const pst_memory_column *column,
                                   const char *file, pst_held held) {
  pst_parameter parameter;
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session *session = NULL;
  parameter.name = file;
  parameter.value = "-";
  options.parameters = &parameter;
  options.parameter_count = 1;
  options.columns = column;
  options.column_count = 1;
  options.threads = 2;
  options.held = held;
  if (pst_session_open(program, &options, &session) != PST_OK)
    printf("%s\n", pst_session_error(session));
  EXPECT(*pst_session_error(session) == 0);
  return session;
}

static int finish(void) {
  printf("%s\n", failures ? "failed" : "passed");
  return failures != 0;
}
