// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/numbers/Nifti.h"

#include "runtime/core/DType.h"

#include <bit>
#include <string>

namespace penstock::runtime {

Status NiftiVolume::open() {
  auto isPacked = GzipBytes::is(*file);
  if (!isPacked)
    return isPacked.error();
  if (*isPacked)
    packed.emplace(*file);
  auto read = readNiftiHeader(bytes());
  if (!read)
    return read.error();
  header = *read;
  return {};
}

Status NiftiVolume::say(media::Record &numbers) const {
  for (size_t axis = 0; axis < 7; ++axis)
    numbers[media::niftiExtent + axis] = header.extents[axis];
  for (size_t axis = 0; axis < 4; ++axis)
    numbers[media::niftiDistance + axis] = std::bit_cast<int64_t>(header.distances[axis]);
  for (size_t axis = 0; axis < 3; ++axis) {
    const size_t stored = header.upright ? (*header.upright)[axis].stored : axis;
    numbers[media::niftiUpright + axis] = header.extents[stored];
    numbers[media::niftiUprightDistance + axis] = std::bit_cast<int64_t>(header.distances[stored]);
  }
  return {};
}

Status NiftiVolume::checkEnd() {
  if (!packed)
    return {};
  auto end = packed->finish();
  if (!end)
    return end.error();
  const uint64_t wanted = header.offset + header.bytes();
  return *end < wanted
             ? Error{Code::Truncated, "truncated NIfTI file: it has " + std::to_string(*end) +
                                          " bytes of " + std::to_string(wanted) + ", unpacked"}
             : Status();
}

Result<StoredArray> NiftiVolume::array(const MediumRequest &request) const {
  const bool isReal = request.type == plan::DType::f32 || request.type == plan::DType::f64;
  StoredArray array{header.type, header.isBigEndian, header.offset};
  if (isReal) {
    array.slope = header.slope;
    array.inter = header.inter;
  } else if (header.slope != 1 || header.inter != 0) {
    return Error{Code::Unsupported, std::string("the file's numbers are scaled (by ") +
                                        std::to_string(header.slope) + ", and moved by " +
                                        std::to_string(header.inter) + "), and " +
                                        nameOf(request.type) + " does not hold them: `f32` does"};
  } else if (!holds(request.type, header.type)) {
    return Error{Code::Unsupported, std::string("the file has elements of ") + nameOf(header.type) +
                                        ", and " + nameOf(request.type) +
                                        " does not hold all of them"};
  }
  if (request.orient && !header.upright)
    return Error{Code::Corrupt, "the file's affine is flat: which way its axes go is not known"};
  std::array<int64_t, 7> strides;
  int64_t stride = sizeOf(header.type);
  for (size_t axis = 0; axis < strides.size(); stride *= header.extents[axis++])
    strides[axis] = stride;
  const size_t rank = request.rank();
  for (size_t axis = 0; axis < strides.size(); ++axis) {
    const bool isTurned = request.orient && axis < 3;
    const auto from = isTurned ? (*header.upright)[axis] : NiftiHeader::Axis{axis, false};
    const int64_t extent = header.extents[from.stored];
    if (axis < rank ? request.extents[rank - 1 - axis] != extent : extent != 1)
      return Error{Code::InvalidArgument, "the request is not of the file's shape"};
    if (axis >= rank)
      continue;
    array.strides[rank - 1 - axis] = from.isBack ? -strides[from.stored] : strides[from.stored];
    if (from.isBack)
      array.offset += uint64_t(strides[from.stored] * (extent - 1));
  }
  return array;
}

} // namespace penstock::runtime
