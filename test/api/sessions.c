/* SPDX-License-Identifier: Apache-2.0 */
/* Epochs, waiting, held batches and rows from the caller.
 *
 *   api_sessions_test fill|run FOLDER   as api_threads_test */
#define _POSIX_C_SOURCE 200809L
#include "test/api/expect.h"
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROWS = 40 };

static const char *const text =
    "pipe 1\n"
    "pipeline scaled(values: path, factor: int = 1, count: int = 4,\n"
    "                unread: u8 = 3, large: f32 = 1.0) {\n"
    "  for row in raw(value = column(values, i64)) order shuffled\n"
    "  batch count per rank last drop { output value: i64[n] = row.value * factor }\n"
    "}\n";

static int64_t values[ROWS];

static pst_status open_with(const pst_program *program, pst_session_options options,
                            const char *name, const char *value, pst_session **out_session) {
  static const int64_t extents[1] = {ROWS};
  pst_memory_column column;
  pst_parameter parameters[2];
  column.name = "value";
  column.dtype = PST_I64;
  column.rank = 1;
  column.extents = extents;
  column.data = values;
  parameters[0].name = "values";
  parameters[0].value = "-";
  parameters[1].name = name;
  parameters[1].value = value;
  options.parameters = parameters;
  options.parameter_count = name ? 2 : 1;
  options.columns = &column;
  options.column_count = 1;
  options.threads = 2;
  return pst_session_open(program, &options, out_session);
}

static pst_session *open_session(const pst_program *program, pst_session_options options) {
  pst_session *session = NULL;
  if (open_with(program, options, NULL, NULL, &session) != PST_OK)
    printf("%s\n", pst_session_error(session));
  EXPECT(*pst_session_error(session) == 0);
  return session;
}

static pst_session *plain(const pst_program *program) {
  const pst_session_options options = PST_SESSION_OPTIONS_INIT;
  return open_session(program, options);
}

/* A number for all rows to the end of the epoch, in their order. */
static uint64_t read_epoch(pst_session *session, int64_t factor, int64_t batch_size) {
  uint64_t hash = 0;
  pst_batch *batch = NULL;
  pst_status status;
  int64_t i, samples = 0;
  while ((status = pst_session_next(session, &batch)) == PST_OK) {
    const int64_t *found = pst_batch_output(batch, 0)->data;
    EXPECT(pst_batch_count(batch) == batch_size);
    for (i = 0; i < pst_batch_count(batch); ++i) {
      EXPECT(found[i] == factor * values[pst_batch_rows(batch)[i]]);
      hash = hash * 31 + (uint64_t)pst_batch_rows(batch)[i];
    }
    samples += pst_batch_count(batch);
    EXPECT(pst_batch_waited_ns(batch) >= 0);
    pst_batch_release(batch);
  }
  if (status != PST_END_OF_EPOCH)
    printf("%s\n", pst_session_error(session));
  EXPECT(status == PST_END_OF_EPOCH && samples == ROWS);
  return hash;
}

static void test_epochs(const pst_program *program) {
  static const struct {
    const char *name, *value, *error;
  } wrong[] = {
      {"facto", "2",
       "pipeline `scaled` has no parameter `facto`: it has `values`, `factor`, `count`"},
      {"factor", "much", "parameter `factor`: `much` is not a whole number such as `128`"},
      {"factor", "99999999999999999999",
       "parameter `factor`: `99999999999999999999` does not fit 64 bits"},
      {"unread", "300", "parameter `unread`: `300` is not a whole number from 0 to 255"},
      {"large", "1e39", "parameter `large`: `1e39` does not fit f32, which ends at 3.4e38"},
      {"values", "x", "parameter `values` says what `raw` reads; open another session for that"}};
  pst_session *session = plain(program);
  uint64_t epochs[3];
  pst_parameter change;
  pst_batch *batch = NULL;
  pst_session_info info;
  size_t i;
  for (i = 0; i < 3; ++i)
    epochs[i] = read_epoch(session, 1, 4);
  EXPECT(epochs[0] != epochs[1]);
  EXPECT(pst_session_start(session, 1, NULL, 0) == PST_OK);
  EXPECT(pst_session_next(session, &batch) == PST_OK);
  info.size = sizeof info;
  pst_session_get_info(session, &info);
  EXPECT(info.epoch == 1 && info.position == 4);
  change.name = "factor";
  change.value = "3";
  EXPECT(pst_session_start(session, 2, &change, 1) == PST_OK);
  EXPECT(((const int64_t *)pst_batch_output(batch, 0)->data)[0] ==
         values[pst_batch_rows(batch)[0]]);
  pst_batch_release(batch);
  EXPECT(read_epoch(session, 3, 4) == epochs[2]);
  EXPECT(pst_session_start(session, 0, NULL, 0) == PST_OK);
  EXPECT(read_epoch(session, 3, 4) == epochs[0]);
  for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    pst_parameter parameter;
    parameter.name = wrong[i].name;
    parameter.value = wrong[i].value;
    EXPECT(pst_session_start(session, 0, &parameter, 1) == PST_ERROR);
    if (strcmp(pst_session_error(session), wrong[i].error) != 0)
      printf("%s\n", pst_session_error(session));
    EXPECT(strcmp(pst_session_error(session), wrong[i].error) == 0);
  }
  change.name = "unread";
  change.value = "255";
  EXPECT(pst_session_start(session, 0, &change, 1) == PST_OK);
  change.name = "count";
  for (i = 0; i < 2; ++i) { /* larger than there is memory for, then smaller */
    change.value = i ? "5" : "10";
    EXPECT(pst_session_start(session, 0, &change, 1) == PST_OK);
    EXPECT(read_epoch(session, 3, i ? 5 : 10) == epochs[0]);
  }
  pst_session_close(session);
}

