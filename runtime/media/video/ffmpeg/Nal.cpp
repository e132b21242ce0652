// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/ffmpeg/Nal.h"

#include "runtime/media/video/ffmpeg/Bits.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace penstock::video {

namespace {

using Bytes = std::span<const uint8_t>;

/// Calls `visit` with each unit; units are told apart by lengths of `lengthBytes`, or where
/// that is 0, by start codes.
template <typename Visit> void eachUnit(Bytes packet, size_t lengthBytes, Visit visit) {
  if (lengthBytes) {
    while (packet.size() > lengthBytes) {
      uint64_t length = 0;
      for (size_t i = 0; i < lengthBytes; ++i)
        length = length << 8 | packet[i];
      packet = packet.subspan(lengthBytes);
      if (length > packet.size())
        return;
      if (length)
        visit(packet.first(size_t(length)));
      packet = packet.subspan(size_t(length));
    }
    return;
  }
  auto next = [&](size_t at) {
    for (; at + 3 < packet.size(); ++at)
      if (packet[at] == 0 && packet[at + 1] == 0 && packet[at + 2] == 1)
        return at;
    return packet.size();
  };
  for (size_t at = next(0); at < packet.size();) {
    const size_t end = next(at + 3);
    if (end > at + 3)
      visit(packet.subspan(at + 3, end - at - 3));
    at = end;
  }
}

/// The first bytes of a unit without those that keep start codes away.
std::vector<uint8_t> plain(Bytes unit, size_t most) {
  std::vector<uint8_t> out;
  for (size_t i = 0, zeros = 0; i < unit.size() && out.size() < most; ++i) {
    const bool isStuffing = zeros >= 2 && unit[i] == 3;
    zeros = unit[i] == 0 ? zeros + 1 : 0;
    if (!isStuffing)
      out.push_back(unit[i]);
  }
  return out;
}

constexpr size_t longestSet = 2048, longestHead = 64;

/// Units that hold until others replace them. FFmpeg knows those of the file's beginning;
/// where others have come, a start must bring its own.
class ParameterSets {
public:
  void know(Bytes unit) { known.emplace_back(trimmed(unit)); }
  void meet(Bytes unit) {
    const auto one = trimmed(unit);
    if (std::find(known.begin(), known.end(), one) == known.end())
      isOther = true;
  }
  bool areOthers() const { return isOther; }

private:
  static std::vector<uint8_t> trimmed(Bytes unit) { // zeros before a start code are nobody's
    size_t size = unit.size();
    while (size > 0 && unit[size - 1] == 0)
      --size;
    return {unit.begin(), unit.begin() + ptrdiff_t(size)};
  }
  std::vector<std::vector<uint8_t>> known;
  bool isOther = false;
};

struct RecoveryPoint {
  uint32_t frames;
  bool isExact;
};

/// The recovery point of a unit of messages.
std::optional<RecoveryPoint> recoveryPoint(Bytes unit) {
  const std::vector<uint8_t> sei = plain(unit, longestSet);
  size_t at = 1;
  while (at + 2 < sei.size()) {
    size_t type = 0, size = 0;
    for (size_t *number : {&type, &size}) {
      while (at < sei.size() && sei[at] == 255)
        *number += sei[at++];
      if (at < sei.size())
        *number += sei[at++];
    }
    if (at >= sei.size())
      return std::nullopt;
    if (type == 6) {
      Bits bits(Bytes(sei).subspan(at));
      const uint32_t frames = bits.golomb();
      const bool isExact = bits.flag();
      return bits.failed() ? std::nullopt : std::optional<RecoveryPoint>({frames, isExact});
    }
    at += size;
  }
  return std::nullopt;
}

class H264 final : public PictureReader {
public:
  explicit H264(Bytes extra) {
    if (!extra.empty() && extra[0] == 1) {
      readConfiguration(extra);
    } else {
      eachUnit(extra, 0, [&](Bytes unit) { learn(unit); });
    }
  }

  Picture read(Bytes packet) override {
    Now now;
    eachUnit(packet, lengthBytes, [&](Bytes unit) {
      const int type = unit[0] & 31;
      if (type == 7 || type == 8) {
        (type == 7 ? now.hasSequence : now.hasPicture) = true;
        sets.meet(unit);
        learnSet(unit);
      } else if (type == 6 && !now.recovery) {
        now.recovery = recoveryPoint(unit);
      } else if (type == 1 || type == 5) {
        readSlice(unit, now);
      }
    });
    return judge(now);
  }
  bool skips() const override { return true; }

private:
  struct Sequence {
    bool isKnown = false, mayHaveGaps = false, isFramesOnly = true, hasPlanes = false;
    int frameNumberBits = 4;
  };
  enum Structure : uint8_t { Frame, Top, Bottom };
  /// A packet.
  struct Now {
    bool hasSequence = false, hasPicture = false, hasSlice = false;
    bool isIdr = false, isIntra = true, isReference = false;
    bool isParsed = false; ///< the fields below are set
    Structure structure = Frame;
    bool isPair = false; ///< both fields are in it
    uint32_t frameNumber = 0;
    Sequence sequence;
    std::optional<RecoveryPoint> recovery;
  };

