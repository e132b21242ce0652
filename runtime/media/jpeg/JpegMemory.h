// SPDX-License-Identifier: Apache-2.0
//
// Memory for libjpeg that is kept from image to image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <jpeglib.h>
#include <vector>

namespace penstock::runtime {

/// libjpeg frees an image's pools after each image. Where these lie at the top
/// of the heap, glibc returns them to the system every time, and each sample
/// pays 0.1 ms of page faults. So image pools come from an arena here, and so
/// do the coefficient arrays of progressive files, and the quantisation and
/// Huffman tables, which libjpeg would keep for the next image. What it asked
/// for before `install` stays with it.
class JpegMemory {
public:
  /// More than this is given back after the image that needed it.
  static constexpr size_t keepAtMost = 32 << 20;

  JpegMemory() = default;
  JpegMemory(const JpegMemory &) = delete;
  JpegMemory &operator=(const JpegMemory &) = delete;
  ~JpegMemory();

  /// Takes over the memory manager of `info`, which must have been created and
  /// must be destroyed before this object. Sets `info.client_data` to this.
  void install(jpeg_decompress_struct &info);

  /// Sets the limit of an image, which fails with JERR_OUT_OF_MEMORY beyond it.
  void setLimit(uint64_t bytes) { limit = bytes; }
  /// Whether the last image failed since there was no memory, within its limit.
  bool isExhausted() const { return exhausted; }
  /// Most bytes that one image took, and the bytes held now.
  uint64_t peakBytes() const { return peak; }
  uint64_t heldBytes() const;

private:
  struct Block {
    uint8_t *bytes;
    size_t size;
  };
  struct CoefficientArray; // libjpeg's jvirt_barray_control

  static JpegMemory &of(j_common_ptr info);
  static void *allocate(j_common_ptr info, int pool, size_t size);
  static JSAMPARRAY allocateRows(j_common_ptr info, int pool, JDIMENSION width, JDIMENSION rows);
  static JBLOCKARRAY allocateBlocks(j_common_ptr info, int pool, JDIMENSION width, JDIMENSION rows);
  static jvirt_barray_ptr requestArray(j_common_ptr info, int pool, boolean preZero,
                                       JDIMENSION width, JDIMENSION rows, JDIMENSION maxAccess);
  static void realizeArrays(j_common_ptr info);
  static JBLOCKARRAY accessArray(j_common_ptr info, jvirt_barray_ptr array, JDIMENSION start,
                                 JDIMENSION rows, boolean writable);
  static void freePool(j_common_ptr info, int pool);

  void *take(j_common_ptr info, uint64_t size);
  void reset();
  void freeBlocks();

  jpeg_memory_mgr original{};
  std::vector<Block> blocks;
  size_t usedInLast = 0;
  uint64_t usedInAll = 0;
  uint64_t peak = 0;
  uint64_t limit = UINT64_MAX;
  bool exhausted = false;
  CoefficientArray *arrays = nullptr;
};

} // namespace penstock::runtime
