/* SPDX-License-Identifier: Apache-2.0 */
/* A thousand sessions, one after the other: opened, read from, left at some point, closed.
 *
 *   api_cycles_test fill|run FOLDER   as api_threads_test */

#define _POSIX_C_SOURCE 200809L
#include "api/c/dlpack_abi.h"
#include "test/api/expect.h"
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0 /* what is freed is freed */
#endif

enum { ROWS = 300, CYCLES = SANITIZED ? 100 : 1000, WARM = 200, MOST = 2 << 20 };

static const char *const text =
    "pipe 1\n"
    "use vision\n"
    "pipeline blurred(values: path) {\n"
    "  for row in raw(value = column(values, u8[h = 24, w = 24, c = rgb])) order shuffled\n"
    "  batch 16 per rank last keep {\n"
    "    output image: f32[n, h, w, c = 3] = map (v in gaussian_blur(row.value, 5, 1.0)) { f32(v) "
    "}\n"
    "    output first: u8[n] = row.value[h = 0, w = 0, c = 0]\n"
    "  }\n"
    "}\n";

static uint8_t values[ROWS][24][24][3];

static pst_session *open_session(const pst_program *program) {
  static const int64_t extents[4] = {ROWS, 24, 24, 3};
  const pst_memory_column column = {"value", PST_U8, 4, extents, values};
  return open_on(program, &column, "values", PST_HELD_ERROR);
}

/* Returns the resident memory of the process, in bytes. */
static long resident(void) {
  long all = 0, here = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  EXPECT(file && fscanf(file, "%ld %ld", &all, &here) == 2);
  if (file)
    fclose(file);
  return here * sysconf(_SC_PAGESIZE);
}

static void *cancel(void *session) {
  pst_session_cancel(session);
  return NULL;
}

/* Each is left in another way: closed, cancelled by another thread, started anew, with a batch or a
 * tensor that is given back later. */
static void cycle(const pst_program *program, int number) {
  pst_session *session = open_session(program);
  pst_batch *batch = NULL, *held = NULL;
  struct DLManagedTensorVersioned *tensor = NULL;
  pthread_t canceller;
  int i;
  for (i = 0; i < number % 7 && pst_session_next(session, &batch) == PST_OK; ++i) {
    EXPECT(*(const uint8_t *)pst_batch_output(batch, 1)->data == (uint8_t)pst_batch_rows(batch)[0]);
    pst_batch_release(batch);
  }
  if (number % 3 == 0)
    EXPECT(pst_session_next(session, &held) == PST_OK);
  if (number % 6 == 3)
    EXPECT(pst_batch_dlpack(held, 0, PST_VALUES, NULL, &tensor) == PST_OK);
  if (number % 5 == 1)
    EXPECT(pst_session_start(session, 3, NULL, 0) == PST_OK);
  if (number % 2) {
    EXPECT(pthread_create(&canceller, NULL, cancel, session) == 0);
    while (pst_session_next(session, &batch) == PST_OK)
      pst_batch_release(batch);
    pthread_join(canceller, NULL);
  }
  pst_session_close(session);
  if (tensor)
    tensor->deleter(tensor);
  pst_batch_release(held);
}

int main(int argc, char **argv) {
  pst_program *program;
  int row, number;
  long warm = 0, grown;
  if (argc != 3)
    return 2;
  cache_folder = argv[2];
  program = compile_text(text, "blurred.pipe");
  if (strcmp(argv[1], "run") == 0) {
    EXPECT(pst_program_from_cache(program));
    for (row = 0; row < ROWS; ++row)
      memset(values[row], row, sizeof values[row]);
    for (number = 0; number < CYCLES && !failures; ++number) {
      if (number == WARM)
        warm = resident();
      cycle(program, number);
    }
    grown = resident() - warm;
    printf("%d sessions; memory grew by %ld bytes\n", number, SANITIZED ? 0 : grown);
    EXPECT(SANITIZED || grown <= MOST);
  }
  pst_program_release(program);
  return finish();
}
