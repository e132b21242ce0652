// SPDX-License-Identifier: Apache-2.0
//
// 64-bit ARM.
#include "codegen/cpu/Architecture.h"
#include "llvm/Support/TargetSelect.h"
#include <cstring>
#include <elf.h>

using namespace penstock::codegen;
using Fit = Architecture::Fit;

static constexpr uint64_t largestPage = 65536; ///< that its kernels have

static void initialiseArm64() {
  static const bool once = [] {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    return true;
  }();
  (void)once;
}

static Processor armProcessorOf(CpuLevel) { return {"generic"}; }

static std::optional<CpuLevel> levelOfArm64(llvm::StringRef intrinsic) {
  if (intrinsic.starts_with("neon."))
    return Target::named("armv8-a")->level;
  return std::nullopt;
}

static bool fits(int64_t value, unsigned bits) {
  return value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1);
}

/// Sets `count` bits of an instruction, from bit `first` on.
static void setBits(uint8_t *bytes, unsigned first, unsigned count, uint64_t value) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof word);
  const uint32_t mask = ((uint32_t{1} << count) - 1) << first;
  word = (word & ~mask) | (static_cast<uint32_t>(value << first) & mask);
  std::memcpy(bytes, &word, sizeof word);
}

/// The halves of an address relative to the instruction's page: images begin at a page.
static Fit setPage(const Reference &r) {
  const int64_t pages = (r.to >> 12) - static_cast<int64_t>(r.place >> 12);
  if (!fits(pages, 21))
    return Fit::tooFar;
  setBits(r.bytes, 29, 2, static_cast<uint64_t>(pages));
  setBits(r.bytes, 5, 19, static_cast<uint64_t>(pages >> 2));
  return Fit::yes;
}
static Fit setPlaceInPage(const Reference &r, unsigned shift) {
  const uint64_t place = static_cast<uint64_t>(r.to) & 0xFFF;
  if (place % (uint64_t{1} << shift))
    return Fit::notRelative; // no element may lie there
  setBits(r.bytes, 10, 12, place >> shift);
  return Fit::yes;
}

static Fit relocateArm64(const Reference &r) {
  const int64_t distance = r.to - static_cast<int64_t>(r.place);
  switch (r.type) {
  case R_AARCH64_PREL32: {
    const auto word = static_cast<int32_t>(distance);
    std::memcpy(r.bytes, &word, sizeof word);
    return fits(distance, 32) ? Fit::yes : Fit::tooFar;
  }
  case R_AARCH64_CALL26:
  case R_AARCH64_JUMP26:
    setBits(r.bytes, 0, 26, static_cast<uint64_t>(distance >> 2));
    return fits(distance, 28) ? Fit::yes : Fit::tooFar;
  case R_AARCH64_ADR_PREL_LO21:
    setBits(r.bytes, 29, 2, static_cast<uint64_t>(distance));
    setBits(r.bytes, 5, 19, static_cast<uint64_t>(distance >> 2));
    return fits(distance, 21) ? Fit::yes : Fit::tooFar;
  case R_AARCH64_ADR_PREL_PG_HI21:
    return setPage(r);
  case R_AARCH64_ADD_ABS_LO12_NC:
  case R_AARCH64_LDST8_ABS_LO12_NC:
    return setPlaceInPage(r, 0);
  case R_AARCH64_LDST16_ABS_LO12_NC:
    return setPlaceInPage(r, 1);
  case R_AARCH64_LDST32_ABS_LO12_NC:
    return setPlaceInPage(r, 2);
  case R_AARCH64_LDST64_ABS_LO12_NC:
    return setPlaceInPage(r, 3);
  case R_AARCH64_LDST128_ABS_LO12_NC:
    return setPlaceInPage(r, 4);
  default:
    return Fit::notRelative;
  }
}

const Architecture penstock::codegen::arm64 = {"aarch64-unknown-linux-gnu",
                                               "aarch64.",
                                               largestPage,
                                               initialiseArm64,
                                               armProcessorOf,
                                               levelOfArm64,
                                               relocateArm64};
