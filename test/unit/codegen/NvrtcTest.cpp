// SPDX-License-Identifier: Apache-2.0
//
// NVRTC takes the text of every example, each for one generation of GPUs. Skipped,
// and shown as skipped, on a machine without NVRTC.

#include "codegen/cuda/Nvrtc.h"
#include "codegen/cuda/Printer.h"
#include "compiler/Pipelines/CodePipelines.h"
#include "compiler/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "test/unit/codegen/ExampleInputs.h"

#include "llvm/ADT/StringExtras.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <map>
#include <set>

using namespace penstock;
using codegen::Nvrtc;

namespace {

/// The kernels of each example, under a prefix of its own.
const std::vector<std::string> &exampleTexts() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> made;
    for (const std::string &file : test::exampleFiles()) {
      test::Imported imported(test::exampleText(file));
      if (!imported.result.module) {
        made.push_back(imported.messages);
        continue;
      }
      mlir::PassManager passes(&imported.context);
      const auto selection = pipelines::PassSelection::ofDevice({"sm_90"});
      pipelines::buildOptPipeline(passes, selection);
      pipelines::buildKernelsPipeline(passes, selection);
      pipelines::buildCudaPipeline(passes);
      made.push_back(mlir::failed(passes.run(*imported.result.module))
                         ? "refused: " + file
                         : codegen::cudaText(*imported.result.module,
                                             {std::filesystem::path(file).stem().string(), {}})
                               .value_or("no text: " + file));
    }
    return made;
  }();
  return texts;
}

/// Every `step`-th example from the `first`, in one text.
std::string examples(size_t first = 0, size_t step = 1) {
  std::string text;
  for (size_t i = first; i < exampleTexts().size(); i += step)
    text += exampleTexts()[i];
  return text;
}

/// A part of a cubin, which is an ELF file.
template <typename T> T partAt(const std::string &cubin, uint64_t offset) {
  T value{};
  if (offset + sizeof value <= cubin.size())
    std::memcpy(&value, cubin.data() + offset, sizeof value);
  return value;
}

/// Bytes of each kernel's frame, which is local arrays and what does not fit registers, by name:
/// attribute 0x11 (EIATTR_FRAME_SIZE) of the section .nv.info, as `cuobjdump -elf` shows it.
std::map<std::string, uint32_t> framesOf(const std::string &cubin) {
  const auto header = partAt<Elf64_Ehdr>(cubin, 0);
  auto section = [&](uint32_t number) {
    return partAt<Elf64_Shdr>(cubin, header.e_shoff + number * sizeof(Elf64_Shdr));
  };
  auto nameAt = [&](const Elf64_Shdr &names, uint32_t at) {
    return std::string(cubin.c_str() + std::min<uint64_t>(names.sh_offset + at, cubin.size()));
  };
  std::map<std::string, uint32_t> frames;
  for (uint32_t number = 0; number < header.e_shnum; ++number) {
    const Elf64_Shdr info = section(number);
    if (nameAt(section(header.e_shstrndx), info.sh_name) != ".nv.info")
      continue;
    const Elf64_Shdr symbols = section(info.sh_link), names = section(symbols.sh_link);
    for (uint64_t at = info.sh_offset, end = at + info.sh_size; at + 4 <= end;) {
      const auto kind = partAt<std::array<uint8_t, 2>>(cubin, at);
      const bool hasSize = kind[0] == 4;
      if (hasSize && kind[1] == 0x11) {
        const auto symbol = partAt<Elf64_Sym>(
            cubin, symbols.sh_offset + partAt<uint32_t>(cubin, at + 4) * sizeof(Elf64_Sym));
        frames[nameAt(names, symbol.st_name)] = partAt<uint32_t>(cubin, at + 8);
      }
      at += 4 + (hasSize ? partAt<uint16_t>(cubin, at + 2) : 0);
    }
  }
  return frames;
}

