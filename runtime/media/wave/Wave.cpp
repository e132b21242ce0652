#include "runtime/media/wave/Wave.h"

#include "runtime/media/wave/WaveFile.h"

#include <bit>
#include <cstring>

namespace penstock::runtime {

namespace {

template <typename T> T load(const uint8_t *at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// ITU-T G.711, as 16 bits.
int16_t ofALaw(uint8_t code) {
  code ^= 0x55;
  const int segment = (code & 0x70) >> 4, low = (code & 0x0F) << 4;
  const int value = segment == 0 ? low + 8 : (low + 0x108) << (segment - 1);
  return int16_t(code & 0x80 ? value : -value);
}
int16_t ofMuLaw(uint8_t code) {
  code = uint8_t(~code);
  const int value = (((code & 0x0F) << 3) + 0x84) << ((code & 0x70) >> 4);
  return int16_t(code & 0x80 ? 0x84 - value : value - 0x84);
}

/// Calls `read` with what loads one stored value.
template <typename Read> void withLoader(const WaveInfo &info, const Read &read) {
  constexpr float of16 = 1.0f / 32768, of32 = 1.0f / 2147483648.0f;
  switch (info.coding) {
  case WaveCoding::ALaw:
    return read([](const uint8_t *at) { return float(ofALaw(*at)) * of16; });
  case WaveCoding::MuLaw:
    return read([](const uint8_t *at) { return float(ofMuLaw(*at)) * of16; });
  case WaveCoding::Float:
    if (info.bits == 64)
      return read([](const uint8_t *at) { return float(load<double>(at)); });
    return read([](const uint8_t *at) { return load<float>(at); });
  case WaveCoding::Pcm:
    break;
  }
  switch (info.bits) {
  case 8:
    return read([](const uint8_t *at) { return float(int(*at) - 128) * (1.0f / 128); });
  case 16:
    return read([](const uint8_t *at) { return float(load<int16_t>(at)) * of16; });
  case 24:
    return read([](const uint8_t *at) {
      const uint32_t top = uint32_t(at[0]) << 8 | uint32_t(at[1]) << 16 | uint32_t(at[2]) << 24;
      return float(int32_t(top)) * of32;
    });
  default:
    return read([](const uint8_t *at) { return float(load<int32_t>(at)) * of32; });
  }
}

} // namespace

Status Wave::probe(const MediumInput &input, const ImageLimits &, media::Record &numbers) {
  auto info = probeWave(input.bytes);
  if (!info)
    return info.error();
  numbers[media::waveRate] = info->rate;
  numbers[media::waveChannels] = info->channels;
  numbers[media::waveSamples] = info->samples;
  numbers[media::waveBits] = info->bits;
  numbers[media::waveDuration] = std::bit_cast<int64_t>(double(info->samples) / info->rate);
  return {};
}

Status Wave::decode(const MediumInput &input, const MediumRequest &request,
                    const MediumLayout &layout, uint8_t *out) {
  auto info = probeWave(input.bytes);
  if (!info)
    return info.error();
  const AxisRange &t = request.box[0];
  const bool isMono = request.format == "mono";
  if (t.high > info->samples || (!isMono && request.box[1].high > info->channels))
    return Error{Code::InvalidArgument, "the request lies outside of the sound"};
  const int64_t value = info->bits / 8, channels = info->channels, frame = value * channels;
  const uint8_t *first = input.bytes.data() + info->data + t.low * frame;
  withLoader(*info, [&](auto load) {
    const uint8_t *from = first;
    if (channels == 1) { // a loop that a compiler makes vectors of
      auto *to = reinterpret_cast<float *>(out) + t.low;
      for (int64_t i = 0; i < t.high - t.low; ++i)
        to[i] = load(from + i * value);
      return;
    }
    for (int64_t i = t.low; i < t.high; ++i, from += frame) {
      uint8_t *to = out + i * layout.strides[0];
      if (isMono) {
        float sum = load(from);
        for (int64_t c = 1; c < channels; ++c)
          sum += load(from + c * value);
        const float mean = sum / float(channels);
        std::memcpy(to, &mean, sizeof mean);
        continue;
      }
      for (int64_t c = request.box[1].low; c < request.box[1].high; ++c) {
        const float sample = load(from + c * value);
        std::memcpy(to + c * layout.strides[1], &sample, sizeof sample);
      }
    }
  });
  return {};
}

} // namespace penstock::runtime
