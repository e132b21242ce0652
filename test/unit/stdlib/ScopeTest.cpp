// SPDX-License-Identifier: Apache-2.0
//
// Samples, branches, loops, batches.
#include "runtime/abi/random.h"
#include "test/unit/stdlib/OneSample.h"

using namespace penstock::reference;
namespace draws = penstock::random;

namespace {

int64_t integerOf(const BatchResult &result, size_t slot = 0, size_t output = 0) {
  EXPECT_EQ(result.error, "");
  if (result.samples.size() <= slot || result.samples[slot].outputs.size() <= output)
    return -999;
  return std::get<Scalar>(result.samples[slot].outputs[output].value).integer;
}
const std::string deliver = "pipe.output \"r\" %r axes [\"n\"] stored [\"n\"] : i64";

TEST(ReferenceScope, chooseClampsItsIndex) {
  for (auto [index, expected] : {std::pair{-5, 10}, {0, 10}, {1, 11}, {2, 12}, {9, 12}}) {
    OneSample p;
    EXPECT_EQ(p.scalar("%i = pipe.constant " + std::to_string(index) +
                           " : i64 -> i64 %a = pipe.constant 10 : i64 -> i64 "
                           "%b = pipe.constant 11 : i64 -> i64 %c = pipe.constant 12 : i64 -> i64\n"
                           "%r = pipe.choose %i -> i64 { pipe.yield %a : i64 }, "
                           "{ pipe.yield %b : i64 }, { pipe.yield %c : i64 }",
                       "i64")
                  .integer,
              expected);
  }
}

// x <- 2 x + i, from 1: 2, 5, 12.
TEST(ReferenceScope, repeatClampsItsCountToTheBound) {
  for (auto [count, expected] : {std::pair{-1, 1}, {0, 1}, {2, 5}, {3, 12}, {8, 12}}) {
    OneSample p;
    EXPECT_EQ(p.scalar("%k = pipe.constant " + std::to_string(count) +
                           " : i64 -> i64\n"
                           "%r = pipe.repeat %k bound 3 (%n) : (i64) -> (i64) {\n"
                           "^bb0(%i: i64, %x: i64):\n%d = pipe.binary add %x, %x : i64 "
                           "%y = pipe.binary add %d, %i : i64 pipe.yield %y : i64\n}",
                       "i64")
                  .integer,
              expected);
  }
}

TEST(ReferenceScope, searchTakesTheFirstAcceptedTryOrTheFallback) {
  for (auto [tries, expected] : {std::pair{5, 30}, {3, -1}}) {
    OneSample p;
    EXPECT_EQ(p.scalar("%three = pipe.constant 3 : i64 -> i64 %ten = pipe.constant 10 : i64 -> i64 "
                       "%no = pipe.constant -1 : i64 -> i64\n%r = pipe.search " +
                           std::to_string(tries) +
                           " -> i64 {\n^bb0(%i: i64):\n"
                           "%ok = pipe.compare ge %i, %three : i64 "
                           "%x = pipe.binary mul %i, %ten : i64 pipe.accept %ok, %x : i64\n"
                           "} otherwise { pipe.yield %no : i64 }",
                       "i64")
                  .integer,
              expected);
  }
}

TEST(ReferenceScope, eachStacksItsViews) {
  OneSample p;
  const Tensor result =
      p.tensor("%r = pipe.each \"v\" 3 -> !pipe.tensor<i64[v=3, w=2]> {\n^bb0(%v: i64):\n"
               "%m = pipe.map () : () -> !pipe.tensor<i64[w=2]> {\n^bb1(%w: i64):\n"
               "%ten = pipe.constant 10 : i64 -> i64 %t = pipe.binary mul %v, %ten : i64 "
               "%s = pipe.binary add %t, %w : i64 pipe.yield %s : i64\n}\n"
               "pipe.yield %m : !pipe.tensor<i64[w=2]>\n}",
               "!pipe.tensor<i64[v=3, w=2]>");
  EXPECT_EQ(reals(result), (std::vector<double>{0, 1, 10, 11, 20, 21}));
}

TEST(ReferenceScope, drawsFollowTheKey) {
  OneSample p;
  const BatchResult result =
      p.run("%k = pipe.key sample %k1 = pipe.key_view %k, %n %k2 = pipe.key_mix %k1, %n "
            "%r = pipe.draw bits %k2 () at(%n) id 77 path \"p/x\" : i64",
            deliver + " %b = pipe.key batch %q = pipe.draw bits %b () id 78 path \"p/y\" : i64 "
                      "pipe.output \"q\" %q axes [\"n\"] stored [\"n\"] : i64",
            {}, {1000, 1001});
  draws::Key key{42, 1001, 3, 0};
  EXPECT_EQ(integerOf(result, 1),
            static_cast<int64_t>(draws::bits(key.withView(1).mixed(1), 77, 1)));
  draws::Key batch{42, 1000, 3, 0};
  EXPECT_EQ(integerOf(result, 0, 1), static_cast<int64_t>(draws::bits(batch, 78)));
  EXPECT_EQ(integerOf(result, 1, 1), integerOf(result, 0, 1));
}

TEST(ReferenceScope, rowsFollowTheOrderAndPicksAreClamped) {
  OneSample p;
  const std::string ops =
      "%big = pipe.constant 99 : i64 -> i64 %other = pipe.pick %table[%big]\n"
      "%a = pipe.field %row \"number\" : i64 "
      "%b = pipe.field %other \"number\" : i64 %t = pipe.length %table\n"
      "%hundred = pipe.constant 100 : i64 -> i64 "
      "%c = pipe.binary mul %b, %hundred : i64 %s = pipe.binary add %a, %c : i64"
      " %thousand = pipe.constant 10000 : i64 -> i64 "
      "%u = pipe.binary mul %t, %thousand : i64 "
      "%r = pipe.binary add %s, %u : i64";
  EXPECT_EQ(integerOf(p.run(ops, deliver, {}, {13}, 10)), 100903);
  EXPECT_EQ(integerOf(p.run("%r = pipe.row_index %row", deliver, {}, {13}, 10)), 3);
}

TEST(ReferenceScope, aFailedCheckReportsItsValues) {
  OneSample p;
  const BatchResult result =
      p.run("%k = pipe.field %row \"number\" : i64 %ok = pipe.compare lt %k, %n : i64\n"
            "pipe.check %ok, \"row {0} is not below {1}\" (%k, %n)\n",
            "pipe.output \"r\" %k axes [\"n\"] stored [\"n\"] : i64", {}, {0, 4});
  ASSERT_EQ(result.error, "");
  EXPECT_FALSE(result.samples[0].failure);
  ASSERT_TRUE(result.samples[1].failure);
  EXPECT_EQ(result.samples[1].failure->message, "row {0} is not below {1}");
  EXPECT_EQ(result.samples[1].failure->first, 4);
  EXPECT_EQ(result.samples[1].failure->second, 1);
  EXPECT_TRUE(result.samples[1].outputs.empty());
}

TEST(ReferenceScope, peersReadOtherSlots) {
  OneSample p;
  // Each slot reads the next one's number; the last is clamped to itself.
  const BatchResult result =
      p.run("%k = pipe.field %row \"number\" : i64",
            "%slot = pipe.context slot %count = pipe.context count "
            "%next = pipe.binary add %slot, %n : i64 %o = pipe.peer %k[%next] : i64 -> i64 "
            "%hundred = pipe.constant 100 : i64 -> i64 %c = pipe.binary mul %count, %hundred : i64 "
            "%r = pipe.binary add %o, %c : i64 " +
                deliver,
            {}, {5, 6, 7});
  EXPECT_EQ(integerOf(result, 0), 306);
  EXPECT_EQ(integerOf(result, 1), 307);
  EXPECT_EQ(integerOf(result, 2), 307);
}

// Slot 0 takes the arm that peers; slot 1 does not, and must compute the value
// of that arm for it.
TEST(ReferenceScope, aPeerInsideABranchThatTheOtherDoesNotTake) {
  OneSample p;
  const BatchResult result = p.run(
      "%k = pipe.field %row \"number\" : i64",
      "%slot = pipe.context slot %r = pipe.choose %slot -> i64 {\n"
      "%d = pipe.binary add %k, %k : i64 %o = pipe.peer %d[%n] : i64 -> i64 pipe.yield %o : i64\n"
      "}, {\npipe.yield %k : i64\n}\n" +
          deliver,
      {}, {5, 6});
  EXPECT_EQ(integerOf(result, 0), 12);
  EXPECT_EQ(integerOf(result, 1), 6);
}

TEST(ReferenceScope, aPeerOfABadSampleIsBad) {
  OneSample p;
  const BatchResult result =
      p.run("%k = pipe.field %row \"number\" : i64 %six = pipe.constant 6 : i64 -> i64 "
            "%ok = pipe.compare ne %k, %six : i64 pipe.check %ok, \"six\" (%k, %k)\n",
            "%r = pipe.peer %k[%n] : i64 -> i64 " + deliver, {}, {5, 6});
  EXPECT_EQ(result.samples[0].failure->message, "reads a bad sample of the batch");
  EXPECT_EQ(result.samples[1].failure->message, "six");
}

TEST(ReferenceScope, raggedOutputsSayTheirLength) {
  OneSample p;
  const BatchResult result = p.run(
      "%x = pipe.field %row \"x\" sizes(%n) : !pipe.tensor<f32[k=?, box=2]>\n"
      "%y = pipe.map (%x) sizes(%n) : (!pipe.tensor<f32[k=?, box=2]>) -> "
      "!pipe.tensor<f32[k=? max 9, box=2]> {\n"
      "^bb0(%e: f32, %k: i64, %box: i64): pipe.yield %e : f32\n}",
      "pipe.output \"y\" %y sizes(%n) axes [\"n\", \"k\", \"box\"] stored [\"n\", \"k\", \"box\"] "
      "ragged : !pipe.tensor<f32[k=? max 9, box=2]>",
      {{"x", tensorOf<double>(DType::f32, {"k", "box"}, {1, 2}, {1, 2})}});
  ASSERT_EQ(result.error, "");
  EXPECT_EQ(result.samples[0].outputs[0].ragged, 1);
}

} // namespace
