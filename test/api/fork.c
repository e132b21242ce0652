/* SPDX-License-Identifier: Apache-2.0 */
/* Forks, at every point of a session's life: in the child, what is the parent's says so and
 * lets go at once, and sessions of its own work.
 *
 *   api_fork_test fill|run FOLDER   as api_threads_test */
#define _POSIX_C_SOURCE 200809L
#include "api/c/dlpack_abi.h"
#include "test/api/expect.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROWS = 400, BATCH = 8, FORKS = 200 };
/* For a child that hangs, on a machine that is busy; all 200 take half a second. */
enum { SECONDS = 30 };

static const char *const text =
    "pipe 1\n"
    "pipeline doubled(values: path) {\n"
    "  for row in raw(value = column(values, i32[w = 64])) order shuffled\n"
    "  batch 8 per rank last drop { output twice: i32[n, w] = map (v in row.value) { v + v } }\n"
    "}\n";

static int32_t values[ROWS][64];

static pst_session *open_session(const pst_program *program) {
  static const int64_t extents[2] = {ROWS, 64};
  const pst_memory_column column = {"value", PST_I32, 2, extents, values};
  return open_on(program, &column, "values", PST_HELD_GROW);
}

static void check(const pst_batch *batch) {
  const int32_t *twice = pst_batch_output(batch, 0)->data;
  int64_t i;
  for (i = 0; i < pst_batch_count(batch); ++i)
    EXPECT(twice[i * 64 + 63] == 2 * (int32_t)pst_batch_rows(batch)[i]);
}

/* Everything that there is of the parent's. Any of it may be NULL. */
typedef struct state {
  pst_program *program;
  pst_session *session;
  pst_batch *batch;
  DLManagedTensorVersioned *tensor;
} state;

static void use_of_parents(const state *parent) {
  pst_batch *batch = NULL;
  pst_sample *sample = NULL;
  pst_statistics statistics;
  pst_session_info info;
  const pst_bad_sample *bad = NULL;
  const pst_kernel_statistics *kernels = NULL;
  size_t count = 1;
  int64_t row = 0;
  if (parent->session) {
    EXPECT(pst_session_next(parent->session, &batch) == PST_ERROR && batch == NULL);
    EXPECT(strstr(pst_session_error(parent->session), "open a session here") != NULL);
    EXPECT(pst_session_next_within(parent->session, 0, &batch) == PST_ERROR);
    EXPECT(pst_session_start(parent->session, 0, NULL, 0) == PST_ERROR);
    EXPECT(pst_session_push_rows(parent->session, &row, 1) == PST_ERROR);
    EXPECT(pst_session_restore(parent->session, "") == PST_ERROR);
    EXPECT(pst_session_sample(parent->session, 0, 0, &sample) == PST_ERROR && sample == NULL);
    EXPECT(*pst_session_state(parent->session) == 0);
    pst_session_cancel(parent->session);
    statistics.size = sizeof statistics;
    pst_session_statistics(parent->session, &statistics);
    EXPECT(statistics.batches == 0);
    info.size = sizeof info;
    pst_session_get_info(parent->session, &info);
    pst_session_bad_samples(parent->session, &bad, &count);
    EXPECT(count == 0);
    pst_session_kernels(parent->session, &kernels, &count);
    EXPECT(count == 0);
  }
  if (parent->batch)
    check(parent->batch);
  if (parent->tensor)
    parent->tensor->deleter(parent->tensor);
  pst_batch_release(parent->batch);
  pst_session_close(parent->session);
}

static void child(const state *parent, int reads) {
  pst_session *own;
  pst_batch *batch = NULL;
  int i;
  alarm(SECONDS); /* kills it where it hangs */
  failures = 0;
  use_of_parents(parent);
  own = open_session(parent->program);
  for (i = 0; i < reads; ++i) {
    EXPECT(pst_session_next(own, &batch) == PST_OK);
    check(batch);
    pst_batch_release(batch);
  }
  pst_session_close(own);
  pst_program_release(parent->program);
  fflush(stdout);
  _exit(failures != 0);
}

static void fork_here(const state *parent, const char *where) {
  int status = 0;
  pid_t process;
  fflush(stdout);
  process = fork();
  if (process == 0)
    child(parent, 2);
  EXPECT(process > 0 && waitpid(process, &status, 0) == process);
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    printf("the child that was forked %s ended with status %d\n", where, status);
  EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Waits for all batches, so that forks of the other thread meet it anywhere. */
static void *read_on(void *given) {
  state *mine = given;
  pst_batch *batch = NULL;
  pst_status status;
  while ((status = pst_session_next(mine->session, &batch)) != PST_CANCELLED) {
    if (status == PST_OK)
      check(batch);
    pst_batch_release(batch);
  }
  return NULL;
}

static void test_forks(pst_program *program) {
  state parent;
  pthread_t reader;
  int forks = 0, i;
  memset(&parent, 0, sizeof parent);
  parent.program = program;
  fork_here(&parent, "before there was a session");
  while (forks < FORKS / 2) {
    parent.session = open_session(program);
    fork_here(&parent, "before the first batch");
    for (i = 0; i < 6; ++i, forks += 3) {
      EXPECT(pst_session_next(parent.session, &parent.batch) == PST_OK);
      fork_here(&parent, "with a batch");
      EXPECT(pst_batch_dlpack(parent.batch, 0, PST_VALUES, NULL, &parent.tensor) == PST_OK);
      fork_here(&parent, "with a tensor");
      check(parent.batch); /* the child's uses were its own */
      pst_batch_release(parent.batch);
      parent.batch = NULL;
      parent.tensor->deleter(parent.tensor);
      parent.tensor = NULL;
      fork_here(&parent, "between batches");
    }
    EXPECT(pst_session_start(parent.session, 3, NULL, 0) == PST_OK);
    fork_here(&parent, "after a start");
    pst_session_cancel(parent.session);
    fork_here(&parent, "after a cancel");
    pst_session_close(parent.session);
    parent.session = NULL;
    fork_here(&parent, "after it was closed");
    forks += 5;
  }
  parent.session = open_session(program);
  EXPECT(pthread_create(&reader, NULL, read_on, &parent) == 0);
  for (; forks < FORKS; ++forks)
    fork_here(&parent, "while another thread reads");
  pst_session_cancel(parent.session);
  pthread_join(reader, NULL);
  pst_session_close(parent.session);
}

int main(int argc, char **argv) {
  pst_program *program;
  int row, i;
  if (argc != 3)
    return 2;
  cache_folder = argv[2];
  program = compile_text(text, "doubled.pipe");
  for (row = 0; row < ROWS; ++row)
    for (i = 0; i < 64; ++i)
      values[row][i] = row;
  if (strcmp(argv[1], "run") == 0)
    test_forks(program);
  pst_program_release(program);
  return finish();
}
