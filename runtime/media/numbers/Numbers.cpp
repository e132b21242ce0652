// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/numbers/Numbers.h"

#include "runtime/media/numbers/StoredArray.h"

namespace penstock::runtime {

namespace {

/// Where the elements lie. Whether a file is good does not depend on what is read of it.
Result<StoredArray> plainArray(MediaBytes &file, const MediumRequest &request) {
  const int64_t skip = request.arguments[0], size = int64_t(file.size());
  const auto whole = denseLayout(request);
  if (skip < 0 || skip > size || !whole || whole->bytes > size - skip)
    return Error{Code::Truncated, "the file has " + std::to_string(size) + " bytes, and " +
                                      std::to_string(whole ? whole->bytes : INT64_MAX) +
                                      " are wanted behind the first " + std::to_string(skip)};
  StoredArray array{storedAs(request.type), request.format == "big", uint64_t(skip)};
  array.packLastFastest(request.extents);
  return array;
}

} // namespace

Status Numbers::probe(const MediumInput &input, const ImageLimits &, media::Record &numbers) {
  OpenedMedia file(input);
  numbers[0] = int64_t((*file).size());
  return {};
}

Status Numbers::parts(const MediumInput &input, const MediumRequest &request,
                      std::vector<ByteRange> &parts) {
  OpenedMedia file(input);
  auto array = plainArray(*file, request);
  if (!array)
    return array.error();
  addParts(*array, request, parts);
  return {};
}

Status Numbers::decode(const MediumInput &input, const MediumRequest &request,
                       const MediumLayout &layout, uint8_t *out) {
  OpenedMedia file(input);
  auto array = plainArray(*file, request);
  return array ? readArray(*file, *array, request, layout, out, room) : Status(array.error());
}

} // namespace penstock::runtime
