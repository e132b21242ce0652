/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller hands over that cannot be read: texts and arrays that are NULL, names that stand
 * twice, numbers that an enumeration has not got. Each is an error that says so, whatever
 * function takes it.
 *
 *   api_arguments_test fill|run FOLDER   as api_threads_test */
#include "test/api/expect.h"
#include <stdint.h>
#include <stdlib.h>

static const char *const text =
    "pipe 1\n"
    "pipeline scaled(values: path, factor: int = 1) {\n"
    "  for row in raw(value = column(values, i64)) order sequential\n"
    "  batch 4 per rank last keep { output value: i64[n] = row.value * factor }\n"
    "}\n";
static const char *const table_text =
    "pipe 1\n"
    "use vision\n"
    "pipeline given() {\n"
    "  for row in external_source(data = bytes, label = i64, box = f32[k = 2])\n"
    "  batch 1 per rank last keep { output label: i64[n] = row.label\n"
    "    output box: f32[n, k] = row.box\n"
    "    output data: u8[n, h = 1, w = 1, c] = row.data |> decode(rgb) |> crop(0, 0, 1, 1) }\n"
    "}\n";

static pst_program *program, *table_program;
static pst_session *session;
static int64_t values[8];
static const int64_t extents[1] = {8};

/* What the last call said. */
static char message[1000];

static int failed(pst_status status, const char *said) {
  snprintf(message, sizeof message, "%s", said);
  return status == PST_ERROR;
}

/* What a function's arguments are computed in has no order in C, and a call replaces what the one
   before it said. */
static pst_status last;
#define FAILED(call, said) (last = (call), failed(last, said))

static void expect(int is_error, const char *wanted) {
  if (!is_error || !strstr(message, wanted))
    printf("wanted: %s\nfound:  %s\n", wanted, message);
  EXPECT(is_error && strstr(message, wanted));
}

/*===--- programs ----------------------------------------------------------===*/

typedef enum function { COMPILE, BUNDLE, LOAD } function;

static int compiles(function which, const char *source, size_t length,
                    const pst_compile_options *options, const char *const *targets, size_t count,
                    const char *path) {
  pst_program *made = NULL;
  const pst_status status =
      which == COMPILE ? pst_compile(source, length, "a.pipe", options, &made)
      : which == BUNDLE
          ? pst_compile_bundle(source, length, "a.pipe", options, targets, count, path, &made)
          : pst_program_load(path, options->parameters, options->parameter_count, &made);
  const int is_error = failed(status, made ? pst_program_messages(made) : "no program");
  pst_program_release(made);
  return is_error;
}

/* The same parameters, for every function that takes some. */
static const struct {
  pst_parameter given[2];
  size_t count;
  int is_array;
  const char *message;
} parameters[] = {
    {{{NULL, NULL}, {NULL, NULL}}, 2, 0, "`parameters` is NULL, and there are 2 of them"},
    {{{NULL, "1"}, {NULL, NULL}}, 1, 1, "`parameters[0]` has no name"},
    {{{"factor", NULL}, {NULL, NULL}}, 1, 1, "parameter `factor` has no value"},
    {{{"factor", "1"}, {"factor", "1"}}, 2, 1, "parameter `factor` is given twice"}};
enum { PARAMETERS = sizeof parameters / sizeof *parameters };

