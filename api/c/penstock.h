/* SPDX-License-Identifier: Apache-2.0 */
/* The C API of Penstock.
 *
 * The simple path:
 *
 *   pst_program *program;
 *   pst_compile_options options = PST_COMPILE_OPTIONS_INIT;
 *   pst_status status = pst_compile(text, length, "train.pipe", &options, &program);
 *   if (status != PST_OK) puts(pst_program_messages(program));
 *
 *   pst_session_options run = PST_SESSION_OPTIONS_INIT;
 *   pst_session *session;
 *   status = pst_session_open(program, &run, &session);
 *   pst_batch *batch;
 *   while ((status = pst_session_next(session, &batch)) == PST_OK) {
 *     ... pst_batch_output(batch, 0) ...
 *     pst_batch_release(batch);
 *   }
 *   pst_session_close(session);
 *   pst_program_release(program);
 *
 * Rules that hold everywhere:
 *
 * - Handles are opaque. Every function that makes one stores it last, in
 *   `*out_...`, and stores NULL where it made none.
 * - Text and arrays that a function returns belong to the handle they were
 *   asked of, and live until it is released, unless said otherwise.
 * - Options structs carry their size; use the ..._INIT macros: without a size they are refused.
 *   New fields are added at the end and zero means "as before".
 * - A text or an array that is NULL where nothing is said about NULL is an error, as is a
 *   number that an enumeration has not got. Handles and `out_...` are never NULL.
 * - No function throws, prints, or changes the process's floating-point mode,
 *   signal handlers or locale. All compute in the default mode, whatever the caller's is; it is
 *   also that of functions of the caller's that they call. Where memory ends is an error; the
 *   handle of its message is NULL only where there is none for that either.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define PST_API __attribute__((visibility("default")))
#else
#define PST_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pst_program pst_program;
typedef struct pst_session pst_session;
typedef struct pst_batch pst_batch;
typedef struct pst_sample pst_sample;
typedef struct pst_text pst_text;

typedef enum pst_status {
  PST_OK = 0,
  /* The text, an argument or the data is at fault; the handle has the message. */
  PST_ERROR = 1,
  /* No sample is left; the next call starts the next epoch. */
  PST_END_OF_EPOCH = 2,
  /* pst_session_cancel() was called. */
  PST_CANCELLED = 3,
  /* No batch became ready in the time given; nothing is lost. */
  PST_TIMEOUT = 4,
  /* Rows come from the caller, who has not said which come next. */
  PST_NO_ROWS = 5
} pst_status;

/* The version of this header. Functions added after 0.1 say since when they exist. */
#define PST_VERSION_MAJOR 0
#define PST_VERSION_MINOR 2
#define PST_VERSION_PATCH 0
/* For `#if PST_VERSION >= PST_VERSION_OF(0, 2, 0)`. */
#define PST_VERSION_OF(major, minor, patch) (((major) * 1000 + (minor)) * 1000 + (patch))
#define PST_VERSION PST_VERSION_OF(PST_VERSION_MAJOR, PST_VERSION_MINOR, PST_VERSION_PATCH)

/* Returns the version of the library, such as "0.2.0". */
PST_API const char *pst_version(void);

/*===--- compiling ---------------------------------------------------------===*/

/* A parameter's value as text, in the language's spelling of a literal: `128`,
 * `0.5`, `true`, or the bare text of a path. Each name stands once in an array. */
typedef struct pst_parameter {
  const char *name;
  const char *value;
} pst_parameter;

typedef struct pst_compile_options {
  size_t size;
  /* The pipeline to compile; NULL: the only one in the file. */
  const char *pipeline;
  /* Values of parameters. Static ones are compiled in; run-time ones become
   * the defaults of sessions. */
  const pst_parameter *parameters;
  size_t parameter_count;
  /* Names of optimising passes to leave out (see `penstock compile --help`). */
  const char *const *disabled_passes;
  size_t disabled_pass_count;
  /* "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "armv8-a"; NULL: this
   * machine. */
  const char *target;
  /* Folder of the compile cache; NULL: $XDG_CACHE_HOME/penstock or
   * ~/.cache/penstock; "": no cache. The folder is private to its owner, and a
   * cache that others may write is not used. Programs that were not used for 90
   * days are removed from it, and beyond 64 MiB those that were not for longest. */
  const char *cache_folder;
  /* NULL: the text is a .pipe file. Else the stage that the text is MLIR of:
   * "pipe", "pipe-opt", "kernels", "schedule", "loops" or "llvm". */
  const char *from;
  /* Not 0: stop after checking, which makes kernels and no code; the program cannot be run. */
  int check_only;
  /* "sm_80,sm_90": kernels of pixels are compiled for such GPUs, and PTX of the oldest for
   * later ones; "native": for this machine's GPU 0. Decoded media then cross to the GPU; kernels
   * that cannot be compiled for one stay on the host, with the kernels they read. Needs NVRTC.
   * NULL: all runs on the host. */
  const char *gpu;
  /* Where values cross to the GPU. "pixels" (NULL): as decoded media; "planes": the same, but
   * JPEG files as luma and chroma, which the GPU converts to pixels; "resampled": the host
   * resamples and warps, too, and values on their final grid cross; "final": the host runs all
   * kernels, and the outputs `on gpu` cross. Never changes a result. Without `gpu`
   * kernels are cut alike, and all run on the host.
   *
   * "all": the program has the code for each, begins where "auto" would, and
   * pst_session_set_transfer() goes on with another one between two batches.
   *
   * "auto": the one of the four with which samples come fastest, or, where that is the same,
   * which leaves most of the GPU's time, by what `machine` says and what pipeline and draws do with
   * typical data (docs/cuda.md).
   *
   * Since 0.2. */
  const char *transfer;
  /* JSON: the machine's rates and typical sizes of its data, for "auto" (docs/cuda.md lists the
   * entries). NULL: 16 threads and one GPU of 2023.
   *
   * Since 0.2. */
  const char *machine;
} pst_compile_options;

#define PST_COMPILE_OPTIONS_INIT                                                                   \
  {sizeof(pst_compile_options), NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, 0, NULL, NULL, NULL}

