// SPDX-License-Identifier: Apache-2.0
//
// penstock view: a contact sheet of augmented samples.

#include "tools/penstock/Captions.h"
#include "tools/penstock/Commands.h"
#include "tools/penstock/ContactSheet.h"
#include "tools/penstock/Files.h"
#include "tools/penstock/Plots.h"
#include "tools/penstock/Session.h"
#include "tools/penstock/Streams.h"
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>

using namespace penstock::cli;

namespace {
struct ViewState {
  CompileOptions compile;
  RunOptions run;
  int64_t position = 0;
  int count = 16;
  int columns = 4;
  std::string output = "view.png";
};
constexpr const char *otherImages[] = {".jpg", ".jpeg", ".webp", ".bmp",
                                       ".gif", ".tif",  ".tiff", ".svg"};
} // namespace

/// The sample's first image; where it has none, its first spectrum or wave.
static std::optional<Picture> pictureOf(const pst_sample *sample) {
  for (size_t k = 0; k < pst_sample_output_count(sample); ++k)
    if (const pst_output &output = *pst_sample_output(sample, k); isPicture(output))
      return makePicture(output);
  for (size_t k = 0; k < pst_sample_output_count(sample); ++k)
    if (const pst_output &output = *pst_sample_output(sample, k); isPlot(output))
      return makePlot(output);
  return std::nullopt;
}

/// What is written is PNG, whatever the name says.
static bool hasOtherSuffix(const std::string &file) {
  const std::string suffix = std::filesystem::path(file).extension().string();
  return std::find(std::begin(otherImages), std::end(otherImages), suffix) != std::end(otherImages);
}

static int run(const ViewState &state) {
  if (!wantsFiles({{"-o", state.output}}) ||
      !keepsWhatIsRead({{"-o", state.output}}, {state.compile.file, state.compile.machine}))
    return exitUsage;
  if (hasOtherSuffix(state.output)) {
    std::fprintf(stderr, "penstock: error: the sheet is a PNG file, and %s is not named as one\n",
                 state.output.c_str());
    return exitUsage;
  }
  const ProgramPtr program = compile(state.compile);
  const SessionPtr session = openSession(program, state.run, Wanted::Samples);
  if (!session)
    return exitError;
  std::vector<Tile> tiles;
  for (int i = 0; i < state.count; ++i) {
    const int64_t position = state.position + i;
    pst_sample *raw = nullptr;
    const pst_status status = pst_session_sample(session.get(), state.run.epoch, position, &raw);
    const SamplePtr sample(raw);
    if (status != PST_OK) {
      if (i > 0)
        break; // the epoch ends here
      std::fprintf(stderr, "penstock: error: %s\n",
                   printable(pst_session_error(session.get())).c_str());
      return exitError;
    }
    if (const std::optional<Picture> picture = pictureOf(raw))
      tiles.push_back({*picture, captionOf(raw, position, captionColumns(picture->width))});
  }
  if (tiles.empty()) {
    std::fputs("penstock: error: no output is an image (axes h and w, and no others than 1 or 3 "
               "channels c), a spectrum (t and freq) or a wave (t), so there is nothing to show\n",
               stderr);
    return exitError;
  }
  if (const std::string why = writeContactSheet(state.output, tiles, state.columns); !why.empty()) {
    std::fprintf(stderr, "penstock: error: cannot write %s: %s\n", state.output.c_str(),
                 why.c_str());
    return exitError;
  }
  std::printf("%s: %zu samples from position %lld of epoch %u\n", state.output.c_str(),
              tiles.size(), static_cast<long long>(state.position), state.run.epoch);
  return exitOk;
}

void penstock::cli::addView(CommandLine &line) {
  auto state = std::make_shared<ViewState>();
  Command command = line.command(
      "view", "write a contact sheet of samples, images or sound, captioned with their draws");
  state->compile.addTo(command);
  state->run.addTo(command);
  command.option("-o,--output", state->output, "PNG file; default: view.png");
  command.option("--position", state->position, "the first sample; default: 0")
      .within(0, std::numeric_limits<int64_t>::max());
  command.option("--count", state->count, "how many; default: 16").within(1, 1024);
  command.option("--columns", state->columns, "tiles per row; default: 4").within(1, 64);
  command.runs("penstock view train.pipe --set root=photos -o sheet.png --count 12",
               [state] { return run(*state); });
}
