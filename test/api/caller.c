/* SPDX-License-Identifier: Apache-2.0 */
/* Callers whose process is no usual one: its threads round as nobody expects, flush subnormals, or
 * die of a division by zero; its memory ends. What is computed is the same; nothing is thrown.
 *
 *   api_caller_test fill|run FOLDER   as api_threads_test; `fill` compares what is compiled, too */
#define _GNU_SOURCE
#include "test/api/expect.h"
#include <fenv.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Constants are folded when compiling; the parameters are read when a session opens. */
static const char *const text =
    "pipe 1\n"
    "const zero: f64 = 0.0\n"
    "const tiny: f64 = 1e-300 * 1e-10\n"
    "const third: f64 = 1.0 / 3.0\n"
    "pipeline numbers(x: f64 = 0.1, y: f32 = 0.7, wait: duration = 7ms) {\n"
    "  for row in synthetic(4, label = i64)\n"
    "  batch 1 per rank last keep {\n"
    "    output tiny: f64[n] = tiny\n"
    "    output third: f64[n] = third\n"
    "    output small: f32[n] = f32(1e-30) * f32(1e-10)\n"
    "    output sine: f64[n] = sin(0.7) / 3.0\n"
    "    output none: f64[n] = 1.0 / zero\n"
    "    output large: f64[n] = 1e308 * 1e10\n"
    "    output x: f64[n] = x\n"
    "    output y: f64[n] = f64(y)\n"
    "    output wait: f64[n] = wait / 1s\n"
    "    output label: i64[n] = row.label\n"
    "  }\n"
    "}\n";
enum { OUTPUTS = 9 };

/* Half of 100,000,000 rows: 400 MB of numbers. */
static const char *const large_text = "pipe 1\n"
                                      "pipeline large() {\n"
                                      "  for row in synthetic(100000000, label = i64)\n"
                                      "    where row.index % 2 == 0\n"
                                      "  batch 4 per rank last keep {\n"
                                      "    output label: i64[n] = row.label\n"
                                      "  }\n"
                                      "}\n";

static const char *const rows_text =
    "pipe 1\n"
    "pipeline rows() {\n"
    "  for row in external_source(long = i64[k = 0 ..= 125000000])\n"
    "    order sequential\n"
    "  batch 1 per rank last keep {\n"
    "    output total: i64[n] = sum(row.long over [k])\n"
    "  }\n"
    "}\n";

typedef enum mode { USUAL, UPWARD, FLUSHING, TRAPPING, MODES } mode;

static void set_mode(mode wanted) {
  if (wanted == UPWARD)
    fesetround(FE_UPWARD);
#if defined(__x86_64__)
  if (wanted == FLUSHING)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
#if defined(__GLIBC__)
  if (wanted == TRAPPING)
    feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
#endif
}

static unsigned control_of_thread(void) {
#if defined(__x86_64__)
  return __builtin_ia32_stmxcsr();
#else
  return (unsigned)fegetround();
#endif
}

/* Compares the first batch with the usual mode's. */
static void check_values(const pst_program *program, mode in) {
  static const pst_parameter given[3] = {{"x", "0.3"}, {"y", "33.3%"}, {"wait", "16ms"}};
  static uint64_t usual[OUTPUTS];
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_session *session = NULL;
  pst_batch *batch = NULL;
  pst_sample *sample = NULL;
  int i;
  options.parameters = given;
  options.parameter_count = 3;
  EXPECT(pst_session_open(program, &options, &session) == PST_OK);
  EXPECT(pst_session_next(session, &batch) == PST_OK);
  EXPECT(pst_session_sample(session, 0, 0, &sample) == PST_OK);
  for (i = 0; batch && i < OUTPUTS; ++i) {
    const pst_output *output = pst_batch_output(batch, (size_t)i);
    uint64_t bits = 0;
    memcpy(&bits, output->data, output->dtype == PST_F32 ? 4 : 8);
    if (in == USUAL)
      usual[i] = bits;
    if (bits != usual[i])
      printf("mode %d, output `%s`\n", (int)in, output->name);
    EXPECT(bits == usual[i]);
  }
  pst_sample_release(sample);
  pst_batch_release(batch);
  pst_session_close(session);
}