/* Compiles `length` bytes of `text`.
 *
 * Always stores a program, also after an error: it then holds the messages and
 * nothing else. Release it with pst_program_release().
 *
 * file_name    is used in messages only.
 * PST_ERROR    see pst_program_messages().
 *
 * Thread safety: any thread; calls are independent. Blocks for the time of a
 * compilation: some 100 ms, or a few where the cache has the program. */
PST_API pst_status pst_compile(const char *text, size_t length, const char *file_name,
                               const pst_compile_options *options, pst_program **out_program);

/* Compiles the text for several levels of the CPU and writes a bundle to `path`: one
 * file that pst_program_load() runs, also where no compiler is installed. Static
 * parameters are compiled in; run-time ones that are given become its defaults.
 *
 * targets      names as in pst_compile_options; none: v2, v3 and v4. `options` may
 *              not name a target of its own.
 * out_program  always stored, as by pst_compile(): messages, name and parameters. It
 *              cannot be run.
 * PST_ERROR    see pst_program_messages(); a file at `path` is left as it was.
 *
 * Thread safety: any thread. Blocks for the time of a compilation for each level.
 *
 * Since 0.2. */
PST_API pst_status pst_compile_bundle(const char *text, size_t length, const char *file_name,
                                      const pst_compile_options *options,
                                      const char *const *targets, size_t target_count,
                                      const char *path, pst_program **out_program);

/* Loads a bundle: the code for the highest level that this machine offers. Needs and
 * loads no compiler. The file's code is run, as a shared library's is: its
 * checksum finds damage and is no signature.
 *
 * parameters   values of run-time parameters become the defaults of sessions. Those
 *              of static ones must be what they were when compiling.
 * out_program  always stored, as by pst_compile(). Of its functions, those that need
 *              the text (emit, explain, overview) are errors.
 * PST_ERROR    no bundle, a damaged one, one of another version, or without code for
 *              this machine: see pst_program_messages().
 *
 * Thread safety: any thread.
 *
 * Since 0.2. */
PST_API pst_status pst_program_load(const char *path, const pst_parameter *parameters,
                                    size_t parameter_count, pst_program **out_program);

/* Returns warnings and errors as text, each with its place, its line and a caret; ""
 * if there are none. Never NULL. */
PST_API const char *pst_program_messages(const pst_program *program);
/* The same as a JSON array. */
PST_API const char *pst_program_messages_json(const pst_program *program);

typedef struct pst_parameter_info {
  const char *name;
  const char *type;          /* as written: "int", "path", "f64" ... */
  int is_static;             /* not 0: changing it compiles again */
  const char *default_value; /* as written; of a bundle, what it takes: of a static one what it was
                                compiled with. NULL: must be given */
  const char *doc;           /* "" where there is none */
} pst_parameter_info;

PST_API size_t pst_program_parameter_count(const pst_program *program);
/* `index` < pst_program_parameter_count(). */
PST_API const pst_parameter_info *pst_program_parameter(const pst_program *program, size_t index);

/* Returns the name of the pipeline; NULL after an error. */
PST_API const char *pst_program_name(const pst_program *program);
/* Returns not 0 if the code came from the cache. */
PST_API int pst_program_from_cache(const pst_program *program);

/* Prints the program at a stage of the compiler: "ast", "pipe", "pipe-opt",
 * "kernels", "schedule", "loops", "llvm", "asm" (text), "obj" (an ELF object
 * file), "cuda" (the kernels as CUDA C++), or as NVRTC compiles that: "ptx:sm_90"
 * (text) or "cubin:sm_90", for an architecture; without one, for sm_75. Compiles
 * again up to that stage.
 *
 * out_data, out_length  set on PST_OK; live until the next call for this program.
 * PST_ERROR             see pst_program_messages().
 *
 * Thread safety: one call at a time per program. */
PST_API pst_status pst_program_emit(pst_program *program, const char *stage, const char **out_data,
                                    size_t *out_length);
/* Explains which ops were fused into kernels, and why others were not. As
 * pst_program_emit(). */
PST_API pst_status pst_program_explain(pst_program *program, const char **out_text);
/* Returns the program as a graph, for a picture of it. A JSON object:
 *
 *   version   1
 *   pipeline  its name
 *   summary   the number of kernels, and the bytes they read and write
 *   place     the device of each part
 *   boxes     in the order in which they run, objects:
 *     number, kind  `kind` is "source", "decode", "kernel" or "output"
 *     title, place  the user's operators, and their lines of the file
 *     lines         its steps, in words
 *     kernels       the names of the kernels in it, its small tables' last
 *     launches      how many run for a sample where all branches are taken
 *     in            edges into the box: objects with from (a number), what (a type),
 *                   bytes, and not_fused (why the two are not one kernel, or "")
 *
 * As pst_program_emit(). */
PST_API pst_status pst_program_overview(pst_program *program, const char **out_json);

/* Estimates the costs of each level of `transfer`, from simulated samples with random draws and
 * typical headers, on the machine of `pst_compile_options::machine`. A JSON object:
 *
 *   version    1
 *   pipeline   its name
 *   machine    its name; `threads` and `gpu_share` are of it, too
 *   auto       the level that "auto" takes
 *   levels     in order, objects with name, and for a sample on average:
 *     crossing            values that cross to the GPU: objects with type, from (the user's
 *                         operators), bytes, and planes (true) if they are luma and chroma
 *     bytes, bytes_back   their sum, and of outputs that the GPU makes and the host delivers
 *     host                decoded (elements), operations, kernels, seconds (of all threads)
 *     bus                 seconds
 *     gpu                 operations, bytes (that kernels read and write), launches (for a
 *                         batch), seconds (in the loader's share of its time)
 *     limit               "host", "bus" or "gpu": the one that takes longest
 *     samples_per_second  at this limit
 *
 * As pst_program_emit(). Since 0.2. */
PST_API pst_status pst_program_transfers(pst_program *program, const char **out_json);

/* NULL is allowed. Sessions of the program stay valid. */
PST_API void pst_program_release(pst_program *program);

/*===--- text --------------------------------------------------------------===*/

