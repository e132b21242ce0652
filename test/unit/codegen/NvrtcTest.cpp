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

#include <gtest/gtest.h>

#include <cstdlib>

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
      pipelines::buildOptPipeline(passes, {});
      pipelines::buildKernelsPipeline(passes, {});
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
  }
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
