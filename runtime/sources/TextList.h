// SPDX-License-Identifier: Apache-2.0
//
// Lists of numbers that are written as text, in tables.
#pragma once

#include "runtime/sources/Source.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Reads `[1, 2, 3]`, or `[[1, 2], [3, 4]]` for two axes: elements as parseValue()
/// takes them. Where `isPlain`, a list of one axis may lack its brackets, and
/// blanks and semicolons part numbers as commas do. Returns the leading extent.
///
/// \param out  null, or room for that many elements, as a first call found them.
///
/// InvalidArgument, with a message about the text: "`x` is not a number". Corrupt for a list that
/// is right but for its length: "has 3 elements along axis 0, at most 2 are declared".
Result<int64_t> parseList(plan::DType type, std::span<const Extent> dims, std::string_view text,
                          bool isPlain, uint8_t *out);

/// Return the list in the form of Source::shape() and Source::tensor().
Status shapeOfList(const ColumnInfo &column, std::string_view text, bool isPlain, TensorView &out);
Result<TensorView> tensorOfList(const ColumnInfo &column, std::string_view text, bool isPlain,
                                Buffer &scratch);

/// As parseValue(), but Corrupt where nothing is written, or `null`: "has no number".
Result<int64_t> parseNumber(plan::DType type, std::string_view text);

/// As parseNumber(), for a column of scalars: a class's number where it has classes. Corrupt where
/// nothing is written: "has no class".
Result<int64_t> parseScalar(const ColumnInfo &column, std::string_view text);

/// Returns an error of parseList() or parseValue() as one of a column: "column `a` has 3 ...".
Error ofColumn(const std::string &column, const Error &error);

/// Where the rows stand that lack a number, whose lists have too many or too few elements, or that
/// name no file: they fail when they are read, and say so with their line. 16 bytes for each.
class MisfitLines {
public:
  /// Rows come in order, a row as often as it likes.
  void add(int64_t row, uint64_t line);
  /// Returns "list.csv:2: column `a` has 3 elements ...".
  Error placed(const std::string &path, int64_t row, const std::string &column,
               const Error &error) const;
  /// Returns a file's name as it is; placed() if it is empty.
  Result<std::string> named(const std::string &path, int64_t row, const std::string &column,
                            std::string name) const;

private:
  struct Line {
    int64_t row;
    uint64_t number;
  };
  std::vector<Line> rows;
};

} // namespace penstock::runtime