/* Brings `length` bytes of a .pipe file into its one layout (docs/format.md).
 * Only blanks and line breaks differ from the text: every token and comment
 * stays. Formatting the result gives the result.
 *
 * Always stores a text, also after an error: it then holds the messages and
 * nothing else. Release it with pst_text_release().
 *
 * file_name    is used in messages only.
 * PST_ERROR    the text has a syntax error, see pst_text_messages().
 *
 * Thread safety: any thread; calls are independent. */
PST_API pst_status pst_format(const char *text, size_t length, const char *file_name,
                              pst_text **out_text);

/* Lists the functions and constants of the library, and the intrinsics that it is
 * written in. A JSON array of objects, by module, in the order of their text:
 *
 *   name, module  strings; the module of an intrinsic is "intrinsics"
 *   kind          "function", "constant", "intrinsic" or "draw"
 *   signatures    one string for each overload
 *   doc           its comment; "" where there is none
 *   usage         the shortest call: "x |> flip(a)"
 *   examples      lines of shipped examples: objects with file, line, text
 *
 * As pst_format(); there are no messages about the text. */
PST_API pst_status pst_operators(pst_text **out_text);

/* Returns the text. It ends with NUL, which pst_text_length() does not count; "" after an
 * error. */
PST_API const char *pst_text_data(const pst_text *text);
PST_API size_t pst_text_length(const pst_text *text);
/* As pst_program_messages() and pst_program_messages_json(). */
PST_API const char *pst_text_messages(const pst_text *text);
PST_API const char *pst_text_messages_json(const pst_text *text);
/* NULL is allowed. */
PST_API void pst_text_release(pst_text *text);

/*===--- preparing data ----------------------------------------------------===*/

/* `done` of `total` images are done. 0: go on; else the work stops soon. Called
 * from threads of the library, one call at a time. */
typedef int (*pst_progress)(void *context, uint64_t done, uint64_t total);

typedef struct pst_prepare_options {
  size_t size;
  int32_t threads;       /* 0: as in pst_session_options */
  pst_progress progress; /* NULL: none */
  void *progress_context;
  /* pst_index(): the sidecar, a file, or a folder for it; NULL: beside the data, as
   * `.penstock-index` in a folder and `<file>.penstock-index` for a file. */
  const char *out;
  /* pst_index(), for lists: the folder of the files that they name (NULL: the
   * list's own), and, where the list is a table, its column of file names, by name
   * or number, and the separator of columns (0: a comma). */
  const char *root;
  const char *column;
  char separator;
  /* pst_pack(): bytes of a shard, 0: 1 GiB; not 0: compare all bytes at the end. */
  int verify;
  uint64_t shard_size;
  /* As those of pst_session_options. */
  const char *const *allowed_folders;
  size_t allowed_folder_count;
  /* pst_index(), not 0: of tar files (a folder of them, one, `train-{000..146}.tar` or a list, as
   * `tar_shards` takes it) where their rows lie, as `<file>.index` beside each, which sessions read
   * where the shards lie behind URLs. No checkpoints are written; `out`, `root` and the table's
   * options have to be NULL and 0. */
  int rows;
} pst_prepare_options;

#define PST_PREPARE_OPTIONS_INIT                                                                   \
  {sizeof(pst_prepare_options), 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, 0, 0}

/* Writes checkpoints of all JPEG files at `path` (a folder with all below it, a tar
 * file, or a list of files), from which sessions decode parts of them. What was
 * done before, by this or a killed call, is not done again, except for files
 * whose name, size or time have changed.
 *
 * out_report     a JSON object: file, images, indexed, earlier, left_out (a count per
 *                reason), left_out_files (the first 1,000: name, reason), others,
 *                data_bytes, index_bytes, warnings; with `rows`: shards, rows, data_bytes
 *                and index_bytes. Release it with pst_text_release().
 * PST_ERROR      see pst_text_messages().
 * PST_CANCELLED  `progress` said so; the finished part is kept.
 *
 * Always stores a text. Thread safety: any thread; calls are independent. */
PST_API pst_status pst_index(const char *path, const pst_prepare_options *options,
                             pst_text **out_report);

/* Writes the images of an image folder as tar files to the folder `out`, which is
 * made where it is missing: the same bytes, with labels and checkpoints. Shards
 * that an earlier or killed call finished are kept.
 *
 * out_report  a JSON object: images, shards, earlier, renamed, left_out (objects
 *             with name, reason), data_bytes, out_bytes, verified_bytes,
 *             extensions. As for pst_index(). */
PST_API pst_status pst_pack(const char *path, const char *out, const pst_prepare_options *options,
                            pst_text **out_report);

/*===--- sessions ----------------------------------------------------------===*/

/* The device of kernels that were compiled for a GPU, and of outputs `on gpu`: a session of a
 * program that has either takes GPU `device_number`, AUTO or CUDA alike. CPU delivers
 * all outputs in the host's memory, and takes no program whose kernels were compiled for a GPU. */
typedef enum pst_device { PST_DEVICE_AUTO = 0, PST_DEVICE_CPU = 1, PST_DEVICE_CUDA = 2 } pst_device;

typedef enum pst_dtype {
  PST_U8 = 1,
  PST_I8 = 2,
  PST_U16 = 3,
  PST_I16 = 4,
  PST_I32 = 5,
  PST_I64 = 6,
  PST_F16 = 7,
  PST_BF16 = 8,
  PST_F32 = 9,
  PST_F64 = 10,
  PST_BOOL = 11
} pst_dtype;

/* A column of a `raw` source that the caller holds in memory, in C order. The path parameter that
 * names its file in the pipeline has to be given all the same; nothing reads it, and it may be
 * "-". `name` is the column's, or that parameter's, as where two tables have a column of one name:
 * memory for both of these by that name is an error, and so is a name that no column has. */
typedef struct pst_memory_column {
  const char *name;
  pst_dtype dtype;
  int32_t rank;           /* rows included */
  const int64_t *extents; /* rows first */
  const void *data;       /* must outlive the session */
} pst_memory_column;

/* A row of an `external_source` in the making. It lives during the call of pst_read_row. */
typedef struct pst_row pst_row;

