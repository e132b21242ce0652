// SPDX-License-Identifier: Apache-2.0
//
// Bytes as numbers of any type: the smallest medium.
#pragma once

#include "runtime/media/numbers/ArrayMedium.h"

namespace penstock::runtime {

/// Elements stand one behind the other, the last axis fastest, behind as many bytes
/// as the first argument says; `format` is their byte order.
class NumbersFile final : public ArrayFile {
public:
  using ArrayFile::ArrayFile;
  Status open() { return {}; }
  Status say(media::Record &numbers);
  Result<StoredArray> array(const MediumRequest &request);
};

using Numbers = ArrayMedium<NumbersFile>;

} // namespace penstock::runtime
