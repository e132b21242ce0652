/* SPDX-License-Identifier: Apache-2.0 */
/* The C API as a C99 program uses it: compile, open, next, state, errors.
 *
 * The table is the caller's memory: 10 rows of 2 x 2 bytes, row r filled with
 * r, so that every delivered value is known. */

#include "api/c/penstock.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

#define EXPECT(condition)                                                                          \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition);                             \
      ++failures;                                                                                  \
    }                                                                                              \
  } while (0)

static const char *const text =
    "pipe 1\n"
    "/// Scales bytes.\n"
    "pipeline scaled(pixels: path, labels: path, factor: f32 = 2.0, count: int = 4) {\n"
    "  for row in raw(image = column(pixels, u8[h = 2, w = 2]), label = column(labels, i64))\n"
    "    order sequential\n"
    "  batch count per rank last keep {\n"
    "    output image: f32[n, h, w] = map (p in row.image) { f32(p) * factor }\n"
    "    output label: i64[n] = row.label\n"
    "  }\n"
    "}\n";

static uint8_t pixels[10][2][2];
static int64_t labels[10];

static pst_program *compile(const char *source, pst_status expected) {
  pst_compile_options options = PST_COMPILE_OPTIONS_INIT;
  pst_program *program = NULL;
  pst_status status;
  options.cache_folder = "";
  status = pst_compile(source, strlen(source), "scaled.pipe", &options, &program);
  if (status != expected)
    printf("%s", pst_program_messages(program));
  EXPECT(status == expected);
  EXPECT(program != NULL);
  return program;
}

static pst_session *open_session(const pst_program *program, const char *factor) {
  const int64_t pixel_extents[3] = {10, 2, 2};
  const int64_t label_extents[1] = {10};
  pst_memory_column columns[2];
  pst_parameter parameters[3];
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session *session = NULL;
  columns[0].name = "image";
  columns[0].dtype = PST_U8;
  columns[0].rank = 3;
  columns[0].extents = pixel_extents;
  columns[0].data = pixels;
  columns[1].name = "label";
  columns[1].dtype = PST_I64;
  columns[1].rank = 1;
  columns[1].extents = label_extents;
  columns[1].data = labels;
  parameters[0].name = "factor";
  parameters[0].value = factor;
  /* The columns come from memory, so no file is opened. */
  parameters[1].name = "pixels";
  parameters[1].value = "-";
  parameters[2].name = "labels";
  parameters[2].value = "-";
  options.parameters = parameters;
  options.parameter_count = 3;
  options.columns = columns;
  options.column_count = 2;
  options.threads = 2;
  if (pst_session_open(program, &options, &session) != PST_OK) {
    printf("%s\n", pst_session_error(session));
    ++failures;
  }
  return session;
}

static void check_batch(const pst_batch *batch, int64_t first, int64_t count, float factor) {
  const pst_output *image = pst_batch_output(batch, 0);
  const pst_output *label = pst_batch_output(batch, 1);
  int64_t i;
  EXPECT(pst_batch_count(batch) == count);
  EXPECT(pst_batch_output_count(batch) == 2);
  EXPECT(pst_batch_output(batch, 2) == NULL);
  EXPECT(strcmp(image->name, "image") == 0 && image->dtype == PST_F32 && image->rank == 3);
  EXPECT(strcmp(image->axes[0], "n") == 0 && image->shape[0] == count && image->shape[1] == 2);
  EXPECT(((uintptr_t)image->data & 63) == 0);
  for (i = 0; i < count; ++i) {
    const float *sample = (const float *)((const char *)image->data + i * image->strides[0]);
    EXPECT(fabsf(sample[3] - (float)(first + i) * factor) == 0.0f);
    EXPECT(((const int64_t *)label->data)[i] == 100 + first + i);
    EXPECT(pst_batch_positions(batch)[i] == first + i && pst_batch_rows(batch)[i] == first + i);
  }
}