/* Sets the columns of row `number` of a table with pst_row_...(). All values (of pst_row_file(),
 * the name) are copied, and need to live until that call returns only.
 *
 * Returns 0 when done. Any other number, pst_row_fail() and a pst_row_...() that fails make the
 * row a bad sample with that message, which is replaced or ends the epoch as `on_error` says.
 *
 * Called on threads of the session that fetch, and on that of pst_session_sample(), for rows in
 * any order, ahead of the batch that they are for, and again where a row is needed again. It may
 * call nothing for the session but pst_session_cancel(). pst_session_close() waits for a call
 * that is made, and once it or pst_session_cancel() was called none begins. */
typedef int (*pst_read_row)(void *context, int64_t number, pst_row *row);

/* A column of bytes whose rows lie in memory: where, and how many. NULL where there are none: the
 * row is bad. All of it must outlive the session. */
typedef struct pst_memory_bytes {
  const char *name;
  const void *const *data;
  const int64_t *sizes;
} pst_memory_bytes;

/* The rows of an `external_source`, which declares its columns and their types in the pipeline.
 * Columns in memory are read from there; `read` sets all others, and is NULL if there are none. */
typedef struct pst_external_table {
  int64_t length; /* rows: 1 to 2^48 */
  pst_read_row read;
  void *context;
  /* Not 0: `read` may be called from several threads at once. Else one call is made at a time. */
  int any_thread;
  const pst_memory_bytes *bytes;
  size_t bytes_count;
  /* Numbers and arrays, one of a row behind the other. Numbers may be of another type, as for
   * pst_row_int() and pst_row_float(). */
  const pst_memory_column *columns;
  size_t column_count;
} pst_external_table;

/* The result of asking for a batch while the caller holds all that there is memory for, which
 * are twice `prefetch`. */
typedef enum pst_held {
  PST_HELD_ERROR = 0, /* PST_ERROR; release one and call again */
  /* Memory is taken for one more, as long as all together stays within
   * `memory_budget`, and used again when batches are released. Then an error. */
  PST_HELD_GROW = 1
} pst_held;

typedef enum pst_order {
  PST_ORDER_PIPELINE = 0, /* as the pipeline's text says */
  PST_ORDER_CALLER = 1    /* by pst_session_push_rows(); PST_NO_ROWS where there are none */
} pst_order;

/* Treatment of the rows that fill no whole batch at the end of an epoch. */
typedef enum pst_last {
  PST_LAST_PIPELINE = 0, /* as the pipeline's text says */
  PST_LAST_DROP = 1,     /* they are left out */
  PST_LAST_KEEP = 2,     /* a smaller batch; ranks may differ by a sample, and one may have none */
  /* A smaller batch, for which the epoch's first rows come again, so that all ranks have
   * as many samples, as PyTorch's DistributedSampler does. */
  PST_LAST_PAD = 3
} pst_last;

/* Asks which rows of the table the next batch of `epoch` has. Stores at most
 * `capacity` (the batch size) of them in `rows` and returns how many, in any order and
 * as often as wanted; 0: the epoch ends here; PST_ROWS_NOT_YET: the caller does not
 * know yet. Any other negative number makes pst_session_next() an error, once it has delivered
 * all batches before; the call after that asks again.
 *
 * Called by pst_session_next() and pst_session_next_within(), on their thread, for as
 * many batches as are worked on ahead; for an epoch beyond the current one once the
 * rows of this one have ended. For this session it may call pst_session_cancel(),
 * pst_session_state() and functions that return numbers, such as pst_session_statistics(). */
typedef int64_t (*pst_next_rows)(void *context, uint32_t epoch, int64_t *rows, int64_t capacity);

#define PST_ROWS_NOT_YET (-1)

typedef struct pst_session_options {
  size_t size;
  const pst_parameter *parameters; /* of run-time parameters */
  size_t parameter_count;
  const pst_memory_column *columns;
  size_t column_count;
  const int64_t *seed; /* NULL: the pipeline's */
  uint32_t epoch;      /* the first one */
  uint32_t rank;
  uint32_t world;        /* 0 means 1 */
  int32_t threads;       /* 0: the processors of the affinity mask, no more than the quota of
                          * a cgroup allows (rounded up), / ranks_here */
  int32_t ranks_here;    /* ranks on this machine; 0 means 1 */
  int32_t prefetch;      /* batches in the making or ready; 0: 2 */
  int32_t fetch_threads; /* files read, or asked for, at a time; 0: 8, and 64 where some are
                          * behind URLs */
  /* Bytes of host memory for the fixed part, and as many, at most 1 GiB, for files that are read
   * ahead; 0: no limit, and 1 GiB. A file that is larger is read all the same. */
  uint64_t memory_budget;
  /* Fraction of bad samples allowed per rank and epoch, in place of the pipeline's, rounded down,
   * but to one at least unless it is 0; negative: fail at the first. NULL: the pipeline's. */
  const double *on_error;
  pst_device device;
  int32_t device_number;
  /* The CUDA stream on which outputs in a GPU's memory are used, where neither pst_batch_dlpack()
   * nor pst_batch_release_on() names another one. NULL: the default stream. */
  void *stream;
  /* Folders that links in the data may lead to, beside those that parameters name;
   * without them, such a link is an error with its name. Read, never written. URLs
   * (`http://`, `https://`, `s3://`, `gs://`, `az://`, `hf://`) open what lies below them to names
   * in lists. */
  const char *const *allowed_folders;
  size_t allowed_folder_count;
  pst_held held;
  /* Who orders the rows. With PST_ORDER_CALLER, `where`, `weighted` and `order` of the pipeline
   * only choose substitutes for bad samples: rows that `where` leaves out may be asked for. The
   * n-th row of an epoch has the position n * world + rank: each rank asks for its own. */
  pst_order order;
  pst_next_rows next_rows; /* not NULL: PST_ORDER_CALLER, and rows are asked for */
  void *next_rows_context;
  /* Not 0: the state does not keep rows that were asked for (or pushed) and not
   * delivered; they are asked for again after pst_session_restore(). */
  int ask_again;
  /* Not 0: only pst_session_sample() will be called. Else a table that fills no batch
   * is an error. */
  int samples_only;
  pst_last last;
  /* One for each `external_source` that the pipeline uses: that of `for` first, then the others in
   * the order of the text. Copied; the contexts must outlive the session. */
  const pst_external_table *tables;
  size_t table_count;
  /* A folder, of this user alone, on a disk of this machine, in which what is read of URLs is kept,
   * also for other sessions at the same time; made where it is missing. NULL: nothing is kept.
   * And the most bytes that it may take; 0: all but a twentieth of the disk, which stays free in
   * any case. */
  const char *remote_cache;
  uint64_t remote_cache_bytes;
} pst_session_options;

