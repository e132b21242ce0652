// SPDX-License-Identifier: Apache-2.0
//
// Arrays as files hold them: elements at fixed distances, of one type.
#pragma once

#include "runtime/media/Medium.h"

#include <array>
#include <cstdint>
#include <vector>

namespace penstock::runtime {

/// Types of elements in files; more than pipelines have.
enum class Stored : uint8_t { u8, i8, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64, boolean };

int64_t sizeOf(Stored type);
/// As in the language; `u32`, `u64`.
const char *nameOf(Stored type);
Stored storedAs(plan::DType type);
/// Returns whether `type` has the numbers of an integer type.
bool holds(plan::DType type, Stored stored);
/// Returns whether elements of a file can be written as `type`: f32 and f64 are any, rounded, and
/// integers those that they hold.
bool becomes(plan::DType type, Stored stored);

/// Element (i, j, ...) lies at i * strides[0] + j * strides[1] + ... bytes behind `offset`. It
/// stands for stored * slope + inter, computed in f64; a slope of 1 and an inter of 0 leave it as
/// it is.
struct StoredArray {
  Stored type = Stored::u8;
  bool isBigEndian = false;
  uint64_t offset = 0;
  std::array<int64_t, PST_MAX_RANK> strides{}; ///< any sign; elements do not overlap
  double slope = 1, inter = 0;

  bool isScaled() const { return slope != 1 || inter != 0; }
  /// Strides of elements one behind the other, the last axis fastest.
  void packLastFastest(std::span<const int64_t> extents);
  void packFirstFastest(std::span<const int64_t> extents);
};

/// Adds where the elements of a box lie, as readArray() asks for them; ascending, and none apart by
/// less than a read costs.
void addParts(const StoredArray &array, const MediumRequest &request,
              std::vector<ByteRange> &parts);

/// Writes the elements of the request's box, which must lie inside of the file, in its type: equal
/// types bit for bit (bool: whether a byte is not 0), all others through f64, or for integers i64.
/// Bytes are asked for from the file's beginning to its end, never twice.
Status readArray(MediaBytes &file, const StoredArray &array, const MediumRequest &request,
                 const MediumLayout &layout, uint8_t *out, std::vector<uint8_t> &room);

/// The same of columns: arrays of one axis, which are the rows of a box of one axis or two; along
/// the second lie the columns. Each has its own type, place and distance from row to row, which may
/// be that of rows or that of a column by itself; all have the type's elements for each row.
void addParts(std::span<const StoredArray> columns, const MediumRequest &request,
              std::vector<ByteRange> &parts);
Status readArray(MediaBytes &file, std::span<const StoredArray> columns,
                 const MediumRequest &request, const MediumLayout &layout, uint8_t *out,
                 std::vector<uint8_t> &room);

} // namespace penstock::runtime
