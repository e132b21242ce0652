// SPDX-License-Identifier: Apache-2.0
//
// penstock.cuh - primitives of the kernels that Penstock prints.
//
// Scalars as runtime/abi/scalar.h and random.h define them: total, one rounding
// per operation, the same bits on every machine. Compile with --fmad=false: a
// product and a sum round apart. Includes nothing, so that NVRTC needs no
// header; on a CPU, shim.h stands in front of it.
#pragma once

typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long long u64;
typedef long long i64;
typedef float f32;
typedef double f64;
typedef u16 f16;  // in memory only: in registers a half is an f32 that fits
typedef u16 bf16; // likewise

#define PST_KERNEL extern "C" __global__ void
#ifdef __CUDACC__
#define PST_BODY static __device__ __noinline__ void // has the registers that it needs, whatever its neighbours do
#else
#define PST_BODY static void
#endif
#define PST_INLINE static __device__ inline
#define PST_MEMBER __device__ inline

//===--- what a launch hands over (runtime/abi/kernel.h) ---------------------===//

/// An address that a launch handed over: compilers then know which kind of memory it is in.
template <typename T> PST_INLINE T *pst_global(T *given) {
#ifdef __CUDACC__
  __builtin_assume(__isGlobal(given));
#endif
  return given;
}

/// The first failed check of a batch, then of each of its slots.
struct pst_sample_status {
  i32 check; // 0: none
  i32 reserved;
  i64 values[2]; // of its message
};

/// Returns whether a check has failed that the sample at `entry` depends on.
PST_INLINE bool pst_left_out(const pst_sample_status *status, i64 entry) {
  return __ldcv(&pst_global(status)[0].check) != 0 || __ldcv(&pst_global(status)[entry].check) != 0;
}
/// All threads of a sample agree that a check fails.
PST_INLINE void pst_fail(pst_sample_status *status, i64 entry, i32 id, i64 first, i64 second) {
  if (blockIdx.x != 0 || threadIdx.x != 0)
    return;
  pst_sample_status &sample = pst_global(status)[entry];
  sample.values[0] = first;
  sample.values[1] = second;
  atomicExch(&sample.check, id);
}

//===--- bits ----------------------------------------------------------------===//

template <typename To, typename From> PST_INLINE To pst_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "bits of one width");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

template <typename T> PST_INLINE bool pst_is_signed() { return (T)-1 < (T)0; }

/// Returns the one NaN that stores write; other values unchanged.
PST_INLINE f32 pst_canonical(f32 x) { return x != x ? pst_bits<f32>(0x7FC00000u) : x; }
PST_INLINE f64 pst_canonical(f64 x) { return x != x ? pst_bits<f64>(0x7FF8000000000000ull) : x; }
PST_INLINE bool pst_negative(f32 x) { return (pst_bits<u32>(x) >> 31) != 0; }
PST_INLINE bool pst_negative(f64 x) { return (pst_bits<u64>(x) >> 63) != 0; }

//===--- neighbours in memory ------------------------------------------------===//

#ifdef __CUDACC__
struct alignas(16) pst_quad {
  u32 x, y, z, w;
};
typedef pst_quad pst_quad_in_memory;
#else // one access, whatever a compiler for CPUs thinks of it
typedef u32 pst_quad __attribute__((vector_size(16)));
typedef volatile pst_quad pst_quad_in_memory;
#endif

/// Neighbours that are loaded or stored together. Places that are known keep them in registers.
template <typename T, int count> struct pst_run {
  u32 words[(count * sizeof(T) + 3) / 4];
  PST_MEMBER void set(int i, T value) {
    u64 bits = 0;
    memcpy(&bits, &value, sizeof value);
    if (sizeof(T) == 8) {
      words[2 * i] = (u32)bits;
      words[2 * i + (sizeof(T) == 8)] = (u32)(bits >> 32);
      return;
    }
    const u32 mask = (u32)(0xFFFFFFFFull >> (sizeof(T) >= 4 ? 0 : 32 - 8 * sizeof(T))), shift = i * sizeof(T) % 4 * 8;
    u32 &word = words[i * sizeof(T) / 4];
    word = (word & ~(mask << shift)) | (u32)bits << shift;
  }
  PST_MEMBER T at(int i) const {
    if (sizeof(T) == 8) {
      const u64 both = (u64)words[2 * i + (sizeof(T) == 8)] << 32 | words[2 * i];
      T value;
      memcpy(&value, &both, sizeof value);
      return value;
    }
    u32 word = words[i * sizeof(T) / 4];
    word = sizeof(T) == 1 ? __byte_perm(word, 0, 0x4440 + i % 4) : word >> i * sizeof(T) % 4 * 8;
    T value;
    memcpy(&value, &word, sizeof value);
    return value;
  }
};

/// Four bytes of a run as a word, the first one lowest: the bytes of as few words at a time as there are.
template <int a, int b, int c, int d, typename T, int count> PST_INLINE u32 pst_bytes(const pst_run<T, count> &run) {
  static_assert(sizeof(T) == 1, "of bytes");
  const u32 *const words = run.words;
  if (a % 4 == 0 && b == a + 1 && c == a + 2 && d == a + 3)
    return words[a / 4];
  if (b / 4 == a / 4 || b / 4 == c / 4) {
    const u32 three = __byte_perm(words[a / 4], words[c / 4], a % 4 | (b % 4 + (b / 4 == a / 4 ? 0 : 4)) << 4 | (4 + c % 4) << 8);
    return __byte_perm(three, words[d / 4], 0x210 | (4 + d % 4) << 12);
  }
  const u32 low = __byte_perm(words[a / 4], words[b / 4], a % 4 | (4 + b % 4) << 4);
  if (c / 4 == d / 4)
    return __byte_perm(low, words[c / 4], 0x10 | (4 + c % 4) << 8 | (4 + d % 4) << 12);
  return __byte_perm(low, __byte_perm(words[c / 4], words[d / 4], c % 4 | (4 + d % 4) << 4), 0x5410);
}
PST_INLINE u32 pst_bytes(u8 a, u8 b, u8 c, u8 d) { return a | (u32)b << 8 | (u32)c << 16 | (u32)d << 24; }

