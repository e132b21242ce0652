// Where H.264 and H.265 may be entered.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
}

#include <cstdint>
#include <span>

namespace penstock::video {

/// Whether a packet that its container marks as a key frame is one: what is
/// shown from it on is exact without anything before it. H.264: an IDR picture,
/// or a recovery point of no frames with an exact match; H.265: any random access
/// picture. Of other codecs the mark is believed.
bool isStart(const AVCodecParameters &parameters, std::span<const uint8_t> packet);

} // namespace penstock::video