#define PST_SESSION_OPTIONS_INIT                                                                   \
  {sizeof(pst_session_options),                                                                    \
   NULL,                                                                                           \
   0,                                                                                              \
   NULL,                                                                                           \
   0,                                                                                              \
   NULL,                                                                                           \
   0,                                                                                              \
   0,                                                                                              \
   1,                                                                                              \
   0,                                                                                              \
   1,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   0,                                                                                              \
   NULL,                                                                                           \
   PST_DEVICE_AUTO,                                                                                \
   0,                                                                                              \
   NULL,                                                                                           \
   NULL,                                                                                           \
   0,                                                                                              \
   PST_HELD_ERROR,                                                                                 \
   PST_ORDER_PIPELINE,                                                                             \
   NULL,                                                                                           \
   NULL,                                                                                           \
   0,                                                                                              \
   0,                                                                                              \
   PST_LAST_PIPELINE,                                                                              \
   NULL,                                                                                           \
   0,                                                                                              \
   NULL,                                                                                           \
   0}

/* Opens the sources of `program`, takes the session's memory and starts its threads.
 * Work begins with the first call of pst_session_next().
 *
 * Sessions do not survive a fork: in the child, every call for one of the parent's
 * fails with an error that says so, pst_session_close() and pst_batch_release() return at once
 * and free nothing, and batches can be read. Sessions that the child opens, of programs
 * of the parent too, work as any.
 *
 * Always stores a session, also after an error: it then holds the message and
 * nothing else. Close it with pst_session_close().
 *
 * PST_ERROR  see pst_session_error(). */
PST_API pst_status pst_session_open(const pst_program *program, const pst_session_options *options,
                                    pst_session **out_session);

/* Returns the message of the last error of this session; "" if there was none. Lives
 * until the next call for the session. */
PST_API const char *pst_session_error(const pst_session *session);

/* Returns warnings about files that the session works without, such as a damaged
 * sidecar of checkpoints: a line each, or "". Lives as long as the session. */
PST_API const char *pst_session_warnings(const pst_session *session);

/* Waits for the next batch of `session` and stores it in `*out_batch`.
 *
 * The caller owns the batch and passes it to pst_batch_release(). While more than
 * `prefetch` are held, less is done ahead; at the limit, see pst_held.
 *
 * out_batch         set on PST_OK, and set to NULL otherwise.
 * PST_END_OF_EPOCH  no sample is left; the next call starts the next epoch, on which
 *                   work goes on meanwhile.
 * PST_NO_ROWS       only where rows come from the caller.
 * PST_ERROR         see pst_session_error().
 *
 * Thread safety: one call at a time per session; sessions are independent. */
PST_API pst_status pst_session_next(pst_session *session, pst_batch **out_batch);

/* As pst_session_next(), but waits for `timeout_ns` nanoseconds at most; 0: polls; negative: no
 * limit. PST_TIMEOUT: no batch became ready; call again. Since 0.2. */
PST_API pst_status pst_session_next_within(pst_session *session, int64_t timeout_ns,
                                           pst_batch **out_batch);

/* Goes to the beginning of `epoch`: of any epoch, at any time but after pst_session_cancel(), also
 * after an error or where the one before was left. With `parameters`, run-time parameters get other
 * values; those that are not named keep theirs.
 *
 * Epochs follow one another without it. Called between two that do, or before the
 * first, it costs nothing: work done ahead is used. Else that is dropped, and so are
 * all rows from the caller that are not delivered.
 *
 * PST_ERROR  a parameter is unknown, static, of another type, or says what is read
 *            (open another session for that); nothing changed.
 *
 * Thread safety: as pst_session_next().
 *
 * Since 0.2. */
PST_API pst_status pst_session_start(pst_session *session, uint32_t epoch,
                                     const pst_parameter *parameters, size_t parameter_count);

/* Lets values cross to the GPU at another level from now on ("pixels", "resampled", "final"), of a
 * program that was compiled with the transfer "all": batches that are in the making come first,
 * as they were begun, or are made again where the memory budget has no room for both levels, or an
 * earlier change is still under way. Changes no sample, no order and no state.
 *
 * PST_ERROR  there is no such level, the system gives no threads or no memory, or the GPU
 *            refuses the code; nothing changed.
 *
 * Thread safety: as pst_session_next().
 *
 * Since 0.2. */
PST_API pst_status pst_session_set_transfer(pst_session *session, const char *level);
/* Returns the level of batches that are begun from now on. Lives until the next call of this
 * function. Thread safety: as pst_session_next(). Since 0.2. */
PST_API const char *pst_session_transfer(pst_session *session);

/* Appends a batch of `count` rows behind the batches pushed before; 0: the epoch ends there.
 * Needs PST_ORDER_CALLER. Any number of batches may be pushed; as many as `prefetch` are
 * worked on.
 *
 * PST_ERROR  a row is not in the table, or there are more than the batch size; nothing
 *            changed.
 *
 * Thread safety: as pst_session_next().
 *
 * Since 0.2. */
PST_API pst_status pst_session_push_rows(pst_session *session, const int64_t *rows, size_t count);

/* Returns whether a batch more could be worked on ahead: with PST_ORDER_CALLER, how often
 * pst_session_push_rows() has taken rows or an end so far, and stores in `out_epoch` the epoch of
 * the next ones; -1: enough are pushed, of this epoch and the next, or the session has ended.
 * Work begins with its first call, as with that of pst_session_next().
 *
 * Thread safety: as pst_session_next().
 *
 * Since 0.2. */
PST_API int64_t pst_session_wants_rows(pst_session *session, uint32_t *out_epoch);

