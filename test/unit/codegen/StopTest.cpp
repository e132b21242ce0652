// SPDX-License-Identifier: Apache-2.0
//
// Long kernels look at the flag: with it set they leave long before their end.

#include "test/unit/codegen/JitModule.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sys/mman.h>

using namespace penstock;
using test::JitModule;
using test::TensorArg;

namespace {

/// Memory that is there when it is touched.
class Reserved {
public:
  explicit Reserved(size_t bytes)
      : bytes(bytes), memory(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    madvise(memory, bytes, MADV_NOHUGEPAGE);
  }
  ~Reserved() { munmap(memory, bytes); }
  TensorArg tensor(std::vector<int64_t> extents, int64_t size) const {
    TensorArg arg;
    arg.view.data = memory;
    for (size_t axis = extents.size(); axis-- > 0; size *= extents[axis]) {
      arg.view.extent[axis] = extents[axis];
      arg.view.stride[axis] = size;
    }
    return arg;
  }

  /// Bytes of the pages that somebody read or wrote.
  size_t touched() const {
    std::vector<unsigned char> pages((bytes + 4095) / 4096);
    mincore(memory, bytes, pages.data());
    return 4096 * static_cast<size_t>(std::count_if(pages.begin(), pages.end(),
                                                    [](auto page) { return page & 1; }));
  }

private:
  size_t bytes;
  void *memory;
};

struct Long {
  const char *name, *axes, *results, *lines;
};

constexpr int64_t most = 4'000'000;
// %x: f32[w=4000000], %y: u8[w=4000000], %i: i64[w=4000000], %p: f32[h=60000, t=64].
const Long kernels[] = {
    {"map", "w=4000000", "%r", R"(%r = pipe.map (%x) : (!X) -> !X {
^bb0(%e: f32, %at: i64):
  %s = pipe.binary div %e, %e : f32
  pipe.yield %s : f32
})"},
    {"window", "w=4000000", "%r",
     R"(%r = pipe.window wrap %x over ["w"] low [-1] high [1] : !X -> !X {
^bb0(%a: f32, %b: f32, %c: f32, %at: i64):
  %s = pipe.binary add %a, %b : f32
  %t = pipe.binary add %s, %c : f32
  pipe.yield %t : f32
})"},
    {"gather", "w=4000000", "%r", R"(%r = pipe.gather linear edge %x over ["w"] : !X -> !X {
^bb0(%at: i64):
  %f = pipe.cast value %at : i64 -> f64
  pipe.yield %f : f64
})"},
    {"scan", "w=4000000", "%r", R"(%r = pipe.scan sum %x along "w" : !X -> !X)"},
    {"sort", "w=4000000", "%r", R"(%r = pipe.sort %x along "w" : !X -> !I)"},
    {"sum", "", "%r", R"(%r = pipe.reduce sum %x over ["w"] : !X -> !pipe.tensor<f32[]>)"},
    {"total", "", "%r", R"(%r = pipe.reduce sum %i over ["w"] : !I -> !pipe.tensor<i64[]>)"},
    {"argmax", "", "%r", R"(%r = pipe.reduce argmax %x over ["w"] : !X -> !pipe.tensor<i64[]>)"},
    {"histogram", "bin=256", "%r",
     R"(%r = pipe.histogram %y over ["w"] : !Y -> !pipe.tensor<i32[bin=256]>)"},
    {"compact", "w=4000000", "%r", R"(%m = pipe.map (%x) : (!X) -> !pipe.tensor<bool[w=4000000]> {
^bb0(%e: f32, %at: i64):
  %s = pipe.compare eq %e, %e : f32
  pipe.yield %s : i1
}
%r, %n = pipe.compact %x along "w" where %m : !X, !pipe.tensor<bool[w=4000000]> -> !X, !pipe.tensor<i64[]>)"},
    {"group", "w=4000000", "%r",
     R"(%r, %f, %n = pipe.group %i along "w" limit 150 : !I -> !I, !pipe.tensor<i64[m=150]>, !pipe.tensor<i64[]>)"},
    {"reduce_by", "m=4", "%r",
     R"(%r = pipe.reduce_by sum %x along "w" by %i : !X, !I -> !pipe.tensor<f32[m=4]>)"},
    {"rank_by", "w=4000000", "%r", R"(%r = pipe.rank_by %i along "w" : !I -> !I)"},
    {"scatter", "m=4", "%r",
     R"(%b = pipe.constant dense<0.0> : tensor<4xf32> -> !pipe.tensor<f32[m=4]>
%r = pipe.scatter sum %b by %x along "w" over ["m"] at (%i) : !pipe.tensor<f32[m=4]>, !X, !I -> !pipe.tensor<f32[m=4]>)"},
    {"filter", "w=4000000", "%r",
     R"(%b = pipe.constant dense<1.0> : tensor<3xf64> -> !pipe.tensor<f64[j=3]>
%r = pipe.filter %x along "w" by %b over %b : !X, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=3]> -> !X)"},
    {"contract", "h=60000", "%r",
     R"(%c = pipe.constant dense<1.0> : tensor<64x9xf32> -> !pipe.tensor<f32[t=64, k=9]>
%s = pipe.contract %p by %c : !P, !pipe.tensor<f32[t=64, k=9]> -> !pipe.tensor<f32[h=60000, k=9]>
%r = pipe.reduce max %s over ["k"] : !pipe.tensor<f32[h=60000, k=9]> -> !pipe.tensor<f32[h=60000]>)"},
    {"fft", "h=60000", "%r",
     R"(%s = pipe.fft %p along "t" : !P -> !pipe.tensor<f32[h=60000, freq=33, part=2]>
%r = pipe.reduce max %s over ["freq", "part"] : !pipe.tensor<f32[h=60000, freq=33, part=2]> -> !pipe.tensor<f32[h=60000]>)"},
    {"repeat", "w=4000000", "%r", R"(%k = pipe.constant 1000 : i64 -> i64
%r = pipe.repeat %k bound 1000 (%x) : (!X) -> !X {
^bb0(%turn: i64, %now: !X):
  %s = pipe.view %now by affine_map<(d0) -> (-d0 + 3999999)> [] : !X -> !X
  pipe.yield %s : !X
})"}};

