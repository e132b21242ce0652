//===- Session.cpp - pst_session, pst_batch, pst_sample
//--------------------===//

#include "runtime/sched/Session.h"
#include "api/c/Batch.h"
#include "api/c/Program.h"
#include "api/c/Values.h"
#include "runtime/core/RealFileSystem.h"
#include <cstring>

using namespace penstock;
using namespace penstock::api;

struct pst_session {
  std::unique_ptr<runtime::FileSystem> files;
  std::unique_ptr<runtime::Session> session; // null after a failed open
  std::string error;
  std::string warnings;
  std::string state;
  std::vector<runtime::BadSample> badSamples;
  std::vector<pst_bad_sample> badViews;
  std::vector<runtime::Statistics::Kernel> kernels;
  std::vector<pst_kernel_statistics> kernelViews;

  pst_status fail(const runtime::Error &why) {
    error = why.message;
    return why.code == runtime::Code::Cancelled ? PST_CANCELLED : PST_ERROR;
  }
};

struct pst_sample {
  explicit pst_sample(runtime::SampleReport made)
      : report(std::move(made)), outputs(report.outputs) {
    for (const runtime::SampleReport::Draw &draw : report.draws)
      draws.push_back({draw.path.c_str(), draw.number(), dtypeOf(draw.type)});
  }
  runtime::SampleReport report;
  Outputs outputs;
  std::vector<pst_draw> draws;
};

//===--- opening
//-----------------------------------------------------------===//

static plan::DType dtypeFrom(pst_dtype type) {
  constexpr plan::DType types[] = {plan::DType::none, plan::DType::u8,  plan::DType::i8,
                                   plan::DType::u16,  plan::DType::i16, plan::DType::i32,
                                   plan::DType::i64,  plan::DType::f16, plan::DType::bf16,
                                   plan::DType::f32,  plan::DType::f64, plan::DType::boolean};
  const size_t index = static_cast<size_t>(type);
  return index < std::size(types) ? types[index] : plan::DType::none;
}

/// Reads the parameters of the program's request, then those of the session,
/// which win. Static ones are compiled in and skipped.
static runtime::Status readParameters(const pst_program &program,
                                      const pst_session_options &options,
                                      runtime::SessionOptions &result) {
  std::vector<std::pair<std::string, std::string>> given = program.request.parameters;
  for (size_t i = 0; i < options.parameter_count; ++i) {
    const char *name = options.parameters[i].name;
    for (const Parameter &parameter : program.parameters)
      if (parameter.name == name && parameter.isStatic)
        return runtime::Error{runtime::Code::InvalidArgument,
                              "parameter `" + parameter.name +
                                  "` is compiled in; give its value when compiling"};
    std::erase_if(given, [&](const auto &entry) { return entry.first == name; });
    given.emplace_back(name, options.parameters[i].value);
  }
  const plan::PlanT &plan = program.plan->contents();
  for (const auto &[name, text] : given) {
    const int number = program.plan->paramNumber(name);
    if (number < 0)
      continue; // static: compiling has used it, or refused it
    std::string declared;
    for (const Parameter &parameter : program.parameters)
      if (parameter.name == name)
        declared = parameter.type;
    const plan::DType type = plan.params[static_cast<size_t>(number)]->type;
    if (declared.empty()) // a program that was read back from MLIR
      declared = type == plan::DType::i64 ? "int" : "f64";
    auto value = parseValue(text, type, declared);
    if (!value)
      return runtime::Error{runtime::Code::InvalidArgument,
                            "parameter `" + name + "`: " + value.error().message};
    result.params.push_back({name, *value});
  }
  return {};
}

