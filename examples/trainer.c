/* SPDX-License-Identifier: Apache-2.0 */
/* A trainer in C99: logistic regression on a table in memory, from penstock.h alone.
 *
 *   cc -std=c99 trainer.c -lpenstock -lm -o trainer && ./trainer
 *
 * It compiles a pipeline, trains for three epochs, and takes the session's state in the
 * middle of the second; then another session goes on from there and must see the
 * same samples. */
#include <math.h>
#include <penstock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 480, FEATURES = 8, EPOCHS = 3 };

static const char *const text =
    "pipe 1\n"
    "/// Features with a little noise, drawn anew in every epoch.\n"
    "pipeline points(features: path, labels: path, noise: f32 = 0.1) {\n"
    "  for row in raw(x = column(features, f32[k = 8]), label = column(labels, i64)) order "
    "shuffled\n"
    "  let moved = map (v in row.x) { v + noise * draw normal per [k] }\n"
    "  batch 32 per rank last keep {\n"
    "    output x: f32[n, k] = moved\n"
    "    output label: i64[n] = row.label\n"
    "  }\n"
    "}\n";

static float features[ROWS][FEATURES];
static int64_t labels[ROWS];
static float weights[FEATURES + 1];

static void make_table(void) {
  uint32_t state = 1;
  int row, i;
  for (row = 0; row < ROWS; ++row) {
    labels[row] = row % 2;
    for (i = 0; i < FEATURES; ++i) {
      state = state * 1664525u + 1013904223u;
      features[row][i] = (float)(state >> 8) / 8388608.0f - 1 + (labels[row] ? 0.4f : -0.4f);
    }
  }
}

static pst_session *open_session(const pst_program *program) {
  static const int64_t extents[2] = {ROWS, FEATURES};
  const pst_memory_column columns[2] = {{"x", PST_F32, 2, extents, features},
                                        {"label", PST_I64, 1, extents, labels}};
  /* The columns come from memory, so that no file is opened. */
  const pst_parameter parameters[2] = {{"features", "-"}, {"labels", "-"}};
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session *session = NULL;
  options.columns = columns;
  options.column_count = 2;
  options.parameters = parameters;
  options.parameter_count = 2;
  if (pst_session_open(program, &options, &session) != PST_OK) {
    fprintf(stderr, "%s\n", pst_session_error(session));
    exit(1);
  }
  return session;
}

/* One step; returns how many samples were right before it. */
static int train(const pst_batch *batch, float rate) {
  const float *x = pst_batch_output(batch, 0)->data;
  const int64_t *label = pst_batch_output(batch, 1)->data;
  int64_t n;
  int i, right = 0;
  for (n = 0; n < pst_batch_count(batch); ++n, x += FEATURES) {
    float sum = weights[FEATURES], gradient;
    for (i = 0; i < FEATURES; ++i)
      sum += weights[i] * x[i];
    right += (sum > 0) == (label[n] == 1);
    gradient = rate * (1 / (1 + expf(-sum)) - (float)label[n]);
    for (i = 0; i < FEATURES; ++i)
      weights[i] -= gradient * x[i];
    weights[FEATURES] -= gradient;
  }
  return right;
}

static uint64_t hash_of(const pst_batch *batch) {
  uint64_t hash = 0;
  int64_t slot;
  for (slot = 0; slot < pst_batch_count(batch); ++slot)
    hash = hash * 31 + pst_batch_content_hash(batch, slot);
  return hash;
}

int main(void) {
  pst_compile_options options = PST_COMPILE_OPTIONS_INIT;
  pst_program *program = NULL;
  pst_session *session, *other;
  pst_batch *batch = NULL;
  pst_status status;
  pst_statistics statistics;
  char state[256] = "";
  uint64_t wanted = 0;
  int epoch, right = 0;
  make_table();
  if (pst_compile(text, strlen(text), "points.pipe", &options, &program) != PST_OK) {
    fputs(pst_program_messages(program), stderr);
    return 1;
  }
  session = open_session(program);
  for (epoch = 0; epoch < EPOCHS; ++epoch) {
    int batches = 0;
    right = 0;
    while ((status = pst_session_next(session, &batch)) == PST_OK) {
      right += train(batch, 0.05f);
      ++batches;
      if (epoch == 1 && batches == 6)
        wanted = hash_of(batch);
      pst_batch_release(batch);
      if (epoch == 1 && batches == 5)
        snprintf(state, sizeof state, "%s", pst_session_state(session));
    }
    if (status != PST_END_OF_EPOCH) {
      fprintf(stderr, "%s\n", pst_session_error(session));
      return 1;
    }
    printf("epoch %d: %d batches, %.1f %% right\n", epoch, batches, 100.0 * right / ROWS);
  }
  statistics.size = sizeof statistics;
  pst_session_statistics(session, &statistics);
  printf("waited %.3f ms for %d batches\n", (double)statistics.stages[6].busy_ns * 1e-6,
         (int)statistics.batches);

  other = open_session(program);
  if (pst_session_restore(other, state) != PST_OK || pst_session_next(other, &batch) != PST_OK) {
    fprintf(stderr, "%s\n", pst_session_error(other));
    return 1;
  }
  if (hash_of(batch) != wanted) {
    fputs("the restored session has other samples\n", stderr);
    return 1;
  }
  puts("resumed with the same samples");
  pst_batch_release(batch);
  pst_session_close(other);
  pst_session_close(session);
  pst_program_release(program);
  return right > ROWS * 8 / 10 ? 0 : 1;
}
