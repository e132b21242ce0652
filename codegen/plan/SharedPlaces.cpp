// SPDX-License-Identifier: Apache-2.0
//
// Buffers whose lives do not overlap.
//
// Places are handed out in the order in which buffers come to life, to the free
// place whose size is nearest. Sizes that only the sample knows are together:
// they are mostly those of its image.
#include "codegen/plan/SharedPlaces.h"

#include "runtime/abi/element.h"

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <numeric>
#include <utility>

namespace penstock::codegen {

namespace {

/// Steps of chains run at the same time as those of other chains of their launch, and after what is
/// before the launch. So a buffer of a chain lives, as others see it, while the whole launch runs.
struct Life {
  int first = INT_MAX, last = -1; ///< positions of steps
  int firstSeen = INT_MAX, lastSeen = -1;
  std::pair<int, int> chain{-1, -1}; ///< and its launch, of the step that writes it
  int stage = 0;
  bool kept = false;
};

struct Place {
  int last, lastSeen;
  std::pair<int, int> chain; ///< of the last member
  int64_t bytes;
  std::vector<int> members;
};

class Sharing {
public:
  explicit Sharing(plan::PlanT &plan)
      : plan(plan), lives(plan.buffers.size()), visited(plan.buffers.size()) {}

  void findLives();
  void handOut();

private:
  void keep(int buffer);
  void read(const plan::AccessT &access, const plan::StepT &step, int position);
  /// Positions of the steps that run while one of a chain does: those of its launch.
  std::pair<int, int> seenAt(const plan::StepT &step, int position) const;
  /// Calls `visit` once for `buffer` and each of those that it may stand for.
  void forEachChoice(int buffer, const std::function<void(Life &)> &visit);
  /// Bytes where all extents are known, else -1.
  int64_t bytesOf(int buffer) const;

  plan::PlanT &plan;
  std::map<int, std::pair<int, int>> launches; ///< by join: positions of those with chains
  std::vector<Life> lives;
  std::vector<int> visited; ///< by buffer: the last walk that came here
  int walk = 0;
};

} // namespace

void Sharing::read(const plan::AccessT &access, const plan::StepT &step, int position) {
  forEachChoice(access.buffer, [&](Life &life) {
    life.last = std::max(life.last, position);
    life.lastSeen = std::max(life.lastSeen, seenAt(step, position).second);
    // As whatever a peer reads. Those of all samples lie one behind the other.
    life.kept |= step.stage > life.stage || access.all;
  });
}

std::pair<int, int> Sharing::seenAt(const plan::StepT &step, int position) const {
  const auto found = launches.find(step.join);
  return found == launches.end() ? std::pair(position, position) : found->second;
}

// Choices of choices share most of what they stand for: a path each would be
// exponentially many.
void Sharing::forEachChoice(int buffer, const std::function<void(Life &)> &visit) {
  ++walk;
  std::vector<int> open{buffer};
  while (!open.empty()) {
    const auto next = static_cast<size_t>(open.back());
    open.pop_back();
    if (std::exchange(visited[next], walk) == walk)
      continue;
    visit(lives[next]);
    const std::vector<int> &choices = plan.buffers[next]->choices;
    open.insert(open.end(), choices.begin(), choices.end());
  }
}

void Sharing::findLives() {
  for (const auto &decode : plan.decodes)
    lives[static_cast<size_t>(decode->buffer)].first =
        lives[static_cast<size_t>(decode->buffer)].firstSeen = -1;
  // As the runtime runs them.
  std::vector<size_t> order(plan.steps.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(plan.steps[a]->stage, a) < std::pair(plan.steps[b]->stage, b);
  });
  for (int position = 0; size_t number : order) {
    const int join = plan.steps[number]->join;
    if (join >= 0 && plan.joins[static_cast<size_t>(join)]->chains > 0)
      launches.try_emplace(join, position, position).first->second.second = position;
    ++position;
  }
  for (int position = 0; size_t number : order) {
    const plan::StepT &step = *plan.steps[number];
    for (int buffer : step.outputs) {
      Life &life = lives[static_cast<size_t>(buffer)];
      const auto [firstSeen, lastSeen] = seenAt(step, position);
      life.first = std::min(life.first, position);
      life.last = std::max(life.last, position);
      life.firstSeen = std::min(life.firstSeen, firstSeen);
      life.lastSeen = std::max(life.lastSeen, lastSeen);
      if (step.chain >= 0)
        life.chain = {step.join, step.chain};
      life.stage = step.stage;
    }
    for (const auto &access : step.inputs)
      read(*access, step, position);
    ++position;
  }
  // Read when the stage has run.
  for (const auto &output : plan.outputs)
    for (const auto &count : output->counts)
      keep(count->buffer);
}

void Sharing::keep(int buffer) {
  forEachChoice(buffer, [](Life &life) { life.kept = true; });
}

int64_t Sharing::bytesOf(int buffer) const {
  int64_t size = elementBytes(plan.buffers[static_cast<size_t>(buffer)]->type);
  for (const auto &dim : plan.buffers[static_cast<size_t>(buffer)]->dims)
    size = size < 0 || dim->extent < 0 ? -1 : size * dim->extent;
  return size;
}

void Sharing::handOut() {
  std::vector<int> order;
  for (size_t i = 0; i < lives.size(); ++i) {
    const plan::BufferKind kind = plan.buffers[i]->kind;
    if ((kind == plan::BufferKind::media || kind == plan::BufferKind::temporary) &&
        !lives[i].kept && lives[i].first != INT_MAX)
      order.push_back(static_cast<int>(i));
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(lives[static_cast<size_t>(a)].first, a) <
           std::pair(lives[static_cast<size_t>(b)].first, b);
  });
  std::vector<Place> places;
  for (int buffer : order) {
    const Life &life = lives[static_cast<size_t>(buffer)];
    const int64_t bytes = bytesOf(buffer);
    auto distance = [&](const Place &place) {
      const bool isOfChain = life.chain.first >= 0 && place.chain == life.chain;
      if (isOfChain ? place.last >= life.first : place.lastSeen >= life.firstSeen)
        return INT64_MAX; // still read
      return (place.bytes < 0) != (bytes < 0) ? INT64_MAX - 1 : std::abs(place.bytes - bytes);
    };
    auto nearest =
        std::min_element(places.begin(), places.end(),
                         [&](const Place &a, const Place &b) { return distance(a) < distance(b); });
    if (nearest == places.end() || distance(*nearest) == INT64_MAX) {
      places.push_back({life.last, life.lastSeen, life.chain, bytes, {buffer}});
      continue;
    }
    nearest->last = life.last;
    nearest->lastSeen = std::max(nearest->lastSeen, life.lastSeen);
    nearest->chain = life.chain;
    nearest->bytes = std::max(nearest->bytes, bytes);
    nearest->members.push_back(buffer);
  }
  for (int number = 0; const Place &place : places) {
    if (place.members.size() == 1)
      continue;
    for (int buffer : place.members)
      plan.buffers[static_cast<size_t>(buffer)]->place = number;
    ++number;
  }
}

void shareMemory(plan::PlanT &plan) {
  Sharing sharing(plan);
  sharing.findLives();
  sharing.handOut();
}

} // namespace penstock::codegen
