/* SPDX-License-Identifier: Apache-2.0 */
/* Tables whose rows the caller gives: bytes, files, pixels, arrays and numbers; what is wrong
 * with them; threads; orders, states and ranks.
 *
 *   api_rows_test fill|run FOLDER   as api_threads_test */
#define _POSIX_C_SOURCE 200809L
#include "test/api/expect.h"
#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* LONG: more bytes than a slot's buffers are kept for. */
enum { LONG = 80000, ROWS = 24, SIDE = 6, PIXELS = SIDE * SIDE * 3 };

/* Images, an array whose length differs, and numbers; a second table that rows are picked from. */
static const char *const given_text =
    "pipe 1\n"
    "use vision\n"
    "pipeline given() {\n"
    "  let bank = external_source(noise = i32[k = 3])\n"
    "  for row in external_source(data = bytes, boxes = f32[k = 0 ..= 5, q = 4], scale = f32,\n"
    "                             label = u8, unused = i64) order shuffled\n"
    "  let at = draw int(0 .. bank.length)\n"
    "  batch 4 per rank last keep {\n"
    "    output image: u8[n, h = 6, w = 6, c] = row.data |> decode(rgb) |> crop(0, 0, 6, 6)\n"
    "    output boxes: f32[n, k <= 5, q] ragged = row.boxes\n"
    "    output scale: f32[n] = row.scale\n"
    "    output label: i64[n] = i64(row.label)\n"
    "    output noise: i32[n, k] = pick(bank, at).noise\n"
    "    output at: i64[n] = at\n"
    "  }\n"
    "}\n";
/* The first sample's array is read when all of the batch are there. */
static const char *const peers_text =
    "pipe 1\n"
    "pipeline peers() {\n"
    "  for row in external_source(x = i32[k = 80000])\n"
    "  batch 4 per rank last keep { output sum: i32[n, k] = row.x + row.x[n = 0] }\n"
    "}\n";
static const char *const chosen_text =
    "pipe 1\n"
    "pipeline chosen() {\n"
    "  for row in external_source(label = i64) where row.label < 3\n"
    "  batch 4 per rank last keep { output label: i64[n] = row.label }\n"
    "}\n";

static char folder[512];
static pst_program *given_program, *peers_program, *chosen_program;

static unsigned char pixel_of(int64_t row, int at) { return (unsigned char)(row * 31 + at * 7); }

/* Behaviour of a table; counts under a lock. */
typedef struct table {
  pthread_mutex_t lock;
  pthread_cond_t met;
  int calls, inside, most, wait_for; /* `wait_for`: so many calls at once */
  int64_t bad;                       /* a row that is wrong, or -1 */
  const char *how;
} table;

static void init_table(table *t) {
  memset(t, 0, sizeof *t);
  pthread_mutex_init(&t->lock, NULL);
  pthread_cond_init(&t->met, NULL);
  t->bad = -1;
  t->how = "";
}

static void enter(table *t) {
  struct timespec end;
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 20;
  pthread_mutex_lock(&t->lock);
  ++t->calls;
  if (++t->inside > t->most)
    t->most = t->inside;
  pthread_cond_broadcast(&t->met);
  if (!t->wait_for) { /* long enough for another call to come in, if it may */
    pthread_mutex_unlock(&t->lock);
    nanosleep(&(const struct timespec){0, 300000}, NULL);
    pthread_mutex_lock(&t->lock);
  }
  while (t->most < t->wait_for && pthread_cond_timedwait(&t->met, &t->lock, &end) != ETIMEDOUT) {
  }
  pthread_mutex_unlock(&t->lock);
}

static void leave(table *t) {
  pthread_mutex_lock(&t->lock);
  --t->inside;
  pthread_mutex_unlock(&t->lock);
}

static int ppm_of(int64_t row, unsigned char *out) {
  const int header = sprintf((char *)out, "P6\n%d %d\n255\n", SIDE, SIDE);
  int i;
  for (i = 0; i < PIXELS; ++i)
    out[header + i] = pixel_of(row, i);
  return header;
}