static void test_unknown_parameters(const pst_program *program) {
  const pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session *session = NULL;
  EXPECT(open_with(program, options, "rot", "20", &session) == PST_ERROR);
  EXPECT(strcmp(pst_session_error(session),
                "pipeline `scaled` has no parameter `rot`: it has `values`, `factor`, `count`") ==
         0);
  pst_session_close(session);
  EXPECT(open_with(program, options, "count", "41", &session) == PST_ERROR);
  EXPECT(strstr(pst_session_error(session), "do not fill one batch of 41") != NULL);
  pst_session_close(session);
}

static void test_waiting(const pst_program *program) {
  pst_session *session = plain(program);
  pst_batch *batch = NULL;
  pst_statistics statistics;
  pst_status status;
  int batches = 0;
  while ((status = pst_session_next_within(session, batches % 2 ? 1000000 : 0, &batch)) !=
         PST_END_OF_EPOCH) {
    EXPECT((status == PST_OK) == (batch != NULL));
    if (status == PST_OK) {
      ++batches;
      pst_batch_release(batch);
    } else {
      EXPECT(status == PST_TIMEOUT);
      sched_yield();
    }
  }
  EXPECT(batches == ROWS / 4);
  statistics.size = sizeof statistics;
  pst_session_statistics(session, &statistics);
  EXPECT(statistics.batches == (uint64_t)batches && statistics.late_batches <= statistics.batches);
  EXPECT(statistics.last_wait_ns <= statistics.longest_wait_ns &&
         statistics.longest_wait_ns <= statistics.stages[6].busy_ns);
  pst_session_close(session);
}

static void test_held(const pst_program *program) {
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session *session;
  pst_batch *held[9];
  pst_statistics statistics;
  int turn, i;
  options.held = PST_HELD_GROW;
  session = open_session(program, options);
  for (turn = 0; turn < 3; ++turn) {
    EXPECT(pst_session_start(session, 0, NULL, 0) == PST_OK);
    for (i = 0; i < 9; ++i)
      EXPECT(pst_session_next(session, &held[i]) == PST_OK);
    for (i = 0; i < 9; ++i)
      pst_batch_release(held[i]);
    statistics.size = sizeof statistics;
    pst_session_statistics(session, &statistics);
    EXPECT(statistics.batch_slots >= 9 && statistics.batch_slots <= 11);
  }
  pst_session_close(session);
}

/* Every third row, without end; counts what it was asked for. */
static int64_t thirds(void *context, uint32_t epoch, int64_t *rows, int64_t capacity) {
  int64_t *asked = context, i;
  (void)epoch;
  for (i = 0; i < capacity; ++i)
    rows[i] = 3 * (*asked)++ % ROWS;
  return capacity;
}

static void test_rows(const pst_program *program) {
  static const int64_t wanted[4] = {5, 5, 39, 0};
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session *session;
  pst_batch *batch = NULL;
  char state[512];
  pst_session_info info;
  int64_t asked = 0, i, turn;
  options.order = PST_ORDER_CALLER;
  session = open_session(program, options);
  EXPECT(pst_session_next(session, &batch) == PST_NO_ROWS && batch == NULL);
  EXPECT(pst_session_push_rows(session, wanted, 3) == PST_OK);
  EXPECT(pst_session_push_rows(session, NULL, 0) == PST_OK);
  EXPECT(pst_session_next(session, &batch) == PST_OK && pst_batch_count(batch) == 3);
  for (i = 0; i < 3; ++i)
    EXPECT(((const int64_t *)pst_batch_output(batch, 0)->data)[i] == values[wanted[i]]);
  pst_batch_release(batch);
  EXPECT(pst_session_next(session, &batch) == PST_END_OF_EPOCH);
  i = ROWS;
  EXPECT(pst_session_push_rows(session, &i, 1) == PST_ERROR);
  EXPECT(strcmp(pst_session_error(session), "row 40 of a table of 40") == 0);
  pst_session_close(session);

  options.next_rows = thirds;
  options.next_rows_context = &asked;
  for (options.ask_again = 0; options.ask_again < 2; ++options.ask_again) {
    state[0] = 0;
    asked = 0;
    session = open_session(program, options);
    for (turn = 0; turn < 12; ++turn) {
      if (turn == 7) { /* another session goes on */
        snprintf(state, sizeof state, "%s", pst_session_state(session));
        pst_session_close(session);
        session = open_session(program, options);
        EXPECT(pst_session_restore(session, state) == PST_OK);
        if (options.ask_again)
          asked = 7 * 4;
      }
      snprintf(state, sizeof state, "%s", pst_session_state(session));
      EXPECT(pst_session_next(session, &batch) == PST_OK);
      EXPECT(strncmp(pst_session_state_before(session), state, strlen(state)) == 0 &&
             strcmp(pst_session_state(session), state) != 0);
      info.size = sizeof info;
      pst_session_get_info(session, &info);
      EXPECT(info.position_before == turn * 4 && info.position == info.position_before + 4);
      for (i = 0; i < 4; ++i)
        EXPECT(pst_batch_rows(batch)[i] == 3 * (turn * 4 + i) % ROWS &&
               pst_batch_positions(batch)[i] == turn * 4 + i);
      pst_batch_release(batch);
    }
    pst_session_close(session);
  }
}

