// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/numbers/Numbers.h"

#include <string>

namespace penstock::runtime {

Status NumbersFile::say(media::Record &numbers) {
  numbers[0] = int64_t(size());
  return {};
}

Result<StoredArray> NumbersFile::array(const MediumRequest &request) {
  const int64_t skip = request.arguments[0], has = int64_t(size());
  const auto whole = denseLayout(request);
  if (skip < 0 || skip > has || !whole || whole->bytes > has - skip)
    return Error{Code::Truncated, "the file has " + std::to_string(has) + " bytes, and " +
                                      std::to_string(whole ? whole->bytes : INT64_MAX) +
                                      " are wanted behind the first " + std::to_string(skip)};
  StoredArray array{storedAs(request.type), request.format == "big", uint64_t(skip)};
  array.packLastFastest(request.extents);
  return array;
}

} // namespace penstock::runtime