static runtime::SessionOptions readOptions(const pst_session_options &given) {
  runtime::SessionOptions options;
  for (size_t i = 0; i < given.column_count; ++i) {
    const pst_memory_column &column = given.columns[i];
    runtime::MemoryColumn memory;
    memory.name = column.name;
    memory.type = dtypeFrom(column.dtype);
    memory.extents.assign(column.extents, column.extents + column.rank);
    memory.data = column.data;
    options.memory.push_back(std::move(memory));
  }
  if (given.seed)
    options.seed = *given.seed;
  options.epoch = given.epoch;
  options.rank = given.rank;
  options.world = given.world ? given.world : 1;
  if (given.on_error)
    options.substitute = *given.on_error;
  options.threads = given.threads;
  options.ranksHere = given.ranks_here ? given.ranks_here : 1;
  options.prefetch = given.prefetch ? given.prefetch : 2;
  options.fetchThreads = given.fetch_threads;
  options.memoryBudget = given.memory_budget;
  return options;
}

pst_status pst_session_open(const pst_program *program, const pst_session_options *options,
                            pst_session **out_session) {
  auto handle = std::make_unique<pst_session>();
  *out_session = handle.get();
  pst_session &self = *handle.release();
  pst_session_options given = PST_SESSION_OPTIONS_INIT;
  if (options)
    std::memcpy(&given, options, std::min(options->size, sizeof given));
  auto invalid = [&](const char *message) {
    return self.fail({runtime::Code::InvalidArgument, message});
  };
  if (!program || !program->plan)
    return invalid("the program was not compiled; see pst_program_messages()");
  if (given.device == PST_DEVICE_CUDA)
    return invalid("this build has no CUDA device; use PST_DEVICE_AUTO or PST_DEVICE_CPU");
  if (!program->gpuPlace.empty())
    return self.fail({runtime::Code::InvalidArgument,
                      program->gpuPlace + " stands `on gpu`, and this build has no GPU device; "
                                          "`on auto`, or nothing, runs wherever it can"});

  runtime::SessionOptions sessionOptions = readOptions(given);
  if (runtime::Status status = readParameters(*program, given, sessionOptions); !status)
    return self.fail(status.error());
  // Without a private folder, sources do without an index that lasts.
  if (std::string folder = defaultCacheFolder(); !folder.empty() && preparePrivateFolder(folder))
    sessionOptions.cacheFolder = folder;
  auto files =
      openFiles(*program->plan, sessionOptions,
                {given.allowed_folders, given.allowed_folders + given.allowed_folder_count});
  if (!files)
    return self.fail(files.error());
  self.files = std::move(*files);
  sessionOptions.files = self.files.get();
  auto opened = runtime::Session::open(program->plan, program->kernels, std::move(sessionOptions));
  if (!opened)
    return self.fail(opened.error());
  self.session = std::move(*opened);
  for (const std::string &line : self.session->warnings())
    self.warnings += line + "\n";
  return PST_OK;
}

const char *pst_session_error(const pst_session *session) { return session->error.c_str(); }
const char *pst_session_warnings(const pst_session *session) { return session->warnings.c_str(); }

//===--- running
//-----------------------------------------------------------===//

pst_status pst_session_next(pst_session *session, pst_batch **out_batch) {
  *out_batch = nullptr;
  if (!session->session)
    return PST_ERROR;
  auto batch = session->session->next();
  if (!batch)
    return session->fail(batch.error());
  if (!*batch)
    return PST_END_OF_EPOCH;
  *out_batch = new pst_batch(std::move(*batch));
  return PST_OK;
}

void pst_session_cancel(pst_session *session) {
  if (session->session)
    session->session->cancel();
}

const char *pst_session_state(pst_session *session) {
  session->state = session->session ? session->session->state() : std::string();
  return session->state.c_str();
}

pst_status pst_session_restore(pst_session *session, const char *state) {
  if (!session->session)
    return PST_ERROR;
  runtime::Status status = session->session->restore(state);
  return status ? PST_OK : session->fail(status.error());
}

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
  if (session->session) {
    const runtime::Statistics numbers = session->session->statistics();
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
  }
  std::memcpy(out_statistics, &result, std::min(out_statistics->size, sizeof result));
}

