// SPDX-License-Identifier: Apache-2.0
//
// Several tables as one.
#pragma once

#include "runtime/sources/Source.h"

#include <memory>
#include <string>
#include <vector>

namespace penstock::runtime {

/// The rows of the first part, then those of the second, and so on. A column `part` that a part
/// lacks is the part's number.
class ConcatSource : public Source {
public:
  /// \param parts    outlive the result; at least one
  /// \param columns  names; each but `part` is one of every part, with one type
  static Result<std::unique_ptr<ConcatSource>> open(std::vector<const Source *> parts,
                                                    const std::vector<std::string> &columns);

  /// The part that has a row, and the row's number there.
  struct Place {
    size_t part;
    int64_t row;
  };
  Place placeOf(int64_t row) const;

  std::string rowName(int64_t row) const override;
  std::string fileName(int64_t row, int column) const override;
  Result<int64_t> scalar(int64_t row, int column) const override;
  Result<std::string> text(int64_t row, int column) const override;
  Result<std::string> otherText(int64_t row, std::string_view column) const override;
  Status fetch(int64_t row, int column, Buffer &out) const override;
  Result<MediaPlace> place(int64_t row, int column) const override;
  /// Those of the parts, where all have the same ones.
  std::vector<std::string> classNames() const override;
  std::span<const uint8_t> mediaIndex(int64_t row, int column) const override;
  uint64_t indexesMade() const override;
  Status shape(int64_t row, int column, TensorView &out) const override;
  Result<TensorView> tensor(int64_t row, int column, Buffer &scratch) const override;
  int64_t rowsBehind(int64_t row) const override;
  void prefetch(int64_t row, int column) const override;

private:
  struct Part {
    const Source *source;
    int64_t begin;            ///< its first row's number
    std::vector<int> columns; ///< its number of each column; -1: the part's number
  };
  ConcatSource(int64_t rows, std::vector<ColumnInfo> columns, std::vector<Part> parts)
      : Source(rows, std::move(columns)), parts(std::move(parts)) {}

  std::vector<Part> parts;
};

} // namespace penstock::runtime