/// Loads neighbours from an address that `alignment` bytes, at least 4, divide.
template <int count, int alignment, typename T> PST_INLINE pst_run<T, count> pst_take(const T *from) {
  constexpr u32 bytes = count * sizeof(T);
  pst_run<T, count> run;
  if (alignment % 16 == 0 && bytes % 16 == 0) {
    pst_quad all[(bytes + 15) / 16];
    for (u32 i = 0; i < bytes / 16; ++i)
      all[i] = ((const pst_quad_in_memory *)from)[i];
    memcpy(run.words, all, bytes);
  } else if (alignment % 8 == 0 && bytes % 8 == 0) {
    u64 all[(bytes + 7) / 8];
    for (u32 i = 0; i < bytes / 8; ++i)
      all[i] = ((const u64 *)from)[i];
    memcpy(run.words, all, bytes);
  } else {
    for (u32 i = 0; i < bytes / 4; ++i)
      run.words[i] = ((const u32 *)from)[i];
  }
  return run;
}
/// Neighbours that begin `off` bytes behind the first of words, modulo `wide`.
template <int count, u32 wide, typename T, int most> PST_INLINE pst_run<T, count> pst_shifted(const pst_run<T, most> &around, u32 off) {
  constexpr u32 words = (count * sizeof(T) + 3) / 4, all = sizeof around.words / 4;
  u32 from8[words + 3], from4[words + 1];
  // Places that are known keep all of it in registers.
#pragma unroll
  for (u32 i = 0; i < words + 3; ++i)
    from8[i] = i >= all ? 0 : wide == 16 && i + 2 < all && off & 8 ? around.words[i + 2 < all ? i + 2 : 0] : around.words[i < all ? i : 0];
#pragma unroll
  for (u32 i = 0; i < words + 1; ++i)
    from4[i] = off & 4 && wide == 16 ? from8[i + 1] : from8[i];
  pst_run<T, count> run;
#pragma unroll
  for (u32 i = 0; i < words; ++i)
    run.words[i] = __funnelshift_r(from4[i], i + 1 < all ? from4[i + 1] : 0, off * 8); // modulo 32
  return run;
}
/// Loads the words of 16 bytes around `bytes` that begin `off` bytes behind a boundary: those that hold one of them.
template <u32 bytes, typename T, int most> PST_INLINE void pst_take_around(pst_run<T, most> &around, const void *first, u32 off) {
  constexpr u32 words = (sizeof around.words + 15) / 16;
  const pst_quad_in_memory *begin = (const pst_quad_in_memory *)((const u8 *)first - off);
  pst_quad all[words];
#pragma unroll
  for (u32 i = 0; i < words; ++i)
    all[i] = i == 0 || off + bytes > 16 * i ? begin[i] : pst_quad{0, 0, 0, 0};
  memcpy(around.words, all, sizeof around.words);
}
/// From any address of the type's: words around them, which are shifted. Up to 15 bytes before and behind are read.
template <int count, typename T> PST_INLINE pst_run<T, count> pst_take(const T *from) {
  constexpr u32 bytes = count * sizeof(T), wide = bytes < 16 ? 4 : 16;
  if (sizeof(T) % 4 == 0)
    return bytes % 16 == 0 && (u64)from % 16 == 0 ? pst_take<count, 16>(from) : pst_take<count, 4>(from);
  const u32 off = (u32)(u64)from;
  pst_run<T, (int)((bytes + wide - 1 + wide - 1) / wide * wide / sizeof(T))> around;
  if (wide == 16)
    pst_take_around<bytes>(around, from, off % wide);
  else
    around = pst_take<(int)(sizeof around.words / sizeof(T)), wide>((const T *)((const u8 *)from - off % wide));
  return pst_shifted<count, wide>(around, off);
}

/// Stores neighbours, in accesses as wide as their number and their address allow.
template <typename T, int count> PST_INLINE void pst_put_run(T *to, const pst_run<T, count> &run) {
  constexpr u32 bytes = count * sizeof(T);
  constexpr u32 wide = bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : sizeof(T);
  const u32 off = (u32)(u64)to % wide, *words = run.words;
  if (wide == 16 && off == 0) {
#pragma unroll
    for (u32 i = 0; i < bytes / 16; ++i)
      ((pst_quad *)to)[i] = pst_quad{words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]};
  } else if (wide >= 8 && off % 8 == 0) {
#pragma unroll
    for (u32 i = 0; i < bytes / 8; ++i)
      ((u64 *)to)[i] = (u64)words[2 * i + 1] << 32 | words[2 * i];
  } else if (wide >= 4 && off % 4 == 0) {
#pragma unroll
    for (u32 i = 0; i < bytes / 4; ++i)
      ((u32 *)to)[i] = words[i];
  } else {
#pragma unroll
    for (i32 i = 0; i < count; ++i)
      to[i] = run.at(i);
  }
}
template <typename T, typename... Ts> PST_INLINE void pst_put(T *to, T first, Ts... others) {
  constexpr i32 count = sizeof...(others) + 1;
  const T values[] = {first, (T)others...};
  if (count * sizeof(T) % 4 != 0) { // never in words
#pragma unroll
    for (i32 i = 0; i < count; ++i)
      to[i] = values[i];
    return;
  }
  pst_run<T, count> run = {};
#pragma unroll
  for (i32 i = 0; i < count; ++i)
    run.set(i, values[i]);
  pst_put_run(to, run);
}

//===--- rows ------------------------------------------------------------------===//