static void test_programs(void) {
  static const char *const none[1] = {NULL}, *const empty[1] = {""};
  const char *emitted = NULL;
  size_t length = 0, i;
  int which;
  pst_compile_options options = PST_COMPILE_OPTIONS_INIT;
  pst_text *out = NULL;
  options.cache_folder = cache_folder;
  for (which = COMPILE; which <= LOAD; ++which)
    for (i = 0; i < PARAMETERS; ++i) {
      pst_compile_options wrong = options;
      wrong.parameters = parameters[i].is_array ? parameters[i].given : NULL;
      wrong.parameter_count = parameters[i].count;
      expect(compiles((function)which, text, strlen(text), &wrong, NULL, 0, "/nowhere/a.pstk"),
             parameters[i].message);
    }
  expect(compiles(COMPILE, NULL, 5, &options, NULL, 0, NULL), "`text` is NULL");
  expect(compiles(BUNDLE, NULL, 5, &options, NULL, 0, "/nowhere/a.pstk"), "`text` is NULL");
  expect(compiles(BUNDLE, text, strlen(text), &options, NULL, 0, NULL), "`path` is NULL");
  expect(compiles(BUNDLE, text, strlen(text), &options, NULL, 0, ""),
         "`path` is empty, and no path");
  expect(compiles(LOAD, NULL, 0, &options, NULL, 0, ""), "`path` is empty, and no path");
  expect(compiles(BUNDLE, text, strlen(text), &options, NULL, 1, "/nowhere/a.pstk"),
         "`targets` is NULL, and there are 1 of them");
  expect(compiles(BUNDLE, text, strlen(text), &options, none, 1, "/nowhere/a.pstk"),
         "`targets[0]` is NULL");
  expect(compiles(BUNDLE, text, strlen(text), &options, empty, 1, "/nowhere/a.pstk"),
         "unknown target ``; known are ");
  expect(compiles(LOAD, NULL, 0, &options, NULL, 0, NULL), "`path` is NULL");
  options.size = 0; /* not begun with the macro */
  for (which = COMPILE; which < LOAD; ++which)
    expect(compiles((function)which, text, strlen(text), &options, NULL, 0, "/nowhere/a.pstk"),
           "`size` of the options is 0: begin with PST_COMPILE_OPTIONS_INIT");
  options.size = sizeof options;
  options.disabled_pass_count = 1;
  expect(compiles(COMPILE, text, strlen(text), &options, NULL, 0, NULL),
         "`disabled_passes` is NULL, and there are 1 of them");
  options.disabled_passes = none;
  expect(compiles(COMPILE, text, strlen(text), &options, NULL, 0, NULL),
         "`disabled_passes[0]` is NULL");
  expect(FAILED(pst_program_emit(program, NULL, &emitted, &length), pst_program_messages(program)),
         "`stage` is NULL");
  EXPECT(pst_format(NULL, 3, "a.pipe", &out) == PST_ERROR);
  expect(failed(PST_ERROR, pst_text_messages(out)), "`text` is NULL");
  pst_text_release(out);
  /* Nothing is a text, too: an empty one. */
  EXPECT(pst_format(NULL, 0, "a.pipe", &out) == PST_ERROR);
  EXPECT(!strstr(pst_text_messages(out), "NULL"));
  pst_text_release(out);
}

static void test_prepared(void) {
  static const char *const none[1] = {NULL}, *const empty[1] = {""};
  static const struct {
    int packs;
    const char *path, *out;
    const char *const *allowed;
    size_t allowed_count;
    const char *message;
  } wrong[] = {{0, NULL, NULL, NULL, 0, "`path` is NULL"},
               {1, NULL, "out", NULL, 0, "`path` is NULL"},
               {1, "/nowhere", NULL, NULL, 0, "`out` is NULL"},
               {0, "", NULL, NULL, 0, "`path` is empty, and no path"},
               {1, "", "out", NULL, 0, "`path` is empty, and no path"},
               {1, "/nowhere", "", NULL, 0, "`out` is empty, and no path"},
               {0, "/nowhere", NULL, NULL, 1, "`allowed_folders` is NULL"},
               {1, "/nowhere", "out", none, 1, "`allowed_folders[0]` is NULL"},
               {0, "/nowhere", "out", empty, 1, "`allowed_folders[0]` is empty"}};
  size_t i;
  for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    pst_prepare_options options = PST_PREPARE_OPTIONS_INIT;
    pst_text *out = NULL;
    pst_status status;
    options.allowed_folders = wrong[i].allowed;
    options.allowed_folder_count = wrong[i].allowed_count;
    status = wrong[i].packs ? pst_pack(wrong[i].path, wrong[i].out, &options, &out)
                            : pst_index(wrong[i].path, &options, &out);
    expect(failed(status, pst_text_messages(out)), wrong[i].message);
    pst_text_release(out);
  }
  for (i = 0; i < 4; ++i) {
    static const int32_t threads[] = {-1, 5000, 0, 0};
    static const char *const messages[] = {
        "`threads` is -1, and not 0 to 4096", "`threads` is 5000, and not 0 to 4096",
        "`out` is empty, and no path", "`root` is empty, and no path"};
    pst_prepare_options options = PST_PREPARE_OPTIONS_INIT;
    pst_text *out = NULL;
    pst_status status;
    options.threads = threads[i];
    options.out = i == 2 ? "" : NULL;
    options.root = i == 3 ? "" : NULL;
    status = pst_index("/nowhere", &options, &out);
    expect(failed(status, pst_text_messages(out)), messages[i]);
    pst_text_release(out);
  }
}

/*===--- sessions ----------------------------------------------------------===*/

static int opens(const pst_program *of, const pst_session_options *options) {
  pst_session *made = NULL;
  const pst_status status = pst_session_open(of, options, &made);
  const int is_error = failed(status, made ? pst_session_error(made) : "no session");
  pst_session_close(made);
  return is_error;
}