/* Pages of the process that are in memory. */
static long resident(void) {
  long size = 0, pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  EXPECT(file && fscanf(file, "%ld %ld", &size, &pages) == 2);
  if (file)
    fclose(file);
  return pages;
}

static void test_cycles(const pst_program *program) {
  long before = 0;
  int i;
  for (i = 0; i < 1050; ++i) {
    pst_session *session = plain(program);
    pst_batch *batch = NULL;
    if (i == 50)
      before = resident();
    EXPECT(pst_session_next(session, &batch) == PST_OK);
    pst_batch_release(batch);
    pst_session_cancel(session);
    EXPECT(pst_session_next(session, &batch) == PST_CANCELLED);
    pst_session_close(session);
  }
  if (!getenv("ASAN_OPTIONS") && !getenv("TSAN_OPTIONS")) /* which keep what is freed */
    EXPECT((resident() - before) * sysconf(_SC_PAGESIZE) < 2 << 20);
}

/* 40 rows for three ranks: two come again. */
static void test_padding(const pst_program *program) {
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session_info info;
  pst_session *session = NULL;
  const char *name = "";
  options.last = PST_LAST_DROP;
  EXPECT(open_with(program, options, "count", "50", &session) == PST_ERROR);
  EXPECT(strstr(pst_session_error(session), "do not fill one batch of 50: make it smaller, or have "
                                            "the session keep the last batch") != NULL);
  pst_session_close(session);
  options.last = PST_LAST_PAD;
  options.world = 3;
  for (options.rank = 0; options.rank < 3; ++options.rank) {
    pst_batch *batch = NULL;
    int64_t samples = 0;
    session = open_session(program, options);
    while (pst_session_next(session, &batch) == PST_OK) {
      samples += pst_batch_count(batch);
      pst_batch_release(batch);
    }
    info.size = sizeof info;
    pst_session_get_info(session, &info);
    EXPECT(samples == 14 && info.samples_per_epoch == 14 && info.batches_per_epoch == 4);
    EXPECT(pst_session_class_count(session) == 0 && pst_session_class_name(session, 0) == NULL);
    EXPECT(pst_session_row_text(session, 0, "name", &name) == PST_ERROR && name == NULL);
    EXPECT(strcmp(pst_session_error(session), "the table has no column `name` of text") == 0);
    pst_session_close(session);
  }
}

/* A last batch that is not full ends where the table does. */
static void test_positions(const pst_program *program) {
  static const int64_t expected[] = {12, 24, 36, ROWS};
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session_info info;
  pst_session *session;
  pst_batch *batch = NULL;
  size_t i;
  options.last = PST_LAST_KEEP;
  options.world = 3;
  session = open_session(program, options);
  for (i = 0; i < sizeof expected / sizeof *expected; ++i) {
    EXPECT(pst_session_next(session, &batch) == PST_OK);
    pst_batch_release(batch);
    info.size = sizeof info;
    pst_session_get_info(session, &info);
    EXPECT(info.position == expected[i] && info.position_before == (int64_t)i * 12);
  }
  pst_session_close(session);
}

int main(int argc, char **argv) {
  pst_program *program;
  int row;
  if (argc != 3)
    return 2;
  cache_folder = argv[2];
  program = compile_text(text, "scaled.pipe");
  for (row = 0; row < ROWS; ++row)
    values[row] = 100 + row;
  if (strcmp(argv[1], "run") == 0) {
    test_epochs(program);
    test_unknown_parameters(program);
    test_positions(program);
    test_waiting(program);
    test_held(program);
    test_rows(program);
    test_padding(program);
    test_cycles(program);
  }
  pst_program_release(program);
  return finish();
}