/// Loads a row of pixels, `group` neighbours each, the first one at `at` and each `step` pixels behind the one before. Neighbours
/// are loaded in the words of 16 bytes around them, up to 15 bytes before and behind; if they run backwards, they are turned round.
template <int group, typename T, int count> PST_INLINE void pst_take_row(pst_run<T, count> &row, const T *from, i64 at, i64 step) {
  if (step != 1 && step != -1) {
#pragma unroll
    for (i32 i = 0; i < count; ++i)
      row.set(i, from[at + i / group * step * group + i % group]);
    return;
  }
  constexpr u32 bytes = count * sizeof(T), words = (bytes + 16 - sizeof(T) + 15) / 16;
  const u8 *first = (const u8 *)(from + (step > 0 ? at : at - (count - group)));
  const u32 off = (u32)(u64)first % 16;
  pst_run<T, (int)(words * 16 / sizeof(T))> around;
  pst_take_around<bytes>(around, first, off);
  const pst_run<T, count> read = pst_shifted<count, 16>(around, off);
#pragma unroll
  for (i32 i = 0; i < count; ++i)
    row.set(i, step > 0 ? read.at(i) : read.at(count - group - i / group * group + i % group));
}
/// As pst_take_row(), from pixel `column` on of a row that begins at `at`; places outside its
/// `columns` get `fill`.
template <int group, typename T, int count>
PST_INLINE void pst_take_padded(pst_run<T, count> &row, const T *from, i64 at, i64 column, i64 step, i64 columns, T fill) {
  const i64 low = step > 0 ? column : column - (count / group - 1), high = low + count / group;
  // Elements outside may be read if they are within the bytes around an input.
  constexpr bool is_near = (count - 1) * sizeof(T) + 15 <= 64;
  const bool is_whole = low >= 0 && high <= columns, is_partial = is_near && columns > 0 && high > 0 && low < columns;
  if ((step == 1 || step == -1) && (is_whole || is_partial)) {
    pst_take_row<group>(row, from, at + column * group, step);
    if (is_whole)
      return;
  } else {
#pragma unroll
    for (i32 i = 0; i < count; ++i) {
      const i64 place = column + i / group * step;
      if (place >= 0 && place < columns)
        row.set(i, from[at + place * group + i % group]);
    }
  }
#pragma unroll
  for (i32 i = 0; i < count; ++i) {
    const i64 place = column + i / group * step;
    if (place < 0 || place >= columns)
      row.set(i, fill);
  }
}

/// Moves elements to the front, `many` places each, which are whole words: what lay there is lost, and the last ones stay.
template <int many, typename T, int count> PST_INLINE void pst_next(pst_run<T, count> &run) {
  constexpr u32 by = many * sizeof(T) / 4, all = sizeof run.words / 4;
  static_assert(many * sizeof(T) % 4 == 0, "whole words");
#pragma unroll
  for (u32 i = 0; i + by < all; ++i)
    run.words[i] = run.words[i + by];
}

/// Returns the pixels of `group` elements that a row from `at` on has before a boundary of 16
/// bytes, or, if strips of `length` pixels have no multiple of 16, before one of as many bytes as
/// divide them: at most `length` - 1.
template <int group, int length, typename T> PST_INLINE i64 pst_head(const T *to, i64 at) {
  constexpr u32 unit = group * sizeof(T), strip = unit * length, lowest = unit & -unit, odd = unit / lowest;
  constexpr u32 word = (strip & -strip) < 16 ? strip & -strip : 16, step = lowest < word ? lowest : word;
  const u32 behind = (u32)(u64)(to + at) % word;
  return (word - behind) % word / step * (odd * odd * odd) % (word / step); // odd^4 is 1 mod 16
}
/// Returns the number of pixels of a row that are in no strip; strips begin at `head`.
template <int length> PST_INLINE i64 pst_ends(i64 head, i64 size) { return size < head ? size : head + (size - head) % length; }
/// Returns the `number`-th pixel in no strip; `size` or more if there are fewer.
template <int length> PST_INLINE i64 pst_loose(i64 number, i64 head, i64 size) {
  return number < head || size < head ? number : number + (size - head) / length * length;
}

/// Stores `length` elements of a row, from `first` on.
template <int length, typename T, int count> PST_INLINE void pst_put_row(T *to, i64 at, const pst_run<T, count> &row, i32 first) {
  pst_run<T, length> part = {};
#pragma unroll
  for (i32 i = 0; i < length; ++i)
    part.set(i, row.at(first + i));
  pst_put_run(to + at, part);
}

//===--- copies ----------------------------------------------------------------===//

/// Returns the bytes of a place behind a boundary of 16.
template <typename T> PST_INLINE i64 pst_behind_word(const T *from, i64 at) { return (i64)((u64)(from + at) % 16); }
/// Copies a word into shared memory. It may be on its way until pst_copied(): none waits for another one, or takes registers.
PST_INLINE void pst_copy(pst_quad *to, const pst_quad *from) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from) : "memory");
#else
  *to = *from;
#endif
}
/// Waits for the words that this thread copies; a barrier is behind it.
PST_INLINE void pst_copied() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}
/// All threads of a block copy rows of `count` numbers into shared memory, where they are dense: in words of 16 bytes around them
/// if they are here, too. They lie as far behind a boundary of 16 there as here.
template <typename T> PST_INLINE void pst_copy_table(T *to, const T *from, i64 at, i64 rows, i64 count, i64 stride) {
  from += at;
  const u32 all = (u32)rows * (u32)count;
  if (stride == count) {
    const u32 off = (u32)(u64)from % 16, words = (off + all * (u32)sizeof(T) + 15) / 16;
    const pst_quad *here = (const pst_quad *)((const u8 *)from - off);
    pst_quad *there = (pst_quad *)((u8 *)to - off);
#pragma unroll 1
    for (u32 word = threadIdx.x; word < words; word += blockDim.x)
      pst_copy(there + word, here + word);
    pst_copied();
  } else {
#pragma unroll 1
    for (u32 i = threadIdx.x; i < all; i += blockDim.x)
      to[i] = from[i / (u32)count * stride + i % (u32)count];
  }
}
/// Returns how many times `size`, more than 0, is in `room`, bytes of shared memory.
PST_INLINE i64 pst_times(i64 room, i64 size) { return room < size ? 0 : (i64)((u32)room / (u32)size); }
/// All threads of a block copy rows of `count` neighbours into shared memory, a warp each, in words of 16 bytes around them.
/// Rows lie as far behind a boundary of 16 there as here. Up to 15 bytes before and 43 behind are read.
template <typename T>
PST_INLINE void pst_copy_rows(T *to, i64 to_at, const T *from, i64 from_at, i64 rows, i64 count, i64 to_stride, i64 from_stride) {
  // What shared memory has room for has numbers of 32 bits.
  for (u32 row = threadIdx.x / 32; row < (u32)rows; row += blockDim.x / 32) {
    const u8 *first = (const u8 *)(from + from_at + row * from_stride);
    const u32 off = (u32)(u64)first % 16, words = (off + (u32)count * (u32)sizeof(T) + 28 + 15) / 16;
    const u32 lane = threadIdx.x % 32;
    const pst_quad *here = (const pst_quad *)(first - off) + lane;
    pst_quad *there = (pst_quad *)((u8 *)(to + to_at + row * (u32)to_stride) - off) + lane;
#pragma unroll 1
    for (i32 left = (i32)(words - lane); left > 0; left -= 4 * 32, here += 4 * 32, there += 4 * 32) {
#pragma unroll
      for (i32 i = 0; i < 4; ++i)
        if (left > 32 * i)
          pst_copy(there + 32 * i, here + 32 * i);
    }
  }
  pst_copied();
}

