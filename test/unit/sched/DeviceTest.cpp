#include "runtime/device/FakeDevice.h"
#include "runtime/device/cpu/CpuDevice.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace penstock::test {

namespace {

using namespace penstock::runtime;

TEST(Device, TheHostCopiesAtOnce) {
  auto device = makeCpuDevice();
  EXPECT_TRUE(device->isHost());
  auto memory = device->allocate(1000);
  ASSERT_TRUE(memory);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.get()) % 64, 0u);
  ASSERT_TRUE(device->copyToDevice(memory.get(), "water", 6));
  EXPECT_STREQ(static_cast<const char *>(memory.get()), "water");
  auto event = device->makeEvent();
  ASSERT_TRUE(device->record(*event));
  EXPECT_TRUE(event->done());
  EXPECT_TRUE(event->wait());
}

TEST(Device, TheFakeOneShowsWhoReadsTooEarly) {
  auto device = std::make_shared<FakeDevice>(3);
  auto memory = device->allocate(8);
  char host[8] = "water", back[8] = {};
  ASSERT_TRUE(device->copyToDevice(memory.get(), host, 8));
  ASSERT_TRUE(device->copyToHost(back, memory.get(), 8));
  auto event = device->makeEvent();
  ASSERT_TRUE(device->record(*event));
  EXPECT_FALSE(event->done());
  EXPECT_EQ(uint8_t(back[0]), FakeDevice::poison);
  while (device->advance()) {
  }
  EXPECT_TRUE(event->done());
  EXPECT_STREQ(back, "water");
}

// A chain of copies through the device and back, waited for at some points only:
// whatever the device does early, what was waited for is there.
TEST(Device, AnyPaceOfTheFakeOneGivesTheSameBytes) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    auto device = std::make_shared<FakeDevice>(seed);
    std::mt19937_64 random(seed);
    constexpr size_t blocks = 6, size = 32;
    std::vector<std::vector<uint8_t>> host(blocks, std::vector<uint8_t>(size));
    std::vector<std::vector<uint8_t>> back = host;
    std::vector<std::shared_ptr<void>> memory; // goes first: it ends what is queued
    std::vector<std::unique_ptr<DeviceEvent>> events;
    for (size_t i = 0; i < blocks; ++i) {
      memory.push_back(device->allocate(size));
      for (uint8_t &byte : host[i])
        byte = uint8_t(random());
      ASSERT_TRUE(device->copyToDevice(memory[i].get(), host[i].data(), size));
      ASSERT_TRUE(device->copyToHost(back[i].data(), memory[i].get(), size));
      events.push_back(device->makeEvent());
      ASSERT_TRUE(device->record(*events[i]));
      while (random() % 2)
        device->advance();
      const size_t waited = random() % (i + 1);
      ASSERT_TRUE(events[waited]->wait());
      for (size_t j = 0; j <= waited; ++j) {
        ASSERT_TRUE(events[j]->done()) << "seed " << seed;
        ASSERT_EQ(back[j], host[j]) << "seed " << seed;
      }
    }
  }
}

TEST(Device, TheFakeOneReadsSourcesLate) {
  auto device = std::make_shared<FakeDevice>();
  auto memory = device->allocate(8);
  char host[8] = "water";
  ASSERT_TRUE(device->copyToDevice(memory.get(), host, 8));
  auto event = device->makeEvent();
  ASSERT_TRUE(device->record(*event));
  std::strcpy(host, "steam"); // too early
  ASSERT_TRUE(event->wait());
  EXPECT_STREQ(static_cast<const char *>(memory.get()), "steam");
}

TEST(Device, TheFakeOneFailsAndRunsOut) {
  auto device = std::make_shared<FakeDevice>(0, 100);
  auto memory = device->allocate(60);
  ASSERT_TRUE(memory);
  EXPECT_FALSE(device->allocate(60));
  char host[8] = {};
  device->failAfter(1);
  auto before = device->makeEvent(), after = device->makeEvent();
  ASSERT_TRUE(device->copyToDevice(memory.get(), host, 8));
  ASSERT_TRUE(device->record(*before));
  EXPECT_TRUE(before->wait());
  ASSERT_TRUE(device->copyToDevice(memory.get(), host, 8));
  ASSERT_TRUE(device->record(*after));
  Status status = after->wait();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "the fake device failed");
  memory.reset();
  EXPECT_EQ(device->freeBytes(), 100u);
}

} // namespace

} // namespace penstock::test
