// SPDX-License-Identifier: Apache-2.0
//
// Faults that the shim reports: races that no order of threads shows, reads of memory that nobody
// wrote or of none at all. Each is planted in a kernel by hand, beside the kernel without it.

#include "runtime/abi/kernel.h"
#include "test/differential/ShimLibrary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace penstock::differential;

namespace {

/// Kernels of 64 threads, over `in`, 64 numbers, `out`, 64 that nobody has written, and
/// `total`, one that is 0.
struct Planted {
  const char *name, *body, *fault;
  unsigned blocks = 1;
};

const Planted kernels[] = {
    {"increments", "atomicAdd(&total[0], in[me]);", ""},
    {"lost_increments", "total[0] += in[me];",
     "reads byte 0 of the total, which thread 0 wrote since the last barrier"},
    {"some_increments", "if (me % 2) atomicAdd(&total[0], 1); else total[0] = 1;",
     "the total, which thread 0 wrote since the last barrier"},
    {"reads_what_others_count", "atomicAdd(&total[0], 1); out[me] = total[0];",
     "updates byte 0 of the total, which thread 0 read since the last barrier"},
    {"looks_while_others_set",
     "if (me == 40) atomicExch(&total[0], 1); else out[me] = __ldcv(&total[0]) * 0;", ""},
    {"reads_while_others_set", "if (me == 40) atomicExch(&total[0], 1); else out[me] = total[0];",
     "total, which thread (0|40|63) (read|updated) since the last barrier|which others read since"},
    {"looks_while_others_write",
     "if (me == 40) total[0] = 1; else out[me] = __ldcv(&total[0]) * 0;",
     "total, which (others|thread [0-9]+) (read|wrote) since the last barrier"},
    {"fails_in_some_blocks",
     "if (pst_left_out(status, 1)) return; if (in[0] == 1) return pst_fail(status, 1, 7, 8, 9); "
     "out[me] = 1;",
     "", 2},
    {"counts_first", "atomicAdd(&total[0], 1); __syncthreads(); out[me] = total[0];", ""},

    {"hands_on", "__shared__ i32 s[64]; s[me] = in[me]; __syncthreads(); out[me] = s[63 - me];",
     ""},
    {"hands_on_early",
     "__shared__ i32 s[64]; s[me] = 1; if (me == 40) s[23] = 1; __syncthreads(); out[me] = s[63 - "
     "me];",
     "writes byte [0-9]+ of shared arrays, which thread 23 wrote"},
    {"reads_before_a_barrier", "__shared__ i32 s[64]; s[me] = in[me]; if (me) out[me] = s[me - 1];",
     "reads byte [0-9]+ of shared arrays, which thread 0 wrote since the last barrier"},
    {"writes_after_a_read",
     "__shared__ i32 s[64]; s[me] = 1; __syncthreads(); i32 v = s[63 - me]; s[me] = 2; out[me] = "
     "v;",
     "shared arrays, which thread 31 (read|wrote) since the last barrier"},
    {"writes_after_a_barrier",
     "__shared__ i32 s[64]; s[me] = 1; __syncthreads(); i32 v = s[63 - me]; __syncthreads(); s[me] "
     "= 2; out[me] = v;",
     ""},
    {"within_a_warp", "__shared__ i32 s[64]; s[me] = in[me]; __syncwarp(); out[me] = s[me ^ 1];",
     ""},
    {"within_a_warp_without_a_word", "__shared__ i32 s[64]; s[me] = in[me]; out[me] = s[me ^ 1];",
     "shared arrays, which (thread 0 wrote since the last barrier|nobody has written)"},
    {"beyond_a_warp", "__shared__ i32 s[64]; s[me] = in[me]; __syncwarp(); out[me] = s[me ^ 32];",
     "shared arrays, which (thread [0-9]+ wrote since the last barrier|nobody has written)"},

    {"a_block_of_its_own", "out[32 * blockIdx.x + me % 32] = in[me];", "which thread 0 wrote", 2},
    {"blocks_apart", "if (me < 32) out[32 * blockIdx.x + me] = in[me];", "", 2},
    {"blocks_write_the_same", "out[me] = in[me];",
     "writes byte 0 of the output, which another block wrote", 2},
    {"blocks_count", "atomicAdd(&total[0], 1);", "", 2},
    {"blocks_read_each_other",
     "if (blockIdx.x == 0) out[me] = in[me]; else if (out[me] < 0) atomicAdd(&total[0], 1);",
     "reads byte 0 of the output, which another block wrote", 2},
    {"blocks_share_nothing",
     "__shared__ i32 s[64]; if (blockIdx.x == 0) s[me] = 1; else if (s[me]) atomicAdd(&total[0], "
     "1);",
     "reads byte [0-9]+ of shared arrays, which nobody has written", 2},

    {"blocks_meet",
     "if (me < 32) out[32 * blockIdx.x + me] = in[me]; __syncthreads(); if (me == 0) "
     "pst_barrier((u32 *)total); __syncthreads(); if (out[63 - me] < 0) atomicAdd(&total[0], 2);",
     "", 2},
    {"blocks_meet_and_write_what_others_read",
     "if (me < 32) out[32 * blockIdx.x + me] = in[me]; __syncthreads(); if (me == 0) "
     "pst_barrier((u32 *)total); __syncthreads(); const i32 other = out[63 - me]; __syncthreads(); "
     "if "
     "(me == 0) pst_barrier((u32 *)total); __syncthreads(); if (blockIdx.x == 1) out[me] = other;",
     "", 2},
    {"blocks_write_what_others_read",
     "if (me < 32) out[32 * blockIdx.x + me] = in[me]; __syncthreads(); if (me == 0) "
     "pst_barrier((u32 *)total); __syncthreads(); const i32 other = out[63 - me]; __syncthreads(); "
     "if "
     "(blockIdx.x == 1) out[me] = other;",
     "which another block (read|wrote)", 2},
    {"goes_on_alone",
     "if (me == 0) { __threadfence(); atomicAdd((u32 *)total, 1u); __threadfence(); } out[me] = "
     "in[me];",
     "goes on before all blocks of its sample have come|which another block wrote", 2},
    {"one_does_not_come",
     "if (me == 0 && blockIdx.x == 1) pst_barrier((u32 *)total); if (blockIdx.x == 0) out[me] = "
     "in[me];",
     "waits for others of its sample that never come", 2},
    {"blocks_keep_their_memory",
     "__shared__ i32 s[64]; s[me] = in[me] + blockIdx.x; __syncthreads(); if (me == 0) "
     "pst_barrier((u32 *)total); __syncthreads(); if (s[63 - me] != in[63 - me] + (i32)blockIdx.x) "
     "out[me + 64] = 1;",
     "", 2},
    {"reads_what_nobody_wrote", "out[me] = out[me] + in[me];",
     "reads byte 0 of the output, which nobody has written"},
    {"halo_one_too_far", "out[me] = in[me] + in[me + 1];", "reads outside of what it was given"},
    {"writes_behind", "out[me + 64] = in[me];", "writes (outside of what|4 bytes at)"},
    {"writes_its_input", "((i32 *)in)[me] = 1;",
     "writes 4 bytes at 0 of the input, which is only read"},
    {"wide", "if (me < 16) ((int4_ *)out)[me] = ((const int4_ *)in)[me];", ""},
    {"part_of_a_word",
     "const pst_run<i32, 4> word = pst_take<4, 16>(in + me / 4 * 4); out[me] = word.at(0) + "
     "word.at(2);",
     ""},
    {"sum_that_overflows", "out[me] = in[me] + 2147483647;",
     "a sum of signed integers overflows \\(line"},
    {"product_that_overflows", "out[me] = (in[me] + 65536) * 65536;",
     "a product of signed integers overflows"},
    {"shift_out_of_its_type", "out[me] = in[me] << (me + 32);", "a shift is as wide as its type"},
    {"quotient_by_nothing", "out[me] = in[me] / (i32)(me - me);", "a quotient has no value"},
    {"float_that_is_no_integer", "out[me] = (i32)((f32)(in[me] + 1) * 1e20f);",
     "a number is none of the integer type"},
    {"the_least_place_reflected", "out[me] = (i32)pst_reflect((i64)0x8000000000000000ull, 5);", ""},
    {"wrapped_sum", "out[me] = pst_add(in[me], 2147483647);", ""},
    {"wide_off_a_boundary", "if (me < 15) ((int4_ *)out)[me] = *(const int4_ *)(in + 4 * me + 1);",
     "accesses an address 4 bytes off a boundary of 16"},
    {"waits_alone", "if (me < 32) __syncthreads(); out[me] = in[me];", ""},
    {"waits_elsewhere",
     "if (me < 16) __syncthreads(); else if (me < 32) __syncwarp(); out[me] = in[me];",
     "wait at different barriers"},
    {"copies_tables",
     "__shared__ pst_quad q[16]; i32 *s = (i32 *)q; pst_copy_table(s + 1, in, 1, 5, 3, 3); "
     "pst_copy_table(s + 33, in, 1, 5, 3, 7); __syncthreads(); const i32 row = me / 3, k = me % 3; "
     "if (me < 15 && (s[1 + me] != 2 + (i32)me || s[33 + me] != 2 + row * 7 + k)) total[1] = 1;",
     ""},
    {"words",
     "const u32 x = 0x80FF017Fu, y = 0x01020304u; i32 good = __dp4a((i32)x, (i32)y, 10) == 10 - "
     "128 - 2 + 3 + 508;"
     "good &= __dp2a_lo(x, y, 10u) == 10u + 4 * 383 + 3 * 33023; good &= __dp2a_hi(x, y, 10u) == "
     "10u + 2 * 383 + 33023;"
     "good &= __dp4a(x, y, 10u) == 10u + 128 + 510 + 3 + 508; good &= __byte_perm(x, y, 0x7430u) "
     "== 0x0104807Fu;"
     "good &= __byte_perm(x, y, 0x8B9Au) == 0x00FF00FFu; good &= __funnelshift_r(x, y, 8) == "
     "0x0480FF01u;"
     "good &= __funnelshift_l(x, y, 8) == 0x02030480u; const u32 lane = me % 32;"
     "good &= __shfl_sync(~0u, me, 5) == me / 32 * 32 + 5; good &= __shfl_xor_sync(~0u, lane, 3) "
     "== (lane ^ 3);"
     "good &= __shfl_up_sync(~0u, lane, 2) == (lane < 2 ? lane : lane - 2);"
     "good &= __shfl_down_sync(~0u, lane, 2) == (lane > 29 ? lane : lane + 2); out[me] = good; if "
     "(!good) total[1] = 1;",
     ""},
};

const ShimLibrary *library() {
  static const std::unique_ptr<ShimLibrary> made = [] {
    std::string
        text = "#include \"penstock.cuh\"\ntypedef int int4_ __attribute__((ext_vector_type(4)));\n"
               "struct planted {\n  const i32 *in;\n  i32 *out, *total;\n};\n",
        error;
    for (const Planted &kernel : kernels)
      text +=
          std::string("PST_KERNEL ") + kernel.name +
          "(const planted *samples, pst_sample_status *status) {\n  const u32 me = threadIdx.x;\n"
          "  const i32 *in = samples->in;\n  i32 *out = samples->out, *total = samples->total;\n"
          "  (void)in, (void)out, (void)total, (void)status;\n  " +
          kernel.body + "\n}\n";
    auto compiled = ShimLibrary::compile(text, error);
    EXPECT_TRUE(compiled) << error;
    return compiled;
  }();
  return made.get();
}

/// Runs a kernel. Returns the fault that the callbacks reported; adds to `counts`.
std::string run(const std::string &name, unsigned blocks, int order,
                pst_shim_counts *counts = nullptr) {
  alignas(64) int32_t in[64], out[64] = {}, total[2] = {};
  for (int i = 0; i < 64; ++i)
    in[i] = i + 1;
  const void *record[] = {in, out, total};
  pst_sample_status status[2] = {};
  ShimRegions regions;
  regions.reads("the input", in, sizeof in);
  regions.writes("the output", out, sizeof out);
  regions.keeps("the total", total, 4);
  regions.hands("the record", record, sizeof record, false);
  regions.hands("the states", status, sizeof status, true);
  pst_shim_launch launch = {};
  launch.kernel = library()->kernel(name);
  launch.samples = record;
  launch.status = status;
  launch.blocks = blocks;
  launch.count = 1;
  launch.threads = 64;
  launch.order = order;
  launch.seed = 3;
  launch.counts = counts;
  return library()->run(launch, regions);
}

class Shim : public testing::TestWithParam<Planted> {};
TEST_P(Shim, SeesWhatIsPlantedAndNothingElse) {
  ASSERT_TRUE(library());
  const Planted &kernel = GetParam();
  const std::string fault = run(kernel.name, kernel.blocks, 0);
  if (*kernel.fault)
    EXPECT_THAT(fault, testing::ContainsRegex(kernel.fault));
  // Each order tells whether there is one; which thread it sees first differs.
  for (int order = 0; order < 3; ++order) {
    const std::string found = run(kernel.name, kernel.blocks, order);
    EXPECT_EQ(found.empty(), !*kernel.fault) << found;
  }
}
INSTANTIATE_TEST_SUITE_P(Kernels, Shim, testing::ValuesIn(kernels),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(ShimFault, NamesTheLine) {
  ASSERT_TRUE(library());
  EXPECT_THAT(run("halo_one_too_far", 1, 0),
              testing::ContainsRegex("thread 63 of block \\(0, 0\\) .*kernels.cu:[0-9]+"));
}

// Sixty-four threads read and write four bytes each, or sixteen of them sixteen.
TEST(ShimCounts, CountSectorsOfWarps) {
  ASSERT_TRUE(library());
  pst_shim_counts narrow = {}, wide = {};
  ASSERT_EQ(run("blocks_write_the_same", 1, 2, &narrow), "");
  ASSERT_EQ(run("wide", 1, 2, &wide), "");
  EXPECT_EQ(narrow.stores, 64u);
  EXPECT_EQ(wide.stores, 16u);
  EXPECT_EQ(narrow.store_bytes, 256u);
  EXPECT_EQ(wide.store_bytes, 256u);
  EXPECT_EQ(narrow.store_sectors, 8u);
  EXPECT_EQ(wide.store_sectors, 8u);
  EXPECT_EQ(narrow.fewest_store_sectors, 8u);
  EXPECT_EQ(narrow.wide_bytes, 0u);
  EXPECT_EQ(wide.wide_bytes, 512u);
}

// As the text says it, whatever the compiler for CPUs would make of it.
TEST(ShimCounts, CountALoadOfWhichPartsAreUsedOnce) {
  ASSERT_TRUE(library());
  pst_shim_counts counts = {};
  ASSERT_EQ(run("part_of_a_word", 1, 2, &counts), "");
  EXPECT_EQ(counts.wide_bytes, 64u * 16);
}

TEST(ShimCounts, TellWhatALaunchHandsOver) {
  ASSERT_TRUE(library());
  pst_shim_counts counts = {};
  ASSERT_EQ(run("blocks_write_the_same", 1, 2, &counts), "");
  EXPECT_EQ(counts.load_bytes + counts.store_bytes - counts.launched_bytes, 512u);
}

} // namespace