static void test_batches(const pst_program *program) {
  pst_session *session = open_session(program, "0.5");
  pst_batch *batch = NULL;
  pst_session_info info;
  pst_statistics statistics;
  char state[256];
  int64_t first;
  info.size = sizeof info;
  pst_session_get_info(session, &info);
  EXPECT(info.table_length == 10 && info.batch_size == 4 && info.batches_per_epoch == 3);
  EXPECT(info.processors >= 1 && info.processor_quota >= 0 &&
         (info.processor_quota > 0) == (info.processor_limit[0] != 0));
  for (first = 0; first < 10; first += 4) {
    EXPECT(pst_session_next(session, &batch) == PST_OK);
    check_batch(batch, first, first == 8 ? 2 : 4, 0.5f);
    pst_batch_release(batch);
    if (first == 0)
      snprintf(state, sizeof state, "%s", pst_session_state(session));
  }
  EXPECT(pst_session_next(session, &batch) == PST_END_OF_EPOCH && batch == NULL);
  statistics.size = sizeof statistics;
  pst_session_statistics(session, &statistics);
  EXPECT(statistics.samples == 10 && statistics.batches == 3 && statistics.bad_samples == 0);

  EXPECT(pst_session_restore(session, "not a state") == PST_ERROR);
  EXPECT(*pst_session_error(session) != 0);
  EXPECT(pst_session_restore(session, state) == PST_OK);
  EXPECT(pst_session_next(session, &batch) == PST_OK);
  check_batch(batch, 4, 4, 0.5f);
  pst_session_close(session); /* the batch outlives it */
  check_batch(batch, 4, 4, 0.5f);
  pst_batch_release(batch);
}

static void test_sample(const pst_program *program) {
  pst_session *session = open_session(program, "3");
  pst_sample *sample = NULL;
  EXPECT(pst_session_sample(session, 0, 7, &sample) == PST_OK);
  EXPECT(pst_sample_row(sample) == 7 && pst_sample_output_count(sample) == 2);
  EXPECT(((const float *)pst_sample_output(sample, 0)->data)[0] == 21.0f);
  EXPECT(*pst_sample_bad_reason(sample) == 0);
  pst_sample_release(sample);
  pst_session_cancel(session);
  {
    pst_batch *batch = NULL;
    EXPECT(pst_session_next(session, &batch) == PST_CANCELLED && batch == NULL);
  }
  pst_session_close(session);
}

static void test_errors(void) {
  pst_program *program = compile("pipe 1\npipeline broken(\n", PST_ERROR);
  pst_session *session = NULL;
  EXPECT(strstr(pst_program_messages(program), "scaled.pipe:2:") != NULL);
  EXPECT(pst_program_messages_json(program)[0] == '[');
  EXPECT(pst_program_name(program) == NULL);
  EXPECT(pst_session_open(program, NULL, &session) == PST_ERROR && session != NULL);
  EXPECT(strstr(pst_session_error(session), "not compiled") != NULL);
  pst_session_close(session);
  pst_program_release(program);
  pst_program_release(NULL);
  pst_session_close(NULL);
  pst_batch_release(NULL);
  pst_sample_release(NULL);
}

static void test_format(void) {
  static const char loose[] = "pipe  1\nconst a=1 // one\n";
  static const char broken[] = "pipe 1\nconst a =\n";
  pst_text *out = NULL;
  EXPECT(pst_format(loose, strlen(loose), "a.pipe", &out) == PST_OK);
  EXPECT(strcmp(pst_text_data(out), "pipe 1\nconst a = 1  // one\n") == 0);
  EXPECT(pst_text_length(out) == strlen(pst_text_data(out)) && *pst_text_messages(out) == 0);
  pst_text_release(out);
  EXPECT(pst_format(broken, strlen(broken), NULL, &out) == PST_ERROR && out != NULL);
  EXPECT(pst_text_length(out) == 0 && strstr(pst_text_messages(out), "<text>:2:") != NULL);
  EXPECT(strstr(pst_text_messages_json(out), "\"line\":2") != NULL);
  pst_text_release(out);
  pst_text_release(NULL);
}

static void test_operators(void) {
  pst_text *out = NULL;
  EXPECT(pst_operators(&out) == PST_OK && pst_text_data(out)[0] == '[');
  EXPECT(strstr(pst_text_data(out), "\"name\": \"random_resized_crop\"") != NULL);
  EXPECT(*pst_text_messages(out) == 0);
  pst_text_release(out);
}