std::string textOf(const Long &kernel) {
  const std::string name = kernel.name;
  const bool whole = name == "sort" || name == "group" || name == "rank_by";
  const std::string element = name == "total" || name == "argmax" || whole ? "i64"
                              : name == "histogram"                        ? "i32"
                                                                           : "f32";
  std::string text = "pipe.kernel @" + name +
                     " \"pixels\" {\n^bb0(%x: !X, %y: !Y, %i: !I, %p: !P):\n" + kernel.lines +
                     "\npipe.return " + kernel.results + " : !pipe.tensor<" + element + "[" +
                     kernel.axes + "]>\n}\n";
  for (auto [mark, type] :
       {std::pair("!X", "f32[w=4000000]"), std::pair("!Y", "u8[w=4000000]"),
        std::pair("!I", "i64[w=4000000]"), std::pair("!P", "f32[h=60000, t=64]")})
    for (size_t at; (at = text.find(mark)) != std::string::npos;)
      text.replace(at, 2, std::string("!pipe.tensor<") + type + ">");
  return text;
}

TEST(Stop, EveryLongKernelLeavesWhereItIsAsked) {
  for (const Long &kernel : kernels) {
    SCOPED_TRACE(kernel.name);
    const Reserved in(most * 8 + 4096), out(most * 8 + 4096);
    JitModule code(textOf(kernel));
    ASSERT_TRUE(code.ok()) << code.errors();
    code.scratchBytes = int64_t(140) << 20;
    code.stop = 1;
    EXPECT_EQ(code.run(kernel.name,
                       {in.tensor({most}, 4), in.tensor({most}, 1), in.tensor({most}, 8),
                        in.tensor({60000, 64}, 4), out.tensor({most}, 8)},
                       1),
              PST_KERNEL_STOPPED);
    EXPECT_LT(in.touched() + out.touched(), 1u << 20)
        << "it goes through its tensors, and leaves at their end";
  }
}

TEST(Stop, LongLoopsOverNumbersLeaveToo) {
  JitModule code(R"(
pipe.kernel @k "setup" {
  %n = pipe.constant 1000000000000 : i64 -> i64
  %zero = pipe.constant 0 : i64 -> i64
  %r = pipe.repeat %n bound 1000000000000 (%zero) : (i64) -> i64 {
  ^bb0(%t: i64, %c: i64):
    %d = pipe.binary bit_xor %c, %t : i64
    pipe.yield %d : i64
  }
  pipe.set_entry 8, %r : i64
  pipe.return
})");
  ASSERT_TRUE(code.ok()) << code.errors();
  code.stop = 1;
  std::vector<int64_t> block(16);
  EXPECT_EQ(code.runBlock("k", block), PST_KERNEL_STOPPED);
}

// A flag that is set has no say in kernels that end soon anyway: they do not look.
TEST(Stop, ShortKernelsDoNotLook) {
  JitModule code(R"(
pipe.kernel @k "pixels" {
^bb0(%x: !pipe.tensor<u8[h=200, w=300]>):
  %r = pipe.reduce max %x over ["h", "w"] : !pipe.tensor<u8[h=200, w=300]> -> !pipe.tensor<u8[]>
  pipe.return %r : !pipe.tensor<u8[]>
})");
  ASSERT_TRUE(code.ok()) << code.errors();
  std::vector<uint8_t> x(200 * 300 + 64, 7), y(1);
  code.stop = 1;
  EXPECT_EQ(code.run("k", {TensorArg::of(x, {200, 300}), TensorArg::of(y, {})}, 1), 0);
  EXPECT_EQ(y[0], 7);
}

} // namespace
