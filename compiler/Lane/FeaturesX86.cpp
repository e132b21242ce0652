// SPDX-License-Identifier: Apache-2.0
//
// Features of the levels of x86-64.
#include "compiler/Lane/Architectures.h"

using namespace penstock::lane;

Features penstock::lane::featuresOfX86(int64_t level) {
  Features has;
  has.signMask = level < 4; // AVX-512 has conditions in registers of their own
  if (level >= 3) {         // AVX2, FMA, F16C
    has.registerBytes = 32;
    has.fusedMultiplyAdd = has.convertsHalves = true;
    has.leastSelected = 4; // vpermd, vpblendd
  }
  if (level >= 4) { // AVX-512 F, BW, DQ, VL
    has.registerBytes = 64;
    has.registers = 32;
    has.storesHalves = true; // vcvtps2ph, half a register
    has.numbers = true;      // vrangeps, vfixupimmps
    has.convertUp = true;    // vcvtudq2ps with a rounding mode
    has.permuteInts = true;  // vpermt2d
    has.leastSelected = 2;   // vpermt2w
  }
  if (level >= 5) // VBMI, VNNI
    has.permuteBytes = has.dotQuads = true;
  return has;
}
