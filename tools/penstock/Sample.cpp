// SPDX-License-Identifier: Apache-2.0
//
// penstock sample: one sample, recomputed alone.

#include "tools/penstock/Captions.h"
#include "tools/penstock/Commands.h"
#include "tools/penstock/Files.h"
#include "tools/penstock/Picture.h"
#include "tools/penstock/Session.h"
#include "tools/penstock/Streams.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

using namespace penstock::cli;

namespace {
struct SampleState {
  CompileOptions compile;
  RunOptions run;
  int64_t position = 0;
  std::string output;
};
} // namespace

static std::string shapeText(const pst_output &output) {
  std::string text = std::string(dtypeName(output.dtype)) + "[";
  for (int32_t axis = 0; axis < output.rank; ++axis)
    text += (axis ? ", " : "") + std::string(output.axes[axis]) + "=" +
            std::to_string(output.shape[axis]);
  return text + "]";
}

/// Writes each output as headerless bytes in the order of its axes.
static bool writeOutputs(const pst_sample *sample, const std::string &folder) {
  std::error_code why;
  std::filesystem::create_directories(folder, why);
  if (why) {
    errno = why.value();
    return false;
  }
  for (size_t i = 0; i < pst_sample_output_count(sample); ++i) {
    const pst_output &output = *pst_sample_output(sample, i);
    std::ofstream file(folder + "/" + output.name + ".raw", std::ios::binary);
    forEachElement(output,
                   [&](const char *element) { file.write(element, dtypeBytes(output.dtype)); });
    if (!file.flush())
      return false;
  }
  return true;
}

static int run(const SampleState &state) {
  if (!wantsFiles({{"-o", state.output}}))
    return exitUsage;
  const ProgramPtr program = compile(state.compile);
  const SessionPtr session = openSession(program, state.run, Wanted::Samples);
  if (!session)
    return exitError;
  pst_sample *sample = nullptr;
  const pst_status status =
      pst_session_sample(session.get(), state.run.epoch, state.position, &sample);
  const SamplePtr owner(sample);
  if (status != PST_OK) {
    std::fprintf(stderr, "penstock: error: %s\n",
                 printable(pst_session_error(session.get())).c_str());
    return exitError;
  }
  std::printf("epoch %u, position %lld: row %lld, %s\n", state.run.epoch,
              static_cast<long long>(state.position),
              static_cast<long long>(pst_sample_row(sample)),
              printable(pst_sample_name(sample)).c_str());
  if (*pst_sample_bad_reason(sample))
    std::printf("a substitute; the row of this position is bad: %s\n",
                printable(pst_sample_bad_reason(sample)).c_str());
  for (size_t i = 0; i < pst_sample_draw_count(sample); ++i)
    std::printf("  draw %s = %s\n", pst_sample_draw(sample, i)->path,
                drawnValue(*pst_sample_draw(sample, i), 9).c_str());
  for (size_t i = 0; i < pst_sample_output_count(sample); ++i) {
    const pst_output &output = *pst_sample_output(sample, i);
    std::printf("  output %s: %s", output.name, shapeText(output).c_str());
    if (output.rank == 0)
      std::printf(" = %s",
                  elementText(output.dtype, static_cast<const char *>(output.data)).c_str());
    std::printf("\n");
  }
  std::printf("  hash %016llx\n", static_cast<unsigned long long>(pst_sample_content_hash(sample)));
  const bool written = state.output.empty() || writeOutputs(sample, state.output);
  if (!written)
    std::fprintf(stderr, "penstock: error: cannot write to %s: %s\n", state.output.c_str(),
                 std::strerror(errno));
  return written ? exitOk : exitError;
}

void penstock::cli::addSample(CommandLine &line) {
  auto state = std::make_shared<SampleState>();
  Command command = line.command("sample", "recompute one sample alone and describe it");
  state->compile.addTo(command);
  state->run.addTo(command);
  command.option("--position", state->position, "its position in the epoch")
      .within(0, std::numeric_limits<int64_t>::max())
      .required();
  command.option("-o,--output", state->output, "folder that gets each output as headerless bytes");
  command.runs("penstock sample train.pipe --set root=photos --epoch 3 --position 17",
               [state] { return run(*state); });
}