  void readConfiguration(Bytes extra) { // avcC
    lengthBytes = extra.size() > 4 ? (extra[4] & 3u) + 1 : 4;
    size_t at = 5;
    for (int kind = 0; kind < 2 && at < extra.size(); ++kind) {
      int count = kind ? extra[at] : extra[at] & 31;
      for (++at; count > 0 && at + 2 < extra.size(); --count) {
        const size_t size = size_t(extra[at]) << 8 | extra[at + 1];
        if (at += 2; size == 0 || size > extra.size() - at)
          return;
        learn(extra.subspan(at, size));
        at += size;
      }
    }
  }

  void learn(Bytes unit) {
    sets.know(unit);
    learnSet(unit);
  }

  void learnSet(Bytes unit) {
    const std::vector<uint8_t> bytes = plain(unit, longestSet);
    Bits bits(Bytes(bytes).subspan(1));
    if ((unit[0] & 31) == 8) {
      const uint32_t picture = bits.golomb(), sequence = bits.golomb();
      if (!bits.failed() && picture < 256 && sequence < 32)
        sequenceOf[picture] = uint8_t(sequence);
    } else if ((unit[0] & 31) == 7) {
      learnSequence(bits);
    }
  }

  void learnSequence(Bits bits) {
    const uint32_t profile = bits.take(8);
    bits.skip(16);
    const uint32_t id = bits.golomb();
    Sequence sequence;
    for (uint32_t high : {100, 110, 122, 244, 44, 83, 86, 118, 128, 138, 139, 134, 135})
      if (profile == high) {
        const uint32_t chroma = bits.golomb();
        if (chroma == 3)
          sequence.hasPlanes = bits.flag();
        bits.golomb(), bits.golomb();
        bits.skip(1);
        if (bits.flag())
          for (int i = 0; i < (chroma == 3 ? 12 : 8); ++i)
            if (bits.flag())
              skipScalingList(bits, i < 6 ? 16 : 64);
        break;
      }
    sequence.frameNumberBits = int(bits.golomb()) + 4;
    const uint32_t order = bits.golomb();
    if (order == 0) {
      bits.golomb();
    } else if (order == 1) {
      bits.skip(1);
      bits.golomb(), bits.golomb();
      for (uint32_t count = std::min(bits.golomb(), 256u); count > 0; --count)
        bits.golomb();
    }
    bits.golomb();
    sequence.mayHaveGaps = bits.flag();
    bits.golomb(), bits.golomb();
    sequence.isFramesOnly = bits.flag();
    sequence.isKnown = !bits.failed() && sequence.frameNumberBits <= 16;
    if (id < 32)
      sequences[id] = sequence;
  }

  static void skipScalingList(Bits &bits, int size) {
    int last = 8, next = 8;
    for (int i = 0; i < size && !bits.failed(); ++i) {
      if (next) {
        const uint32_t code = bits.golomb();
        const int delta = code & 1 ? int(code / 2) + 1 : -int(code / 2);
        next = (last + delta + 256) & 255;
      }
      last = next ? next : last;
    }
  }

  void readSlice(Bytes unit, Now &now) {
    const std::vector<uint8_t> bytes = plain(unit, longestHead);
    Bits bits(Bytes(bytes).subspan(1));
    bits.golomb();
    const uint32_t type = bits.golomb() % 5, set = bits.golomb();
    now.isIdr |= (unit[0] & 31) == 5;
    now.isIntra &= type == 2 || type == 4;
    now.isReference |= (unit[0] >> 5 & 3) != 0;
    const Sequence sequence = set < 256 ? sequences[sequenceOf[set]] : Sequence{};
    if (!sequence.isKnown)
      return;
    if (sequence.hasPlanes)
      bits.skip(2);
    const uint32_t number = bits.take(sequence.frameNumberBits);
    Structure structure = Frame;
    if (!sequence.isFramesOnly && bits.flag())
      structure = bits.flag() ? Bottom : Top;
    if (bits.failed())
      return;
    if (now.isParsed) {
      now.isPair |= structure != now.structure;
      return;
    }
    now.isParsed = true;
    now.sequence = sequence;
    now.frameNumber = number;
    now.structure = structure;
  }