class NvrtcTest : public testing::Test {
protected:
  void SetUp() override {
    auto opened = Nvrtc::open();
    if (!opened)
      GTEST_SKIP() << llvm::toString(opened.takeError());
    nvrtc = *opened;
  }
  std::shared_ptr<const Nvrtc> nvrtc;
};

// Each generation makes machine code of every example in turn, or of all with
// PENSTOCK_ALL_GENERATIONS in the environment, as scripts/soak has it. The oldest has the fewest
// instructions: that they suffice for all examples shows below.
TEST_F(NvrtcTest, TakesExamplesForEveryGeneration) {
  const auto known = nvrtc->architectures();
  std::vector<int> generations;
  for (int number : {75, 80, 90, 100, 120})
    if (std::find(known.begin(), known.end(), number) != known.end()) // older toolkits know fewer
      generations.push_back(number);
  ASSERT_GE(generations.size(), 3u);
  const size_t turns = std::getenv("PENSTOCK_ALL_GENERATIONS") ? 1 : generations.size();
  for (size_t i = 0; i < generations.size(); ++i) {
    const std::string architecture = "sm_" + std::to_string(generations[i]);
    auto cubin = nvrtc->compile(examples(i % turns, turns), architecture, Nvrtc::Form::cubin);
    ASSERT_TRUE(static_cast<bool>(cubin))
        << architecture << ": " << llvm::toString(cubin.takeError());
    EXPECT_EQ(cubin->substr(1, 3), "ELF");
    // 128 bytes are the 32 partial sums of one thread. Else ptxas spills what it takes to have one
    // block more on a multiprocessor: 8 to 56 bytes in some kernels, none in most.
    const auto frames = framesOf(*cubin);
    EXPECT_GT(frames.size(), 4u);
    for (const auto &[kernel, bytes] : frames)
      EXPECT_LE(bytes, kernel.starts_with("pst_") ? 128u : 160u)
          << kernel << " on " << architecture;
    // Of these as many blocks are on a multiprocessor as leave registers for all (ScheduleGpu.cpp).
    for (const char *kernel :
         {"pst_imagenet_train_k0", "pst_imagenet_test_k0", "pst_googlenet_k0", "pst_resnet50_k0",
          "pst_simclr_k0", "pst_kinetics_k0", "pst_dino_k0", "pst_dino_k1", "pst_jpeg_robust_k0"})
      EXPECT_EQ(frames.contains(kernel) ? frames.at(kernel) : 0, 0u)
          << kernel << " on " << architecture;
    const auto spilled = std::count_if(frames.begin(), frames.end(), [](const auto &frame) {
      return frame.first.starts_with("pst_") && frame.second > 0 && frame.second != 128;
    });
    EXPECT_LE(spilled * 10, int64_t(frames.size())) << architecture;
  }
}

/// Returns the words behind `ld.` and the like: the memory space, where the access is not generic.
std::set<std::string> spacesOf(const std::string &ptx) {
  std::set<std::string> spaces;
  for (llvm::StringRef rest = ptx; !rest.empty();) {
    auto [line, behind] = rest.split('\n');
    rest = behind;
    line = line.trim();
    for (llvm::StringRef access : {"ld.", "st.", "atom.", "red."})
      if (line.consume_front(access) && (line.consume_front("relaxed.gpu.") || true))
        spaces.insert(line.take_while([](char c) { return llvm::isAlnum(c); }).str());
  }
  return spaces;
}

