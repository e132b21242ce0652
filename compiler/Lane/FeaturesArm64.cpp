// SPDX-License-Identifier: Apache-2.0
//
// Features of 64-bit ARM: Neon, which all of it has.
#include "compiler/Lane/Architectures.h"

using namespace penstock::lane;

Features penstock::lane::featuresOfArm64() {
  Features has;
  has.registers = 32;
  has.fusedMultiplyAdd = has.convertsHalves = true;
  has.numbers = true;      // fminnm, fmaxnm
  has.permuteInts = true;  // tbl, with numbers of bytes
  has.permuteBytes = true; // tbl
  return has;
}
