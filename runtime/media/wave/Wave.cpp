// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/wave/Wave.h"

#include "runtime/media/video/SoundTrack.h"
#include "runtime/media/wave/WaveFile.h"

#include <bit>
#include <cstring>

namespace penstock::runtime {

namespace {

template <typename T, bool isBigEndian> T load(const uint8_t *at) {
  uint8_t bytes[sizeof(T)];
  for (size_t i = 0; i < sizeof bytes; ++i)
    bytes[i] = at[isBigEndian ? sizeof bytes - 1 - i : i];
  return std::bit_cast<T>(bytes);
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

template <bool isBigEndian, typename Read>
void withLoaderOf(const WaveInfo &info, const Read &read) {
  constexpr float of16 = 1.0f / 32768, of32 = 1.0f / 2147483648.0f;
  switch (info.coding) {
  case WaveCoding::ALaw:
    return read([](const uint8_t *at) { return float(ofALaw(*at)) * of16; });
  case WaveCoding::MuLaw:
    return read([](const uint8_t *at) { return float(ofMuLaw(*at)) * of16; });
  case WaveCoding::Float:
    if (info.bits == 64)
      return read([](const uint8_t *at) { return float(load<double, isBigEndian>(at)); });
    return read([](const uint8_t *at) { return load<float, isBigEndian>(at); });
  case WaveCoding::Pcm:
    break;
  }
  switch (info.bits) {
  case 8:
    return read([](const uint8_t *at) { return float(int(*at) - 128) * (1.0f / 128); });
  case 16:
    return read([](const uint8_t *at) { return float(load<int16_t, isBigEndian>(at)) * of16; });
  case 24:
    return read([](const uint8_t *at) {
      const uint32_t top = uint32_t(at[isBigEndian ? 2 : 0]) << 8 | uint32_t(at[1]) << 16 |
                           uint32_t(at[isBigEndian ? 0 : 2]) << 24;
      return float(int32_t(top)) * of32;
    });
  default:
    return read([](const uint8_t *at) { return float(load<int32_t, isBigEndian>(at)) * of32; });
  }
}

/// Calls `read` with what loads one stored value.
template <typename Read> void withLoader(const WaveInfo &info, const Read &read) {
  if (info.isBigEndian)
    withLoaderOf<true>(info, read);
  else
    withLoaderOf<false>(info, read);
}

/// The reader of a file; with its header for WAV, and the reason that it is not ours for FFmpeg.
struct SoundFile {
  enum Kind { Wav, Flac, Packets } kind;
  WaveInfo wav = {};
  Error notOurs = {};
};

Result<SoundFile> kindOf(MediaBytes &file) {
  if (file.size() == 0)
    return Error{Code::Truncated, "not a sound file: it is empty"};
  auto isFlac = FlacFile::is(file);
  if (!isFlac)
    return isFlac.error();
  if (*isFlac)
    return SoundFile{SoundFile::Flac};
  auto wav = probeWave(file);
  if (wav)
    return SoundFile{SoundFile::Wav, *wav};
  uint8_t magic[4] = {};
  if (file.size() >= sizeof magic)
    if (Status status = file.read(0, magic); !status)
      return status.error();
  // FFmpeg takes RIFX for RIFF.
  if (wav.error().code != Code::Unsupported || std::memcmp(magic, "RIFX", sizeof magic) == 0)
    return wav.error();
  return SoundFile{SoundFile::Packets, {}, wav.error()};
}

void store(media::Record &numbers, int64_t rate, int64_t channels, int64_t samples, int64_t bits) {
  numbers[media::waveRate] = rate;
  numbers[media::waveChannels] = channels;
  numbers[media::waveSamples] = samples;
  numbers[media::waveBits] = bits;
  numbers[media::waveDuration] = std::bit_cast<int64_t>(double(samples) / double(rate));
}

Status checkBox(const MediumRequest &request, int64_t samples, int64_t channels) {
  if (request.box[0].high > samples || (request.format != "mono" && request.box[1].high > channels))
    return Error{Code::InvalidArgument, "the request lies outside of the sound"};
  return {};
}

ByteRange bytesOf(const WaveInfo &info, const AxisRange &t) {
  const uint64_t frame = uint64_t(info.bits / 8) * info.channels;
  return {info.data + uint64_t(t.low) * frame, uint64_t(t.high - t.low) * frame};
}

} // namespace

Result<bool> Wave::hasPackets(MediaBytes &file) {
  auto kind = kindOf(file);
  if (!kind)
    return kind.error();
  return kind->kind == SoundFile::Packets;
}

Status Wave::probe(const MediumInput &input, const ImageLimits &, media::Record &numbers) {
  if (input.sound) {
    const SoundInfo &known = input.sound->info();
    store(numbers, known.rate, known.channels, known.samples, known.bits);
    return {};
  }
  OpenedMedia opened(input);
  auto kind = kindOf(*opened);
  if (!kind)
    return kind.error();
  if (kind->kind == SoundFile::Flac) {
    auto flac = FlacFile::open(*opened);
    if (!flac)
      return flac.error();
    store(numbers, flac->rate(), flac->channels(), flac->samples(), flac->bits());
    return {};
  }
  if (kind->kind == SoundFile::Packets)
    return kind->notOurs;
  const WaveInfo &wav = kind->wav;
  store(numbers, wav.rate, wav.channels, wav.samples, wav.bits);
  return {};
}

Status Wave::parts(const MediumInput &input, const MediumRequest &request,
                   std::vector<ByteRange> &parts) {
  if (input.sound) {
    const SoundInfo &known = input.sound->info();
    if (Status status = checkBox(request, known.samples, known.channels);
        !status || !input.sound->isDirect())
      return status;
    auto packets = input.sound->parts(request.box[0].low, request.box[0].high);
    if (!packets)
      return packets.error();
    parts.insert(parts.end(), packets->begin(), packets->end());
    return {};
  }
  OpenedMedia opened(input);
  auto kind = kindOf(*opened);
  if (!kind)
    return kind.error();
  if (kind->kind == SoundFile::Flac) {
    auto flac = FlacFile::open(*opened);
    if (!flac)
      return flac.error();
    if (Status status = checkBox(request, flac->samples(), flac->channels()); !status)
      return status;
    return flac->parts(request.box[0].low, request.box[0].high, parts);
  }
  if (kind->kind == SoundFile::Packets)
    return kind->notOurs;
  if (Status status = checkBox(request, kind->wav.samples, kind->wav.channels); !status)
    return status;
  parts.push_back(bytesOf(kind->wav, request.box[0]));
  return {};
}

Status Wave::decode(const MediumInput &input, const MediumRequest &request,
                    const MediumLayout &layout, uint8_t *out) {
  OpenedMedia opened(input);
  if (input.sound)
    return decodePackets(*input.sound, *opened, request, layout, out);
  auto kind = kindOf(*opened);
  if (!kind)
    return kind.error();
  if (kind->kind == SoundFile::Packets)
    return kind->notOurs;
  return kind->kind == SoundFile::Flac ? decodeFlac(*opened, request, layout, out)
                                       : decodeWav(*opened, kind->wav, request, layout, out);
}

Status Wave::decodePackets(const SoundTrack &sound, MediaBytes &file, const MediumRequest &request,
                           const MediumLayout &layout, uint8_t *out) {
  const int64_t channels = sound.info().channels;
  if (Status status = checkBox(request, sound.info().samples, channels); !status)
    return status;
  const SoundTarget target(request, layout, out, channels);
  const auto take = [&](int64_t first, int64_t count, const float *samples) {
    if (channels == 2) // known, for the loop over samples
      target.put(first, count,
                 [=](int64_t i, int64_t channel) { return samples[2 * i + channel]; });
    else
      target.put(first, count,
                 [=](int64_t i, int64_t channel) { return samples[i * channels + channel]; });
  };
  return sound.decode(file, target.low, target.high, take, host.videos);
}

Status Wave::checkEnd(const MediumInput &input) {
  if (input.sound) // all samples were decoded when the index was made
    return {};
  OpenedMedia opened(input);
  auto kind = kindOf(*opened);
  if (!kind)
    return kind.error();
  if (kind->kind != SoundFile::Flac) // its header says where it ends
    return {};
  auto file = FlacFile::open(*opened);
  return file ? flac.checkEnd(*file, *opened) : Status(file.error());
}

Status Wave::decodeFlac(MediaBytes &bytes, const MediumRequest &request, const MediumLayout &layout,
                        uint8_t *out) {
  auto file = FlacFile::open(bytes);
  if (!file)
    return file.error();
  if (Status status = checkBox(request, file->samples(), file->channels()); !status)
    return status;
  return flac.decode(*file, bytes, SoundTarget(request, layout, out, file->channels()));
}

Status Wave::decodeWav(MediaBytes &file, const WaveInfo &info, const MediumRequest &request,
                       const MediumLayout &layout, uint8_t *out) {
  if (Status status = checkBox(request, info.samples, info.channels); !status)
    return status;
  const SoundTarget target(request, layout, out, info.channels);
  const int64_t value = info.bits / 8, frame = value * target.channels;
  const ByteRange wanted = bytesOf(info, request.box[0]);
  auto bytes = file.view(wanted.offset, wanted.size, room);
  if (!bytes)
    return bytes.error();
  withLoader(info, [&](auto load) {
    target.put(target.low, target.high - target.low,
               [&, first = *bytes](int64_t i, int64_t channel) {
                 return load(first + i * frame + channel * value);
               });
  });
  return {};
}

} // namespace penstock::runtime
