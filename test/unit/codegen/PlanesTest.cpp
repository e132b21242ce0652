// SPDX-License-Identifier: Apache-2.0
//
// The kernel that makes pixels of planes, as code for this CPU, against the pixels that
// libjpeg-turbo makes of the same files.
#include "compiler/Dialect/PipeDialect.h"
#include "compiler/Transforms/PlanesKernel.h"
#include "runtime/media/jpeg/JpegDecoder.h"
#include "test/unit/codegen/JitModule.h"
#include "test/unit/runtime/JpegFiles.h"

#include <gtest/gtest.h>

using namespace penstock;
using namespace penstock::runtime;
using test::JitModule;
using test::TensorArg;

namespace {

/// A module that holds the kernel alone, as text.
std::string kernelText() {
  mlir::MLIRContext context;
  context.loadDialect<pipe::PipeDialect>();
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToStart(module->getBody());
  const pipe::Axis axes[] = {{"h", -1, -1, ""}, {"w", -1, -1, ""}, {"c", 3, -1, "rgb"}};
  const auto pixels = pipe::NamedTensorType::get(
      &context, mlir::IntegerType::get(&context, 8, mlir::IntegerType::Unsigned), axes);
  transforms::makePlanesKernel(builder, builder.getUnknownLoc(), pixels);
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream);
  return text;
}

/// Makes the pixels as packPlanes() hands a sample to a device, and compares them.
void expectPixels(JitModule &code, const std::vector<uint8_t> &file, const Region &region) {
  JpegDecoder decoder;
  DecodeStats stats;
  const auto planes = decoder.planesFor(file, region);
  ASSERT_TRUE(planes);
  std::vector<uint8_t> bytes(planes->bytes() + 64);
  ASSERT_TRUE(decoder.decodePlanes(file, *planes, bytes.data(), stats));
  std::vector<uint8_t> expected(size_t(region.height) * region.width * 3),
      found(expected.size() + 64);
  ASSERT_TRUE(decoder.decodeRegion(file, PixelFormat::Rgb, region, expected.data(),
                                   region.width * 3, stats));
  std::vector<TensorArg> tensors(4);
  for (size_t plane = 0; plane < 3; ++plane)
    tensors[plane].view = {bytes.data() + planes->offset(plane),
                           {planes->part(plane).height, planes->part(plane).width},
                           {int64_t(planes->stride(plane)), 1}};
  tensors[3] = TensorArg::of(found, {region.height, region.width, 3});
  ASSERT_EQ(code.run("planes", tensors, 1,
                     {planes->rowPhase(), planes->columnPhase(), planes->halvesRows,
                      planes->halvesColumns}),
            0);
  found.resize(expected.size());
  ASSERT_EQ(found, expected) << region.top << " " << region.left << " " << region.height << " x "
                             << region.width;
}

TEST(Planes, TheKernelMakesLibjpegsPixels) {
  for (int level = 2; level <= int(codegen::Target::host().level); ++level) {
    JitModule code(kernelText(), codegen::Target{codegen::CpuLevel(level)});
    ASSERT_TRUE(code.ok()) << code.errors();
    std::mt19937 random(31);
    for (const auto &[across, down] : {std::pair(1, 1), {2, 1}, {2, 2}, {1, 2}})
      for (int image = 0; image < 12 && !testing::Test::HasFailure(); ++image) {
        const JpegRecipe recipe{.name = "file", .factors = {{{across, down}, {1, 1}, {1, 1}}}};
        const uint32_t width = 5 + random() % 90, height = 1 + random() % 90;
        const auto file = randomJpeg(recipe, int(width), int(height), random);
        expectPixels(code, file, {0, 0, height, width});
        for (int i = 0; i < 12 && !testing::Test::HasFailure(); ++i) {
          Region region{uint32_t(random() % height), uint32_t(random() % width), 0, 0};
          region.height = 1 + random() % (height - region.top);
          region.width = 1 + random() % (width - region.left);
          expectPixels(code, file, region);
        }
      }
  }
}

/// All values of a pixel: a plane of one row has each luma, and the three loops the rest, some of
/// it.
TEST(Planes, ColoursAreThoseOfTheTables) {
  JitModule code(kernelText());
  ASSERT_TRUE(code.ok()) << code.errors();
  std::vector<uint8_t> luma(256 + 64), blue(256 + 64), red(256 + 64), found(256 * 3 + 64);
  auto clamped = [](int value) { return uint8_t(std::clamp(value, 0, 255)); };
  for (int y = 0; y < 256; ++y)
    luma[size_t(y)] = uint8_t(y);
  for (int cb = 0; cb < 256; ++cb)
    for (int cr = 0; cr < 256; cr += 3) {
      std::fill(blue.begin(), blue.end(), uint8_t(cb));
      std::fill(red.begin(), red.end(), uint8_t(cr));
      std::vector<TensorArg> tensors = {TensorArg::of(luma, {1, 256}),
                                        TensorArg::of(blue, {1, 256}), TensorArg::of(red, {1, 256}),
                                        TensorArg::of(found, {1, 256, 3})};
      ASSERT_EQ(code.run("planes", tensors, 1, {0, 0, 0, 0}), 0);
      const int b = cb - 128, r = cr - 128;
      for (int y = 0; y < 256; ++y) {
        const uint8_t *pixel = &found[size_t(y) * 3];
        ASSERT_EQ(pixel[0], clamped(y + ((91881 * r + 32768) >> 16)));
        ASSERT_EQ(pixel[1], clamped(y + ((-22554 * b - 46802 * r + 32768) >> 16)));
        ASSERT_EQ(pixel[2], clamped(y + ((116130 * b + 32768) >> 16)));
      }
    }
}

} // namespace
