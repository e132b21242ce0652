// SPDX-License-Identifier: Apache-2.0
//
// Statistics and class names of a session.
#include "api/c/Arguments.h"
#include "api/c/Entry.h"
#include <cstring>

using namespace penstock;
using namespace penstock::api;

static pst_video_statistics videosOf(const runtime::VideoCounts &counts) {
  static_assert(PST_VIDEO_READING_COUNT == runtime::videoReadingCount);
  pst_video_statistics result{};
  result.packets = counts.packets;
  result.restarts = counts.restarts;
  result.indexes_made = counts.indexesMade;
  result.index_bytes = counts.indexBytes;
  result.indexes_reused = counts.indexUses;
  result.late_bytes = counts.lateBytes;
  for (size_t i = 0; i < runtime::videoReadingCount; ++i)
    result.readings[i] = {nameOf(runtime::VideoReading(i)), counts.readings[i]};
  return result;
}

void pst_session_statistics(const pst_session *session, pst_statistics *out_statistics) {
  static_assert(PST_STAGE_COUNT == runtime::stageCount);
  static_assert(PST_JPEG_ENTROPY_COUNT == runtime::entropyPathCount);
  pst_statistics result{};
  result.size = out_statistics->size;
  const auto take = [&](const runtime::Statistics &numbers) {
    for (int i = 0; i < runtime::stageCount; ++i) {
      const runtime::Stage stage = static_cast<runtime::Stage>(i);
      result.stages[i] = {nameOf(stage), numbers[stage].count, numbers[stage].busyNs};
    }
    result.samples = numbers.samples;
    result.batches = numbers.batches;
    result.bad_samples = numbers.badSamples;
    result.fetched_bytes = numbers.fetchedBytes;
    result.delivered_bytes = numbers.deliveredBytes;
    result.decoded_blocks = numbers.decodedBlocks;
    for (size_t i = 0; i < runtime::entropyPathCount; ++i)
      result.jpeg_entropy[i] = {nameOf(runtime::EntropyPath(i)), numbers.entropyPaths[i]};
    result.index_uses = numbers.indexUses;
    result.index_misses = numbers.indexMisses;
    result.videos = videosOf(numbers.videos);
    result.elapsed_ns = numbers.elapsedNs;
    result.threads = numbers.threads;
    result.limit = numbers.limit();
    result.last_wait_ns = numbers.lastWaitNs;
    result.longest_wait_ns = numbers.longestWaitNs;
    result.late_batches = numbers.lateBatches;
    result.batch_slots = numbers.blocks;
  };
  if (const runtime::Session *inner = session->get())
    enter([&] { take(inner->statistics()); }, [](const runtime::Error &) {});
  std::memcpy(out_statistics, &result, std::min(out_statistics->size, sizeof result));
}

size_t pst_session_class_count(const pst_session *session) { return session->classes.size(); }

const char *pst_session_class_name(const pst_session *session, size_t index) {
  return index < session->classes.size() ? session->classes[index].c_str() : nullptr;
}

pst_status pst_session_row_text(pst_session *session, int64_t row, const char *column,
                                const char **out_text) {
  *out_text = nullptr;
  return useSession(*session, [&](runtime::Session &inner) {
    if (runtime::Status status = checkText(column, "column"); !status)
      return session->fail(status.error());
    auto text = inner.rowText(row, column);
    if (!text)
      return session->fail(text.error());
    if (text->find('\0') != std::string::npos)
      return session->fail({runtime::Code::Unsupported, "column `" + std::string(column) +
                                                            "` of row " + std::to_string(row) +
                                                            " holds a zero byte, where a text "
                                                            "of C would end"});
    session->rowText = std::move(*text);
    *out_text = session->rowText.c_str();
    return PST_OK;
  });
}

/// Reads what goes into arrays of the session's, which stay empty where there is no memory.
static void list(pst_session &session, const std::function<void(const runtime::Session &)> &read) {
  useSession(session, [&](const runtime::Session &inner) {
    read(inner);
    return PST_OK;
  });
}

void pst_session_bad_samples(pst_session *session, const pst_bad_sample **out_samples,
                             size_t *out_count) {
  session->badViews.clear();
  list(*session, [&](const runtime::Session &inner) {
    session->badSamples = inner.badSamples();
    for (runtime::BadSample &bad : session->badSamples) {
      bad.name = runtime::withoutSecrets(bad.name);
      bad.reason = runtime::withoutSecrets(bad.reason);
    }
    for (const runtime::BadSample &bad : session->badSamples)
      session->badViews.push_back(
          {bad.epoch, bad.position, bad.row, bad.name.c_str(), bad.reason.c_str(), bad.substitute});
  });
  *out_samples = session->badViews.data();
  *out_count = session->badViews.size();
}

void pst_session_kernels(pst_session *session, const pst_kernel_statistics **out_kernels,
                         size_t *out_count) {
  session->kernelViews.clear();
  list(*session, [&](const runtime::Session &inner) {
    session->kernels = inner.statistics().kernels;
    for (const runtime::Statistics::Kernel &kernel : session->kernels)
      session->kernelViews.push_back(
          {kernel.name.c_str(), kernel.entry.count, kernel.entry.busyNs});
  });
  *out_kernels = session->kernelViews.data();
  *out_count = session->kernelViews.size();
}

void pst_session_get_info(const pst_session *session, pst_session_info *out_info) {
  pst_session_info info{};
  info.size = out_info->size;
  if (const runtime::Session *inner = session->get()) {
    info.table_length = inner->tableLength();
    info.batch_size = inner->batchSize();
    info.batches_per_epoch = inner->batchesPerEpoch();
    info.samples_per_epoch = inner->samplesPerEpoch();
    info.threads = inner->threads();
    info.fixed_memory = inner->memory().fixed;
    info.sample_memory = inner->memory().perSampleLimit;
    info.processors = inner->processors().mask;
    info.processor_quota = inner->processors().quota;
    info.epoch = inner->epoch();
    info.position = inner->position();
    info.position_before = inner->position(true);
    info.device_memory = inner->deviceMemory().device;
    info.pinned_memory = inner->deviceMemory().pinned;
    info.processor_limit = inner->processors().limit.c_str();
  }
  std::memcpy(out_info, &info, std::min(out_info->size, sizeof info));
}