  Picture judge(const Now &now) {
    Picture picture;
    const bool isSingle = now.isParsed && now.structure != Frame && !now.isPair;
    picture.isSecondField = isSingle && !now.isIdr && field && now.structure != *field &&
                            now.frameNumber == frameNumber;
    picture.isBehindHalf = field && !picture.isSecondField;
    field = isSingle && !picture.isSecondField ? std::optional(now.structure) : std::nullopt;
    picture.isReferenced = now.isReference;
    if (!now.isParsed) {
      picture.isOdd = true;
      return picture;
    }
    if (!picture.isSecondField)
      follow(now, picture);
    const bool isPoint = now.isIntra && now.recovery && now.recovery->frames == 0;
    if (!picture.isSecondField) {
      picture.isBehindAll = now.isIdr;
      picture.isRecovery |= (now.isIdr && now.isIntra) || isPoint;
      picture.isStart = ((now.isIdr && now.isIntra) || (isPoint && now.recovery->isExact)) &&
                        (!sets.areOthers() || (now.hasSequence && now.hasPicture));
    }
    frameNumber = now.frameNumber;
    return picture;
  }

  /// Numbers of frames go up by one behind each one that others refer to. They also begin
  /// anew where all references are dropped.
  void follow(const Now &now, Picture &picture) {
    const uint32_t mask = (1u << now.sequence.frameNumberBits) - 1;
    if (now.isIdr) {
      recoversAt.reset();
    } else {
      const uint32_t step = (now.frameNumber - lastReference) & mask;
      picture.isOdd = hasReference && step != 1;
      picture.isDamaged =
          picture.isOdd && step > 1 && now.frameNumber > 1 && !now.sequence.mayHaveGaps;
    }
    if (now.recovery) {
      recoversAt = (now.frameNumber + now.recovery->frames) & mask;
      picture.beginsRefresh = true;
    }
    if (recoversAt && now.isReference && now.frameNumber == *recoversAt && !now.recovery) {
      picture.isRecovery = picture.isRefreshed = true; // an intra refresh is through
      recoversAt.reset();
    }
    if (now.isReference) {
      lastReference = now.frameNumber;
      hasReference = true;
    }
  }

  size_t lengthBytes = 0;
  ParameterSets sets;
  Sequence sequences[32];
  uint8_t sequenceOf[256] = {};
  std::optional<Structure> field; ///< of the packet before, where it was the first of two
  uint32_t frameNumber = 0, lastReference = 0;
  bool hasReference = false;
  std::optional<uint32_t> recoversAt;
};

class H265 final : public PictureReader {
public:
  explicit H265(Bytes extra) {
    if (extra.size() > 22 && extra[0] == 1) {
      readConfiguration(extra);
    } else {
      eachUnit(extra, 0, [&](Bytes unit) { sets.know(unit); });
    }
  }

  Picture read(Bytes packet) override {
    Picture picture;
    bool has[3] = {};
    eachUnit(packet, lengthBytes, [&](Bytes unit) {
      const int type = unit[0] >> 1 & 63, layer = unit.size() > 1 ? (unit[1] & 7) - 1 : 0;
      if (type >= 32 && type <= 34) {
        has[type - 32] = true;
        sets.meet(unit);
      }
      picture.isRecovery |= type >= 16 && type <= 21;
      // Pictures of a higher temporal layer may refer to one that is marked as unreferenced in its
      // own.
      if (type < 32 && layer > highest) {
        highest = layer;
        picture.isOdd |= hasUnreferenced;
      }
      picture.isReferenced |= type < 32 && (type >= 16 || type % 2 == 1);
      if (type < 16 && type % 2 == 0) {
        hasUnreferenced = true;
        picture.isOdd |= layer < highest;
      }
    });
    picture.isBehindAll = picture.isRecovery;
    picture.isStart = picture.isRecovery && (!sets.areOthers() || (has[0] && has[1] && has[2]));
    return picture;
  }
  bool skips() const override { return true; }

private:
  void readConfiguration(Bytes extra) { // hvcC
    lengthBytes = (extra[21] & 3u) + 1;
    size_t at = 23;
    for (int arrays = extra[22]; arrays > 0 && at + 2 < extra.size(); --arrays) {
      int count = extra[at + 1] << 8 | extra[at + 2];
      for (at += 3; count > 0 && at + 2 < extra.size(); --count) {
        const size_t size = size_t(extra[at]) << 8 | extra[at + 1];
        if (at += 2; size == 0 || size > extra.size() - at)
          return;
        sets.know(extra.subspan(at, size));
        at += size;
      }
    }
  }

  size_t lengthBytes = 0;
  ParameterSets sets;
  int highest = 0;
  bool hasUnreferenced = false;
};

} // namespace

std::unique_ptr<PictureReader> h264Reader(Bytes extra) { return std::make_unique<H264>(extra); }
std::unique_ptr<PictureReader> h265Reader(Bytes extra) { return std::make_unique<H265>(extra); }

} // namespace penstock::video
