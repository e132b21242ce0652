#include "runtime/device/FakeDevice.h"
#include "runtime/device/cpu/CpuDevice.h"

#include <gtest/gtest.h>

#include <cstring>
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