void pst_session_bad_samples(pst_session *session, const pst_bad_sample **out_samples,
                             size_t *out_count) {
  session->badSamples =
      session->session ? session->session->badSamples() : std::vector<runtime::BadSample>();
  session->badViews.clear();
  for (const runtime::BadSample &bad : session->badSamples)
    session->badViews.push_back(
        {bad.epoch, bad.position, bad.row, bad.name.c_str(), bad.reason.c_str(), bad.substitute});
  *out_samples = session->badViews.data();
  *out_count = session->badViews.size();
}

void pst_session_kernels(pst_session *session, const pst_kernel_statistics **out_kernels,
                         size_t *out_count) {
  session->kernels.clear();
  session->kernelViews.clear();
  if (session->session)
    session->kernels = session->session->statistics().kernels;
  for (const runtime::Statistics::Kernel &kernel : session->kernels)
    session->kernelViews.push_back({kernel.name.c_str(), kernel.entry.count, kernel.entry.busyNs});
  *out_kernels = session->kernelViews.data();
  *out_count = session->kernelViews.size();
}

void pst_session_get_info(const pst_session *session, pst_session_info *out_info) {
  pst_session_info info{};
  info.size = out_info->size;
  if (const runtime::Session *inner = session->session.get()) {
    info.table_length = inner->tableLength();
    info.batch_size = inner->batchSize();
    info.batches_per_epoch = inner->batchesPerEpoch();
    info.samples_per_epoch = inner->samplesPerEpoch();
    info.threads = inner->threads();
    info.fixed_memory = inner->memory().fixed;
    info.sample_memory = inner->memory().perSampleLimit;
    info.processors = inner->processors().mask;
    info.processor_quota = inner->processors().quota;
    info.processor_limit = inner->processors().limit.c_str();
  }
  std::memcpy(out_info, &info, std::min(out_info->size, sizeof info));
}

void pst_session_close(pst_session *session) { delete session; }

//===--- batches and samples
//-----------------------------------------------===//

uint32_t pst_batch_epoch(const pst_batch *batch) { return (*batch->batch)->epoch(); }
int64_t pst_batch_count(const pst_batch *batch) { return (*batch->batch)->count(); }
size_t pst_batch_output_count(const pst_batch *batch) { return batch->outputs.size(); }
const pst_output *pst_batch_output(const pst_batch *batch, size_t index) {
  return batch->outputs[index];
}
const int64_t *pst_batch_positions(const pst_batch *batch) {
  return (*batch->batch)->positions().data();
}
const int64_t *pst_batch_rows(const pst_batch *batch) { return (*batch->batch)->rows().data(); }
uint64_t pst_batch_content_hash(const pst_batch *batch, int64_t slot) {
  return (*batch->batch)->contentHash(slot);
}
void pst_batch_release(pst_batch *batch) { delete batch; }

pst_status pst_session_sample(pst_session *session, uint32_t epoch, int64_t position,
                              pst_sample **out_sample) {
  *out_sample = nullptr;
  if (!session->session)
    return PST_ERROR;
  auto report = session->session->sample(epoch, position);
  if (!report)
    return session->fail(report.error());
  *out_sample = new pst_sample(std::move(*report));
  return PST_OK;
}

int64_t pst_sample_row(const pst_sample *sample) { return sample->report.row; }
const char *pst_sample_name(const pst_sample *sample) { return sample->report.name.c_str(); }
size_t pst_sample_output_count(const pst_sample *sample) { return sample->outputs.size(); }
const pst_output *pst_sample_output(const pst_sample *sample, size_t index) {
  return sample->outputs[index];
}
size_t pst_sample_draw_count(const pst_sample *sample) { return sample->draws.size(); }
const pst_draw *pst_sample_draw(const pst_sample *sample, size_t index) {
  return index < sample->draws.size() ? &sample->draws[index] : nullptr;
}
uint64_t pst_sample_content_hash(const pst_sample *sample) { return sample->report.contentHash; }
const char *pst_sample_bad_reason(const pst_sample *sample) {
  return sample->report.bad.empty() ? "" : sample->report.bad.front().reason.c_str();
}
void pst_sample_release(pst_sample *sample) { delete sample; }