/* Makes a waiting and every later pst_session_next() return PST_CANCELLED, soon, and so
 * pst_session_start() and pst_session_sample(): the session is of no more use than to be asked what
 * it has done. Safe from any thread (not from a signal handler). */
PST_API void pst_session_cancel(pst_session *session);

/* Returns the position of the next call of pst_session_next(), as a line of text. Restoring
 * it gives the same remaining samples under any threads, prefetch and world
 * size. Lives until the next call of this function. Bad samples of the epoch so far count
 * for as much under another world size, each rank its share (` world=` in the text, which
 * versions before 0.2 do not read).
 *
 * Where rows come from the caller, they are counted as they are delivered, and those that
 * are not delivered yet are part of the text (unless `ask_again`): only the same rank of
 * the same world can go on, with a caller that goes on where it was asked last. With
 * `ask_again` it goes on behind `position` / world rows (pst_session_info). */
PST_API const char *pst_session_state(pst_session *session);
/* The same, as if the last batch of pst_session_next() were still to come: for who may be
 * interrupted between that call and the use of its batch. After the end of an epoch, and before the
 * first batch, it is pst_session_state(). Lives until the next call of this function. Thread
 * safety: as pst_session_state(). Since 0.2. */
PST_API const char *pst_session_state_before(pst_session *session);
/* Continues at a `state` of pst_session_state(). PST_ERROR: `state` is malformed, or another
 * pipeline's; nothing changed. */
PST_API pst_status pst_session_restore(pst_session *session, const char *state);

typedef struct pst_stage_statistics {
  const char *name; /* "select", "fetch", "probe", "setup", "decode", "kernels", "wait" */
  uint64_t count;
  int64_t busy_ns;
} pst_stage_statistics;

#define PST_STAGE_COUNT 7

typedef struct pst_jpeg_statistics {
  const char *name;
  uint64_t count;
} pst_jpeg_statistics;

#define PST_JPEG_ENTROPY_COUNT 7

typedef struct pst_video_reading {
  const char *name;
  uint64_t count;
} pst_video_reading;

#define PST_VIDEO_READING_COUNT 4

/* Costs of decoding clips of videos. */
typedef struct pst_video_statistics {
  uint64_t packets;  /* given to decoders */
  uint64_t restarts; /* decodes from a file's start, because one from a later point was damaged */
  /* Indexes that the session made, bytes that were read for them, and clips whose
   * file had one: of the table, of an earlier run, or of an earlier clip. */
  uint64_t indexes_made;
  uint64_t index_bytes;
  uint64_t indexes_reused;
  uint64_t late_bytes; /* read while decoding, of restarts; in fetched_bytes, too */
  /* Clips by the part of their files that was read: "packets", the clip's alone; or all of
   * it, because of "scattered_packets" (transport streams and the like),
   * "no_times" (frames can only be counted) or "no_place" (the table has no files). */
  pst_video_reading readings[PST_VIDEO_READING_COUNT];
} pst_video_statistics;

typedef struct pst_statistics {
  size_t size; /* set by the caller to sizeof(pst_statistics) */
  pst_stage_statistics stages[PST_STAGE_COUNT];
  uint64_t samples; /* delivered */
  uint64_t batches;
  uint64_t bad_samples;
  uint64_t fetched_bytes;
  uint64_t delivered_bytes;
  uint64_t decoded_blocks; /* 8x8 blocks that went through the inverse DCT */
  int64_t elapsed_ns;      /* since the first call of pst_session_next() */
  int32_t threads;
  const char *limit; /* the stage that limits, or "consumer" */
  /* JPEG files by the decoder of their entropy-coded data: "own", our fast decoder; or
   * libjpeg-turbo because of "other_coding" (arithmetic), "several_scans" (missing,
   * repeated), "odd_header", "no_end" (no end-of-image marker, data incomplete),
   * "odd_data" (damage) or "other_library" (not the libjpeg-turbo we know). */
  pst_jpeg_statistics jpeg_entropy[PST_JPEG_ENTROPY_COUNT];
  /* Parts of JPEG files that were read from checkpoints (`penstock index`), and
   * those for which there were none of this very file. Both 0 without a sidecar. */
  uint64_t index_uses;
  uint64_t index_misses;
  pst_video_statistics videos;
  /* Time that the caller waited for the last batch, and the longest such time; their sum is the
   * stage "wait". `late_batches` counts batches that were not ready when they were asked for. */
  int64_t last_wait_ns;
  int64_t longest_wait_ns;
  uint64_t late_batches;
  int64_t batch_slots; /* batches that there is memory for now */
} pst_statistics;

PST_API void pst_session_statistics(const pst_session *session, pst_statistics *out_statistics);

typedef struct pst_bad_sample {
  uint32_t epoch;
  int64_t position;
  int64_t row;
  const char *name; /* usually the file */
  const char *reason;
  int64_t substitute; /* the row that stands in its place; -1: none */
} pst_bad_sample;

/* Returns the samples that could not be used so far, of batches that were delivered, and of one
 * that was not because of them, in that order; of more than 65,536 the last ones. The array lives
 * until the next call of this function. */
PST_API void pst_session_bad_samples(pst_session *session, const pst_bad_sample **out_samples,
                                     size_t *out_count);

typedef struct pst_kernel_statistics {
  const char *name; /* as in pst_program_overview() */
  uint64_t count;   /* runs, of timed samples and of those that they stand for */
  int64_t busy_ns;
} pst_kernel_statistics;

/* Returns the time of each kernel so far: the parts of the stage "kernels". The array lives
 * until the next call of this function. */
PST_API void pst_session_kernels(pst_session *session, const pst_kernel_statistics **out_kernels,
                                 size_t *out_count);

