// SPDX-License-Identifier: Apache-2.0
#include "runtime/prepare/IndexData.h"

#include "runtime/core/Parallel.h"
#include "runtime/media/jpeg/CheckpointBuilder.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

namespace penstock::runtime {

namespace {

constexpr size_t mostNamed = 1000;

class Indexing {
public:
  Indexing(FileSystem &files, const Listing &listing, const std::string &out,
           const PrepareProgress &progress)
      : files(files), listing(listing), progress(progress), builder(files, out, report.warnings),
        visited(listing.count()) {
    for (const CheckpointFile &file : *builder.known())
      for (const CheckpointEntry &entry : file.entries())
        if (entry.name)
          earlier.push_back({entry.name, entry.state});
    std::sort(earlier.begin(), earlier.end());
  }

  Result<IndexReport> run(int threads) {
    parallelFor(size_t(std::max(threads, 1)), threads, [&](size_t) { work(); });
    if (failure && failure->code != Code::Cancelled)
      return *failure;
    if (failure) {
      if (auto kept = builder.finish(); !kept)
        return kept.error();
      return *failure;
    }
    if (report.unreadable == listing.count() && !listing.advice().empty())
      return noneRead();
    std::sort(visited.begin(), visited.end());
    auto size = builder.finish([&](const CheckpointEntry &entry) {
      return std::binary_search(visited.begin(), visited.end(), entry.name);
    });
    if (!size)
      return size.error();
    report.images = listing.count();
    report.others = listing.others();
    report.indexBytes = *size;
    std::sort(report.leftOut.begin(), report.leftOut.end());
    return report;
  }

private:
  /// Shows why the first cannot be read; a line that is no file's name may be long.
  Error noneRead() const {
    constexpr size_t most = 300;
    std::string why = firstUnread->second;
    if (why.size() > most)
      why = why.substr(0, most) + " ...";
    return {Code::NotFound, "none of the " + std::to_string(listing.count()) +
                                " files of the list can be read (" + why + "); " +
                                listing.advice()};
  }

  void work() {
    CheckpointMaker maker;
    Buffer bytes;
    for (size_t i; !stopped && (i = next.fetch_add(1)) < listing.count();)
      one(i, maker, bytes);
  }

  void one(size_t image, CheckpointMaker &maker, Buffer &bytes) {
    auto info = listing.info(files, image);
    if (!info)
      return unreadable(image, info.error().message);
    const uint64_t name = checkpointName(listing.name(image), info->size, info->modifiedNs);
    visited[image] = name;
    const auto known = std::lower_bound(earlier.begin(), earlier.end(), Seen{name, 0});
    if (known != earlier.end() && known->name == name)
      return count(image, info->size, CheckpointState(known->state), true, {});
    if (Status status = listing.read(files, image, bytes); !status) {
      visited[image] = 0;
      return unreadable(image, status.error().message);
    }
    CheckpointRecord record = maker.make(bytes.span(), name);
    const auto state = CheckpointState(record.entry.state);
    count(image, bytes.size(), state, false, builder.add(std::move(record)));
  }

  void unreadable(size_t image, const std::string &why) {
    std::lock_guard guard(lock);
    ++report.unreadable;
    if (!firstUnread || image < firstUnread->first)
      firstUnread = {image, why};
    if (report.leftOut.size() < mostNamed)
      report.leftOut.emplace_back(listing.name(image), why);
    step();
  }

  void count(size_t image, uint64_t size, CheckpointState state, bool wasThere, Status status) {
    std::lock_guard guard(lock);
    report.dataBytes += size;
    report.earlier += wasThere;
    ++report.states[std::min(size_t(state), checkpointStateCount - 1)];
    if (state != CheckpointState::Indexed && report.leftOut.size() < mostNamed)
      report.leftOut.emplace_back(listing.name(image), describe(state));
    if (!status && !failure) {
      failure = status.error();
      stopped = true;
    }
    step();
  }

  void step() {
    if (++done % 64 && done != listing.count())
      return;
    if (progress && !progress(done, listing.count()) && !failure) {
      failure = Error{Code::Cancelled, "interrupted; what was done is kept"};
      stopped = true;
    }
  }

  struct Seen {
    uint64_t name;
    uint8_t state;
    bool operator<(const Seen &other) const { return name < other.name; }
  };

  FileSystem &files;
  const Listing &listing;
  const PrepareProgress &progress;
  IndexReport report;
  CheckpointBuilder builder;
  std::vector<Seen> earlier;
  std::vector<uint64_t> visited; // by image
  std::atomic<size_t> next{0};
  std::atomic<bool> stopped{false};
  std::mutex lock; // of the report and what follows
  uint64_t done = 0;
  std::optional<std::pair<size_t, std::string>> firstUnread; // the image, and why
  std::optional<Error> failure;
};

} // namespace

Result<IndexReport> indexData(FileSystem &files, const Listing &listing, const std::string &out,
                              int threads, const PrepareProgress &progress) {
  return Indexing(files, listing, out, progress).run(threads);
}

} // namespace penstock::runtime