static void test_opening(void) {
  static const struct {
    int device, held, order, last;
    const char *message;
  } words[] = {{99, 0, 0, 0, "`device` is 99, and not 0 to 2"},
               {-1, 0, 0, 0, "`device` is -1, and not 0 to 2"},
               {0, 77, 0, 0, "`held` is 77, and not 0 to 1"},
               {0, 0, 77, 0, "`order` is 77, and not 0 to 1"},
               {0, 0, 0, 77, "`last` is 77, and not 0 to 3"}};
  static const char *const none[1] = {NULL}, *const empty[1] = {""};
  static const pst_memory_column deep = {"value", PST_I64, 1000000, extents, values};
  static const pst_memory_column twice[] = {{"value", PST_I64, 1, extents, values},
                                            {"value", PST_I64, 1, extents, values}};
  static const pst_parameter good[1] = {{"values", "-"}};
  static const pst_memory_column columns[] = {
      {"value", PST_I64, 1, extents, values}, {NULL, PST_I64, 1, extents, values},
      {"value", PST_I64, 1, NULL, values},    {"value", PST_I64, -1, extents, values},
      {"value", PST_I64, 1, extents, NULL},   {"value", (pst_dtype)99, 1, extents, values}};
  static const char *const column_messages[] = {"",
                                                "`columns[0]` has no name",
                                                "column `value` in memory has no extents",
                                                "column `value` in memory has no extents",
                                                "column `value` in memory has no address",
                                                "the pipeline expects i64"};
  size_t i;
  pst_session_options options = PST_SESSION_OPTIONS_INIT, wrong;
  options.parameters = good;
  options.parameter_count = 1;
  options.columns = columns;
  options.column_count = 1;
  EXPECT(pst_session_open(program, &options, &session) == PST_OK);
  wrong = options;
  wrong.size = 8;
  expect(opens(program, &wrong), "`size` of the options is 8: begin with PST_SESSION_OPTIONS_INIT");
  {
    static const pst_memory_column misspelt = {"valeu", PST_I64, 1, extents, values};
    wrong = options;
    wrong.columns = &misspelt;
    expect(opens(program, &wrong),
           "no `raw` table has a column `valeu` in memory, or its file from a parameter of that "
           "name; columns are `value`");
  }
  wrong = options;
  wrong.columns = twice;
  wrong.column_count = 2;
  expect(opens(program, &wrong), "column `value` in memory is given twice");
  wrong = options;
  wrong.columns = &deep;
  expect(opens(program, &wrong),
         "column `value` in memory has 1000000 axes, the limit is 9 with that of the rows");
  wrong = options;
  wrong.allowed_folders = empty;
  wrong.allowed_folder_count = 1;
  expect(opens(program, &wrong), "`allowed_folders[0]` is empty; the current folder is `.`");
  for (i = 0; i < PARAMETERS; ++i) {
    wrong = options;
    wrong.parameters = parameters[i].is_array ? parameters[i].given : NULL;
    wrong.parameter_count = parameters[i].count;
    expect(opens(program, &wrong), parameters[i].message);
  }
  for (i = 0; i < sizeof words / sizeof *words; ++i) {
    wrong = options;
    wrong.device = (pst_device)words[i].device;
    wrong.held = (pst_held)words[i].held;
    wrong.order = (pst_order)words[i].order;
    wrong.last = (pst_last)words[i].last;
    expect(opens(program, &wrong), words[i].message);
  }
  for (i = 1; i < sizeof columns / sizeof *columns; ++i) {
    wrong = options;
    wrong.columns = columns + i;
    expect(opens(program, &wrong), column_messages[i]);
  }
  wrong = options;
  wrong.columns = NULL;
  expect(opens(program, &wrong), "`columns` is NULL, and there are 1 of them");
  wrong = options;
  wrong.allowed_folder_count = 1;
  expect(opens(program, &wrong), "`allowed_folders` is NULL");
  wrong.allowed_folders = none;
  expect(opens(program, &wrong), "`allowed_folders[0]` is NULL");
  expect(opens(NULL, &options), "the program was not compiled");
}

static void test_calls(void) {
  const char *found = "";
  size_t i;
  for (i = 0; i < PARAMETERS; ++i)
    expect(FAILED(pst_session_start(session, 0, parameters[i].is_array ? parameters[i].given : NULL,
                                    parameters[i].count),
                  pst_session_error(session)),
           parameters[i].message);
  expect(FAILED(pst_session_restore(session, NULL), pst_session_error(session)), "`state` is NULL");
  expect(FAILED(pst_session_set_transfer(session, NULL), pst_session_error(session)),
         "`level` is NULL");
  expect(FAILED(pst_session_push_rows(session, NULL, 3), pst_session_error(session)),
         "`rows` is NULL, and there are 3 of them");
  expect(FAILED(pst_session_row_text(session, 0, NULL, &found), pst_session_error(session)),
         "`column` is NULL");
  EXPECT(found == NULL);
}

