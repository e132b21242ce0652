// SPDX-License-Identifier: Apache-2.0
//
// Numbers that are written as text, in tables and small files.
#pragma once

#include "runtime/core/DType.h"
#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// The value of a scalar type as Source::scalar() gives it. Blanks and line ends
/// around the number are ignored. Whole numbers may be written as floats, `3.0` or `1e3`, as they
/// are where others of their column are missing. bool is `true`, `false`, `1` or `0`; floats
/// are rounded once to their type, and may be `nan` and `inf`.
///
/// InvalidArgument, with a message that begins with the text: "`x` is not a
/// whole number", "`300` does not fit u8".
Result<int64_t> parseValue(plan::DType type, std::string_view text);

/// Returns `text` without the blanks and line ends around it.
std::string_view trimmed(std::string_view text);

/// Returns `text` with small letters for `A` to `Z`.
std::string inSmallLetters(std::string_view text);

/// InvalidArgument: "`text` what". Of a long text, in UTF-8, the first 40 bytes or fewer are shown.
Error misfit(std::string_view text, const std::string &what);

} // namespace penstock::runtime