TEST_F(NvrtcTest, PtxHasTheEntriesAndNoFusedMultiplyAdd) {
  auto ptx = nvrtc->compile(examples(), "sm_75", Nvrtc::Form::ptx);
  ASSERT_TRUE(static_cast<bool>(ptx)) << llvm::toString(ptx.takeError());
  EXPECT_NE(ptx->find(".visible .entry pst_imagenet_train_k0("), std::string::npos);
  EXPECT_NE(ptx->find(".target sm_75"), std::string::npos);
  // In sums of products; division is made of them, and exact.
  EXPECT_NE(ptx->find("mul.rn.f32"), std::string::npos);
  EXPECT_EQ(ptx->find("fma.rn.f32"), std::string::npos);
  EXPECT_EQ(ptx->find(".ftz"), std::string::npos);
  EXPECT_EQ(ptx->find(".approx"), std::string::npos);
  // A generic access asks at run time which memory an address is of.
  for (const std::string &space : spacesOf(*ptx))
    EXPECT_TRUE((std::set<std::string>{"global", "shared", "param", "local"}).contains(space))
        << space;
}

/// Texts as beside a host, where launches are joined, and pictures held that such GPUs have room
/// for.
std::string joined(const std::vector<std::string> &names, const std::string &gpu) {
  std::string text;
  const auto selection = pipelines::PassSelection::ofDevice({gpu});
  for (const std::string &name : names) {
    test::Imported imported(test::exampleText(PENSTOCK_SOURCE_DIR "/examples/" + name + ".pipe"));
    mlir::PassManager passes(&imported.context);
    pipelines::buildOptPipeline(passes, selection);
    pipelines::buildKernelsPipeline(passes, selection);
    pipelines::buildDeviceSchedulePipeline(passes, selection);
    pipelines::buildDeviceCodePipeline(passes);
    if (!imported.result.module || mlir::failed(passes.run(*imported.result.module)))
      return "refused: " + name;
    text += codegen::cudaText(*imported.result.module, {name, {}}).value_or("no text");
  }
  return text;
}

// Bodies are functions of their own, each with at most the registers that leave room for four
// blocks; crops in a chain, whose blocks have as many threads, spill most, and outside of loops
// over pixels.
TEST_F(NvrtcTest, TakesJoinedLaunches) {
  for (const char *gpu : {"sm_75", "sm_90"}) {
    const bool isHeld = std::string(gpu) == "sm_90";
    const std::string text = joined({"resnet50", "simclr"}, gpu);
    EXPECT_EQ(text.find("pst_carries(") != std::string::npos, isHeld);
    auto cubin = nvrtc->compile(text, "sm_90", Nvrtc::Form::cubin);
    ASSERT_TRUE(static_cast<bool>(cubin)) << llvm::toString(cubin.takeError());
    const auto frames = framesOf(*cubin);
    ASSERT_TRUE(frames.contains(isHeld ? "pst_simclr_joined0" : "pst_simclr_joined1"));
    for (const auto &[kernel, bytes] : frames)
      EXPECT_LE(bytes, kernel.find("resnet50") == std::string::npos ? 176u : 48u) << kernel;
    auto ptx = nvrtc->compile(text, gpu, Nvrtc::Form::ptx);
    ASSERT_TRUE(static_cast<bool>(ptx)) << llvm::toString(ptx.takeError());
    EXPECT_NE(ptx->find(".visible .entry pst_resnet50_joined0("), std::string::npos);
    for (const std::string &space : spacesOf(*ptx))
      EXPECT_TRUE((std::set<std::string>{"global", "shared", "param", "local"}).contains(space))
          << space;
  }
}

TEST_F(NvrtcTest, SaysWhatItMakesCodeFor) {
  auto none = nvrtc->compile("", "sm_1", Nvrtc::Form::ptx);
  ASSERT_FALSE(static_cast<bool>(none));
  EXPECT_EQ(llvm::toString(none.takeError())
                .find("NVRTC " + nvrtc->version() + " makes no code for `sm_1`; it knows sm_"),
            0u);
}

TEST_F(NvrtcTest, ShowsTheCompilersMessages) {
  auto none = nvrtc->compile("PST_KERNEL f( {", "sm_90", Nvrtc::Form::cubin);
  ASSERT_FALSE(static_cast<bool>(none));
  EXPECT_NE(llvm::toString(none.takeError()).find("kernels.cu(1): error"), std::string::npos);
}

} // namespace
