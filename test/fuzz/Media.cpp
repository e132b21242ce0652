// SPDX-License-Identifier: Apache-2.0
//
// Media whose file lies in memory, pictures apart: headers and boxes of any bytes.
// Where the whole decodes, so does every box of it, with the same elements.
#include "test/fuzz/Fuzz.h"

#include "runtime/core/DType.h"
#include "runtime/media/Medium.h"

#include <algorithm>
#include <memory>

using namespace penstock;
using namespace penstock::runtime;
using namespace penstock::fuzz;

namespace {

constexpr uint8_t untouched = 0xEE;

/// The elements of a box within room for the whole; nothing where it is refused.
std::vector<uint8_t> decoded(Medium &medium, const MediumInput &input,
                             const MediumRequest &request) {
  const auto layout = medium.layout(request);
  if (!layout)
    return {};
  const int64_t all = request.rank() ? layout->strides[0] * request.extents[0] : layout->bytes;
  if (all > 1 << 20)
    return {};
  // Exactly as much as the medium asks for, so that a sanitizer sees what is written beyond.
  std::vector<uint8_t> out(size_t(layout->bytes), untouched);
  const Status status = medium.decode(input, request, *layout, out.data() + layout->offset);
  if (status) {
    std::vector<uint8_t> whole(size_t(all), untouched);
    std::ranges::copy(out, whole.begin() - layout->offset);
    return whole;
  }
  require(!status.error().message.empty(), "a refusal has a reason");
  return {};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Choices choices(data, size);
  DecodeStats stats;
  pst_video_costs videos{};
  MediumHost host{{},
                  stats,
                  videos,
                  [](int64_t) -> uint8_t * { return nullptr; },
                  [](uint64_t) { return false; }};
  static constexpr const char *kinds[] = {"numbers", "wave", "npy", "nifti", "ply", "pcd"};
  static constexpr std::string_view fields[] = {"", "x", "x y z", "z i", "i", "red x", "x x"};
  const uint32_t choice = choices.below(6);
  const bool isWave = choice == 1, isNpy = choice == 2, isNifti = choice == 3, isCloud = choice > 3;
  const auto kind = size_t(media::find(kinds[choice]));
  const media::Medium &facts = media::all[kind];
  const auto any = plan::DType(1 + choices.below(uint32_t(plan::DType::boolean)));
  const auto type = isWave ? plan::DType::f32 : any;
  const std::string_view format =
      isCloud ? fields[choices.below(uint32_t(std::size(fields)))]
              : facts.formats[choices.below(uint32_t(facts.formats.size()))];
  const size_t rank = isWave ? (format == "mono" ? 1 : 2) : choices.below(4);
  std::vector<int64_t> extents, arguments;
  std::vector<AxisRange> whole, box;
  for (size_t axis = 0; axis < 4; ++axis)
    extents.push_back(1 + choices.below(64));
  uint32_t places[8];
  for (uint32_t &place : places)
    place = choices.take<uint32_t>();
  for (size_t i = 0; i < facts.arguments.size(); ++i)
    arguments.push_back(choices.take<int16_t>());
  MediumInput input{choices.remaining(), {}, nullptr, nullptr, nullptr};
  if (!mediumEntry(kind).probe(input, host.limits, input.numbers))
    return 0;
  if (isWave)
    extents = {input.numbers[media::waveSamples], input.numbers[media::waveChannels]};
  const bool orient = isNifti && rank == 3 && places[7] % 2;
  if (isCloud) // one axis or two, or what no file has
    extents = {input.numbers[media::cloudPoints],
               format.empty() ? input.numbers[media::cloudColumns]
                              : 1 + std::ranges::count(format, ' '),
               1, 1};
  if (isNpy && rank != size_t(input.numbers[media::npyRank]))
    return 0;
  for (size_t axis = 0; axis < rank && (isNpy || isNifti); ++axis)
    extents[axis] = input.numbers[isNpy    ? media::npyExtent + axis
                                  : orient ? media::niftiUpright + rank - 1 - axis
                                           : media::niftiExtent + rank - 1 - axis];
  extents.resize(rank);
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t extent = extents[axis];
    if (extent == 0)
      return 0;
    const int64_t low = places[2 * axis] % extent;
    whole.push_back({0, extent});
    box.push_back({low, low + 1 + places[2 * axis + 1] % (extent - low)});
  }
  const std::unique_ptr<Medium> medium = mediumEntry(kind).make(host);
  const std::vector<uint8_t> all =
      decoded(*medium, input, {type, format, orient, extents, whole, arguments});
  if (all.empty())
    return 0;
  const std::vector<uint8_t> part =
      decoded(*medium, input, {type, format, orient, extents, box, arguments});
  require(part.size() == all.size(), "a box of what decodes is decoded");
  const auto bytes = size_t(sizeOf(type));
  for (size_t i = 0; i < all.size(); ++i) {
    bool inside = true;
    size_t rest = i / bytes;
    for (size_t axis = rank; axis-- > 0; rest /= size_t(extents[axis]))
      inside &= int64_t(rest % size_t(extents[axis])) >= box[axis].low &&
                int64_t(rest % size_t(extents[axis])) < box[axis].high;
    require(part[i] == (inside ? all[i] : untouched),
            "a box has the elements of the whole, and no others");
  }
  return 0;
}
