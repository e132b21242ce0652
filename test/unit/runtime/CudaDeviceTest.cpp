// SPDX-License-Identifier: Apache-2.0
//
// A GPU behind the table of the driver's functions, simulated: what is queued is done late, in any
// order that is allowed, and every call may fail.

#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/abi/kernel.h"
#include "runtime/device/cpu/CpuDevice.h"
#include "runtime/device/cuda/FakeDriver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace penstock::runtime {

namespace {

using cuda::FakeDriver;
using cuda::FakeLaunch;
using testing::HasSubstr;

/// A kernel `add_one` over records of two numbers: an address and how many bytes there are.
class AddOne final : public cuda::FakeModule {
public:
  bool has(const std::string &kernel) const override { return kernel == "add_one"; }
  std::string run(const FakeLaunch &launch) override {
    for (unsigned sample = 0; sample < launch.count; ++sample) {
      const auto *record = static_cast<const int64_t *>(launch.records) + 2 * sample;
      auto *bytes = reinterpret_cast<uint8_t *>(record[0]);
      if (!bytes)
        return "a stray access";
      for (int64_t i = 0; i < record[1]; ++i)
        ++bytes[i];
      launch.status[1 + sample].values[0] = record[1];
    }
    return "";
  }
};

FakeDriver::Options options(uint64_t seed = 0, size_t memory = SIZE_MAX) {
  FakeDriver::Options result;
  result.seed = seed;
  result.memory = memory;
  result.load = [](const char *image) {
    return std::strcmp(image, "add one") ? nullptr : std::make_unique<AddOne>();
  };
  return result;
}

const std::vector<DeviceImage> addOne{{90, false, "add one"}};

/// A batch's way over the device: a copy in on one stream, a kernel and a copy out on another.
/// Returns the first error.
Status goThrough(Device &device, uint8_t *bytes, int64_t count) {
  auto in = device.makeStream(), work = device.makeStream();
  auto copied = device.makeEvent(), done = device.makeEvent();
  for (auto *made : {&in, &work})
    if (!*made)
      return made->error();
  for (auto *made : {&copied, &done})
    if (!*made)
      return made->error();
  auto code = device.load(addOne);
  if (!code)
    return code.error();
  auto kernel = (*code)->kernel("add_one");
  if (!kernel)
    return kernel.error();
  const size_t records = 2 * sizeof(int64_t), states = 2 * sizeof(pst_sample_status);
  const size_t size = records + states + size_t(count);
  std::shared_ptr<void> host = device.allocateHost(2 * size), memory = device.allocate(size);
  if (!host || !memory)
    return Error{Code::Limit, "no memory"};
  auto *slab = static_cast<uint8_t *>(host.get()), *back = slab + size,
       *arena = static_cast<uint8_t *>(memory.get());
  const int64_t record[] = {int64_t(reinterpret_cast<uintptr_t>(arena + records + states)), count};
  std::memcpy(slab, record, records);
  std::memcpy(slab + records + states, bytes, size_t(count));
  std::vector<Status> steps;
  auto step = [&](auto call) {
    if (steps.empty())
      if (Status status = call(); !status)
        steps.push_back(status);
  };
  step([&] { return (*in)->copyToDevice(arena, slab, records); });
  step([&] {
    return (*in)->copyToDevice(arena + records + states, slab + records + states, size_t(count));
  });
  step([&] { return (*in)->record(**copied); });
  step([&] { return (*work)->clear(arena + records, states); });
  step([&] { return (*work)->waitFor(**copied); });
  step([&] {
    return (*work)->launch(
        {*kernel, 1, 1, 32, 0, arena, reinterpret_cast<pst_sample_status *>(arena + records)});
  });
  step([&] { return (*work)->copyToHost(back, arena, size); });
  step([&] { return (*work)->record(**done); });
  step([&] { return (*done)->wait(); });
  if (!steps.empty())
    return steps[0];
  pst_sample_status status[2];
  std::memcpy(status, back + records, states);
  if (status[0].check || status[1].check || status[1].values[0] != count)
    return Error{Code::Corrupt, "the states are not those of the launch"};
  std::memcpy(bytes, back + records + states, size_t(count));
  return {};
}

TEST(CudaDevice, TheHostIsOneThatIsNeverLate) {
  auto device = makeCpuDevice();
  EXPECT_TRUE(device->isHost());
  auto memory = device->allocate(1000);
  ASSERT_TRUE(memory);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0u);
  auto stream = device->makeStream();
  ASSERT_TRUE((*stream)->copyToDevice(memory.get(), "water", 6));
  EXPECT_STREQ(static_cast<const char *>(memory.get()), "water");
  auto event = device->makeEvent();
  ASSERT_TRUE((*stream)->record(**event));
  EXPECT_TRUE((*event)->done());
  EXPECT_TRUE((*event)->wait());
  EXPECT_FALSE(device->load(addOne));
}

