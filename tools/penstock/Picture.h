// SPDX-License-Identifier: Apache-2.0
//
// Outputs as numbers and as pictures.
#pragma once

#include "api/c/penstock.h"
#include <functional>
#include <string>
#include <vector>

namespace penstock::cli {

/// The language's name of an element type.
const char *dtypeName(pst_dtype dtype);
int64_t dtypeBytes(pst_dtype dtype);
/// One element as a number.
double elementValue(pst_dtype dtype, const char *element);
/// An element in digits: integers with all of them.
std::string elementText(pst_dtype dtype, const char *element);
/// Visits every element, last axis fastest.
void forEachElement(const pst_output &output, const std::function<void(const char *)> &visit);

/// The number of the axis of this name, or -1.
int32_t axisOf(const pst_output &output, const char *name);

/// 8-bit RGB, row-major.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> rgb;
};

/// Returns whether an output without `n` can be shown: axes h and w, and at most c with
/// 1 or 3 elements beside others, of which the first element is shown.
bool isPicture(const pst_output &output);
/// u8 as it is, everything else stretched from its least to its largest value.
Picture makePicture(const pst_output &output);

} // namespace penstock::cli