//===--- integers: they wrap, and a divisor 0 gives 0 ------------------------===//

template <typename T> PST_INLINE T pst_add(T a, T b) { return (T)((u64)a + (u64)b); }
template <typename T> PST_INLINE T pst_sub(T a, T b) { return (T)((u64)a - (u64)b); }
template <typename T> PST_INLINE T pst_mul(T a, T b) { return (T)((u64)a * (u64)b); }
template <typename T> PST_INLINE T pst_neg(T a) { return (T)(0ull - (u64)a); }
template <typename T> PST_INLINE T pst_div(T a, T b) {
  if (b == 0)
    return 0;
  if (pst_is_signed<T>() && b == (T)-1)
    return pst_neg(a);
  return (T)(a / b);
}
template <typename T> PST_INLINE T pst_rem(T a, T b) {
  if (b == 0 || (pst_is_signed<T>() && b == (T)-1))
    return 0;
  return (T)(a % b);
}
template <typename T> PST_INLINE T pst_shl(T a, T n) { return (T)((u64)a << ((u32)n & (sizeof(T) * 8 - 1))); }
template <typename T> PST_INLINE T pst_shr(T a, T n) { return (T)(a >> ((u32)n & (sizeof(T) * 8 - 1))); }
template <typename T> PST_INLINE T pst_abs(T a) { return a < 0 ? pst_neg(a) : a; }
PST_INLINE f32 pst_abs(f32 a) { return fabsf(a); }
PST_INLINE f64 pst_abs(f64 a) { return fabs(a); }

//===--- floats --------------------------------------------------------------===//

PST_INLINE f32 pst_rem(f32 a, f32 b) { return fmodf(a, b); }
PST_INLINE f64 pst_rem(f64 a, f64 b) { return fmod(a, b); }
PST_INLINE f32 pst_sqrt(f32 a) { return sqrtf(a); }
PST_INLINE f64 pst_sqrt(f64 a) { return sqrt(a); }
PST_INLINE f32 pst_floor(f32 a) { return floorf(a); }
PST_INLINE f64 pst_floor(f64 a) { return floor(a); }
PST_INLINE f32 pst_ceil(f32 a) { return ceilf(a); }
PST_INLINE f64 pst_ceil(f64 a) { return ceil(a); }
PST_INLINE f32 pst_trunc(f32 a) { return truncf(a); }
PST_INLINE f64 pst_trunc(f64 a) { return trunc(a); }
PST_INLINE f32 pst_round(f32 a) { return rintf(a); } // half to even
PST_INLINE f64 pst_round(f64 a) { return rint(a); }
PST_INLINE f32 pst_round_away(f32 a) { return roundf(a); }
PST_INLINE f64 pst_round_away(f64 a) { return round(a); }

/// -0 lies below +0; NaN is below nothing.
template <typename T> PST_INLINE bool pst_less(T a, T b) { return a < b; }
PST_INLINE bool pst_less(f32 a, f32 b) { return a < b || (a == b && pst_negative(a) && !pst_negative(b)); }
PST_INLINE bool pst_less(f64 a, f64 b) { return a < b || (a == b && pst_negative(a) && !pst_negative(b)); }

/// Returns whether a stands before b in a stable ascending order: NaN comes last.
template <typename T> PST_INLINE bool pst_before(T a, T b, bool stood_before) {
  if (pst_less(a, b) || (a == a && b != b))
    return true;
  return stood_before && !pst_less(b, a) && !(b == b && a != a);
}

/// The number where one side is NaN.
#ifdef __CUDA_ARCH__ // the device's own have the same meaning
PST_INLINE f32 pst_min(f32 a, f32 b) { return fminf(a, b); }
PST_INLINE f32 pst_max(f32 a, f32 b) { return fmaxf(a, b); }
#endif
template <typename T> PST_INLINE T pst_min(T a, T b) { return a != a ? b : b != b ? a : pst_less(b, a) ? b : a; }
template <typename T> PST_INLINE T pst_max(T a, T b) { return a != a ? b : b != b ? a : pst_less(a, b) ? b : a; }

//===--- casts ---------------------------------------------------------------===//

template <typename T> PST_INLINE f64 pst_lowest() {
  return !pst_is_signed<T>() ? 0.0 : sizeof(T) == 1 ? -128.0 : sizeof(T) == 2 ? -32768.0
       : sizeof(T) == 4 ? -2147483648.0 : -9223372036854775808.0;
}
/// The largest number of a type; of i64, 2^63 as the nearest f64.
template <typename T> PST_INLINE f64 pst_highest() {
  return sizeof(T) == 1 ? (pst_is_signed<T>() ? 127.0 : 255.0)
       : sizeof(T) == 2 ? (pst_is_signed<T>() ? 32767.0 : 65535.0)
       : sizeof(T) == 4 ? (pst_is_signed<T>() ? 2147483647.0 : 4294967295.0) : 9223372036854775808.0;
}
template <typename T> PST_INLINE T pst_most() {
  return pst_is_signed<T>() ? (T)(((u64)1 << (sizeof(T) * 8 - 1)) - 1) : (T)~0ull;
}