TEST(CudaDevice, StreamsAreOrderedByEventsAlone) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    FakeDriver driver(options(seed));
    {
      auto device = openCudaDevice(driver.table(), 0);
      ASSERT_TRUE(device);
      uint8_t bytes[] = {1, 2, 255};
      const Status status = goThrough(**device, bytes, 3);
      ASSERT_TRUE(status) << status.error().message;
      EXPECT_EQ(bytes[0], 2);
      EXPECT_EQ(bytes[2], 0);
    }
    EXPECT_EQ(driver.fault(), "");
    EXPECT_EQ(driver.left(), "");
  }
}

// The simulation shows what it is for: without the wait, some order gives other bytes.
TEST(CudaDevice, TheSimulatedOneShowsAMissingWait) {
  int wrong = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FakeDriver driver(options(seed));
    auto device = openCudaDevice(driver.table(), 0);
    auto memory = (*device)->allocate(8), host = (*device)->allocateHost(8),
         back = (*device)->allocateHost(8);
    auto in = (*device)->makeStream(), out = (*device)->makeStream();
    std::strcpy(static_cast<char *>(host.get()), "water");
    ASSERT_TRUE((*in)->copyToDevice(memory.get(), host.get(), 8));
    ASSERT_TRUE((*out)->copyToHost(back.get(), memory.get(), 8));
    auto event = (*device)->makeEvent();
    ASSERT_TRUE((*out)->record(**event));
    ASSERT_TRUE((*event)->wait());
    wrong += std::memcmp(back.get(), "water", 6) != 0; // poison has no end
  }
  EXPECT_GT(wrong, 10);
  EXPECT_LT(wrong, 40);
}

TEST(CudaDevice, TheSimulatedOneReadsSourcesLateAndPoisonsTargets) {
  FakeDriver driver(options());
  auto device = openCudaDevice(driver.table(), 0);
  auto memory = (*device)->allocate(8), host = (*device)->allocateHost(16);
  auto stream = (*device)->makeStream();
  auto event = (*device)->makeEvent();
  char *source = static_cast<char *>(host.get()), *target = source + 8;
  std::strcpy(source, "water");
  ASSERT_TRUE((*stream)->copyToDevice(memory.get(), source, 8));
  ASSERT_TRUE((*stream)->copyToHost(target, memory.get(), 8));
  ASSERT_TRUE((*stream)->record(**event));
  EXPECT_EQ(uint8_t(target[0]), FakeDriver::poison);
  std::strcpy(source, "steam"); // too early
  ASSERT_TRUE((*event)->wait());
  EXPECT_STREQ(target, "steam");
  EXPECT_FALSE((*stream)->copyToDevice(memory.get(), source, 9)); // longer than what was allocated
  char elsewhere[8] = {};
  EXPECT_FALSE((*stream)->copyToDevice(memory.get(), elsewhere, 8)); // not pinned
  EXPECT_NE(driver.fault(), "");
}

TEST(CudaDevice, AnyCallMayFailAndNothingIsLeftBehind) {
  std::map<std::string, int> calls;
  uint8_t bytes[] = {1, 2, 3};
  {
    FakeDriver driver(options());
    ASSERT_TRUE(goThrough(**openCudaDevice(driver.table(), 0), bytes, 3));
    calls = driver.calls();
  }
  const std::vector<std::string> givingBack{
      "devicePrimaryCtxRelease", "memFree",      "memFreeHost",
      "streamDestroy",           "eventDestroy", "moduleUnload"};
  int tried = 0;
  for (const auto &[function, count] : calls) {
    if (std::find(givingBack.begin(), givingBack.end(), function) != givingBack.end())
      continue;
    for (int number = 0; number < count; ++number, ++tried) {
      FakeDriver driver(options());
      driver.fail(function, number, cuda::launchFailed);
      Status status;
      if (auto device = openCudaDevice(driver.table(), 0); device)
        status = goThrough(**device, bytes, 3);
      else
        status = device.error();
      // A call that gives something back has nobody to tell; what could not be entered stays.
      const bool mayPass = function == "ctxPopCurrent" || function == "ctxPushCurrent" ||
                           function == "streamSynchronize";
      if (mayPass && status)
        continue;
      ASSERT_FALSE(status) << function << " " << number;
      EXPECT_NE(status.error().message, "") << function;
      EXPECT_EQ(driver.left(), "") << function << " " << number;
    }
  }
  EXPECT_GT(tried, 40);
}

TEST(CudaDevice, CountsWhatIsTaken) {
  FakeDriver driver(options(0, 1000));
  auto device = *openCudaDevice(driver.table(), 0);
  auto there = device->allocate(600), here = device->allocateHost(70);
  EXPECT_EQ(device->allocate(600), nullptr);
  EXPECT_EQ(device->taken().device, 600u);
  EXPECT_EQ(device->taken().pinned, 70u);
  there.reset();
  here.reset();
  EXPECT_EQ(device->taken().device + device->taken().pinned, 0u);
}