static void write_files(void) {
  unsigned char memory[PIXELS + 32];
  char path[600];
  int row;
  for (row = 0; row < ROWS; row += 4) {
    const size_t size = (size_t)ppm_of(row, memory) + PIXELS;
    FILE *file;
    sprintf(path, "%s/row%d.ppm", folder, row);
    file = fopen(path, "wb");
    EXPECT(file && fwrite(memory, 1, size, file) == size);
    if (file)
      fclose(file);
  }
}

/* By turns a file, its bytes, pixels as they lie, and pixels from the last row up. What is
 * handed over is freed at once. */
static pst_status give_image(pst_row *row, int64_t number) {
  unsigned char *memory = malloc(PIXELS + 32);
  char path[600];
  pst_status status = PST_ERROR;
  const int header = ppm_of(number, memory);
  int i;
  const int64_t upward[3] = {-SIDE * 3, 3, 1};
  switch (number % 4) {
  case 0:
    sprintf(path, "%s/row%d.ppm", folder, (int)number);
    status = pst_row_file(row, "data", path);
    path[0] = 0;
    break;
  case 1:
    status = pst_row_bytes(row, "data", memory, (size_t)(header + PIXELS));
    break;
  case 2:
    status = pst_row_pixels(row, "data", memory + header, SIDE, SIDE, 3, NULL);
    break;
  default:
    for (i = 0; i < PIXELS; ++i)
      memory[(SIDE - 1 - i / (SIDE * 3)) * SIDE * 3 + i % (SIDE * 3)] = pixel_of(number, i);
    status = pst_row_pixels(row, "data", memory + (SIDE - 1) * SIDE * 3, SIDE, SIDE, 3, upward);
  }
  memset(memory, 0xEE, PIXELS + 32);
  free(memory);
  return status;
}

static int64_t boxes_of(int64_t number) { return number % 6; }

static int read_given(void *context, int64_t number, pst_row *row) {
  table *t = context;
  const int64_t extents[2] = {boxes_of(number), 4};
  const int64_t columns[2] = {4, 6 * 4}; /* bytes: transposed in memory */
  float *boxes = malloc(4 * 6 * sizeof *boxes);
  const char *how = number == t->bad ? t->how : "";
  int result = 0, i;
  enter(t);
  for (i = 0; i < 24; ++i)
    boxes[i] = (float)(number * 100 + i % 6 * 4 + i / 6);
  if (strcmp(how, "image"))
    EXPECT(give_image(row, number) == PST_OK);
  EXPECT(pst_row_array(row, "boxes", PST_F32, 2, extents, columns, boxes) == PST_OK);
  EXPECT(pst_row_float(row, "scale", (double)number + 0.1) == PST_OK);
  EXPECT(pst_row_int(row, "label", number) == PST_OK);
  EXPECT(pst_row_wants(row, "data") == PST_FIELD_BYTES);
  EXPECT(pst_row_wants(row, "boxes") == PST_FIELD_ARRAY);
  EXPECT(pst_row_wants(row, "label") == PST_FIELD_NUMBER);
  EXPECT(pst_row_wants(row, "unused") == PST_FIELD_NONE &&
         pst_row_wants(row, "x") == PST_FIELD_NONE);
  EXPECT(pst_row_float(row, "unused", 0.5) == PST_OK && pst_row_int(row, "x", 1) == PST_OK);
  free(boxes);
  if (!strcmp(how, "fail")) {
    pst_row_fail(row, "the store is away");
    pst_row_fail(row, "a second reason");
  } else if (!strcmp(how, "result")) {
    result = 7;
  } else if (!strcmp(how, "range")) {
    EXPECT(pst_row_int(row, "label", 256) == PST_ERROR);
  } else if (!strcmp(how, "float")) {
    EXPECT(pst_row_float(row, "label", 1.5) == PST_ERROR);
  } else if (!strcmp(how, "length")) {
    const int64_t six[2] = {6, 4};
    EXPECT(pst_row_array(row, "boxes", PST_F32, 2, six, NULL, &six) == PST_ERROR);
  } else if (!strcmp(how, "rank")) {
    EXPECT(pst_row_array(row, "boxes", PST_F32, 1, extents, NULL, &extents) == PST_ERROR);
  } else if (!strcmp(how, "dtype")) {
    EXPECT(pst_row_array(row, "boxes", PST_F64, 2, extents, NULL, &extents) == PST_ERROR);
  } else if (!strcmp(how, "channels")) {
    EXPECT(pst_row_pixels(row, "data", &extents, 1, 1, 4, NULL) == PST_ERROR);
  } else if (!strcmp(how, "huge")) {
    EXPECT(pst_row_pixels(row, "data", &extents, INT64_MAX / 2, 4, 3, NULL) == PST_ERROR);
  } else if (!strcmp(how, "file")) {
    EXPECT(pst_row_file(row, "data", "/there/is/no.jpg") == PST_OK);
  } else if (!strcmp(how, "damaged")) {
    EXPECT(pst_row_bytes(row, "data", "P6\n6 6\n", 7) == PST_OK);
    pst_row_name(row, "my name");
  }
  leave(t);
  return result;
}

