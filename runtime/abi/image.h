/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code as a file.
 *
 * Layout: pst_image_header, `entry_count` times pst_image_entry each followed
 * by its name (not terminated, padded to 8 bytes), padding to `code_offset`,
 * then code and read-only data. In memory, the data starts at the first page
 * after the code: `data_offset` counts from the first byte of the code. Nothing
 * is relocated when loading. Little-endian, 8-byte aligned.
 */
#pragma once

#include <stdint.h>

#define PST_IMAGE_MAGIC 0x49545350u /* "PSTI" */
#define PST_IMAGE_PAGE 4096u

typedef struct pst_image_header {
  uint32_t magic;
  uint32_t abi;   /* PST_KERNEL_ABI_VERSION */
  uint32_t level; /* as level.h numbers it */
  uint32_t entry_count;
  uint64_t size;        /* of the whole file */
  uint64_t code_offset; /* in the file */
  uint64_t code_size;
  uint64_t data_offset; /* in memory, a multiple of the page size */
  uint64_t data_size;   /* in the file right after the code */
  uint64_t checksum;    /* pst_image_checksum with this field as 0 */
} pst_image_header;

typedef struct pst_image_entry {
  uint64_t offset; /* from the first byte of the code */
  uint64_t name_size;
} pst_image_entry;

/* FNV-1a over 64-bit words; the bytes past the last word count as one more. */
static inline uint64_t pst_image_checksum(const uint8_t *bytes, uint64_t size) {
  uint64_t hash = 0xCBF29CE484222325u, at = 0;
  while (at < size) {
    uint64_t word = 0;
    for (unsigned i = 0; i < 8 && at < size; ++i, ++at)
      word |= (uint64_t)bytes[at] << (8 * i);
    hash = (hash ^ word) * 0x100000001B3u;
    hash ^= hash >> 29;
  }
  return hash;
}
