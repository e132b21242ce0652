//===- Judge.h - one text through the compiler ----------------------------===//
#ifndef PENSTOCK_TEST_TEXTS_JUDGE_H
#define PENSTOCK_TEST_TEXTS_JUDGE_H

#include <string>

namespace penstock::texts {

/// Checks, compiles and, where it needs no files, runs a text. What is wrong with how
/// that ended; empty where a text was compiled, or refused as a text should be.
std::string faultOf(const std::string &text);

} // namespace penstock::texts

#endif
