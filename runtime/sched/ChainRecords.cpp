// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/ChainRecords.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

/// What the block of a chain holds while it runs.
class Held {
public:
  using Step = ChainRecords::Step;
  Held(const std::vector<Step> &steps, std::function<ChainRecords::Picture(int buffer)> pictureOf,
       pst_joined_sample &to)
      : steps(steps), pictureOf(std::move(pictureOf)), to(to) {}

  void run() {
    for (size_t i = 0; i < steps.size(); ++i) {
      const Step &step = steps[i];
      if (std::count(step.inMemory.begin(), step.inMemory.end(), picture))
        store();
      if (step.reads >= 0 && step.reads != picture)
        load(step.reads, i);
      if (step.writes >= 0 && isWanted(i + 1))
        store();
      emit({step.record, step.body, 0});
      if (step.writes >= 0) {
        picture = step.writes;
        isOnlyHere = true;
      }
    }
  }

private:
  /// Returns whether steps from `first` on read the picture.
  bool isWanted(size_t first) const {
    return std::any_of(steps.begin() + std::ptrdiff_t(first), steps.end(), [&](const Step &step) {
      return step.reads == picture ||
             std::count(step.inMemory.begin(), step.inMemory.end(), picture);
    });
  }
  void store() {
    if (isOnlyHere)
      copy(PST_JOINED_STORE);
    isOnlyHere = false;
  }
  void load(int wanted, size_t step) {
    if (isWanted(step))
      store();
    picture = wanted;
    isOnlyHere = false;
    copy(PST_JOINED_LOAD);
  }
  void copy(uint32_t body) {
    const ChainRecords::Picture found = pictureOf(picture);
    emit({found.data, body, found.words});
  }
  void emit(pst_joined_step step) {
    reinterpret_cast<pst_joined_step *>(&to + 1)[to.steps++] = step;
  }

  const std::vector<Step> &steps;
  std::function<ChainRecords::Picture(int buffer)> pictureOf;
  pst_joined_sample &to;
  int picture = -1;
  bool isOnlyHere = false; ///< memory does not have it
};

} // namespace

size_t ChainRecords::fill(size_t room,
                          const std::function<Picture(int64_t slot, int buffer)> &pictureOf,
                          uint8_t *to) const {
  for (const auto &[entry, steps] : entries) {
    auto &record = *reinterpret_cast<pst_joined_sample *>(to);
    const int64_t slot = entry.first;
    record = {slot + 1, 0, 0};
    Held(steps, [&](int buffer) { return pictureOf(slot, buffer); }, record).run();
    to += bytes(room);
  }
  return entries.size();
}

} // namespace penstock::runtime
