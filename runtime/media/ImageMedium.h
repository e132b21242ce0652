// SPDX-License-Identifier: Apache-2.0
//
// Pictures of any format, as a medium.
#pragma once

#include "runtime/media/ImageDecoder.h"
#include "runtime/media/Medium.h"
#include "runtime/media/Orientation.h"

namespace penstock::runtime {

/// The rows and columns that a request wants; their axes are h and w, the last but
/// the channels'.
Region pictureRegion(const MediumRequest &request, size_t rows);
/// Rows of pixels of `frames` pictures, h and w behind the first `rows` axes.
std::optional<MediumLayout> pictureLayout(const MediumRequest &request, size_t rows);

class ImageMedium final : public Medium {
public:
  explicit ImageMedium(MediumHost &host) : host(host), decoder(host.limits) {}

  static Status probe(const MediumInput &input, const ImageLimits &limits, media::Record &numbers);
  std::optional<MediumLayout> layout(const MediumRequest &request) const override {
    return pictureLayout(request, 0);
  }
  std::optional<Planes> planesFor(const MediumInput &input,
                                  const MediumRequest &request) const override;
  Status decode(const MediumInput &input, const MediumRequest &request, const MediumLayout &layout,
                uint8_t *out) override;
  Status checkEnd(const MediumInput &input) override;

private:
  MediumHost &host;
  ImageDecoder decoder;
};

inline PixelFormat pixelFormat(const MediumRequest &request) {
  const bool isGray = request.format == "gray";
  switch (request.type) {
  case plan::DType::f32:
    return isGray ? PixelFormat::GrayFloat : PixelFormat::RgbFloat;
  case plan::DType::u16:
    return isGray ? PixelFormat::Gray16 : PixelFormat::Rgb16;
  default:
    if (request.format == "index")
      return PixelFormat::Index;
    return isGray ? PixelFormat::Gray : PixelFormat::Rgb;
  }
}

} // namespace penstock::runtime