/* Outputs have their axes in one order, and lie in memory in another. */
static void test_stored_orders(void) {
  static const char *const orders =
      "pipe 1\n"
      "pipeline orders(pixels: path) {\n"
      "  for row in raw(image = column(pixels, u8[h = 2, w = 3, c = 5])) order sequential\n"
      "  batch 4 per rank last keep {\n"
      "    output plain: u8[n, h, w, c] = row.image\n"
      "    output planes: u8[n, c, h, w] stored [n, h, w, c] = row.image\n"
      "    output last: u8[n, h, w, c] stored [h, w, c, n] = row.image\n"
      "    output inner: u8[h, w, n, c] = row.image\n"
      "    output mixed: u8[w, n, c, h] stored [c, h, n, w] = row.image\n"
      "  }\n"
      "}\n";
  static const char names[] = "nhwc";
  static const char *const stored[] = {"nhwc", "nhwc", "hwcn", "hwnc", "chnw"};
  static uint8_t images[6][2][3][5];
  const int64_t extents[4] = {6, 2, 3, 5};
  pst_memory_column column;
  pst_parameter parameter;
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session *session = NULL;
  pst_program *program = compile(orders, PST_OK);
  pst_batch *batch = NULL;
  int64_t first, count, n, h, w, c;
  size_t i, axis;
  for (i = 0; i < sizeof images; ++i)
    ((uint8_t *)images)[i] = (uint8_t)(i * 7 + 1);
  column.name = "image";
  column.dtype = PST_U8;
  column.rank = 4;
  column.extents = extents;
  column.data = images;
  parameter.name = "pixels";
  parameter.value = "-";
  options.parameters = &parameter;
  options.parameter_count = 1;
  options.columns = &column;
  options.column_count = 1;
  EXPECT(pst_session_open(program, &options, &session) == PST_OK);
  for (first = 0; session && first < 6; first += count) {
    EXPECT(pst_session_next(session, &batch) == PST_OK);
    count = first == 0 ? 4 : 2;
    EXPECT(pst_batch_count(batch) == count && pst_batch_output_count(batch) == 5);
    for (i = 0; i < 5; ++i) {
      const pst_output *output = pst_batch_output(batch, i);
      int64_t strides[4], stride = 1; /* of n, h, w, c */
      for (axis = 0; axis < 4; ++axis)
        strides[strchr(names, output->axes[axis][0]) - names] = output->strides[axis];
      for (axis = 4; axis-- > 0;) {
        const char name = stored[i][axis];
        EXPECT(strides[strchr(names, name) - names] == stride);
        stride *= name == 'n' ? count : name == 'h' ? 2 : name == 'w' ? 3 : 5;
      }
      for (n = 0; n < count; ++n)
        for (h = 0; h < 2; ++h)
          for (w = 0; w < 3; ++w)
            for (c = 0; c < 5; ++c)
              EXPECT(((const uint8_t *)output->data)[n * strides[0] + h * strides[1] +
                                                     w * strides[2] + c * strides[3]] ==
                     images[first + n][h][w][c]);
    }
    pst_batch_release(batch);
  }
  pst_session_close(session);
  pst_program_release(program);
}

/* Header and library are of one version. */
static void check_version(void) {
  char expected[32];
  snprintf(expected, sizeof expected, "%d.%d.%d", PST_VERSION_MAJOR, PST_VERSION_MINOR,
           PST_VERSION_PATCH);
  EXPECT(strcmp(pst_version(), expected) == 0);
#if PST_VERSION < PST_VERSION_OF(0, 2, 0) || PST_VERSION >= PST_VERSION_OF(1, 0, 0)
  EXPECT(0);
#endif
}

int main(void) {
  pst_program *program;
  const char *emitted = NULL;
  size_t length = 0;
  size_t i;
  check_version();
  for (i = 0; i < 10; ++i) {
    memset(pixels[i], (int)i, sizeof pixels[i]);
    labels[i] = 100 + (int64_t)i;
  }
  program = compile(text, PST_OK);
  EXPECT(strcmp(pst_program_name(program), "scaled") == 0);
  EXPECT(pst_program_parameter_count(program) == 4);
  EXPECT(strcmp(pst_program_parameter(program, 2)->name, "factor") == 0);
  EXPECT(!pst_program_parameter(program, 2)->is_static);
  EXPECT(pst_program_parameter(program, 4) == NULL);
  EXPECT(pst_program_emit(program, "llvm", &emitted, &length) == PST_OK && length > 100);
  EXPECT(pst_program_emit(program, "nonsense", &emitted, &length) == PST_ERROR && !emitted);
  test_batches(program);
  test_sample(program);
  test_errors();
  test_format();
  test_operators();
  test_stored_orders();
  pst_program_release(program);
  printf("%s\n", failures ? "failed" : "passed");
  return failures != 0;
}
