// SPDX-License-Identifier: Apache-2.0
//
// Class folders of JPEG files for the reference, decoded whole by the plain
// library: nothing of the runtime's decoder takes part.
#pragma once

#include "stdlib/reference/Interpreter.h"
#include <string>
#include <vector>

namespace penstock::parity {

/// `image_folder(root)`: classes and files in the order of their names.
class PictureTable : public reference::Table {
public:
  explicit PictureTable(const std::string &root);
  int64_t length() const override { return static_cast<int64_t>(files.size()); }
  reference::Field field(int64_t row, const std::string &name) const override;

private:
  struct File {
    std::string path;
    int64_t label;
  };
  std::vector<File> files;
};

class Jpeg : public reference::Media {
public:
  std::optional<Header> probe(const std::string &media,
                              const reference::Bytes &data) const override;
  std::optional<reference::Tensor> decode(const std::string &media, const std::string &format,
                                          const reference::Bytes &data) const override;
  /// JPEG files alone.
  std::optional<reference::Bytes> encode(const std::string &format, const reference::Tensor &value,
                                         int64_t quality) const override;
};

} // namespace penstock::parity
