// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/video/ffmpeg/PictureOrder.h"

#include "runtime/media/video/ffmpeg/Reports.h"

#include <algorithm>

namespace penstock::video {

PictureOrder::PictureOrder(const AVCodecParameters &parameters) {
  if (parameters.codec_id != AV_CODEC_ID_H264 && parameters.codec_id != AV_CODEC_ID_HEVC)
    return;
  codec.reset(avcodec_alloc_context3(nullptr));
  if (!codec || avcodec_parameters_to_context(codec.get(), &parameters) < 0)
    throw std::bad_alloc();
  codec->log_level_offset = unheard; // what is damaged, decoders say
  parser.reset(av_parser_init(parameters.codec_id));
  if (parser)
    parser->flags |= PARSER_FLAG_COMPLETE_FRAMES;
}

void PictureOrder::take(const AVPacket &packet, bool isFirst, bool isOther) {
  if (!parser || contradicts)
    return;
  if (isFirst)
    finish();
  uint8_t *unit = nullptr;
  int bytes = 0;
  (void)av_parser_parse2(parser.get(), codec.get(), &unit, &bytes, packet.data, packet.size,
                         packet.pts, packet.dts, packet.pos); // the packet as it is, or an error
  if (!isOther && packet.pts != AV_NOPTS_VALUE)
    pictures.emplace_back(parser->output_picture_number, packet.pts);
}

bool PictureOrder::contradictsTimes() {
  finish();
  return contradicts;
}

void PictureOrder::finish() {
  std::sort(pictures.begin(), pictures.end());
  contradicts |= std::adjacent_find(
                     pictures.begin(), pictures.end(), [](const auto &before, const auto &behind) {
                       return before.first < behind.first && before.second > behind.second;
                     }) != pictures.end();
  pictures.clear();
}

} // namespace penstock::video
