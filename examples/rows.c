/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from the program itself: images that it holds, in any form, with their labels.
 *
 *   cc -std=c99 rows.c -lpenstock -o rows && ./rows
 *
 * The pipeline names the columns, and a function says what a row holds: encoded bytes, a
 * file, or pixels. Threads of the session call it, ahead of the batches that need the rows. */
#include <penstock.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 100, SIDE = 48 };

static const char *const text =
    "pipe 1\n"
    "use vision\n"
    "pipeline mine(size: int = 32) {\n"
    "  for row in external_source(image = bytes, label = i64) order shuffled\n"
    "  let pixels = row.image |> decode(rgb) |> random_resized_crop(size) |> flip(w) if "
    "chance(0.5)\n"
    "  batch 10 per rank last keep {\n"
    "    output image: f32[n, c, h, w] = pixels |> normalize(imagenet)\n"
    "    output label: i64[n] = row.label\n"
    "  }\n"
    "}\n";

/* Row `number`: pixels that are made here. From a store it would be
 * pst_row_bytes(row, "image", data, size), from a disk pst_row_file(row, "image", path). */
static int read_row(void *context, int64_t number, pst_row *row) {
  unsigned char pixels[SIDE][SIDE][3];
  int y, x, c;
  (void)context;
  for (y = 0; y < SIDE; ++y)
    for (x = 0; x < SIDE; ++x)
      for (c = 0; c < 3; ++c)
        pixels[y][x][c] = (unsigned char)(number + y * x + 80 * c);
  if (number == 42) {
    pst_row_fail(row, "the store has lost it");
    return 1; /* a bad sample: reported, and another row in its place */
  }
  pst_row_pixels(row, "image", pixels, SIDE, SIDE, 3, NULL); /* copied */
  pst_row_int(row, "label", number % 10);
  return 0;
}

int main(void) {
  const pst_external_table table = {ROWS, read_row, NULL, 1, /* on several threads at once */
                                    NULL, 0,        NULL, 0};
  pst_compile_options compile = PST_COMPILE_OPTIONS_INIT;
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_program *program = NULL;
  pst_session *session = NULL;
  pst_batch *batch = NULL;
  const pst_bad_sample *bad = NULL;
  size_t length = 0, bad_count = 0, i;
  int64_t samples = 0;
  pst_status status;
  while (text[length])
    ++length;
  if (pst_compile(text, length, "rows.c", &compile, &program) != PST_OK) {
    fprintf(stderr, "%s", pst_program_messages(program));
    return 1;
  }
  options.tables = &table;
  options.table_count = 1;
  if (pst_session_open(program, &options, &session) != PST_OK) {
    fprintf(stderr, "%s\n", pst_session_error(session));
    return 1;
  }
  while ((status = pst_session_next(session, &batch)) == PST_OK) {
    samples += pst_batch_count(batch);
    pst_batch_release(batch);
  }
  if (status != PST_END_OF_EPOCH)
    fprintf(stderr, "%s\n", pst_session_error(session));
  pst_session_bad_samples(session, &bad, &bad_count);
  for (i = 0; i < bad_count; ++i)
    printf("%s: %s; row %d stands in its place\n", bad[i].name, bad[i].reason,
           (int)bad[i].substitute);
  printf("%d samples\n", (int)samples);
  pst_session_close(session);
  pst_program_release(program);
  return status != PST_END_OF_EPOCH || samples != ROWS || bad_count < 1;
}
