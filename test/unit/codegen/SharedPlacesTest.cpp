// SPDX-License-Identifier: Apache-2.0
//
// Which buffers of a plan share memory.
#include "codegen/plan/SharedPlaces.h"

#include <gtest/gtest.h>
#include <set>

namespace penstock::test {

namespace {

using plan::BufferKind;

struct Draft {
  plan::PlanT plan;

  int buffer(BufferKind kind, int64_t extent) {
    auto buffer = std::make_unique<plan::BufferT>();
    buffer->kind = kind;
    buffer->type = plan::DType::f32;
    buffer->dims.push_back(std::make_unique<plan::DimT>());
    buffer->dims[0]->extent = extent;
    plan.buffers.push_back(std::move(buffer));
    return int(plan.buffers.size()) - 1;
  }
  int temporary(int64_t extent = 100) { return buffer(BufferKind::temporary, extent); }
  plan::StepT &step(const std::vector<int> &inputs, int output, int stage = 0) {
    auto step = std::make_unique<plan::StepT>();
    for (int input : inputs) {
      step->inputs.push_back(std::make_unique<plan::AccessT>());
      step->inputs.back()->buffer = input;
    }
    step->outputs = {output};
    step->stage = stage;
    plan.steps.push_back(std::move(step));
    return *plan.steps.back();
  }
  int place(int buffer) const { return plan.buffers[size_t(buffer)]->place; }
  /// Bytes of all temporaries, a shared place counted once.
  int64_t bytes() const {
    int64_t total = 0;
    std::vector<int64_t> shared(plan.buffers.size());
    for (const auto &buffer : plan.buffers) {
      if (buffer->kind != BufferKind::temporary)
        continue;
      const int64_t own = 4 * buffer->dims[0]->extent;
      if (buffer->place < 0)
        total += own;
      else
        shared[size_t(buffer->place)] = std::max(shared[size_t(buffer->place)], own);
    }
    for (int64_t place : shared)
      total += place;
    return total;
  }
};

TEST(SharedPlaces, AChainNeedsTwo) {
  Draft d;
  const int in = d.buffer(BufferKind::field, 100), out = d.buffer(BufferKind::output, 100);
  const int a = d.temporary(), b = d.temporary(80), c = d.temporary(90), e = d.temporary(70);
  d.step({in}, a), d.step({a}, b), d.step({b}, c), d.step({c}, e), d.step({e}, out);
  EXPECT_EQ(d.bytes(), 4 * 340);
  codegen::shareMemory(d.plan);
  EXPECT_EQ(d.bytes(), 4 * 180);
  EXPECT_EQ(d.place(a), d.place(c));
  EXPECT_EQ(d.place(b), d.place(e));
  EXPECT_NE(d.place(a), d.place(b)); // a step reads one and writes the other
  EXPECT_EQ(d.place(in), -1);
  EXPECT_EQ(d.place(out), -1);
}

TEST(SharedPlaces, WhatIsReadAgainStays) {
  Draft d;
  const int out = d.buffer(BufferKind::output, 100);
  const int a = d.temporary(), b = d.temporary(), c = d.temporary();
  d.step({}, a), d.step({a}, b), d.step({b}, c), d.step({a, c}, out);
  codegen::shareMemory(d.plan);
  for (int buffer : {a, b, c})
    EXPECT_EQ(d.place(buffer), -1);
}

TEST(SharedPlaces, AChoiceLivesAsLongAsItsAlias) {
  Draft d;
  const int a = d.temporary(), b = d.temporary();
  const int alias = d.buffer(BufferKind::alias, 100);
  d.plan.buffers[size_t(alias)]->choices = {a, b};
  const int c = d.temporary(), e = d.temporary(), out = d.buffer(BufferKind::output, 100);
  d.step({}, a), d.step({}, b), d.step({}, c), d.step({alias, c}, e), d.step({e}, out);
  codegen::shareMemory(d.plan);
  for (int buffer : {a, b, c, e})
    EXPECT_EQ(d.place(buffer), -1);
}

TEST(SharedPlaces, WhatPeersOrLaterStagesReadHasItsOwn) {
  Draft d;
  const int a = d.temporary(), b = d.temporary(), c = d.temporary(), e = d.temporary();
  const int out = d.buffer(BufferKind::output, 100);
  d.step({}, a), d.step({a}, b), d.step({}, c);
  d.step({b}, e, 1).inputs[0]->peer_slot = 3;
  d.step({e, c}, out, 1);
  codegen::shareMemory(d.plan);
  EXPECT_EQ(d.place(b), -1);
  EXPECT_EQ(d.place(c), -1);
  EXPECT_GE(d.place(a), 0);
  EXPECT_EQ(d.place(a), d.place(e));
}

// Chains of a launch run at the same time: each shares within itself, and with what the others have
// left only behind the launch.
TEST(SharedPlaces, ChainsShareWithinThemselves) {
  Draft d;
  d.plan.joins.push_back(std::make_unique<plan::JoinT>());
  d.plan.joins[0]->chains = 2;
  const int in = d.buffer(BufferKind::field, 100), out = d.buffer(BufferKind::output, 100);
  std::vector<std::vector<int>> chains;
  for (int chain = 0; chain < 2; ++chain) {
    auto &made = chains.emplace_back(std::vector<int>{in});
    for (int i = 0; i < 4; ++i) {
      made.push_back(d.temporary());
      plan::StepT &step = d.step({made[made.size() - 2]}, made.back());
      step.join = 0;
      step.chain = chain;
    }
  }
  const int behind = d.temporary();
  d.step({chains[0].back(), chains[1].back()}, behind);
  d.step({behind}, out);
  codegen::shareMemory(d.plan);
  std::vector<std::set<int>> places;
  for (const auto &made : chains) {
    EXPECT_EQ(d.place(made[1]), d.place(made[3]));
    EXPECT_NE(d.place(made[1]), d.place(made[2]));
    places.push_back({d.place(made[1]), d.place(made[2]), d.place(made[4])});
  }
  for (int place : places[0])
    EXPECT_EQ(places[1].count(place), 0u);
  EXPECT_EQ(places[0].count(d.place(behind)) + places[1].count(d.place(behind)), 1u);
}

// What a chain reads of before the launch is there while others run, however early it is read.
TEST(SharedPlaces, WhatAChainReadsLivesAsLongAsTheLaunch) {
  Draft d;
  d.plan.joins.push_back(std::make_unique<plan::JoinT>());
  d.plan.joins[0]->chains = 2;
  const int in = d.buffer(BufferKind::field, 100), out = d.buffer(BufferKind::output, 100);
  const int before = d.temporary(), first = d.temporary(), second = d.temporary();
  d.step({in}, before);
  for (auto [chain, made] : {std::pair(0, first), std::pair(1, second)}) {
    plan::StepT &step = d.step({chain == 0 ? before : in}, made);
    step.join = 0;
    step.chain = chain;
  }
  d.step({first, second}, out);
  codegen::shareMemory(d.plan);
  EXPECT_EQ(d.bytes(), 3 * 400);
}

TEST(SharedPlaces, AnImageIsReusedOnceItIsRead) {
  Draft d;
  const int image = d.buffer(BufferKind::media, -1);
  d.plan.decodes.push_back(std::make_unique<plan::DecodeT>());
  d.plan.decodes[0]->buffer = image;
  const int a = d.temporary(-1), b = d.temporary(-1), out = d.buffer(BufferKind::output, 100);
  d.step({image}, a), d.step({a}, b), d.step({b}, out);
  codegen::shareMemory(d.plan);
  EXPECT_GE(d.place(image), 0);
  EXPECT_EQ(d.place(image), d.place(b));
  EXPECT_EQ(d.place(a), -1);
}

} // namespace

} // namespace penstock::test