static int read_noise(void *context, int64_t number, pst_row *row) {
  int32_t noise[3];
  int i;
  (void)context;
  for (i = 0; i < 3; ++i)
    noise[i] = (int32_t)(number * 10 + i);
  return pst_row_array(row, "noise", PST_I32, 1, (const int64_t[]){3}, NULL, noise);
}

static pst_session *open_given(table *t, pst_session_options options, int any_thread) {
  pst_external_table tables[2];
  pst_session *session = NULL;
  memset(tables, 0, sizeof tables);
  tables[0].length = tables[1].length = ROWS;
  tables[0].read = read_given;
  tables[0].context = t;
  tables[0].any_thread = any_thread;
  tables[1].read = read_noise;
  options.tables = tables;
  options.table_count = 2;
  options.threads = 2;
  if (pst_session_open(given_program, &options, &session) != PST_OK)
    printf("%s\n", pst_session_error(session));
  EXPECT(*pst_session_error(session) == 0);
  return session;
}

static void check_given(const pst_batch *batch) {
  const pst_output *image = pst_batch_output(batch, 0), *boxes = pst_batch_output(batch, 1);
  const float *values = boxes->data, *scale = pst_batch_output(batch, 2)->data;
  const int64_t *label = pst_batch_output(batch, 3)->data;
  const int32_t *noise = pst_batch_output(batch, 4)->data;
  const int64_t *at = pst_batch_output(batch, 5)->data;
  int64_t slot, i;
  for (slot = 0; slot < pst_batch_count(batch); ++slot) {
    const int64_t row = pst_batch_rows(batch)[slot];
    const unsigned char *pixels = (const unsigned char *)image->data + slot * image->strides[0];
    for (i = 0; i < PIXELS; ++i)
      if (pixels[i] != pixel_of(row, (int)i))
        break;
    EXPECT(i == PIXELS);
    EXPECT(boxes->offsets[slot + 1] - boxes->offsets[slot] == boxes_of(row));
    for (i = 0; i < boxes_of(row) * 4; ++i)
      EXPECT(values[boxes->offsets[slot] * 4 + i] == (float)(row * 100 + i));
    EXPECT(scale[slot] == (float)((double)row + 0.1) && label[slot] == row);
    for (i = 0; i < 3; ++i)
      EXPECT(noise[slot * 3 + i] == at[slot] * 10 + i);
  }
}

