// The kernels of every example as CUDA text, run on the CPU: the bits of the
// reference, in any order of threads and blocks.

#include "compiler/Pipelines/Pipelines.h"
#include "mlir/Pass/PassManager.h"
#include "test/differential/Candidates.h"
#include "test/differential/CudaDriver.h"
#include "test/unit/codegen/ExampleInputs.h"

#include <gtest/gtest.h>

using namespace penstock;

namespace {

class CudaExamples : public testing::TestWithParam<std::string> {};

TEST_P(CudaExamples, HaveTheBitsOfTheReference) {
  test::Imported imported(test::exampleText(GetParam()));
  ASSERT_TRUE(imported.result.module) << imported.messages;
  const test::MadeUpMedia media;
  reference::BatchInputs inputs = test::exampleInputs(imported, media);
  const auto expected = reference::Interpreter(*imported.result.module).run(inputs);
  ASSERT_EQ(expected.error, "");
  // The first picture is large enough for every crop.
  ASSERT_FALSE(expected.samples[0].failure) << expected.samples[0].failure->message;

  mlir::PassManager passes(&imported.context);
  pipelines::buildOptPipeline(passes, {});
  pipelines::buildKernelsPipeline(passes, {});
  ASSERT_TRUE(mlir::succeeded(passes.run(*imported.result.module)));
  const differential::CudaKernels kernels(*imported.result.module);
  ASSERT_EQ(kernels.error(), "");
  inputs.kernels = &kernels;
  const auto found = reference::Interpreter(*imported.result.module).run(inputs);
  EXPECT_EQ(differential::firstDifference(expected, found).value_or("none"), "none");
  EXPECT_GT(kernels.launches(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, CudaExamples, testing::ValuesIn(test::exampleFiles()),
                         [](const auto &info) {
                           return std::filesystem::path(info.param).stem().string();
                         });

} // namespace
