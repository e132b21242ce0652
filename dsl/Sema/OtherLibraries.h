// SPDX-License-Identifier: Apache-2.0
//
// Names that torchvision, albumentations, OpenCV, Pillow, NumPy, PyTorch, librosa and
// Python itself have for functions and types of the language: for hints only.
#pragma once

#include <span>
#include <string_view>

namespace penstock::dsl {

/// A name of another library, in small letters without `_`, so that
/// `HorizontalFlip` and `horizontal_flip` are one.
struct OtherName {
  std::string_view name;
  /// The counterpart in the language: a stage (`|> flip(w)`) or an expression of an image
  /// `x`, a sound `s`, tensors of floats `a` and `b`. A test compiles each. Empty:
  /// there is advice only.
  std::string_view ours;
  std::string_view says = {}; ///< in place of `ours`
};

std::span<const OtherName> otherNames();
/// The entry of a name as it was written there, or null.
const OtherName *findOtherName(std::string_view written);
/// Returns whether it is a usual name of such a library: `numpy`, `np`, `cv2`, `F` ...
bool isOtherLibrary(std::string_view name);

/// Returns the language's element type: `f32` for `float32`. Empty if there is none.
std::string_view ourType(std::string_view theirs);
/// Returns names that the language's functions may have for such a parameter; the first that a
/// function has is its counterpart.
std::span<const std::string_view> ourParameters(std::string_view theirs);
/// Returns advice for a parameter that has no counterpart, or "".
std::string_view parameterAdvice(std::string_view theirs);

/// Returns whether two names differ in capitals and `_` only.
bool sameWords(std::string_view a, std::string_view b);

} // namespace penstock::dsl