/* To the end of the epoch; returns a number for the rows in their order. */
static uint64_t read_epoch(pst_session *session) {
  uint64_t hash = 0;
  pst_batch *batch = NULL;
  pst_status status;
  int64_t i;
  while ((status = pst_session_next(session, &batch)) == PST_OK) {
    check_given(batch);
    for (i = 0; i < pst_batch_count(batch); ++i)
      hash = hash * 31 + (uint64_t)pst_batch_rows(batch)[i] + 1;
    pst_batch_release(batch);
  }
  if (status != PST_END_OF_EPOCH)
    printf("%s\n", pst_session_error(session));
  EXPECT(status == PST_END_OF_EPOCH);
  return hash;
}

static const pst_session_options plain = PST_SESSION_OPTIONS_INIT;

/* One call at a time, unless the caller allows more. */
static void test_threads(void) {
  table one, many;
  pst_session *session;
  uint64_t hash;
  init_table(&one);
  session = open_given(&one, plain, 0);
  hash = read_epoch(session);
  EXPECT(read_epoch(session) != hash);
  EXPECT(pst_session_start(session, 0, NULL, 0) == PST_OK);
  EXPECT(read_epoch(session) == hash);
  pst_session_close(session);
  EXPECT(one.most == 1 && one.inside == 0 && one.calls >= 3 * ROWS);

  init_table(&many);
  many.wait_for = 2;
  session = open_given(&many, plain, 1);
  EXPECT(read_epoch(session) == hash);
  pst_session_close(session);
  EXPECT(many.most >= 2);
}

/* Each mistake is a bad sample with its reason; or the end, where none is allowed. */
static void test_mistakes(void) {
  static const struct {
    const char *how, *reason;
  } cases[] = {{"image", "the caller gave nothing for column `data`, and gave `x`"},
               {"fail", "the store is away"},
               {"result", "the caller's function returned 7"},
               {"range", "column `label` is u8, and the caller gave 256"},
               {"float", "column `label` is u8, and the caller gave the float 1.5"},
               {"length", "column `boxes` is f32[k <= 5, 4], and the caller gave f32[6, 4]"},
               {"rank", "column `boxes` is f32[k <= 5, 4], and the caller gave f32[5]"},
               {"dtype", "column `boxes` is f32[k <= 5, 4], and the caller gave f64[5, 4]"},
               {"channels",
                "column `data` is bytes, and the caller gave pixels of u8[1, 1, 4], which are no "
                "image: height, width, and 1 or 3 channels"},
               {"huge",
                "column `data` is bytes, and the caller gave pixels of u8[4611686018427387903, 4, "
                "3], more than 1073741824 bytes"},
               {"file", "cannot read /there/is/no.jpg: No such file or directory"},
               {"damaged", "truncated PNM: it ends after 7 bytes, inside its header"}};
  const double none = -1;
  size_t i;
  for (i = 0; i < sizeof cases / sizeof *cases; ++i) {
    table t;
    pst_session *session;
    const pst_bad_sample *bad = NULL;
    size_t count = 0;
    pst_batch *batch = NULL;
    pst_session_options strict = PST_SESSION_OPTIONS_INIT;
    init_table(&t);
    t.bad = 11;
    t.how = cases[i].how;
    session = open_given(&t, plain, 0);
    read_epoch(session);
    pst_session_bad_samples(session, &bad, &count);
    EXPECT(count == 1);
    if (count) {
      if (strcmp(bad[0].reason, cases[i].reason))
        printf("%s\n", bad[0].reason);
      EXPECT(strcmp(bad[0].reason, cases[i].reason) == 0 && bad[0].row == 11);
      EXPECT(bad[0].substitute >= 0 && bad[0].substitute != 11);
      EXPECT(strcmp(bad[0].name, !strcmp(cases[i].how, "file")      ? "/there/is/no.jpg"
                                 : !strcmp(cases[i].how, "damaged") ? "my name"
                                                                    : "row 11") == 0);
    }
    pst_session_close(session);

    strict.on_error = &none;
    session = open_given(&t, strict, 0);
    for (count = 0; count < ROWS && pst_session_next(session, &batch) == PST_OK; ++count)
      pst_batch_release(batch);
    EXPECT(count < ROWS / 4 && strstr(pst_session_error(session), cases[i].reason) != NULL);
    pst_session_close(session);
  }
}