/// Float to integer: truncates, saturates, NaN gives 0.
template <typename T> PST_INLINE T pst_to_int(f64 a) {
  if (a != a)
    return 0;
  const f64 whole = trunc(a);
  if (whole <= pst_lowest<T>())
    return pst_is_signed<T>() ? (T)((u64)1 << (sizeof(T) * 8 - 1)) : (T)0;
  if (whole >= pst_highest<T>())
    return pst_most<T>();
  return (T)whole;
}
/// Integer to integer: saturates. Numbers of 32 bits do where both types have no more.
template <typename T, typename From> PST_INLINE T pst_clamp(From a) {
  if (sizeof(From) <= 4 && sizeof(T) < 4 && (sizeof(From) < 4 || pst_is_signed<From>())) {
    const i32 most = (i32)pst_most<T>(), least = pst_is_signed<T>() ? -most - 1 : 0, given = (i32)a;
    return (T)(given < least ? least : given > most ? most : given);
  }
  const i64 most = (i64)pst_most<T>(), least = pst_is_signed<T>() ? -most - 1 : 0, given = (i64)a;
  return (T)(given < least ? least : given > most ? most : given);
}
#ifdef __CUDA_ARCH__
/// The device's conversion to i32 saturates, and makes 0 of NaN.
template <typename T> PST_INLINE T pst_to_int(f32 a) {
  return sizeof(T) < 4 || (sizeof(T) == 4 && pst_is_signed<T>()) ? pst_clamp<T>(__float2int_rz(a)) : pst_to_int<T>((f64)a);
}
#endif

/// An integer of 8 or 16 bits as an f32, without a conversion: as the fraction of a float.
template <typename T> PST_INLINE f32 pst_exact(T value) {
#ifdef __CUDA_ARCH__
  return pst_bits<f32>(0x4B400000u + (u32)(i32)value) - 12582912.0f;
#else
  return (f32)value;
#endif
}

/// f64 to f32 rounded to odd: a second rounding then errs to no side.
PST_INLINE f32 pst_odd(f64 value) {
  const f32 nearest = (f32)value;
  const u32 bits = pst_bits<u32>(nearest);
  if (nearest != nearest || (f64)nearest == value || (bits & 1u))
    return nearest;
  return pst_bits<f32>(fabs((f64)nearest) > fabs(value) ? bits - 1u : bits + 1u);
}
PST_INLINE f32 pst_odd(f32 value) { return value; }
PST_INLINE f32 pst_odd(i64 value) {
  u64 magnitude = value < 0 ? 0ull - (u64)value : (u64)value;
  i32 excess = 0;
  while ((magnitude >> excess) >= ((u64)1 << 53))
    ++excess;
  const u64 cut = ((u64)1 << excess) - 1;
  if (magnitude & cut)
    magnitude = (magnitude & ~cut) | (cut + 1);
  const f64 odd = (f64)magnitude;
  return pst_odd(value < 0 ? -odd : odd);
}

/// IEEE half of a number, no NaN: one rounding to nearest even.
PST_INLINE f16 pst_finite_half_bits(f32 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  u32 both; // of two, as a device that packs them converts them
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(0.0f), "f"(value));
  return (f16)both;
#elif defined(__CUDA_ARCH__)
  f16 nearest;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(nearest) : "f"(value));
  return nearest;
#else
  const u32 bits = pst_bits<u32>(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude >= 0x47800000u)
    return (f16)(sign | 0x7C00u);
  if (magnitude >= 0x38800000u)
    return (f16)(sign | ((magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13));
  if (magnitude < 0x33000000u)
    return (f16)sign;
  const u32 shift = 126u - (magnitude >> 23), mantissa = (magnitude & 0x7FFFFFu) | 0x800000u;
  const u32 rest = mantissa & ((1u << shift) - 1u), half = 1u << (shift - 1u);
  u32 result = mantissa >> shift;
  if (rest > half || (rest == half && (result & 1u)))
    ++result;
  return (f16)(sign | result);
#endif
}
/// Two of them side by side, the first one lowest, as one conversion where a device has it.
PST_INLINE u32 pst_finite_half_pair(f32 first, f32 second) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  u32 both;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
#else
  return pst_finite_half_bits(first) | (u32)pst_finite_half_bits(second) << 16;
#endif
}
/// Stores an even number of neighbours as halves, none of them NaN.
template <typename... Ts> PST_INLINE void pst_put_finite_halves(f16 *to, Ts... values) {
  constexpr i32 count = sizeof...(values);
  static_assert(count % 2 == 0, "pairs");
  const f32 all[] = {values...};
  pst_run<f16, count> run;
#pragma unroll
  for (i32 i = 0; i < count; i += 2)
    run.words[i / 2] = pst_finite_half_pair(all[i], all[i + 1]);
  pst_put_run(to, run);
}
PST_INLINE f16 pst_half_bits(f32 value) { return value != value ? (f16)0x7E00 : pst_finite_half_bits(value); }
PST_INLINE f32 pst_half(f16 half) {
#ifdef __CUDA_ARCH__
  f32 value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(half));
  return pst_canonical(value);
#else
  const u32 sign = (half & 0x8000u) << 16, exponent = (half >> 10) & 0x1Fu, mantissa = half & 0x3FFu;
  if (exponent == 31u)
    return mantissa ? pst_bits<f32>(0x7FC00000u) : pst_bits<f32>(sign | 0x7F800000u);
  if (exponent == 0u)
    return sign ? -((f32)mantissa * 0x1p-24f) : (f32)mantissa * 0x1p-24f;
  return pst_bits<f32>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
