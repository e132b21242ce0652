// SPDX-License-Identifier: Apache-2.0
//
// The functions here run below libjpeg and may leave by longjmp (errorExit):
// they hold no object with a destructor at those points.
#include "runtime/media/jpeg/JpegMemory.h"

#include "runtime/core/Memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <jerror.h>

namespace penstock::runtime {

namespace {

// Rows start at this, and their length is a multiple of it, as in libjpeg:
// its SIMD routines load and store whole vectors.
constexpr size_t alignment = 64;
constexpr size_t firstBlock = 256 << 10;

size_t roundUp(size_t size) { return (size + alignment - 1) / alignment * alignment; }

[[noreturn]] void outOfMemory(j_common_ptr info) {
  info->err->msg_code = JERR_OUT_OF_MEMORY;
  info->err->msg_parm.i[0] = 0;
  info->err->error_exit(info);
  std::abort(); // error_exit does not return
}

} // namespace

struct JpegMemory::CoefficientArray {
  JBLOCKARRAY rows;
  JDIMENSION rowCount;
  JDIMENSION width;
  bool preZero;
  CoefficientArray *next;
};

JpegMemory::~JpegMemory() { freeBlocks(); }

void JpegMemory::freeBlocks() {
  for (Block &block : blocks)
    freeMemory(block.bytes, block.size);
  blocks.clear();
  usedInLast = 0;
}

uint64_t JpegMemory::heldBytes() const {
  uint64_t held = 0;
  for (const Block &block : blocks)
    held += block.size;
  return held;
}

void JpegMemory::install(jpeg_decompress_struct &info) {
  blocks.reserve(64);
  original = *info.mem;
  info.client_data = this;
  info.mem->alloc_small = allocate;
  info.mem->alloc_large = allocate;
  info.mem->alloc_sarray = allocateRows;
  info.mem->alloc_barray = allocateBlocks;
  info.mem->request_virt_barray = requestArray;
  info.mem->realize_virt_arrays = realizeArrays;
  info.mem->access_virt_barray = accessArray;
  info.mem->free_pool = freePool;
}

void *JpegMemory::take(j_common_ptr info, uint64_t wanted) {
  exhausted = false;
  if (wanted > limit || usedInAll + wanted > limit)
    outOfMemory(info);
  size_t size = roundUp(std::max<uint64_t>(wanted, 1));
  if (blocks.empty() || blocks.back().size - usedInLast < size) {
    // Doubling keeps the number of blocks, and so the vector, small: the
    // vector must not grow here, where an exception could not pass.
    size_t grown = std::max({size, firstBlock, size_t(usedInAll)});
    if (blocks.size() == blocks.capacity())
      outOfMemory(info);
    uint8_t *bytes = allocateMemory(grown);
    exhausted = !bytes;
    if (exhausted)
      outOfMemory(info);
    blocks.push_back({bytes, grown});
    usedInLast = 0;
  }
  uint8_t *result = blocks.back().bytes + usedInLast;
  usedInLast += size;
  usedInAll += size;
  peak = std::max(peak, usedInAll);
  return result;
}

void JpegMemory::reset() {
  // Several blocks become one at the next image's first request.
  uint64_t held = heldBytes();
  if (blocks.size() > 1 || held > keepAtMost) {
    freeBlocks();
    if (held <= keepAtMost) {
      if (uint8_t *bytes = allocateMemory(held))
        blocks.push_back({bytes, held});
    }
  }
  usedInLast = 0;
  usedInAll = 0;
  arrays = nullptr;
}

JpegMemory &JpegMemory::of(j_common_ptr info) {
  return *static_cast<JpegMemory *>(info->client_data);
}

// Permanent allocations of a decompressor are its quantisation and Huffman tables. Files without
// their own would decode with those of the file before them: here tables end with their image, too.
void *JpegMemory::allocate(j_common_ptr info, int, size_t size) {
  return of(info).take(info, size);
}

static void forgetTables(jpeg_decompress_struct &info) {
  std::ranges::fill(info.quant_tbl_ptrs, nullptr);
  std::ranges::fill(info.dc_huff_tbl_ptrs, nullptr);
  std::ranges::fill(info.ac_huff_tbl_ptrs, nullptr);
}

JSAMPARRAY JpegMemory::allocateRows(j_common_ptr info, int pool, JDIMENSION width,
                                    JDIMENSION rows) {
  JpegMemory &self = of(info);
  size_t pitch = roundUp(width);
  auto *result = static_cast<JSAMPARRAY>(self.take(info, uint64_t(rows) * sizeof(JSAMPROW)));
  auto *bytes = static_cast<JSAMPROW>(self.take(info, uint64_t(rows) * pitch));
  for (JDIMENSION row = 0; row < rows; ++row)
    result[row] = bytes + row * pitch;
  return result;
}

JBLOCKARRAY JpegMemory::allocateBlocks(j_common_ptr info, int pool, JDIMENSION width,
                                       JDIMENSION rows) {
  JpegMemory &self = of(info);
  auto *result = static_cast<JBLOCKARRAY>(self.take(info, uint64_t(rows) * sizeof(JBLOCKROW)));
  auto *bytes = static_cast<JBLOCKROW>(self.take(info, uint64_t(rows) * width * sizeof(JBLOCK)));
  for (JDIMENSION row = 0; row < rows; ++row)
    result[row] = bytes + size_t(row) * width;
  return result;
}

jvirt_barray_ptr JpegMemory::requestArray(j_common_ptr info, int, boolean preZero, JDIMENSION width,
                                          JDIMENSION rows, JDIMENSION) {
  JpegMemory &self = of(info);
  auto *array = static_cast<CoefficientArray *>(self.take(info, sizeof(CoefficientArray)));
  *array = {nullptr, rows, width, preZero != 0, self.arrays};
  self.arrays = array;
  return reinterpret_cast<jvirt_barray_ptr>(array);
}

void JpegMemory::realizeArrays(j_common_ptr info) {
  JpegMemory &self = of(info);
  for (CoefficientArray *array = self.arrays; array; array = array->next) {
    if (array->rows)
      continue;
    array->rows = allocateBlocks(info, JPOOL_IMAGE, array->width, array->rowCount);
    if (array->preZero && array->rowCount)
      std::memset(array->rows[0], 0, size_t(array->rowCount) * array->width * sizeof(JBLOCK));
  }
  self.original.realize_virt_arrays(info); // sample arrays, had there been any
}

JBLOCKARRAY JpegMemory::accessArray(j_common_ptr info, jvirt_barray_ptr array, JDIMENSION start,
                                    JDIMENSION rows, boolean) {
  auto *found = reinterpret_cast<CoefficientArray *>(array);
  if (!found->rows || start > found->rowCount || rows > found->rowCount - start) {
    info->err->msg_code = JERR_BAD_VIRTUAL_ACCESS;
    info->err->error_exit(info);
  }
  return found->rows + start;
}

void JpegMemory::freePool(j_common_ptr info, int pool) {
  JpegMemory &self = of(info);
  self.original.free_pool(info, pool);
  if (pool == JPOOL_IMAGE) {
    forgetTables(*reinterpret_cast<j_decompress_ptr>(info));
    self.reset();
  }
}

} // namespace penstock::runtime
