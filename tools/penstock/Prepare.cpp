// SPDX-License-Identifier: Apache-2.0
//
// Runs of `index` and `pack`: one pass over a data set.

#include "tools/penstock/Prepare.h"
#include "tools/penstock/Options.h"
#include "tools/penstock/Progress.h"
#include "tools/penstock/Session.h"
#include <chrono>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <utility>

using namespace penstock::cli;

namespace {

class Line {
public:
  explicit Line(bool quiet) : visible(!quiet && isatty(STDERR_FILENO)) {}

  int update(uint64_t done, uint64_t total) {
    // Until here nothing was written, and an interrupt ended the process.
    if (!std::exchange(begun, true))
      interrupts.whenSeen([] {});
    if (interrupts.seen())
      return 1;
    const auto now = std::chrono::steady_clock::now();
    if (!visible || (now < next && done < total))
      return 0;
    next = now + std::chrono::milliseconds(100);
    const double seconds = std::chrono::duration<double>(now - begin).count();
    std::fprintf(stderr, "\r\033[K%s of %s images, %.0f per second", grouped(int64_t(done)).c_str(),
                 grouped(int64_t(total)).c_str(), seconds > 0 ? double(done) / seconds : 0.0);
    drawn = true;
    return 0;
  }
  void finish() {
    if (drawn)
      std::fputs("\r\033[K", stderr);
  }

private:
  Interrupts interrupts;
  bool visible, drawn = false, begun = false;
  const std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point next = begin;
};

} // namespace

int penstock::cli::prepare(pst_prepare_options &options,
                           const std::function<pst_status(pst_text **)> &work,
                           const std::function<void(const nlohmann::ordered_json &)> &print,
                           bool json) {
  Line line(json);
  options.progress_context = &line;
  options.progress = [](void *context, uint64_t done, uint64_t total) {
    return static_cast<Line *>(context)->update(done, total);
  };
  pst_text *text = nullptr;
  const pst_status status = work(&text);
  line.finish();
  const std::unique_ptr<pst_text, void (*)(pst_text *)> owner(text, pst_text_release);
  if (status != PST_OK) {
    std::fputs(pst_text_messages(text), stderr);
    return status == PST_CANCELLED ? exitInterrupted : exitError;
  }
  if (json)
    std::fputs(pst_text_data(text), stdout);
  else
    print(nlohmann::ordered_json::parse(pst_text_data(text)));
  return exitOk;
}

std::string penstock::cli::share(uint64_t bytes, uint64_t ofBytes) {
  char text[48];
  std::snprintf(text, sizeof text, " bytes (%.2f %%)",
                ofBytes ? 100.0 * double(bytes) / double(ofBytes) : 0.0);
  return grouped(int64_t(bytes)) + text;
}