#endif
}
PST_INLINE bf16 pst_finite_brain_bits(f32 value) {
  const u32 bits = pst_bits<u32>(value);
  return (bf16)((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}
PST_INLINE bf16 pst_brain_bits(f32 value) { return value != value ? (bf16)0x7FC0 : pst_finite_brain_bits(value); }
PST_INLINE f32 pst_brain(bf16 value) { return pst_bits<f32>((u32)value << 16); }

/// To a number that fits the storage type.
template <typename T> PST_INLINE f32 pst_to_half(T value) { return pst_half(pst_half_bits(pst_odd(value))); }
template <typename T> PST_INLINE f32 pst_to_brain(T value) { return pst_brain(pst_brain_bits(pst_odd(value))); }

//===--- who does what -------------------------------------------------------===//

/// This thread among all that work on the sample, and how many they are.
PST_INLINE i64 pst_thread() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
PST_INLINE i64 pst_threads() { return (i64)gridDim.x * blockDim.x; }
/// The warp of this thread, the number of warps that work on the sample, and the thread's lane.
PST_INLINE i64 pst_warp() { return pst_thread() / 32; }
PST_INLINE i64 pst_warps() { return pst_threads() / 32; }
PST_INLINE i64 pst_lane() { return threadIdx.x % 32; }

/// As many blocks on a multiprocessor as its schedule wants, if there is shared memory for them.
PST_INLINE constexpr i32 pst_resident(i32 wanted, i32 shared) {
#ifdef __CUDA_ARCH__
  constexpr i32 kilobytes = __CUDA_ARCH__ < 800 ? 64 : __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 870 ? 164
                          : __CUDA_ARCH__ >= 900 && __CUDA_ARCH__ < 1200 ? 228 : 100;
  const i32 most = kilobytes * 1024 / (shared + 1024);
  return most < 1 ? 1 : most < wanted ? most : wanted;
#else
  return wanted;
#endif
}

/// Dynamic shared memory of the block.
#ifdef __CUDACC__
extern __shared__ pst_quad pst_shared_memory[];
#endif
PST_INLINE i8 *pst_shared() { return (i8 *)pst_shared_memory; }

//===--- several kernels in one launch (runtime/abi/kernel.h) -----------------===//

/// A step of a sample in a joined launch.
struct pst_joined_step {
  const void *record; // of its kernel
  u32 body, barrier;
};
template <int most> struct pst_joined_sample {
  i64 entry; // of status
  u32 arrived, steps;
  pst_joined_step step[most];
};
template <typename T> PST_INLINE const T &pst_record(const void *record) { return *pst_global((const T *)record); }

/// A load of what other threads add to: PTX calls it strong, so that it does not race with them.
PST_INLINE u32 pst_load_relaxed(const u32 *place) {
#ifdef __CUDA_ARCH__
  u32 value;
  asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(__cvta_generic_to_global(place)) : "memory");
  return value;
#else
  return __ldcv(place);
#endif
}
/// One thread of each block of a sample waits for those of the others; their blocks' writes are visible then. The sign of
/// `arrived` turns when all have come (a sense-reversing barrier: Mellor-Crummey and Scott, 1991).
PST_INLINE void pst_barrier(u32 *arrived) {
  __threadfence();
  const u32 before = atomicAdd(arrived, blockIdx.x == 0 ? 0x80000001u - gridDim.x : 1u);
  while (((before ^ pst_load_relaxed(arrived)) & 0x80000000u) == 0)
    __nanosleep(40);
  __threadfence();
}
/// Returns whether the block runs a step: all its threads agree. The steps before it have ended.
PST_INLINE bool pst_takes(const pst_joined_step &step, u32 *arrived, const pst_sample_status *status, i64 entry) {
  __shared__ u32 left_out;
  __syncthreads();
  if (threadIdx.x == 0) {
    if (step.barrier)
      pst_barrier(pst_global(arrived));
    left_out = pst_left_out(status, entry);
  }
  __syncthreads();
  return left_out == 0;
}

/// Clears the bytes around pictures of `least` to `most` bytes that lie at `held`, which may be read with their elements.
PST_INLINE void pst_clear_around(i8 *held, u32 least, u32 most) {
  constexpr u32 slack = 64;
  for (u32 i = threadIdx.x; i < slack; i += blockDim.x)
    held[(i32)i - (i32)slack] = 0;
  for (u32 i = threadIdx.x; i < most - least + slack; i += blockDim.x)
    held[least + i] = 0;
}
/// Returns whether a step is a copy, and copies: all threads of the block, in words.
PST_INLINE bool pst_carries(const pst_joined_step &step, i8 *held) {
  constexpr u32 loads = 0xFFFFFFFEu;
  if (step.body < loads)
    return false;
  pst_quad *here = (pst_quad *)held;
  pst_quad *there = pst_global((pst_quad *)(void *)step.record);
  for (u32 word = threadIdx.x; word < step.barrier; word += blockDim.x)
    if (step.body == loads)
      pst_copy(here + word, there + word);
    else
      there[word] = here[word];
  pst_copied();
  return true;
}

//===--- indices -------------------------------------------------------------===//

PST_INLINE i64 pst_index_min(i64 a, i64 b) { return a < b ? a : b; }
PST_INLINE i64 pst_index_max(i64 a, i64 b) { return a < b ? b : a; }

/// The next multiple of `b`, of no negative number.
PST_INLINE i64 pst_align(i64 a, i64 b) { return (a + b - 1) / b * b; }
PST_INLINE i64 pst_floor_div(i64 a, i64 b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
PST_INLINE i64 pst_edge(i64 i, i64 n) { return i >= n ? (n > 0 ? n - 1 : 0) : i < 0 ? 0 : i; }
// Divisions of 64 bits are slow: what is mirrored once needs none.
PST_INLINE i64 pst_wrap(i64 i, i64 n) {
  if (i >= 0 && i < n)
    return i;
  i %= n;
  return i < 0 ? i + n : i;
}
PST_INLINE i64 pst_reflect(i64 i, i64 n) { // the edge is not repeated
  if (i >= 0 && i < n)
    return i;
  const i64 once = i < 0 ? pst_neg(i) : 2 * (n - 1) - i; // the least number stays itself
  if (once >= 0 && once < n)
    return once;
  if (n == 1)
    return 0;
  const i64 j = pst_wrap(i, 2 * (n - 1));
  return j < n ? j : 2 * (n - 1) - j;
}
PST_INLINE i64 pst_symmetric(i64 i, i64 n) { // the edge is repeated
  if (i >= 0 && i < n)
    return i;
  const i64 once = i < 0 ? -1 - i : 2 * n - 1 - i;
  if (once >= 0 && once < n)
    return once;
  const i64 j = pst_wrap(i, 2 * n);
  return j < n ? j : 2 * n - 1 - j;
}

/// Pack four weights, signed numbers of 24 bits: the lowest 16 bits of the first two and of the last two, and the highest bytes.
PST_INLINE u32 pst_first_halves(i32 a, i32 b, i32 c, i32 d) { return __byte_perm(a, b, 0x5410); }
PST_INLINE u32 pst_last_halves(i32 a, i32 b, i32 c, i32 d) { return __byte_perm(c, d, 0x5410); }
PST_INLINE u32 pst_high_bytes(i32 a, i32 b, i32 c, i32 d) { return __byte_perm(__byte_perm(a, b, 0x62), __byte_perm(c, d, 0x62), 0x5410); }
/// The weight of one of the first eight taps; those from the `count`-th on weigh 0, and are not read.
PST_INLINE i32 pst_tap(const i32 *weights, i64 at, i64 tap, i64 count) {
  return (i32)tap < (count > 8 ? 8 : (i32)count) ? weights[at + tap] : 0;
}
/// Adds four bytes, each times its weight.
PST_INLINE i32 pst_weigh(i32 sum, u32 first, u32 last, u32 high, u32 bytes) {
#ifdef __CUDA_ARCH__
  i32 highest;
  asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(highest) : "r"(bytes), "r"(high), "r"(0));
#else
  i32 highest = 0;
  for (i32 i = 0; i < 32; i += 8)
    highest += (i32)(bytes >> i & 255) * (i32)(signed char)(high >> i);
#endif
  return (i32)(__dp2a_hi(last, bytes, __dp2a_lo(first, bytes, (u32)sum)) + ((u32)highest << 16));
}
/// All threads of a block pack the first eight taps of `rows` rows, four in an entry, as pst_weigh() takes them, and where the first of
/// the four rows lies that an entry is of: those from `low` on, `most` of them, are stored, `apart` from each other. An entry that would
/// end behind the last one begins before, with weights 0.
PST_INLINE void pst_pack_row_taps(i32 *to, const i32 *weights, i64 at, i64 stride, i64 count, const i32 *starts, i64 first, i64 rows,
                                  i64 low, i64 most, i64 apart) {
#pragma unroll 1
  for (u32 i = threadIdx.x; i < 2 * (u32)rows; i += blockDim.x) {
    const i32 tap = i % 2 * 4, row = starts[first + i / 2] + tap - (i32)low, last = most > 4 ? (i32)most - 4 : 0;
    const i32 behind = row > last && count <= 8 ? row - last : 0; // with more, they go one by one from the first on
    i32 taps[4];
#pragma unroll
    for (i32 k = 0; k < 4; ++k)
      taps[k] = k >= behind ? pst_tap(weights, at + i / 2 * stride, tap + k - behind, count) : 0;
    const pst_run<i32, 4> entry = {{pst_first_halves(taps[0], taps[1], taps[2], taps[3]), pst_last_halves(taps[0], taps[1], taps[2], taps[3]),
                                    pst_high_bytes(taps[0], taps[1], taps[2], taps[3]), (u32)(row - behind) * (u32)apart}};
    pst_put_run(to + 4 * i, entry);
  }
}
/// All threads of a block store zeroes where there are less than four rows: what is read there weighs nothing.
PST_INLINE void pst_pad_rows(u8 *to, i64 rows, i64 apart) {
#pragma unroll 1
  for (u32 i = (u32)rows * (u32)apart + threadIdx.x; i < 4 * (u32)apart; i += blockDim.x)
    to[i] = 0;
}
/// Adds four rows of bytes, `apart` from each other, each times its weight; `isFirst`: to halves.
template <bool isFirst, int count> PST_INLINE void pst_add_rows(pst_run<i32, count> &sums, const i32 *packed, const u8 *from, u32 apart) {
  const pst_run<i32, 4> entry = pst_take<4, 16>(packed);
  const u8 *const first = from + entry.words[3];
  const pst_run<u8, count> a = pst_take<count, 4>(first), b = pst_take<count, 4>(first + apart), c = pst_take<count, 4>(first + 2 * apart),
                           d = pst_take<count, 4>(first + 3 * apart);
#pragma unroll
  for (i32 i = 0; i < count; ++i) { // of four words those above each other: pairs of rows first, which two of them have in common
    const u32 place = i % 4 < 2 ? 0x5140 : 0x7362, upper = __byte_perm(a.words[i / 4], b.words[i / 4], place);
    const u32 bytes = __byte_perm(upper, __byte_perm(c.words[i / 4], d.words[i / 4], place), i % 2 ? 0x7632 : 0x5410);
    sums.words[i] = pst_weigh(isFirst ? 1 << 21 : (i32)sums.words[i], entry.words[0], entry.words[1], entry.words[2], bytes);
  }
}
/// Sums of neighbours of as many rows as a row has taps, from a half on: up to eight as pst_pack_row_taps() has packed them, more one
/// by one.
template <int count>
PST_INLINE void pst_sum_rows(pst_run<i32, count> &sums, const i32 *packed, i64 entry, const i32 *weights, i64 at, i64 taps, const u8 *from,
                             i64 from_at, i64 apart) {
  packed += entry;
  from += from_at;
  if (taps <= 8) {
    pst_add_rows<true>(sums, packed, from, (u32)apart);
    if (taps > 4)
      pst_add_rows<false>(sums, packed + 4, from, (u32)apart);
    return;
  }
  from += packed[3];
#pragma unroll
  for (i32 i = 0; i < count; ++i)
    sums.words[i] = 1 << 21;
#pragma unroll 1
  for (u32 tap = 0; tap < (u32)taps; ++tap) {
    const u32 weight = weights[at + tap];
    const pst_run<u8, count> row = pst_take<count, 4>(from + tap * (u32)apart);
#pragma unroll
    for (i32 i = 0; i < count; ++i)
      sums.words[i] += row.at(i) * weight;
  }
}
/// A sum of products with 22-bit weights that starts from a half, 1 << 21, as a byte.
PST_INLINE u8 pst_pillow(i32 sum) { return pst_clamp<u8>(sum >> 22); }
/// The same as an f32: what is left of the sum is shifted into the fraction of a float.
PST_INLINE f32 pst_exact_pillow(i32 sum) {
  const i32 most = (1 << 30) - 1, clamped = sum < 0 ? 0 : sum > most ? most : sum;
  return pst_bits<f32>(__funnelshift_r((u32)clamped, 0x4B400000u >> 10, 22)) - 12582912.0f;
}

//===--- sums: 32 partial ones and a tree ------------------------------------===//

template <typename T> PST_INLINE T pst_plus(T a, T b) { return pst_add(a, b); }
PST_INLINE f32 pst_plus(f32 a, f32 b) { return a + b; }
PST_INLINE f64 pst_plus(f64 a, f64 b) { return a + b; }
template <typename T> PST_INLINE T pst_tree(T *lanes) {
  for (i32 half = 16; half > 0; half /= 2)
    for (i32 lane = 0; lane < half; ++lane)
      lanes[lane] = pst_plus(lanes[lane], lanes[lane + half]);
  return lanes[0];
}
/// The value of the lane `distance` further up, for all lanes of a warp at once.
template <typename T> PST_INLINE T pst_shuffle_down(T value, i32 distance) {
  return (T)__shfl_down_sync(0xFFFFFFFFu, value, distance);
}

//===--- lists: threads take places in any order, what counts has one --------===//

/// Takes the next place of a list: adds 1 to its count, and returns the count before.
PST_INLINE i64 pst_next(i64 *counts, i64 at) { return (i64)atomicAdd((u64 *)counts + at, 1ull); }

/// Sorts numbers `first` ..< `first` + `count`: a heap, so the worst is n log n.
PST_INLINE void pst_sort(i64 *numbers, i64 first, i64 count) {
  i64 *heap = numbers + first;
  for (i64 root = count / 2, end = count; end > 1;) {
    i64 sinks;
    if (root > 0) {
      sinks = heap[--root];
    } else {
      sinks = heap[--end];
      heap[end] = heap[0];
    }
    i64 at = root;
    for (i64 child; (child = 2 * at + 1) < end; at = child) {
      if (child + 1 < end && heap[child + 1] > heap[child])
        ++child;
      if (heap[child] <= sinks)
        break;
      heap[at] = heap[child];
    }
    heap[at] = sinks;
  }
}

/// Puts an element under its key, `width` numbers, into a table of elements with
/// open addressing, where -1 is free. Of elements with one key the least stays.
PST_INLINE i64 pst_claim(i64 *table, i64 places, const i64 *keys, i64 width, i64 element) {
  u64 hash = 0;
  for (i64 j = 0; j < width; ++j)
    hash = (hash ^ (u64)keys[element * width + j]) * 0x9E3779B97F4A7C15ull;
  for (i64 at = (i64)((hash >> 32) * (u64)places >> 32);; at = at + 1 == places ? 0 : at + 1) {
    const i64 other = (i64)atomicCAS((u64 *)table + at, ~0ull, (u64)element);
    bool equal = true;
    for (i64 j = 0; other >= 0 && equal && j < width; ++j)
      equal = keys[other * width + j] == keys[element * width + j];
    if (equal && other >= 0)
      atomicMin(table + at, element);
    if (equal)
      return at;
  }
}

//===--- draws: Philox-4x32-10 (Salmon et al., SC 2011) ----------------------===//

struct pst_key {
  u64 state, position;
  u32 epoch;
  u16 view;
};
PST_INLINE pst_key pst_key_of(i64 state, i64 position, i64 epoch, i64 view) {
  pst_key key = {(u64)state, (u64)position, (u32)epoch, (u16)view};
  return key;
}
PST_INLINE u64 pst_mix(u64 state, u64 value) {
  u64 z = state + 0x9E3779B97F4A7C15ull + value * 0xD1342543DE82EF95ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}
PST_INLINE pst_key pst_key_view(pst_key key, i64 view) {
  key.view = (u16)view;
  return key;
}
PST_INLINE pst_key pst_key_mix(pst_key key, i64 index) {
  key.state = pst_mix(key.state, (u64)index);
  return key;
}
/// 64 random bits: element `element` of the draw `id`.
PST_INLINE i64 pst_draw_bits(pst_key key, u64 id, i64 element) {
  const u64 k = pst_mix(key.state, id);
  u32 c0 = (u32)key.position, c1 = ((u32)(key.position >> 32) & 0xFFFFu) | ((u32)key.view << 16);
  u32 c2 = key.epoch, c3 = (u32)((u64)element / 2), k0 = (u32)k, k1 = (u32)(k >> 32);
  for (i32 round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
    const u64 a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;
    c0 = (u32)(b >> 32) ^ c1 ^ k0;
    c2 = (u32)(a >> 32) ^ c3 ^ k1;
    c1 = (u32)b;
    c3 = (u32)a;
  }
  return (u64)element % 2 ? (i64)(((u64)c2 << 32) | c3) : (i64)(((u64)c0 << 32) | c1);
}
PST_INLINE f64 pst_draw_uniform(pst_key key, u64 id, i64 element, f64 low, f64 high) {
  const f64 unit = (f64)((u64)pst_draw_bits(key, id, element) >> 11) * 0x1p-53;
  const f64 value = low + unit * (high - low);
  return value < high ? value : low;
}
PST_INLINE i64 pst_draw_integer(pst_key key, u64 id, i64 element, i64 low, i64 end) {
  if (end <= low)
    return low;
  const u64 b = (u64)pst_draw_bits(key, id, element), n = (u64)end - (u64)low;
  const u64 bh = b >> 32, bl = b & 0xFFFFFFFFu, nh = n >> 32, nl = n & 0xFFFFFFFFu;
  const u64 middle = bh * nl + ((bl * nl) >> 32), middle2 = bl * nh + (middle & 0xFFFFFFFFu);
  return (i64)((u64)low + bh * nh + (middle >> 32) + (middle2 >> 32));
}
/// Returns the image of i under the keyed permutation of 0 ..< n.
PST_INLINE i64 pst_draw_permutation(pst_key key, u64 id, i64 element, i64 count, i64 index) {
  const u64 seed = (u64)pst_draw_bits(key, id, element), n = (u64)count;
  u64 i = (u64)index;
  if (n <= 1 || i >= n)
    return index;
  u32 half = 1;
  while (half < 32 && ((u64)1 << (2 * half)) < n)
    ++half;
  const u64 mask = ((u64)1 << half) - 1;
  do {
    u64 left = i >> half, right = i & mask;
    for (u64 round = 0; round < 8; ++round) {
      const u64 next = left ^ (pst_mix(seed + round, right) & mask);
      left = right;
      right = next;
    }
    i = (left << half) | right;
  } while (i >= n);
  return (i64)i;
}
