/* SPDX-License-Identifier: Apache-2.0 */
/* libpenstock_video.so: the one library of ours that is linked with FFmpeg.
 *
 * A C interface, since the library is opened when the first file for it is met, and
 * may have been built by another compiler. It knows nothing of ours but this
 * file. Any number of threads may call; work is done on the calling one. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PST_VIDEO_ABI 3
#define PST_VIDEO_MESSAGE 256

/* Kinds of failure, as those of runtime/core/Status.h. */
enum {
  PST_VIDEO_OK,
  PST_VIDEO_CORRUPT,
  PST_VIDEO_UNSUPPORTED,
  PST_VIDEO_LIMIT,
  PST_VIDEO_RANGE,
  PST_VIDEO_MEMORY /* there is none: no file is to blame */
};

/* pst_video_index.flags */
enum {
  PST_VIDEO_DIRECT = 1,    /* packets lie in the file as they are */
  PST_VIDEO_SEQUENTIAL = 2 /* no usable times: frames are counted as they come */
};

/* The head of an index; the rest is the library's own. Little endian. */
typedef struct pst_video_index {
  char magic[8];
  uint64_t size;      /* of the index, this head included */
  uint64_t file_size; /* of the file that it was made of */
  uint32_t library;   /* pst_video_module.library at that time */
  uint32_t flags;
  int64_t frames; /* in the order in which they are shown, from 0 */
  uint32_t width, height;
  uint32_t orientation; /* 1 ... 8 as in EXIF, from the display matrix */
  uint32_t packets;
} pst_video_index;

/* One component's samples: sample (y, x) at `data + y * stride + x * step`, one
 * byte where depth is 8, else two in little endian. */
typedef struct pst_video_plane {
  const uint8_t *data;
  ptrdiff_t stride;
  int32_t step;
} pst_video_plane;

/* A decoded frame: Y, Cb, Cr or R, G, B, or Y alone. The components 1 and 2 of
 * Y'CbCr have ceil(width / 2^shift_x) columns and ceil(height / 2^shift_y) rows. */
typedef struct pst_video_frame {
  pst_video_plane planes[3];
  uint32_t width, height;
  uint8_t components; /* 1 or 3 */
  uint8_t is_rgb;
  uint8_t depth;            /* 8 ... 12 */
  uint8_t shift_x, shift_y; /* 0 ... 2 */
  uint8_t full_range;
  uint8_t matrix; /* MatrixCoefficients of ISO/IEC 23091-2; 2: not said */
} pst_video_frame;

/* Which frames: first, first + step, ... */
typedef struct pst_video_range {
  int64_t first, count, step;
} pst_video_range;

typedef struct pst_video_costs {
  uint64_t packets;  /* that the decoder was given */
  uint64_t restarts; /* decodes from the start, where a seek was no good */
} pst_video_costs;

/* A file, or bytes in place of one. */
typedef struct pst_video_bytes {
  uint64_t size;
  void *user;
  /* Copies `count` bytes from `offset` on, which end within `size`. Not 0: it
   * could not, and the work ends. */
  int (*read)(void *user, uint64_t offset, uint64_t count, uint8_t *out);
} pst_video_bytes;

/* A run of bytes of a file. */
typedef struct pst_video_part {
  uint64_t offset, size;
} pst_video_part;

typedef struct pst_video_limits {
  uint64_t pixels; /* of a frame */
  uint64_t bytes;  /* of the decoder's frames while an index is made */
} pst_video_limits;

typedef struct pst_video_client {
  void *user;
  /* Gets frame `first + number * step`; its memory is the library's. The order is
   * not that of the numbers. 0 goes on. */
  int (*take)(void *user, int64_t number, const pst_video_frame *frame);
  /* The decoder is about to hold `bytes` more for frames, until decode() ends. 0
   * where it may. */
  int (*hold)(void *user, uint64_t bytes);
} pst_video_client;

/* The head of the index of a file's sound; the rest is the library's own. Little endian. */
typedef struct pst_sound_index {
  char magic[8];
  uint64_t size;      /* of the index, this head included */
  uint64_t file_size; /* of the file that it was made of */
  uint32_t library;   /* pst_video_module.sound_library at that time */
  uint32_t flags;     /* PST_VIDEO_DIRECT */
  int64_t samples;    /* of each channel */
  uint32_t channels, rate;
  uint32_t bits; /* of a sample that was stored; 0 where samples are not stored as they are */
  uint32_t packets;
} pst_sound_index;

typedef struct pst_sound_client {
  void *user;
  /* Gets `count` samples from `first` on, those of all channels at one time beside each other;
   * again, where they were not the right ones. 0 goes on. */
  int (*take)(void *user, int64_t first, int64_t count, const float *samples);
} pst_sound_client;

/* An index of sound that was read; any number of threads may use it. */
typedef struct pst_sound pst_sound;

/* An index that was read; any number of threads may use it. */
typedef struct pst_video pst_video;

typedef struct pst_video_module {
  uint32_t abi;
  uint32_t library;       /* changes where an index of another FFmpeg is no good */
  uint32_t sound_library; /* the same for sound */
  const char *name;       /* "libavcodec 59.37.100" */
  /* Makes the index of a file; release() frees it. */
  int (*index)(const pst_video_bytes *bytes, const pst_video_limits *limits, uint8_t **out_index,
               uint64_t *out_size, char *message);
  /* Reads an index, which is copied; close() frees it. `*out_bytes` is about the
   * memory that it takes. */
  int (*open)(const uint8_t *index, uint64_t size, pst_video **out_video, uint64_t *out_bytes,
              char *message);
  void (*close)(pst_video *video);
  /* The bytes of the packets that frames need, in ascending order; release() frees
   * them. For indexes that are direct, and not sequential. */
  int (*parts)(const pst_video *video, const pst_video_range *range, pst_video_part **out_parts,
               uint64_t *out_count, char *message);
  void (*release)(void *memory);
  /* Decodes frames of a file with its index, each once; adds to `costs`. Of a file
   * of which parts() says something, nothing else is read, but for restarts. */
  int (*decode)(const pst_video *video, const pst_video_bytes *bytes, const pst_video_range *range,
                const pst_video_client *client, pst_video_costs *costs, char *message);
  /* The same of a file's sound. All of it is decoded to make an index; parts and decode are of
   * samples `first` to before `first + count`. */
  int (*index_sound)(const pst_video_bytes *bytes, uint8_t **out_index, uint64_t *out_size,
                     char *message);
  int (*open_sound)(const uint8_t *index, uint64_t size, pst_sound **out_sound, uint64_t *out_bytes,
                    char *message);
  void (*close_sound)(pst_sound *sound);
  int (*sound_parts)(const pst_sound *sound, int64_t first, int64_t count,
                     pst_video_part **out_parts, uint64_t *out_count, char *message);
  int (*decode_sound)(const pst_sound *sound, const pst_video_bytes *bytes, int64_t first,
                      int64_t count, const pst_sound_client *client, pst_video_costs *costs,
                      char *message);
} pst_video_module;

/* The one symbol of the library. */
const pst_video_module *penstock_video_module(void);

#ifdef __cplusplus
}
#endif
