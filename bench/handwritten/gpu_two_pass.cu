// SPDX-License-Identifier: Apache-2.0
//
// The field's schedule of a crop, resize and normalization on a GPU, as bench/gpu_fused's peer: a launch for each axis
// with floats between them in the GPU's memory, and one that normalises. Weights are an antialiased triangle's, computed
// where they are used. Threads are neighbours along a row, so that every access is coalesced.
extern "C" {

struct Box {
  int top, left, height, width, flipped;
};

constexpr int imageHeight = 375, imageWidth = 500, size = 224, channels = 3;

/// The window of output `at`: begin, end and weights.
struct Window {
  float centre, scale;
  int first, last;
  __device__ Window(int at, int extent) {
    const float ratio = float(extent) / size;
    scale = ratio > 1 ? ratio : 1;
    centre = (at + 0.5f) * ratio;
    first = max(int(centre - scale + 0.5f), 0);
    last = min(int(centre + scale + 0.5f), extent);
  }
  __device__ float weight(int i) const { return fmaxf(1 - fabsf((i - centre + 0.5f) / scale), 0.0f); }
};

/// Rows of the box, `size` pixels wide: grid (columns and channels, rows of an image, samples).
__global__ void across(const unsigned char *images, const Box *boxes, float *rows) {
  const Box box = boxes[blockIdx.z];
  const int at = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
  if (at >= size * channels || row >= box.height)
    return;
  const int column = at / channels, channel = at % channels;
  const Window window(box.flipped ? size - 1 - column : column, box.width);
  const unsigned char *in =
      images + ((size_t)blockIdx.z * imageHeight + box.top + row) * (imageWidth * channels) + box.left * channels + channel;
  float sum = 0, weights = 0;
  for (int i = window.first; i < window.last; ++i) {
    const float weight = window.weight(i);
    sum += weight * in[i * channels];
    weights += weight;
  }
  rows[((size_t)blockIdx.z * imageHeight + row) * (size * channels) + at] = sum / weights;
}

/// Grid (columns and channels, output rows, samples).
__global__ void down(const float *rows, const Box *boxes, float *resized) {
  const Box box = boxes[blockIdx.z];
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= size * channels)
    return;
  const Window window(blockIdx.y, box.height);
  const float *in = rows + (size_t)blockIdx.z * imageHeight * (size * channels) + at;
  float sum = 0, weights = 0;
  for (int i = window.first; i < window.last; ++i) {
    const float weight = window.weight(i);
    sum += weight * in[(size_t)i * (size * channels)];
    weights += weight;
  }
  resized[((size_t)blockIdx.z * size + blockIdx.y) * (size * channels) + at] = sum / weights;
}

/// Channels last to channels first, as halves: grid (columns, rows, samples).
__global__ void normalise(const float *resized, unsigned short *out) {
  const int column = threadIdx.x, row = blockIdx.y;
  const float mean[3] = {0.485f, 0.456f, 0.406f}, deviation[3] = {0.229f, 0.224f, 0.225f};
  const float *in = resized + (((size_t)blockIdx.z * size + row) * size + column) * channels;
#pragma unroll
  for (int channel = 0; channel < channels; ++channel) {
    unsigned short half;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"((in[channel] / 255 - mean[channel]) / deviation[channel]));
    out[(((size_t)blockIdx.z * channels + channel) * size + row) * size + column] = half;
  }
}
}
