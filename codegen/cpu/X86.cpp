// SPDX-License-Identifier: Apache-2.0
//
// x86-64.
#include "codegen/cpu/Architecture.h"
#include "runtime/abi/image.h"
#include "llvm/Support/TargetSelect.h"
#include <cstring>
#include <elf.h>

using namespace penstock::codegen;

static void initialiseX86() {
  static const bool once = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)once;
}

static Processor x86ProcessorOf(CpuLevel level) {
  switch (level) {
  case CpuLevel::v3:
    return {"x86-64-v3", "", "256"};
  case CpuLevel::v4:
    return {"x86-64-v4", "", "512"};
  case CpuLevel::v4vnni:
    return {"x86-64-v4", "+avx512vbmi,+avx512vnni", "512"};
  default:
    return {"x86-64-v2", "", "256"};
  }
}

static std::optional<CpuLevel> levelOfX86(llvm::StringRef intrinsic) {
  if (intrinsic.starts_with("avx512.vpdp") || intrinsic.starts_with("avx512.vpermi2var.qi") ||
      intrinsic.starts_with("avx512.permvar.qi"))
    return CpuLevel::v4vnni;
  if (intrinsic.starts_with("avx512."))
    return CpuLevel::v4;
  if (intrinsic.starts_with("avx2."))
    return CpuLevel::v3;
  if (intrinsic.starts_with("sse") || intrinsic.starts_with("ssse3."))
    return CpuLevel::v2;
  return std::nullopt;
}

static Architecture::Fit relocateX86(const Reference &r) {
  if (r.type != R_X86_64_PC32 && r.type != R_X86_64_PLT32)
    return Architecture::Fit::notRelative;
  const int64_t distance = r.to - static_cast<int64_t>(r.place);
  if (distance != static_cast<int32_t>(distance))
    return Architecture::Fit::tooFar;
  const auto word = static_cast<int32_t>(distance);
  std::memcpy(r.bytes, &word, sizeof word);
  return Architecture::Fit::yes;
}

const Architecture penstock::codegen::x86 = {"x86_64-unknown-linux-gnu",
                                             "x86.",
                                             PST_IMAGE_PAGE,
                                             initialiseX86,
                                             x86ProcessorOf,
                                             levelOfX86,
                                             relocateX86};