static void expect_refused(const pst_program *program, const pst_external_table *tables,
                           size_t count, const char *message) {
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session *session = NULL;
  options.tables = tables;
  options.table_count = count;
  EXPECT(pst_session_open(program, &options, &session) == PST_ERROR);
  if (strcmp(pst_session_error(session), message))
    printf("%s\n", pst_session_error(session));
  EXPECT(strcmp(pst_session_error(session), message) == 0);
  pst_session_close(session);
}

static void test_tables_that_do_not_fit(void) {
  static const void *const places[4] = {"a", "b", "c", "d"};
  static const int64_t sizes[4] = {1, 1, 1, 1};
  static const pst_memory_bytes memory[2] = {{"data", places, sizes}, {"others", places, sizes}};
  pst_external_table tables[3];
  size_t i;
  memset(tables, 0, sizeof tables);
  for (i = 0; i < 3; ++i) {
    tables[i].length = 4;
    tables[i].read = read_noise;
  }
  expect_refused(given_program, NULL, 0,
                 "external_source: its rows come from the program that opens the session, which "
                 "gives none");
  expect_refused(given_program, tables, 1,
                 "external_source: its rows come from the program that opens the session, which "
                 "gives 1 such tables");
  expect_refused(given_program, tables, 3,
                 "3 tables of rows are given, and `given` has 2 `external_source`");
  expect_refused(chosen_program, tables, 1,
                 "row 0: rows of `external_source` are read when they are needed, and `where` and "
                 "`weighted` look at all of them: choose rows by an order of the caller's");
  tables[0].length = 0;
  expect_refused(peers_program, tables, 1, "the table of `peers` has no row");
  tables[0].length = -3;
  expect_refused(peers_program, tables, 1, "a table of the caller's has -3 rows; it has 1 to 2^48");
  tables[0].length = 4;
  tables[0].read = NULL;
  expect_refused(peers_program, tables, 1, "nothing gives the rows of a table of the caller's");
  tables[0].bytes = memory;
  tables[0].bytes_count = 2;
  expect_refused(given_program, tables, 2,
                 "the caller's table has no column `boxes`; it has `data`, `others`");
}

/* Rows that the caller chooses too, ranks, one sample alone, and going on elsewhere. */
static void test_orders(void) {
  static const int64_t rows[5][4] = {
      {5, 5, 0, 23}, {1, 2, 3, 4}, {9, 8, 7, 6}, {0, 0, 0, 0}, {22, 21, 20, 19}};
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  table t;
  pst_session *session, *other;
  pst_batch *batch = NULL;
  pst_sample *sample = NULL;
  char state[1024];
  uint64_t samples = 0;
  uint32_t epoch = 9;
  int i;
  init_table(&t);
  options.order = PST_ORDER_CALLER;
  session = open_given(&t, options, 0);
  for (i = 0; i < 5; ++i) {
    if (i == 0 || pst_session_wants_rows(session, &epoch) >= 0) {
      EXPECT(pst_session_wants_rows(session, &epoch) == i);
      EXPECT(epoch == 0);
    }
    EXPECT(pst_session_push_rows(session, rows[i], 4) == PST_OK);
  }
  for (i = 0; i < 2; ++i) {
    EXPECT(pst_session_next(session, &batch) == PST_OK);
    check_given(batch);
    EXPECT(memcmp(pst_batch_rows(batch), rows[i], sizeof rows[i]) == 0);
    pst_batch_release(batch);
  }
  strncpy(state, pst_session_state(session), sizeof state - 1);
  state[sizeof state - 1] = 0;
  pst_session_close(session);
  session = open_given(&t, options, 1);
  EXPECT(pst_session_restore(session, state) == PST_OK);
  for (; i < 5; ++i) {
    EXPECT(pst_session_next(session, &batch) == PST_OK);
    check_given(batch);
    EXPECT(memcmp(pst_batch_rows(batch), rows[i], sizeof rows[i]) == 0);
    pst_batch_release(batch);
  }
  EXPECT(pst_session_next(session, &batch) == PST_NO_ROWS);
  pst_session_close(session);

  options.order = PST_ORDER_PIPELINE;
  options.world = 2;
  for (options.rank = 0; options.rank < 2; ++options.rank) {
    session = open_given(&t, options, 0);
    while (pst_session_next(session, &batch) == PST_OK) {
      check_given(batch);
      samples += (uint64_t)pst_batch_count(batch);
      pst_batch_release(batch);
    }
    pst_session_close(session);
  }
  EXPECT(samples == ROWS);

  other = open_given(&t, plain, 0);
  EXPECT(pst_session_next(other, &batch) == PST_OK);
  EXPECT(pst_session_sample(other, 0, 2, &sample) == PST_OK);
  EXPECT(pst_sample_content_hash(sample) == pst_batch_content_hash(batch, 2));
  EXPECT(pst_sample_row(sample) == pst_batch_rows(batch)[2]);
  pst_sample_release(sample);
  pst_batch_release(batch);
  pst_session_close(other);
}

