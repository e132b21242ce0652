// SPDX-License-Identifier: Apache-2.0
//
// One line about a running job.

#include "tools/penstock/Progress.h"
#include <cstdio>
#include <string_view>
#include <unistd.h>

using namespace penstock::cli;
using std::chrono::steady_clock;

Progress::Progress(int64_t samplesPerEpoch)
    : total(samplesPerEpoch), visible(isatty(STDERR_FILENO)), next(steady_clock::now()) {}

static pst_statistics statisticsOf(const pst_session *session) {
  pst_statistics numbers{};
  numbers.size = sizeof numbers;
  pst_session_statistics(session, &numbers);
  return numbers;
}

static double rateOf(const pst_statistics &numbers) {
  return numbers.elapsed_ns > 0
             ? static_cast<double>(numbers.samples) * 1e9 / static_cast<double>(numbers.elapsed_ns)
             : 0;
}

void Progress::update(const pst_session *session, uint32_t epoch, int64_t samples) {
  if (!visible || steady_clock::now() < next)
    return;
  next = steady_clock::now() + std::chrono::milliseconds(100);
  const pst_statistics numbers = statisticsOf(session);
  const double share = total > 0 ? static_cast<double>(samples) / static_cast<double>(total) : 0;
  std::fprintf(stderr, "\r\x1b[Kepoch %u  %s of %s (%.0f %%)  %s samples/s  limited by %s", epoch,
               grouped(samples).c_str(), grouped(total).c_str(), 100 * share,
               grouped(static_cast<int64_t>(rateOf(numbers))).c_str(), numbers.limit);
  std::fflush(stderr);
  drawn = true;
}

void Progress::finish() {
  if (drawn)
    std::fputs("\r\x1b[K", stderr);
}

std::string penstock::cli::grouped(int64_t number) {
  std::string digits = std::to_string(number);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > (number < 0 ? 1 : 0); i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

/// Returns the unit of a stage's count.
static const char *unitOf(std::string_view stage) {
  return stage == "select"    ? "row"
         : stage == "fetch"   ? "file"
         : stage == "probe"   ? "header"
         : stage == "decode"  ? "image or clip"
         : stage == "kernels" ? "kernel run"
         : stage == "wait"    ? "batch"
                              : "sample";
}

/// Returns the processors that the number of threads follows from, unless it was given.
static std::string processorsOf(const pst_session *session) {
  pst_session_info info{};
  info.size = sizeof info;
  pst_session_get_info(session, &info);
  char line[64];
  std::snprintf(line, sizeof line, "  %d processor%s", info.processors,
                info.processors == 1 ? "" : "s");
  std::string text = line;
  if (info.processor_quota > 0) {
    std::snprintf(line, sizeof line, ", the time of %.4g of them by ", info.processor_quota);
    text += std::string(line) + info.processor_limit;
  }
  return text + "\n";
}

std::string penstock::cli::summary(const pst_session *session) {
  const pst_statistics numbers = statisticsOf(session);
  char line[256];
  std::snprintf(
      line, sizeof line, "%s samples in %.2f s: %s samples/s on %d threads, limited by %s\n",
      grouped(static_cast<int64_t>(numbers.samples)).c_str(),
      static_cast<double>(numbers.elapsed_ns) * 1e-9,
      grouped(static_cast<int64_t>(rateOf(numbers))).c_str(), numbers.threads, numbers.limit);
  std::string text = line + processorsOf(session);
  for (const pst_stage_statistics &stage : numbers.stages) {
    if (stage.count == 0)
      continue;
    std::snprintf(line, sizeof line, "  %-8s %10.3f ms  %8.1f us per %s\n", stage.name,
                  static_cast<double>(stage.busy_ns) * 1e-6,
                  static_cast<double>(stage.busy_ns) * 1e-3 / static_cast<double>(stage.count),
                  unitOf(stage.name));
    text += line;
  }
  for (const pst_video_reading &reading : numbers.videos.readings)
    if (reading.count > 0)
      text += std::string("  ") + grouped(static_cast<int64_t>(reading.count)) +
              " clips of videos: " +
              (reading.name == std::string_view("packets")
                   ? "their own packets were read"
                   : std::string("their files were read whole (") + reading.name + ")") +
              "\n";
  return text;
}