static void test_modes(int compiles) {
  fenv_t before;
  int in;
  fegetenv(&before);
  for (in = USUAL; in < MODES; ++in) {
    const char *found = NULL;
    unsigned control;
    int flags, round;
    pst_program *program;
    if (compiles)
      cache_folder = "";
    feclearexcept(FE_ALL_EXCEPT);
    set_mode((mode)in);
    control = control_of_thread();
    flags = fetestexcept(FE_ALL_EXCEPT);
    round = fegetround();
    program = compile_text(text, "numbers.pipe");
    check_values(program, (mode)in);
    if (compiles) {
      EXPECT(pst_program_explain(program, &found) == PST_OK);
      EXPECT(pst_program_transfers(program, &found) == PST_OK);
    }
    pst_program_release(program);
    EXPECT(control_of_thread() == control);
    EXPECT(fetestexcept(FE_ALL_EXCEPT) == flags);
    EXPECT(fegetround() == round);
    fesetenv(&before);
  }
}

#if defined(__has_feature)
#define SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* Leaves the process 64 MiB more than it has now; 0 where that cannot be known. No sanitizer could
 * do with it. */
static int limit_memory(struct rlimit *before, rlim_t more) {
  struct rlimit limit;
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  if (SANITIZED || !file || fscanf(file, "%ld", &pages) != 1)
    pages = 0;
  if (file)
    fclose(file);
  getrlimit(RLIMIT_AS, before);
  limit = *before;
  limit.rlim_cur = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + more;
  return pages && setrlimit(RLIMIT_AS, &limit) == 0;
}

static const char *const no_more = ": `ulimit -v`, a cgroup or the machine gives no more";

static void test_memory(const pst_program *program) {
  struct rlimit before;
  pst_session *session = NULL;
  if (!limit_memory(&before, 64u << 20))
    return;
  EXPECT(pst_session_open(program, NULL, &session) == PST_ERROR);
  setrlimit(RLIMIT_AS, &before);
  EXPECT(strncmp(pst_session_error(session), "no memory for what was asked for", 32) == 0);
  EXPECT(strstr(pst_session_error(session), no_more) != NULL);
  pst_session_close(session);
}

/* Row 2 has 1 GB, all of one number; the others have none. */
static int give_row(void *context, int64_t number, pst_row *row) {
  static const int64_t value = 7, stride = 0;
  const int64_t extent = number == 2 ? 125000000 : 0;
  (void)context;
  return pst_row_array(row, "long", PST_I64, 1, &extent, &stride, &value) == PST_OK ? 0 : 1;
}

/* No row is to blame, and none is taken in its place. */
static void test_memory_of_rows(const pst_program *program) {
  struct rlimit before;
  const double all = 1;
  pst_session_options options = PST_SESSION_OPTIONS_INIT;
  pst_external_table table;
  pst_session *session = NULL;
  pst_batch *batch = NULL;
  pst_status status = PST_OK;
  const pst_bad_sample *bad = NULL;
  size_t count = 9;
  int i;
  memset(&table, 0, sizeof table);
  table.length = 4;
  table.read = give_row;
  options.tables = &table;
  options.table_count = 1;
  options.threads = 1;
  options.prefetch = 1;
  options.on_error = &all;
  EXPECT(pst_session_open(program, &options, &session) == PST_OK);
  /* Threads take 64 MB at a time. */
  if (limit_memory(&before, 512u << 20)) {
    for (i = 0; i < 4 && status == PST_OK; ++i) {
      status = pst_session_next(session, &batch);
      pst_batch_release(batch);
    }
    setrlimit(RLIMIT_AS, &before);
    EXPECT(status == PST_ERROR);
    EXPECT(strstr(pst_session_error(session), "no memory for i64[125000000]") != NULL);
    EXPECT(strstr(pst_session_error(session), no_more) != NULL);
    pst_session_bad_samples(session, &bad, &count);
    EXPECT(count == 0);
  }
  pst_session_close(session);
}

int main(int argc, char **argv) {
  pst_program *large, *rows;
  if (argc != 3)
    return 2;
  cache_folder = argv[2];
  pst_program_release(compile_text(text, "numbers.pipe"));
  large = compile_text(large_text, "large.pipe");
  rows = compile_text(rows_text, "rows.pipe");
  if (strcmp(argv[1], "run") == 0) {
    test_memory(large);
    test_memory_of_rows(rows);
  }
  pst_program_release(large);
  pst_program_release(rows);
  test_modes(strcmp(argv[1], "fill") == 0);
  return finish();
}
