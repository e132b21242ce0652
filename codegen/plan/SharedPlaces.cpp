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

/// Steps of a chain run at the same time as those of other chains of their launch. So a buffer that
/// one writes is there, for what others read, since the launch begins.
struct Life {
  int first = INT_MAX, last = -1;    ///< positions of steps
  int firstSeen = INT_MAX;           ///< by others than those of its chain
  std::pair<int, int> chain{-1, -1}; ///< and its launch, of the step that writes it
  int stage = 0;
  bool kept = false;
};

struct Place {
  int last;
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
  /// Calls `visit` once for `buffer` and each of those that it may stand for.
  void forEachChoice(int buffer, const std::function<void(Life &)> &visit);
  /// Bytes where all extents are known, else -1.
  int64_t bytesOf(int buffer) const;

  plan::PlanT &plan;
  std::vector<Life> lives;
  std::vector<int> visited; ///< by buffer: the last walk that came here
  int walk = 0;
};

} // namespace

void Sharing::read(const plan::AccessT &access, const plan::StepT &step, int position) {
  forEachChoice(access.buffer, [&](Life &life) {
    life.last = std::max(life.last, position);
    // As whatever a peer reads. Those of all samples lie one behind the other.
    life.kept |= step.stage > life.stage || access.all;
  });
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
  std::map<int, int> begins; // positions of launches with chains, by join
  for (int position = 0; size_t number : order) {
    const plan::StepT &step = *plan.steps[number];
    const bool isChained = step.join >= 0 && plan.joins[static_cast<size_t>(step.join)]->chains > 0;
    const int begin = isChained ? begins.try_emplace(step.join, position).first->second : position;
    for (int buffer : step.outputs) {
      Life &life = lives[static_cast<size_t>(buffer)];
      life.first = std::min(life.first, position);
      life.last = std::max(life.last, position);
      life.firstSeen = std::min(life.firstSeen, begin);
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
      if (place.last >= (isOfChain ? life.first : life.firstSeen))
        return INT64_MAX; // still read
      return (place.bytes < 0) != (bytes < 0) ? INT64_MAX - 1 : std::abs(place.bytes - bytes);
    };
    auto nearest =
        std::min_element(places.begin(), places.end(),
                         [&](const Place &a, const Place &b) { return distance(a) < distance(b); });
    if (nearest == places.end() || distance(*nearest) == INT64_MAX) {
      places.push_back({life.last, life.chain, bytes, {buffer}});
      continue;
    }
    nearest->last = life.last;
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