TEST(CudaDevice, MemoryHasAnEnd) {
  FakeDriver driver(options(0, 100));
  auto device = openCudaDevice(driver.table(), 0);
  auto memory = (*device)->allocate(60);
  EXPECT_TRUE(memory);
  EXPECT_FALSE((*device)->allocate(60));
  memory.reset();
  EXPECT_TRUE((*device)->allocate(60));
}

TEST(CudaDevice, AfterAStrayAccessTheFirstCauseStays) {
  FakeDriver driver(options());
  auto device = openCudaDevice(driver.table(), 0);
  auto code = (*device)->load(addOne);
  auto kernel = (*code)->kernel("add_one");
  auto stream = (*device)->makeStream();
  auto event = (*device)->makeEvent();
  auto memory = (*device)->allocate(64);
  ASSERT_TRUE((*stream)->clear(memory.get(), 64)); // a record with no address
  ASSERT_TRUE((*stream)->launch({*kernel, 1, 1, 32, 0, memory.get(), nullptr}));
  ASSERT_TRUE((*stream)->record(**event));
  const Status first = (*event)->wait();
  ASSERT_FALSE(first);
  EXPECT_THAT(first.error().message,
              HasSubstr("GPU 0 (simulated): waiting for a batch: an illegal memory access"));
  const Status later = (*stream)->clear(memory.get(), 64);
  ASSERT_FALSE(later);
  EXPECT_THAT(later.error().message,
              HasSubstr("the GPU can do nothing more since this: GPU 0 (simulated): waiting"));
  EXPECT_THAT(driver.fault(), HasSubstr("kernel add_one: a stray access"));
}

TEST(CudaDevice, TakesTheCodeThatSuitsItBest) {
  FakeDriver::Options simulated = options();
  std::vector<std::string> loaded;
  simulated.architecture = 86;
  simulated.load = [&](const char *image) -> std::unique_ptr<cuda::FakeModule> {
    loaded.push_back(image);
    return image[0] == 'o' ? nullptr : std::make_unique<AddOne>(); // an old driver knows no "o..."
  };
  FakeDriver driver(simulated);
  auto device = openCudaDevice(driver.table(), 0);
  const DeviceImage sm75{75, false, "75"}, sm80{80, false, "80"}, old{86, false, "o86"},
      sm90{90, false, "90"}, ptx75{75, true, "ptx75"}, oldPtx{80, true, "optx80"};
  EXPECT_TRUE((*device)->load({sm75, sm90, ptx75, sm80}));
  EXPECT_EQ(loaded, std::vector<std::string>{"80"});
  loaded.clear();
  EXPECT_TRUE((*device)->load({ptx75, sm80, oldPtx, old}));
  EXPECT_EQ(loaded, (std::vector<std::string>{"o86", "80"}));
  loaded.clear();
  EXPECT_TRUE((*device)->load({sm75, ptx75, oldPtx}));
  EXPECT_EQ(loaded, (std::vector<std::string>{"optx80", "ptx75"}));
  auto none = (*device)->load({sm75, sm90});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message,
            "the program was compiled for sm_75 and sm_90; the simulated is an sm_86");
  none = (*device)->load({old});
  ASSERT_FALSE(none);
  EXPECT_THAT(
      none.error().message,
      HasSubstr("the simulated is an sm_86, whose driver (CUDA 12.4) is too old for this code"));
}

TEST(CudaDevice, GoesOnBehindAnInvalidImage) {
  FakeDriver::Options simulated = options();
  simulated.refusal = cuda::invalidImage; // as of a cubin that is compressed in a later way
  simulated.load = [](const char *image) -> std::unique_ptr<cuda::FakeModule> {
    return image[0] == 'o' ? nullptr : std::make_unique<AddOne>();
  };
  FakeDriver driver(simulated);
  auto device = openCudaDevice(driver.table(), 0);
  EXPECT_TRUE((*device)->load({{75, true, "ptx75"}, {90, false, "o90"}}));
}

TEST(CudaDevice, RefusesWhatThereIsNot) {
  FakeDriver driver(options());
  auto second = openCudaDevice(driver.table(), 1);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message, "there is no GPU 1: the machine has 1, numbered from 0");
  auto device = openCudaDevice(driver.table(), 0);
  auto code = (*device)->load(addOne);
  auto kernel = (*code)->kernel("add_two");
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().message, "the GPU code has no kernel add_two");
  kernel = (*code)->kernel("add_one", 228 << 10);
  ASSERT_FALSE(kernel);
  EXPECT_THAT(
      kernel.error().message,
      HasSubstr("needs 233472 bytes of shared memory; a block of the simulated has 232448"));
}

} // namespace

} // namespace penstock::runtime
