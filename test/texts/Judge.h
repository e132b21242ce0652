// SPDX-License-Identifier: Apache-2.0
//
// One text through the compiler.
#pragma once

#include <string>

namespace penstock::texts {

/// The last stage of a text that is a program. LLVM's part is most of the time, and sees
/// little of what texts differ in.
enum class Depth {
  lowering, ///< to the plan and the LLVM dialect
  code,     ///< that, then to machine code and, where it needs no files, a batch
  words     ///< the first, then what explain, the overview and `--emit cuda` say
};

/// Returns the fault of a compilation; empty where the text was compiled, or refused as a
/// text should be.
std::string faultOf(const std::string &text, Depth depth);

} // namespace penstock::texts
