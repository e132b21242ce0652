// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Processors.h"
#include "runtime/core/FakeFileSystem.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <sstream>

using namespace penstock::runtime;

namespace {

constexpr const char *second =
    "36 25 0:30 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n";
constexpr const char *first =
    "24 1 0:22 / /sys rw - sysfs sysfs rw\n"
    "33 32 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "34 32 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

struct Quotas : testing::Test {
  FakeFileSystem files;

  void mounts(std::string_view text) { files.addFile("/proc/self/mountinfo", text); }
  void groups(std::string_view text) { files.addFile("/proc/self/cgroup", text); }
  void group2(const std::string &group, const std::string &text) {
    files.addFile("/sys/fs/cgroup" + group + "/cpu.max", text);
  }
  void group1(const std::string &group, const std::string &quota,
              const std::string &period = "100000\n") {
    const std::string folder = "/sys/fs/cgroup/cpu,cpuacct" + group;
    files.addFile(folder + "/cpu.cfs_quota_us", quota);
    files.addFile(folder + "/cpu.cfs_period_us", period);
  }
  int usable(int mask = 64) { return findProcessors(files, mask).usable(); }
  /// "2.5 by /the/file", or "".
  std::string limit() {
    const Processors found = findProcessors(files, 64);
    std::ostringstream text;
    if (found.quota > 0)
      text << found.quota << " by " << found.limit;
    return text.str();
  }
};

TEST_F(Quotas, NoneAreFound) {
  EXPECT_EQ(limit(), "");
  EXPECT_EQ(usable(), 64);
  EXPECT_EQ(usable(0), 1);
  mounts(second);
  EXPECT_EQ(usable(), 64);
  groups("0::/user.slice\n");
  EXPECT_EQ(usable(), 64);
  group2("/user.slice", "max 100000\n");
  EXPECT_EQ(usable(), 64);
}

TEST_F(Quotas, OfTheSecondVersion) {
  mounts(second);
  groups("0::/docker/a b\n");
  group2("/docker/a b", "200000 100000\n");
  EXPECT_EQ(limit(), "2 by /sys/fs/cgroup/docker/a b/cpu.max");
  EXPECT_EQ(usable(), 2);
  EXPECT_EQ(usable(1), 1); // the mask is tighter
  group2("/docker/a b", "150000 100000\n");
  EXPECT_EQ(usable(), 2); // the rest keeps a thread busy for some of its time
  EXPECT_EQ(limit(), "1.5 by /sys/fs/cgroup/docker/a b/cpu.max");
  group2("/docker/a b", "1000 100000\n");
  EXPECT_EQ(usable(), 1);
  group2("/docker/a b", "6400000 100000\n");
  EXPECT_EQ(usable(), 64);
}

TEST_F(Quotas, TheTightestOfAllAboveCounts) {
  mounts(second);
  groups("0::/a/b/c\n");
  group2("/a/b/c", "800000 100000\n");
  group2("/a/b", "max 100000\n");
  group2("/a", "150000 50000\n");
  group2("/other", "100000 100000\n");
  EXPECT_EQ(limit(), "3 by /sys/fs/cgroup/a/cpu.max");
  group2("", "200000 100000\n"); // the mount is a container's own group
  EXPECT_EQ(usable(), 2);
}

TEST_F(Quotas, InANamespaceTheGroupIsTheMount) {
  mounts(second);
  groups("0::/\n");
  group2("", "400000 100000\n");
  EXPECT_EQ(limit(), "4 by /sys/fs/cgroup/cpu.max");
  groups("0::/../../elsewhere\n"); // of a process that was moved
  EXPECT_EQ(usable(), 4);
}

TEST_F(Quotas, OfTheFirstVersion) {
  mounts(first);
  groups("12:memory:/x\n4:cpu,cpuacct:/x/y\n1:name=systemd:/x\n0::/unified\n");
  group1("/x/y", "-1\n");
  EXPECT_EQ(usable(), 64);
  group1("/x", "250000\n");
  EXPECT_EQ(usable(), 3);
  EXPECT_EQ(limit(), "2.5 by /sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us");
  group1("/x/y", "50000\n", "25000\n");
  EXPECT_EQ(usable(), 2);
}

TEST_F(Quotas, APartOfTheHierarchyIsMounted) {
  // Docker without a namespace of its own: the container's group is the mount's root.
  mounts("34 32 0:29 /docker/4f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpuacct,cpu\n");
  groups("4:cpu,cpuacct:/docker/4f\n");
  group1("", "300000\n");
  EXPECT_EQ(usable(), 3);
  groups("4:cpu,cpuacct:/docker/4f/inner\n");
  group1("/inner", "100000\n");
  EXPECT_EQ(usable(), 1);
  groups("4:cpu,cpuacct:/docker/4fe\n"); // another container's
  EXPECT_EQ(usable(), 3);
}

TEST_F(Quotas, BothVersionsAtOnce) {
  mounts(std::string(first) + "40 32 0:31 / /sys/fs/cgroup/my\\040groups rw - cgroup2 none rw\n");
  groups("4:cpu,cpuacct:/x\n0::/x\n");
  group1("/x", "500000\n");
  files.addFile("/sys/fs/cgroup/my groups/x/cpu.max", "200000 100000");
  EXPECT_EQ(usable(), 2);
  group1("/x", "100000\n");
  EXPECT_EQ(usable(), 1);
}

TEST_F(Quotas, WhatCannotBeReadLimitsNothing) {
  mounts(second);
  groups("0::/a\n");
  for (const char *text : {"", "\n", "x 100000", "100000", "100000 0", "-5 100000", "nan 100000",
                           "200000 100000 1", "max"}) {
    group2("/a", text);
    EXPECT_EQ(usable(), 64) << text;
  }
  group2("/a", "200000 100000");
  files.setFaults("/sys/fs/cgroup/a/cpu.max", {.readErrno = EACCES});
  EXPECT_EQ(usable(), 64);
  mounts("garbage\n36 - cgroup2\n - \n\n");
  EXPECT_EQ(usable(), 64);
}

TEST(Processors, OfThisProcess) {
  const Processors here = findProcessors();
  EXPECT_GE(here.mask, 1);
  EXPECT_LE(here.usable(), here.mask);
  EXPECT_EQ(here.quota > 0, !here.limit.empty());
}

TEST(Processors, RanksShareThem) {
  const Processors six{64, 6, "cpu.max"};
  EXPECT_EQ(defaultThreads(six, 1), 6);
  EXPECT_EQ(defaultThreads(six, 4), 1);
  EXPECT_EQ(defaultThreads(six, 0), 6);
  EXPECT_EQ(defaultThreads(six, 100), 1);
}

} // namespace
