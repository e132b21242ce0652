/* SPDX-License-Identifier: Apache-2.0 */
/* Times of starting up, through the C API: bench/startup runs it.
 *
 *   startup_probe compile FILE.pipe CACHE COUNT NAME=VALUE...
 *       compiles COUNT times in this process; prints a line each: ms by the wall
 *       clock, ms of CPU time, whether it came from the cache.
 *   startup_probe batch FILE.pipe CACHE THREADS NAME=VALUE...
 *       compiles, opens a session, waits for one batch; prints "ready".
 *   startup_probe write FILE.pipe CACHE FILE.pstk NAME=VALUE...
 *       compiles a bundle.
 *   startup_probe bundle FILE.pstk - THREADS NAME=VALUE...
 *       loads it, opens a session, waits for one batch; prints "ready".
 */
#define _POSIX_C_SOURCE 200809L
#include "api/c/penstock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double nowMs(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

static char *readFile(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file)
    return NULL;
  static char text[1 << 20];
  *length = fread(text, 1, sizeof text, file);
  fclose(file);
  return text;
}

int main(int argc, char **argv) {
  if (argc < 5)
    return 2;
  pst_parameter parameters[16];
  size_t count = 0;
  for (int each = 5; each < argc && count < 16; ++each) {
    char *equals = strchr(argv[each], '=');
    if (!equals)
      return 2;
    *equals = 0;
    parameters[count].name = argv[each];
    parameters[count++].value = equals + 1;
  }
  size_t length = 0;
  char *text = strcmp(argv[1], "bundle") == 0 ? "" : readFile(argv[2], &length);
  if (!text) {
    fprintf(stderr, "%s cannot be read\n", argv[2]);
    return 1;
  }
  pst_compile_options options = PST_COMPILE_OPTIONS_INIT;
  options.parameters = parameters;
  options.parameter_count = count;
  options.cache_folder = argv[3];
  pst_program *program = NULL;
  if (strcmp(argv[1], "write") == 0) {
    const pst_status status =
        pst_compile_bundle(text, length, argv[2], &options, NULL, 0, argv[4], &program);
    fprintf(stderr, "%s", pst_program_messages(program));
    pst_program_release(program);
    return status != PST_OK;
  }
  const int bundle = strcmp(argv[1], "bundle") == 0,
            batch = bundle || strcmp(argv[1], "batch") == 0;
  const int turns = batch ? 1 : atoi(argv[4]);
  for (int turn = 0; turn < turns; ++turn) {
    pst_program_release(program);
    const double start = nowMs(CLOCK_MONOTONIC), cpu = nowMs(CLOCK_PROCESS_CPUTIME_ID);
    const pst_status status = bundle ? pst_program_load(argv[2], parameters, count, &program)
                                     : pst_compile(text, length, argv[2], &options, &program);
    if (status != PST_OK) {
      fprintf(stderr, "%s", pst_program_messages(program));
      return 1;
    }
    if (!batch)
      printf("%.4f %.4f %d\n", nowMs(CLOCK_MONOTONIC) - start,
             nowMs(CLOCK_PROCESS_CPUTIME_ID) - cpu, pst_program_from_cache(program));
  }
  if (batch) {
    pst_session_options run = PST_SESSION_OPTIONS_INIT;
    run.threads = atoi(argv[4]);
    pst_session *session = NULL;
    pst_batch *first = NULL;
    if (pst_session_open(program, &run, &session) != PST_OK ||
        pst_session_next(session, &first) != PST_OK) {
      fprintf(stderr, "%s\n", pst_session_error(session));
      return 1;
    }
    puts("ready");
    fflush(stdout);
    pst_batch_release(first);
    pst_session_close(session);
  }
  pst_program_release(program);
  return 0;
}
