/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the C API from several threads, for ThreadSanitizer above all:
 * programs compiled and sessions run side by side, batches that others release,
 * a cancel while somebody waits.
 *
 *   api_threads_test fill FOLDER   compiles, so that the cache FOLDER has the program
 *   api_threads_test run FOLDER    everything else; the compiler is not loaded
 */

#define _POSIX_C_SOURCE 200809L
#include "test/api/expect.h"

enum { ROWS = 500, BATCH = 8, THREADS = 8, CANCELS = 20 };

static const char *const text =
    "pipe 1\n"
    "use vision\n"
    "pipeline doubled(values: path) {\n"
    "  for row in raw(value = column(values, i32[w = 64])) order shuffled\n"
    "  let flipped = row.value |> flip(w) if chance(0.5)\n"
    "  batch 8 per rank last keep {\n"
    "    output twice: i32[n, w] = map (v in flipped) { v + v }\n"
    "    output total: i32[n] = sum(row.value over [w])\n"
    "  }\n"
    "}\n";

static int32_t values[ROWS][64];

static pst_program *compile(int from_cache) {
  pst_program *program = compile_text(text, "doubled.pipe");
  EXPECT(!from_cache || pst_program_from_cache(program));
  return program;
}

static pst_session *open_session(const pst_program *program) {
  static const int64_t extents[2] = {ROWS, 64};
  const pst_memory_column column = {"value", PST_I32, 2, extents, values};
  return open_on(program, &column, "values", PST_HELD_ERROR);
}

/* Row r has r in every place. */
static void check(const pst_batch *batch) {
  const pst_output *twice = pst_batch_output(batch, 0), *total = pst_batch_output(batch, 1);
  const int64_t *rows = pst_batch_rows(batch);
  int64_t i;
  for (i = 0; i < pst_batch_count(batch); ++i) {
    EXPECT(((const int32_t *)twice->data)[i * 64 + 63] == 2 * (int32_t)rows[i]);
    EXPECT(((const int32_t *)total->data)[i] == 64 * (int32_t)rows[i]);
  }
}

/* The batches of one epoch, which the thread that made the session releases. */
typedef struct epoch {
  pst_batch *kept[2];
  uint64_t hash;
} epoch;

/* Compiles for itself, lets the program go, and reads to the end. */
static void *read_epoch(void *to) {
  epoch *result = to;
  pst_program *program = compile(1);
  pst_session *session = open_session(program);
  pst_batch *batch = NULL;
  pst_statistics statistics;
  int64_t samples = 0, i;
  char state[256] = "";
  size_t kept = 0;
  pst_program_release(program);
  while (pst_session_next(session, &batch) == PST_OK) {
    check(batch);
    samples += pst_batch_count(batch);
    for (i = 0; i < pst_batch_count(batch); ++i)
      result->hash = result->hash * 31 + pst_batch_content_hash(batch, i);
    if (kept < 1) {
      result->kept[kept++] = batch; /* one less to prefetch with */
      snprintf(state, sizeof state, "%s", pst_session_state(session));
    } else
      pst_batch_release(batch);
  }
  EXPECT(samples == ROWS);
  statistics.size = sizeof statistics;
  pst_session_statistics(session, &statistics);
  EXPECT(statistics.samples == ROWS);
  EXPECT(pst_session_restore(session, state) == PST_OK);
  EXPECT(pst_session_next(session, &result->kept[1]) == PST_OK);
  EXPECT(pst_batch_positions(result->kept[1])[0] == BATCH);
  pst_session_close(session);
  return NULL;
}

static void test_side_by_side(void) {
  pthread_t threads[THREADS];
  epoch epochs[THREADS];
  int i;
  memset(epochs, 0, sizeof epochs);
  for (i = 0; i < THREADS; ++i)
    EXPECT(pthread_create(&threads[i], NULL, read_epoch, &epochs[i]) == 0);
  for (i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
    EXPECT(epochs[i].hash == epochs[0].hash);
    check(epochs[i].kept[0]); /* its session is gone */
    pst_batch_release(epochs[i].kept[0]);
    pst_batch_release(epochs[i].kept[1]);
  }
}

static void *cancel(void *session) {
  pst_session_cancel(session);
  return NULL;
}

static void *release(void *batch) {
  pst_batch_release(batch);
  return NULL;
}

/* A cancel at some point of an epoch, and a release while the session closes. */
static void test_cancel_and_close(const pst_program *program) {
  int i;
  for (i = 0; i < CANCELS; ++i) {
    pst_session *session = open_session(program);
    pst_batch *held = NULL, *batch = NULL;
    pst_status status;
    pthread_t canceller, releaser;
    EXPECT(pst_session_next(session, &held) == PST_OK);
    EXPECT(pthread_create(&canceller, NULL, cancel, session) == 0);
    while ((status = pst_session_next(session, &batch)) == PST_OK || status == PST_END_OF_EPOCH)
      pst_batch_release(batch);
    EXPECT(status == PST_CANCELLED && batch == NULL);
    pthread_join(canceller, NULL);
    EXPECT(pthread_create(&releaser, NULL, release, held) == 0);
    pst_session_close(session);
    pthread_join(releaser, NULL);
  }
}

int main(int argc, char **argv) {
  pst_program *program;
  int row, i;
  if (argc != 3)
    return 2;
  cache_folder = argv[2];
  program = compile(strcmp(argv[1], "run") == 0);
  if (strcmp(argv[1], "run") == 0) {
    for (row = 0; row < ROWS; ++row)
      for (i = 0; i < 64; ++i)
        values[row][i] = row;
    test_side_by_side();
    test_cancel_and_close(program);
  }
  pst_program_release(program);
  return finish();
}
