// SPDX-License-Identifier: Apache-2.0
//
// Lists of numbers that are written as text, in tables.
#pragma once

#include "runtime/sources/Source.h"

#include <span>
#include <string_view>

namespace penstock::runtime {

/// Reads `[1, 2, 3]`, or `[[1, 2], [3, 4]]` for two axes: elements as parseValue()
/// takes them. Where `isPlain`, a list of one axis may lack its brackets, and
/// blanks and semicolons part numbers as commas do. Returns the leading extent.
///
/// \param out  null, or room for that many elements, as a first call found them.
///
/// InvalidArgument, with a message about the text: "`x` is not a number", "has 3
/// elements along axis 0, at most 2 are declared".
Result<int64_t> parseList(plan::DType type, std::span<const Extent> dims, std::string_view text,
                          bool isPlain, uint8_t *out);

/// Return the list in the form of Source::shape() and Source::tensor().
Status shapeOfList(const ColumnInfo &column, std::string_view text, bool isPlain, TensorView &out);
Result<TensorView> tensorOfList(const ColumnInfo &column, std::string_view text, bool isPlain,
                                Buffer &scratch);

} // namespace penstock::runtime