typedef struct pst_session_info {
  size_t size; /* set by the caller to sizeof(pst_session_info) */
  int64_t table_length;
  int64_t batch_size;        /* of this rank; by length, of its largest: see pst_batch_count() */
  int64_t batches_per_epoch; /* -1 where rows come from the caller */
  int64_t samples_per_epoch; /* of this rank; likewise. By length, in the mean of all ranks */
  int32_t threads;
  uint64_t fixed_memory;  /* bytes */
  uint64_t sample_memory; /* most that one sample's own buffers may take */
  /* Processors that were available when the session was opened: those of the affinity mask;
   * the quota of the tightest cgroup, in processors (0: none), and the file with that
   * quota ("": none), which lives as long as the session. */
  int32_t processors;
  double processor_quota;
  const char *processor_limit;
  uint32_t epoch;   /* of the next batch */
  int64_t position; /* samples of it that are delivered, by all ranks */
  /* Bytes that the session and its batches have taken so far on a GPU, and of the host's pinned
   * memory, in which batches that are made there are, too. Both grow to what the largest batch
   * needs. */
  uint64_t device_memory;
  uint64_t pinned_memory;
  int64_t position_before; /* `position` of pst_session_state_before() */
} pst_session_info;

PST_API void pst_session_get_info(const pst_session *session, pst_session_info *out_info);

/* Returns the number of classes of the labels in the table of `for`: folders of
 * `image_folder`, `audio_folder` and `video_clips`, the list beside CIFAR's files. 0 if it has
 * none. Since 0.2. */
PST_API size_t pst_session_class_count(const pst_session *session);
/* Returns the name of class `index` < pst_session_class_count(), else NULL. Lives as long as the
 * session. Since 0.2. */
PST_API const char *pst_session_class_name(const pst_session *session, size_t index);

/* Reads a text column of a row of the table of `for`, such as `name` of `image_folder`; the
 * rows of a batch are pst_batch_rows(). Of `csv`, any column that the
 * file's first line names. `*out_text` lives until the next call of this function.
 *
 * PST_ERROR  there is no such row or column, or the text has a zero byte in it; see
 *            pst_session_error().
 *
 * Thread safety: as pst_session_next().
 *
 * Since 0.2. */
PST_API pst_status pst_session_row_text(pst_session *session, int64_t row, const char *column,
                                        const char **out_text);

/* Ends all work and all threads of the session; batches stay valid. NULL is
 * allowed. */
PST_API void pst_session_close(pst_session *session);

/*===--- rows from the caller ----------------------------------------------===*/

/* For pst_read_row, on the thread and during the time of its call. Each gives a column of the
 * row, by its name; a column that the pipeline does not use is left alone, and one that it uses
 * and that is not given makes the row bad. PST_ERROR: the value does not fit the column; the row is
 * bad, with a message that says how. */

/* The kind of values that the pipeline expects in a column. */
typedef enum pst_field {
  PST_FIELD_NONE = 0, /* there is none of that name, or it is not used */
  PST_FIELD_BYTES = 1,
  PST_FIELD_NUMBER = 2,
  PST_FIELD_ARRAY = 3
} pst_field;

/* Returns the kind of `column`. Since 0.2. */
PST_API pst_field pst_row_wants(const pst_row *row, const char *column);
/* Sets a column of bytes: `size` bytes of an encoded image or video, at most 1 GiB. Since 0.2. */
PST_API pst_status pst_row_bytes(pst_row *row, const char *column, const void *data, size_t size);
/* Sets a column of bytes to the contents of a file. It is read after the call, by a thread of the
 * session, from any folder; of a video only the packets needed. Relative paths start at the
 * current folder.
 *
 * Since 0.2. */
PST_API pst_status pst_row_file(pst_row *row, const char *column, const char *path);
/* Sets a column of bytes to a decoded image: u8 of `height` x `width` x `channels` (1: gray,
 * 3: red, green, blue), all at least 1 and at most 1 GiB. `strides` are bytes from one row,
 * column and channel to the next; NULL: they follow one another. `decode` gives these pixels.
 *
 * Since 0.2. */
PST_API pst_status pst_row_pixels(pst_row *row, const char *column, const void *data,
                                  int64_t height, int64_t width, int64_t channels,
                                  const int64_t *strides);
/* Set a column of numbers. An integer must lie in the column's type (bool: 0 and 1); for a
 * column of floats both are rounded to it, where they do not become infinite, and no other takes a
 * float. Both since 0.2. */
PST_API pst_status pst_row_int(pst_row *row, const char *column, int64_t value);
PST_API pst_status pst_row_float(pst_row *row, const char *column, double value);
/* Sets a column of arrays, of its type, rank and extents (the first may differ from row to row, if
 * the column is declared so). One whose first extent is 0, where the column may have that, may be
 * of any type, lack inner extents, and have 0 for them. `strides` in bytes; NULL: C order.
 *
 * Since 0.2. */
PST_API pst_status pst_row_array(pst_row *row, const char *column, pst_dtype dtype, int32_t rank,
                                 const int64_t *extents, const int64_t *strides, const void *data);
/* Sets a column of arrays to numbers that have no type of their own, such as those of a list:
 * PST_I64, PST_F64 or PST_BOOL, as they were read, in C order. Each is converted to the column's
 * type as pst_row_int and pst_row_float do.
 *
 * Since 0.2. */
PST_API pst_status pst_row_list(pst_row *row, const char *column, pst_dtype dtype, int32_t rank,
                                const int64_t *extents, const void *data);
/* Names the row in reports; else its name is its first file, or "row 17". Since 0.2. */
PST_API void pst_row_name(pst_row *row, const char *name);
/* Makes the row a bad sample, for a reason. The first reason counts. Since 0.2. */
PST_API void pst_row_fail(pst_row *row, const char *message);

/*===--- batches -----------------------------------------------------------===*/

/* One output. `shape` and `strides` (bytes) are in the order of the output's
 * declared axes. A ragged output has one axis in the place of `n` and its ragged
 * axis, and sample i has the values offsets[i] .. offsets[i + 1]. */
typedef struct pst_output {
  const char *name;
  pst_dtype dtype;
  int32_t rank;
  const char *const *axes;
  const int64_t *shape;
  const int64_t *strides;
  const void *data;       /* aligned to 64 bytes; in the memory of `device` */
  const int64_t *offsets; /* NULL unless ragged; in the host's memory */
  pst_device device;      /* PST_DEVICE_CPU, or PST_DEVICE_CUDA: GPU `device_number` */
  int32_t device_number;
} pst_output;

