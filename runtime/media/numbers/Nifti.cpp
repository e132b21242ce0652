// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/numbers/Nifti.h"

#include "runtime/core/DType.h"
#include "runtime/media/numbers/Gzip.h"
#include "runtime/media/numbers/NiftiFile.h"

#include <bit>
#include <optional>
#include <string>

namespace penstock::runtime {

namespace {

/// A file of NIfTI, and what it is packed in.
struct Volume {
  explicit Volume(const MediumInput &input) : file(input) {}

  Status open() {
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
  /// Whether a packed file is good does not depend on what is read of it; others say in their
  /// header how long they are.
  Status checkEnd() {
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
  MediaBytes &bytes() { return packed ? static_cast<MediaBytes &>(*packed) : *file; }

  OpenedMedia file;
  std::optional<GzipBytes> packed;
  NiftiHeader header;
};

/// Where the elements lie; or what is wrong with the file for this request.
Result<StoredArray> niftiArray(const NiftiHeader &header, const MediumRequest &request) {
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

/// The same of a file that is still to be opened.
Result<StoredArray> arrayOf(Volume &volume, const MediumRequest &request) {
  Status status = volume.open();
  return status ? niftiArray(volume.header, request) : Result<StoredArray>(status.error());
}

} // namespace

Status Nifti::probe(const MediumInput &input, const ImageLimits &, media::Record &numbers) {
  Volume volume(input);
  if (Status status = volume.open(); !status)
    return status;
  const NiftiHeader &header = volume.header;
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

Status Nifti::parts(const MediumInput &input, const MediumRequest &request,
                    std::vector<ByteRange> &parts) {
  Volume volume(input);
  auto array = arrayOf(volume, request);
  if (!array)
    return array.error();
  if (volume.packed)
    parts.push_back({0, (*volume.file).size()});
  else
    addParts(*array, request, parts);
  return {};
}

Status Nifti::decode(const MediumInput &input, const MediumRequest &request,
                     const MediumLayout &layout, uint8_t *out) {
  Volume volume(input);
  auto array = arrayOf(volume, request);
  if (!array)
    return array.error();
  const Status status = readArray(volume.bytes(), *array, request, layout, out, room);
  const Status end = volume.checkEnd();
  return end ? status : end;
}

Status Nifti::accepts(const MediumInput &input, const MediumRequest &request) {
  Volume volume(input);
  auto array = arrayOf(volume, request);
  return array ? Status() : Status(array.error());
}

Status Nifti::checkEnd(const MediumInput &input) {
  Volume volume(input);
  Status status = volume.open();
  return status ? volume.checkEnd() : status;
}

} // namespace penstock::runtime