/*===--- rows --------------------------------------------------------------===*/

static int give_wrong(void *context, int64_t number, pst_row *row) {
  static const int64_t two[1] = {2};
  static const float box[2] = {0, 0};
  pst_status status = PST_ERROR;
  (void)number;
  pst_row_name(row, NULL);
  switch (*(const int *)context) {
  case 0:
    EXPECT(pst_row_wants(row, NULL) == PST_FIELD_NONE);
    status = pst_row_int(row, NULL, 1);
    break;
  case 1:
    status = pst_row_bytes(row, "data", NULL, 4);
    break;
  case 2:
    status = pst_row_array(row, "box", PST_F32, 1, NULL, NULL, box);
    break;
  case 3:
    status = pst_row_array(row, "box", PST_F32, 1, two, NULL, NULL);
    break;
  case 4:
    status = pst_row_array(row, "box", PST_F32, -1, two, NULL, box);
    break;
  case 5:
    status = pst_row_file(row, "data", NULL);
    break;
  case 6:
    status = pst_row_pixels(row, "data", NULL, 1, 1, 3, NULL);
    break;
  default:
    pst_row_fail(row, NULL);
  }
  EXPECT(status == PST_ERROR);
  return 0;
}

static void test_rows(void) {
  static const char *const messages[] = {"`column` is NULL",
                                         "`data` is NULL, and there are 4 of them",
                                         "`extents` is NULL, and there are 1 of them",
                                         "without an address",
                                         "column `box` is f32[",
                                         "a file without a name",
                                         "without an address",
                                         "the caller gave no reason"};
  int which;
  for (which = 0; which < (int)(sizeof messages / sizeof *messages); ++which) {
    pst_session_options options = PST_SESSION_OPTIONS_INIT;
    pst_external_table table;
    pst_sample *sample = NULL;
    pst_session *rows = NULL;
    const double never = -1;
    memset(&table, 0, sizeof table);
    table.length = 4;
    table.read = give_wrong;
    table.context = &which;
    options.tables = &table;
    options.table_count = 1;
    options.on_error = &never;
    EXPECT(pst_session_open(table_program, &options, &rows) == PST_OK);
    expect(FAILED(pst_session_sample(rows, 0, 0, &sample), pst_session_error(rows)),
           messages[which]);
    pst_sample_release(sample);
    pst_session_close(rows);
  }
}

static void test_tables(void) {
  static const pst_memory_column nameless = {NULL, PST_I64, 1, extents, values};
  static const pst_memory_column flat = {"label", PST_I64, 1, NULL, values};
  static const pst_memory_bytes unnamed = {NULL, NULL, NULL}, lost = {"data", NULL, NULL};
  static const struct {
    const pst_memory_bytes *bytes;
    size_t bytes_count;
    const pst_memory_column *columns;
    size_t column_count;
    const char *message;
  } wrong[] = {{NULL, 1, NULL, 0, "`bytes` is NULL, and there are 1 of them"},
               {&unnamed, 1, NULL, 0, "`bytes[0]` has no name"},
               {&lost, 1, NULL, 0, "column `data` in memory has no address"},
               {NULL, 0, NULL, 2, "`columns` is NULL, and there are 2 of them"},
               {NULL, 0, &nameless, 1, "`columns[0]` has no name"},
               {NULL, 0, &flat, 1, "column `label` in memory has no extents"}};
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  size_t i;
  for (i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    pst_external_table table;
    memset(&table, 0, sizeof table);
    table.length = 8;
    table.bytes = wrong[i].bytes;
    table.bytes_count = wrong[i].bytes_count;
    table.columns = wrong[i].columns;
    table.column_count = wrong[i].column_count;
    options.tables = &table;
    options.table_count = 1;
    expect(opens(table_program, &options), wrong[i].message);
  }
  options.tables = NULL;
  expect(opens(table_program, &options), "`tables` is NULL, and there are 1 of them");
}

int main(int argc, char **argv) {
  if (argc != 3)
    return 2;
  cache_folder = argv[2];
  program = compile_text(text, "scaled.pipe");
  table_program = compile_text(table_text, "given.pipe");
  if (strcmp(argv[1], "run") == 0) {
    test_programs();
    test_prepared();
    test_opening();
    test_calls();
    test_tables();
    test_rows();
    pst_session_close(session);
  }
  pst_program_release(program);
  pst_program_release(table_program);
  return finish();
}