PST_API uint32_t pst_batch_epoch(const pst_batch *batch);
PST_API int64_t pst_batch_count(const pst_batch *batch); /* samples */
PST_API size_t pst_batch_output_count(const pst_batch *batch);
/* `index` < pst_batch_output_count(), in the order of the pipeline's text. */
PST_API const pst_output *pst_batch_output(const pst_batch *batch, size_t index);
/* pst_batch_count() positions in the epoch, and the rows that fill them. */
PST_API const int64_t *pst_batch_positions(const pst_batch *batch);
PST_API const int64_t *pst_batch_rows(const pst_batch *batch);
/* Returns the nanoseconds that the caller waited for the batch. Since 0.2. */
PST_API int64_t pst_batch_waited_ns(const pst_batch *batch);
/* Returns an output's values in the host's memory, by its shape and strides: its own memory, or a
 * copy from the GPU, made once. It lives until the batch is released. PST_ERROR: there is no such
 * output, or the copy failed.
 *
 * Thread safety: any thread.
 *
 * Since 0.2. */
PST_API pst_status pst_batch_host_data(const pst_batch *batch, size_t index, const void **out_data);
/* Returns a 64-bit hash of the bytes of one sample's outputs; `slot` < pst_batch_count(). 0 if
 * there is no such sample, or the copy from a GPU failed. */
PST_API uint64_t pst_batch_content_hash(const pst_batch *batch, int64_t slot);
/* Gives the batch back; NULL is allowed. The session may be closed before. Its memory is used
 * again once the tensors that were made of it are deleted, too. Outputs on a GPU are complete when
 * the batch is delivered, and are overwritten only after the work that was queued, at the release,
 * on the stream that uses them: see pst_session_options. Where pst_batch_dlpack() has named
 * streams, these alone are waited for: who reads other outputs of the batch directly names their
 * stream by pst_batch_release_on(). */
PST_API void pst_batch_release(pst_batch *batch);
/* As pst_batch_release(), for outputs used on `stream` (a CUDA stream; NULL: the default one).
 *
 * Since 0.2. */
PST_API void pst_batch_release_on(pst_batch *batch, void *stream);

/* The part of an output that a tensor holds: its values, or, if it is ragged, its offsets (i64). */
typedef enum pst_part { PST_VALUES = 0, PST_OFFSETS = 1 } pst_part;

struct DLManagedTensor;          /* of DLPack 0.8 and before ("legacy") */
struct DLManagedTensorVersioned; /* of DLPack 1.x */

/* Hands an output over as a DLPack tensor where it lies (kDLCPU or kDLCUDA), without a copy: for
 * `__dlpack__` of Python's array libraries, and whoever else includes dlpack.h. Strides may be any.
 * The consumer may write to it. Offsets lie with their values.
 *
 * The tensor keeps the batch's memory from being used again until its deleter is
 * called, which may happen on any thread, and after batch, session and program are
 * released. Any number of tensors can be made of one output.
 *
 * stream      the CUDA stream that the consumer uses the tensor on; the deleter orders
 *             the memory's next use behind the work queued there, so it must still exist then.
 * NULL: the session's. Nothing waits for the tensor: it is complete. On a CPU it has no effect.
 * out_tensor  set on PST_OK, and set to NULL otherwise.
 * PST_ERROR   there is no output `index`, or it has no such part.
 *
 * Thread safety: any thread, as long as the batch is not released.
 *
 * Both since 0.2. */
PST_API pst_status pst_batch_dlpack(pst_batch *batch, size_t index, pst_part part, void *stream,
                                    struct DLManagedTensorVersioned **out_tensor);
PST_API pst_status pst_batch_dlpack_legacy(pst_batch *batch, size_t index, pst_part part,
                                           void *stream, struct DLManagedTensor **out_tensor);
/* Hands over all outputs at once: a new list of CPython's capsules (`PyObject *`), in the order
 * of the pipeline's text, each with a tensor as above, named "dltensor_versioned" or, where
 * `versioned` is 0, "dltensor", for the same `stream`. A call from Python takes longer than making
 * a tensor.
 *
 * NULL  in a process without CPython, or with Python's MemoryError set.
 *
 * Thread safety: the caller holds the interpreter's lock.
 *
 * Since 0.2. */
PST_API void *pst_batch_capsules(pst_batch *batch, int versioned, void *stream);
/* Destructor of CPython's capsules with such a tensor, named "dltensor_versioned" or
 * "dltensor": deletes the tensor unless a consumer has taken it, and so renamed the capsule.
 * For PyCapsule_New; it may be called with an exception set, and runs none of Python's code.
 * In a process without CPython it does nothing. Since 0.2. */
PST_API void pst_capsule_delete(void *capsule);

/*===--- one sample --------------------------------------------------------===*/

/* A random value of a sample, as the pipeline sees it: a number of `draw`, the outcome of a
 * distribution such as `chance` or `normal`, a field that a `search` accepted. */
typedef struct pst_draw {
  const char *path; /* where it is written: pipeline, value, functions, name */
  double value;
  pst_dtype dtype;
} pst_draw;

/* Computes the sample at `position` of `epoch` alone.
 *
 * out_sample  set on PST_OK; release it with pst_sample_release().
 * PST_ERROR   see pst_session_error(). */
PST_API pst_status pst_session_sample(pst_session *session, uint32_t epoch, int64_t position,
                                      pst_sample **out_sample);

PST_API int64_t pst_sample_row(const pst_sample *sample);
PST_API const char *pst_sample_name(const pst_sample *sample);
/* Outputs have the axes of the pipeline's outputs without `n`. */
PST_API size_t pst_sample_output_count(const pst_sample *sample);
PST_API const pst_output *pst_sample_output(const pst_sample *sample, size_t index);
PST_API size_t pst_sample_draw_count(const pst_sample *sample);
PST_API const pst_draw *pst_sample_draw(const pst_sample *sample, size_t index);
PST_API uint64_t pst_sample_content_hash(const pst_sample *sample);
/* Returns the reason that the sample's own row was bad, if a substitute replaces it; else "". */
PST_API const char *pst_sample_bad_reason(const pst_sample *sample);
/* NULL is allowed. */
PST_API void pst_sample_release(pst_sample *sample);

#ifdef __cplusplus
}
#endif
