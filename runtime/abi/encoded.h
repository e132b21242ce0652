/* SPDX-License-Identifier: Apache-2.0 */
/* Room for encoded images.
 *
 * How many bytes the files may have that pixels become: import reserves them,
 * and the encoders fit in. Not a limit of the formats: what the encoders of
 * runtime/media can write at most.
 */
#pragma once

/* Most rows or columns: libjpeg's JPEG_MAX_DIMENSION. */
#define PST_ENCODED_MAX_SIDE 65500

/* JPEG: tables and headers take 623 bytes. A block's coefficients have at most
 * the energy of 64 samples of +-128. Under that sum of squares the costliest
 * block has all at 128, with codes of 18 bits: 144 bytes; and of 9 bytes of
 * such codes at most one is 0xFF and gets a second: 160. */
#define PST_JPEG_HEADER_ROOM 1024
#define PST_JPEG_BLOCK_ROOM 192
/* In colour, 16x16 pixels are six blocks; else 8x8 pixels are one. */
#define PST_JPEG_COLOUR_UNIT 16
#define PST_JPEG_COLOUR_BLOCKS 6
#define PST_JPEG_GRAY_UNIT 8

/* PNG: chunks take 57 bytes. What deflate cannot compress it stores, with five
 * bytes for each 16,383: less than one in 256. */
#define PST_PNG_HEADER_ROOM 1024
#define PST_PNG_SLACK_SHIFT 8
