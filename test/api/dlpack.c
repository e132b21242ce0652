/* SPDX-License-Identifier: Apache-2.0 */
/* Outputs as DLPack tensors: types, extents, who owns what, and that memory which
 * somebody holds is not used again. The threads are there for ThreadSanitizer.
 *
 *   api_dlpack_test fill|run FOLDER   as api_threads_test */
#define _POSIX_C_SOURCE 200809L
#include "api/c/dlpack_abi.h"
#include "test/api/expect.h"
#include <pthread.h>
#include <string.h>

enum { ROWS = 64, BATCH = 4 };

static const char *const text =
    "pipe 1\n"
    "pipeline types(pixels: path) {\n"
    "  for row in raw(image = column(pixels, u8[h = 2, w = 3, c = 3])) order sequential\n"
    "  let first = row.image[h = 0, w = 0, c = 0]\n"
    "  batch 4 per rank last keep {\n"
    "    output image: u8[n, c, h, w] stored [n, h, w, c] = row.image\n"
    "    output i8s: i8[n] = i8(first)\n"
    "    output u16s: u16[n] = u16(first)\n"
    "    output i16s: i16[n] = i16(first)\n"
    "    output i32s: i32[n] = i32(first)\n"
    "    output i64s: i64[n] = i64(first)\n"
    "    output halves: f16[n, h, w, c] = map (p in row.image) { f16(p) }\n"
    "    output brains: bf16[n, h, w, c] = map (p in row.image) { bf16(p) }\n"
    "    output f32s: f32[n] = f32(first)\n"
    "    output f64s: f64[n] = f64(first)\n"
    "    output flags: bool[n] = first > 3\n"
    "  }\n"
    "}\n";

static const char *const ragged =
    "pipe 1\n"
    "pipeline ragged() {\n"
    "  for row in synthetic(12, boxes = f32[k = 0 ..= 5, q = 4]) order sequential\n"
    "  batch 3 per rank last keep { output boxes: f32[n, k <= 5, q] ragged = row.boxes }\n"
    "}\n";

static uint8_t pixels[ROWS][2][3][3];

static pst_session *open_session(const pst_program *program) {
  static const int64_t extents[4] = {ROWS, 2, 3, 3};
  const pst_memory_column column = {"image", PST_U8, 4, extents, pixels};
  return open_on(program, &column, "pixels", PST_HELD_ERROR);
}

static pst_batch *next(pst_session *session) {
  pst_batch *batch = NULL;
  pst_status status = pst_session_next(session, &batch);
  if (status == PST_END_OF_EPOCH)
    status = pst_session_next(session, &batch);
  EXPECT(status == PST_OK);
  return batch;
}

static void test_types(const pst_program *program) {
  static const struct {
    const char *name;
    uint8_t code, bits;
  } wanted[] = {{"image", 1, 8}, {"i8s", 0, 8},   {"u16s", 1, 16},   {"i16s", 0, 16},
                {"i32s", 0, 32}, {"i64s", 0, 64}, {"halves", 2, 16}, {"brains", 4, 16},
                {"f32s", 2, 32}, {"f64s", 2, 64}, {"flags", 6, 8}};
  pst_session *session = open_session(program);
  pst_batch *batch = next(session);
  DLManagedTensorVersioned *tensor = NULL;
  DLManagedTensor *legacy = NULL;
  size_t i;
  EXPECT(pst_batch_output_count(batch) == sizeof wanted / sizeof *wanted);
  for (i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    const pst_output *output = pst_batch_output(batch, i);
    int32_t axis;
    EXPECT(strcmp(output->name, wanted[i].name) == 0);
    EXPECT(pst_batch_dlpack(batch, i, PST_VALUES, NULL, &tensor) == PST_OK);
    EXPECT(pst_batch_dlpack_legacy(batch, i, PST_VALUES, NULL, &legacy) == PST_OK);
    EXPECT(tensor->version.major == 1 && tensor->flags == 0);
    EXPECT(tensor->dl_tensor.data == output->data && tensor->dl_tensor.byte_offset == 0);
    EXPECT(tensor->dl_tensor.device.device_type == PST_DL_CPU);
    EXPECT(tensor->dl_tensor.dtype.code == wanted[i].code);
    EXPECT(tensor->dl_tensor.dtype.bits == wanted[i].bits && tensor->dl_tensor.dtype.lanes == 1);
    EXPECT(tensor->dl_tensor.ndim == output->rank);
    for (axis = 0; axis < output->rank; ++axis) {
      EXPECT(tensor->dl_tensor.shape[axis] == output->shape[axis]);
      EXPECT(tensor->dl_tensor.strides[axis] * wanted[i].bits / 8 == output->strides[axis]);
      EXPECT(legacy->dl_tensor.shape[axis] == output->shape[axis]);
      EXPECT(legacy->dl_tensor.strides[axis] == tensor->dl_tensor.strides[axis]);
    }
    EXPECT(legacy->dl_tensor.data == output->data &&
           legacy->dl_tensor.dtype.code == wanted[i].code);
    tensor->deleter(tensor);
    legacy->deleter(legacy);
  }
  EXPECT(pst_batch_dlpack(batch, i, PST_VALUES, NULL, &tensor) == PST_ERROR && tensor == NULL);
  EXPECT(pst_batch_dlpack(batch, 0, PST_OFFSETS, NULL, &tensor) == PST_ERROR && tensor == NULL);
  EXPECT(pst_batch_capsules(batch, 1, NULL) == NULL); /* there is no Python here */
  pst_batch_release(batch);
  pst_session_close(session);
}

