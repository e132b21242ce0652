// SPDX-License-Identifier: Apache-2.0
//
// The last stage of a batch, on a device.
#pragma once

#include "runtime/sched/DeviceProgram.h"
#include "runtime/sched/Program.h"
#include "runtime/sched/Work.h"

#include <functional>
#include <utility>
#include <vector>

namespace penstock::runtime {

/// Returns whether samples can run through the device's stage without the others of their batch.
bool runsAlone(const Layout &layout);

/// Runs the stage of a batch that is on the device, one batch at a time, with memory of the host
/// that the device copies from and memory of the device. Both grow to the largest batch, and are
/// reused.
///
/// All inputs (decoded regions, fields, tables, results of kernels on the host) and the records of
/// launches are packed into one slab, which is copied at once. Planes become pixels first. Then the
/// kernels run, in the order of the plan, each for all samples at once; states, counts and outputs
/// come back. Outputs that stay on the device are written where the batch is delivered, after the
/// last consumer's work there.
class DeviceStage {
public:
  /// By slot, as BatchScheduler collects them.
  using Failed = std::vector<std::pair<int64_t, Failure>>;

  explicit DeviceStage(std::shared_ptr<const Program> program);

  /// Runs the stage of `slots`, ascending: all of the batch, or some where they run alone. Waits
  /// until it is done. The error is the device's; samples that fail by themselves are in `failed`.
  Status run(Work &work, const std::vector<int64_t> &slots, Failed &failed);

private:
  /// The part of a decoded image that is copied to the device, in the image's coordinates.
  struct Region {
    int64_t top = 0, left = 0, rows = 0, columns = 0;
  };
  struct Crossing {
    int64_t slot;
    int number; ///< of the buffer
    const pst_tensor *from;
    const plan::DecodeT *decode; ///< null if it is not decoded
    bool isPicture;              ///< decoded from an image or a video
    Region region;               ///< of other media than pictures: rows of the first axis
    int64_t offset;
    const Planes *planes = nullptr; ///< copied in place of the region's pixels
    int64_t pixels = 0;             ///< where these are made
  };
  struct Running {
    size_t step;
    std::vector<int64_t> slots;
    int64_t records;
  };
  /// A joined launch of the steps `first` ..< `end` of those that run.
  struct Joined {
    int number; ///< of the layout's joins
    size_t first, end;
    std::vector<int64_t> slots; ///< of any of them, ascending
    int64_t records = 0;
    size_t entries = 0; ///< how many: of samples, or of their chains
  };

  void findBuffers();
  void findCrossing(int buffer);
  void findCounts(int buffer);
  pst_tensor &tensor(int64_t slot, int buffer) {
    return tensors[size_t(slot) * used.size() + size_t(entries[size_t(buffer)])];
  }
  int resolve(int buffer, const int64_t *block) const;
  int64_t place(int64_t bytes);
  uint8_t *outputAt(Work &work, size_t output) const;
  Status waitOrFinish(Status status);
  void placeTogether(Work &work, int number);
  void placeCrossing(Work &work, int64_t slot, int number);
  void placeRegion(const pst_tensor &from, pst_tensor &to, Crossing &crossing,
                   const int64_t *block);
  void placeRows(const pst_tensor &from, pst_tensor &to, Crossing &crossing, const int64_t *block);
  void pointAtRegion(pst_tensor &to, int64_t offset, const Crossing &crossing);
  void placePixels();
  bool shapeMade(Work &work, int64_t slot, Failure &failure);
  Status placeSteps(Work &work, const std::vector<int64_t> &slots);
  void placeJoined(const std::vector<int64_t> &slots);
  void placeFills();
  void placeOutputs(Work &work);
  void placeMade(Work &work, int64_t slot);
  bool allocate();
  void pack(Work &work);
  void packPlanes();
  void packRecords(Work &work);
  using Pack = std::function<void(int64_t slot, int part, const std::vector<pst_tensor> &arguments,
                                  const uint8_t *record)>;
  void packRecords(Work &work, const Running &running, const Pack &packed);
  const BufferLayout &bufferOf(const StepLayout &step, size_t tensor) const;
  void packJoined(Work &work, const Joined &all);
  void packChains(Work &work, const Joined &all);
  void *addressOf(Work &work, int64_t slot, int number);
  pst_tensor input(Work &work, int64_t slot, const StepLayout::Input &access);
  Status launch(DeviceKernel kernel, uint32_t threads, uint32_t sharedBytes, size_t count,
                int64_t records, size_t width, const std::function<uint32_t(size_t)> &blocks);
  Status queue(Work &work, const std::vector<int64_t> &slots);
  Status moveOutputs(Work &work, const std::vector<int64_t> &slots, bool back);
  Status finishOutputs(Work &work);
  Status moveTogether(Work &work, size_t output, const std::vector<int64_t> &lengths);
  Status fillUp(Work &work, size_t output, const std::vector<int64_t> &lengths);
  void readStates(Work &work, const std::vector<int64_t> &slots, Failed &failed);
  int64_t countOf(Work &work, int64_t slot, int buffer);

  std::shared_ptr<const Program> program;
  const Layout &layout;
  const plan::PlanT &tree;
  DeviceProgram &shared;
  const int stage;
  std::unique_ptr<DeviceEvent> copied, done;

  std::vector<int> used;           ///< buffers that the stage touches
  std::vector<int> entries;        ///< by buffer: its place in `used`, or -1
  std::vector<int> crossing, made; ///< of `used`: from the host; by the stage's steps
  std::vector<int> counts;         ///< of `made`: numbers that the host reads
  bool copiesOutputs = false;      ///< that the host has made, or of which samples lie apart
  std::vector<bool> crosses;
  std::vector<int> decodes; ///< by buffer: the number of the decode, or -1

  // Of the batch at hand. Addresses are offsets into the arena until allocate().
  std::vector<pst_tensor> tensors; ///< by slot, then `used`
  std::vector<int64_t> together;   ///< of `used`: where those of all samples begin that are read so
  std::vector<Crossing> parts;
  size_t planes = 0;        ///< how many of `parts` cross as such
  int64_t planeRecords = 0; ///< of the launch that makes pixels of them
  std::vector<Running> steps;
  std::vector<Joined> joined;       ///< of `steps`, ascending
  std::vector<int64_t> scratch;     ///< by slot
  std::vector<int64_t> scratchEach; ///< bytes of each chain's, by slot
  int chains = 1;                   ///< most of a joined launch
  std::vector<int64_t> outputs;     ///< by output: of those that do not stay
  std::vector<int64_t> fills;       ///< by output: offset of its padding value
  int64_t spare = 0;                ///< room for one sample of ragged ones that stay, or its fill
  int64_t slabBytes = 0, totalBytes = 0;
  int64_t states = 0, stateBytes = 0; ///< of the batch and its samples, then the counts
  int64_t lowest = 0, highest = 0;    ///< range that kernels may read of partly copied images

  std::shared_ptr<void> slab, arena, answer; ///< of the host, of the device, of the host
  int64_t slabRoom = 0, arenaRoom = 0, answerRoom = 0;
  uint8_t *base = nullptr; ///< of the arena's offset 0
};

} // namespace penstock::runtime