static int read_x(void *context, int64_t number, pst_row *row) {
  int32_t *x = malloc(LONG * sizeof *x);
  pst_status status;
  int i;
  (void)context;
  for (i = 0; i < LONG; ++i)
    x[i] = (int32_t)(number * LONG + i);
  status = pst_row_array(row, "x", PST_I32, 1, (const int64_t[]){LONG}, NULL, x);
  free(x);
  return status;
}

/* Values that the batch's later stage reads outlive the row. */
static void test_peers(void) {
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  const pst_external_table given = {40, read_x, NULL, 1, NULL, 0, NULL, 0};
  pst_session *session = NULL;
  pst_batch *batch = NULL;
  pst_status status;
  int64_t i, batches = 0;
  options.tables = &given;
  options.table_count = 1;
  EXPECT(pst_session_open(peers_program, &options, &session) == PST_OK);
  while ((status = pst_session_next(session, &batch)) == PST_OK) {
    const int32_t *sum = pst_batch_output(batch, 0)->data;
    for (i = 0; i < 4 * LONG; ++i)
      if (sum[i] != (batches * 4 * LONG + i) + (batches * 4 * LONG + i % LONG))
        break;
    EXPECT(i == 4 * LONG);
    ++batches;
    pst_batch_release(batch);
  }
  EXPECT(status == PST_END_OF_EPOCH && batches == 10);
  pst_session_close(session);
}

/* Columns in memory need no function; all others are asked for. */
static int read_scale(void *context, int64_t number, pst_row *row) {
  ++*(int *)context;
  return pst_row_float(row, "scale", (double)number + 0.1);
}