/* All other memory is overwritten by its readers; what is held stays as it was. */
static void test_held_memory_is_not_used_again(const pst_program *program) {
  pst_session *session = open_session(program);
  pst_batch *batch = next(session);
  DLManagedTensorVersioned *held = NULL;
  uint8_t before[BATCH * 18];
  const void *memory;
  int i, seen = 0;
  EXPECT(pst_batch_dlpack(batch, 0, PST_VALUES, NULL, &held) == PST_OK);
  memory = held->dl_tensor.data;
  memcpy(before, memory, sizeof before);
  pst_batch_release(batch);
  for (i = 0; i < 200; ++i) {
    pst_batch *other = next(session);
    const pst_output *image = pst_batch_output(other, 0);
    EXPECT(image->data != memory);
    memset((void *)image->data, 0xEE, sizeof before);
    pst_batch_release(other);
  }
  EXPECT(memcmp(before, memory, sizeof before) == 0);
  held->deleter(held);
  for (i = 0; i < 8; ++i) { /* now it comes back */
    batch = next(session);
    seen += pst_batch_output(batch, 0)->data == memory;
    pst_batch_release(batch);
  }
  EXPECT(seen > 0);
  pst_session_close(session);
}

static void *delete_tensors(void *given) {
  DLManagedTensorVersioned **tensors = given;
  int i;
  for (i = 0; i < 3; ++i)
    tensors[i]->deleter(tensors[i]);
  return NULL;
}

/* Deleted by other threads, while the session runs and after all of it is gone. */
static void test_deleters_on_other_threads(pst_program *program) {
  pst_session *session = open_session(program);
  DLManagedTensorVersioned *tensors[2][3];
  pthread_t threads[2];
  pst_batch *batch;
  size_t set, i;
  for (set = 0; set < 2; ++set) {
    batch = next(session);
    for (i = 0; i < 3; ++i)
      EXPECT(pst_batch_dlpack(batch, i, PST_VALUES, NULL, &tensors[set][i]) == PST_OK);
    pst_batch_release(batch);
  }
  EXPECT(pthread_create(&threads[0], NULL, delete_tensors, tensors[0]) == 0);
  for (i = 0; i < 20; ++i)
    pst_batch_release(next(session));
  pst_session_close(session);
  pst_program_release(program);
  EXPECT(((const uint8_t *)tensors[1][0]->dl_tensor.data)[0] == BATCH);
  EXPECT(pthread_create(&threads[1], NULL, delete_tensors, tensors[1]) == 0);
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
}

static void test_ragged(pst_program *program) {
  pst_session *session = NULL;
  pst_batch *batch = NULL;
  DLManagedTensor *tensor = NULL;
  EXPECT(pst_session_open(program, NULL, &session) == PST_OK);
  batch = next(session);
  EXPECT(pst_batch_dlpack_legacy(batch, 0, PST_OFFSETS, NULL, &tensor) == PST_OK);
  EXPECT(tensor->dl_tensor.ndim == 1 && tensor->dl_tensor.shape[0] == 4);
  EXPECT(tensor->dl_tensor.dtype.code == PST_DL_INT && tensor->dl_tensor.dtype.bits == 64);
  EXPECT(tensor->dl_tensor.data == (const void *)pst_batch_output(batch, 0)->offsets);
  EXPECT(((const int64_t *)tensor->dl_tensor.data)[3] == pst_batch_output(batch, 0)->shape[0]);
  tensor->deleter(tensor);
  EXPECT(pst_batch_dlpack_legacy(batch, 0, PST_VALUES, NULL, &tensor) == PST_OK);
  EXPECT(tensor->dl_tensor.ndim == 2 && tensor->dl_tensor.shape[1] == 4);
  tensor->deleter(tensor);
  pst_batch_release(batch);
  pst_session_close(session);
  pst_program_release(program);
}

int main(int argc, char **argv) {
  pst_program *program, *lists;
  size_t row;
  if (argc != 3)
    return 2;
  cache_folder = argv[2];
  for (row = 0; row < ROWS; ++row)
    memset(pixels[row], (int)row, sizeof pixels[row]);
  program = compile_text(text, "types.pipe");
  lists = compile_text(ragged, "ragged.pipe");
  if (strcmp(argv[1], "fill") == 0) {
    pst_program_release(program);
    pst_program_release(lists);
    return finish();
  }
  test_types(program);
  test_held_memory_is_not_used_again(program);
  test_ragged(lists);
  test_deleters_on_other_threads(program);
  return finish();
}