static void test_memory(void) {
  static unsigned char files[ROWS][PIXELS + 32];
  static const void *data[ROWS];
  static int64_t sizes[ROWS];
  static int16_t labels[ROWS]; /* another type than the column's */
  static float boxes[ROWS][5][4];
  static int32_t noise[ROWS][3];
  static const int64_t rows[1] = {ROWS}, box_rows[3] = {ROWS, 5, 4}, noise_rows[2] = {ROWS, 3};
  static const int64_t short_rows[1] = {ROWS - 1};
  pst_memory_bytes bytes = {"data", data, sizes};
  pst_memory_column columns[2], bank;
  pst_external_table tables[2];
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session *session = NULL;
  pst_batch *batch = NULL;
  const pst_bad_sample *bad = NULL;
  size_t count = 0;
  int calls = 0, row, i;
  for (row = 0; row < ROWS; ++row) {
    data[row] = files[row];
    sizes[row] = ppm_of(row, files[row]) + PIXELS;
    labels[row] = (int16_t)row;
    for (i = 0; i < 3; ++i)
      noise[row][i] = row * 10 + i;
  }
  data[13] = NULL;
  columns[0].name = "label";
  columns[0].dtype = PST_I16;
  columns[0].rank = 1;
  columns[0].extents = rows;
  columns[0].data = labels;
  columns[1].name = "boxes";
  columns[1].dtype = PST_F32;
  columns[1].rank = 3;
  columns[1].extents = box_rows;
  columns[1].data = boxes;
  bank.name = "noise";
  bank.dtype = PST_I32;
  bank.rank = 2;
  bank.extents = noise_rows;
  bank.data = noise;
  memset(tables, 0, sizeof tables);
  tables[0].length = tables[1].length = ROWS;
  tables[0].read = read_scale;
  tables[0].context = &calls;
  tables[0].bytes = &bytes;
  tables[0].bytes_count = 1;
  tables[0].columns = columns;
  tables[0].column_count = 2;
  tables[1].columns = &bank;
  tables[1].column_count = 1;
  options.tables = tables;
  options.table_count = 2;
  EXPECT(pst_session_open(given_program, &options, &session) == PST_OK);
  while (pst_session_next(session, &batch) == PST_OK) {
    const unsigned char *pixels = pst_batch_output(batch, 0)->data;
    const float *scale = pst_batch_output(batch, 2)->data;
    const int64_t *label = pst_batch_output(batch, 3)->data, *at = pst_batch_output(batch, 5)->data;
    const int32_t *found = pst_batch_output(batch, 4)->data;
    EXPECT(pst_batch_output(batch, 1)->offsets[pst_batch_count(batch)] ==
           5 * pst_batch_count(batch));
    for (i = 0; i < pst_batch_count(batch); ++i) {
      const int64_t number = pst_batch_rows(batch)[i];
      EXPECT(number != 13 && label[i] == number && scale[i] == (float)((double)number + 0.1));
      EXPECT(pixels[i * pst_batch_output(batch, 0)->strides[0] + 100] == pixel_of(number, 100));
      EXPECT(found[i * 3 + 2] == at[i] * 10 + 2);
    }
    pst_batch_release(batch);
  }
  pst_session_bad_samples(session, &bad, &count);
  EXPECT(count == 1 && bad[0].row == 13);
  EXPECT(count && strcmp(bad[0].reason, "the caller gave nothing for column `data`") == 0);
  pst_session_close(session);
  EXPECT(calls >= ROWS);

  columns[0].extents = short_rows;
  expect_refused(given_program, tables, 2,
                 "column `label` in memory has 23 rows, and the table 24");
  columns[0].extents = rows;
  columns[0].data = NULL;
  expect_refused(given_program, tables, 2,
                 "column `label` in memory has no type, no address or an impossible size");
  bytes.sizes = NULL;
  expect_refused(given_program, tables, 2, "column `data` in memory has no address");
}

/* Ending while rows are read waits for them, and for nothing else. */
static void test_endings(void) {
  int i;
  for (i = 0; i < 40; ++i) {
    table t;
    pst_session *session;
    pst_batch *batch = NULL;
    init_table(&t);
    session = open_given(&t, plain, i % 2);
    if (i % 4)
      EXPECT(pst_session_next(session, &batch) == PST_OK);
    pst_batch_release(batch);
    if (i % 3)
      pst_session_cancel(session);
    pst_session_close(session);
    EXPECT(t.inside == 0);
  }
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  cache_folder = argv[2];
  strncpy(folder, argv[2], sizeof folder - 1);
  given_program = compile_text(given_text, "given.pipe");
  peers_program = compile_text(peers_text, "peers.pipe");
  chosen_program = compile_text(chosen_text, "chosen.pipe");
  if (strcmp(argv[1], "run") == 0) {
    write_files();
    test_threads();
    test_mistakes();
    test_tables_that_do_not_fit();
    test_orders();
    test_peers();
    test_memory();
    test_endings();
  }
  pst_program_release(given_program);
  pst_program_release(peers_program);
  pst_program_release(chosen_program);
  return finish();
}
