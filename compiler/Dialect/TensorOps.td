// SPDX-License-Identifier: Apache-2.0
//
// Ops on tensors --------------------------*- tablegen.
//
// One rule for all of them: an op carries `sizes`, one i64 operand for each
// axis of its results whose extent is known per sample only, in order. So the
// extent of any value is an operand of its definition, never a computation
// that somebody has to find.
#ifndef PENSTOCK_PIPE_TENSOR_OPS_TD
#define PENSTOCK_PIPE_TENSOR_OPS_TD

include "compiler/Dialect/PipeTypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"

/// An op that computes tensors: which carries one size per dynamic axis of them, and
/// says how a kernel computes it, what an element reads, and what a box needs.
/// `boxes`: how it answers the last, with `all` or a method of its own.
class Pipe_TensorOp<string mnemonic, string form, string access, string boxes, list<Trait> traits>
    : Pipe_Op<mnemonic, !listconcat([Pure], traits, [Pipe_SizedOpInterface, Pipe_TensorOpInterface,
          Pipe_OfForm<form>, Pipe_OfAccess<access>],
          !if(!eq(boxes, "all"), [Pipe_NeedsAllInputs, Pipe_RequiredBoxOpInterface],
              [DeclareOpInterfaceMethods<Pipe_RequiredBoxOpInterface>]))> {
  let hasVerifier = 1;
}

//===--- class I: index ------------------------------------------------------===//

def Pipe_ViewOp : Pipe_TensorOp<"view", form = "inlined", access = "moved", boxes = "own",
    traits = [Pipe_OfClass<"index">, AttrSizedOperandSegments]> {
  let summary = "Reads the input at an integer-affine index";
  let description = [{
    `result[i] = input[map(i)]`: crop, flip, transpose, stride, frames, patches,
    channel pick. The map's dimensions are the result's axes, its symbols the
    `symbols` (i64 scalars, which may multiply a dimension: a flip decided per
    sample), its results the input's axes. Composition is
    `AffineMap::compose`.

    Constraints:

    - (C1) the map has one dimension per result axis, one symbol per operand in
      `symbols`, and one result per input axis.
    - (C2) element types agree.
    - (C3) one size per dynamic axis of the result.

    Every index must lie inside the input. Where that follows from user values,
    import emits a `pipe.check` before the view.

    Example:

    ```mlir
    %1 = pipe.view %0 by affine_map<(d0, d1, d2)[s0] -> (d0 + s0, d1, d2)> [%top]
        : !pipe.tensor<u8[h=?, w=8, c=3]> -> !pipe.tensor<u8[h=4, w=8, c=3]>
    ```
  }];
  let arguments = (ins Pipe_Tensor:$input, AffineMapAttr:$map,
                       Variadic<Pipe_Int>:$symbols, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $input `by` $map `[` $symbols `]` (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($input) `->` type($result)
  }];
}

def Pipe_PadOp : Pipe_TensorOp<"pad", form = "inlined", access = "moved", boxes = "own",
    traits = [Pipe_OfClass<"index">, AttrSizedOperandSegments]> {
  let summary = "Extends the domain";
  let description = [{
    `low` elements are put before index 0 along each axis in `over`; what lies
    past the input follows from the size of the result. `constant` uses `fill`.
    `reflect` does not repeat the edge, `symmetric` does, `wrap` is periodic;
    the three apply as often as needed, and act as `edge` on an extent of 1.

    Constraints:

    - (C1) one `low` per name in `over`, each an axis of the input.
    - (C2) `fill` has the element type, and stands exactly for `constant`.
    - (C3) one size per dynamic axis of the result; axes not in `over` keep
      their extent.

    Example:

    ```mlir
    %1 = pipe.pad constant %0 over ["h", "w"] low(%four, %four) fill(%zero : ui8)
        : !pipe.tensor<u8[h=32, w=32]> -> !pipe.tensor<u8[h=40, w=40]>
    ```
  }];
  let arguments = (ins Pipe_Border:$border, Pipe_Tensor:$input, StrArrayAttr:$over,
                       Variadic<Pipe_Int>:$low, Optional<Pipe_Scalar>:$fill,
                       Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $border $input `over` $over `low` `(` $low `)` (`fill` `(` $fill^ `:` type($fill) `)`)?
    (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($input) `->` type($result)
  }];
}

def Pipe_ConcatOp : Pipe_TensorOp<"concat", form = "inlined", access = "joined", boxes = "own",
    traits = [Pipe_OfClass<"index">, AttrSizedOperandSegments]> {
  let summary = "Joins tensors along an axis";
  let description = [{
    Constraints:

    - (C1) the inputs have the same axes and element type; extents differ along
      `axis` only.

    Example: `%2 = pipe.concat "w" (%0, %1) : !pipe.tensor<u8[w=2]>, !pipe.tensor<u8[w=3]> -> !pipe.tensor<u8[w=5]>`
  }];
  let arguments = (ins StrAttr:$axis, Variadic<Pipe_Tensor>:$inputs, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $axis `(` $inputs `)` (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($inputs) `->` type($result)
  }];
}

def Pipe_StackOp : Pipe_TensorOp<"stack", form = "inlined", access = "joined", boxes = "own",
    traits = [Pipe_OfClass<"index">, AttrSizedOperandSegments]> {
  let summary = "Joins tensors along a new outermost axis";
  let description = [{
    Constraints:

    - (C1) the inputs have one type; the result adds `axis` in front, with as
      many elements as there are inputs.

    Example: `%2 = pipe.stack "v" (%0, %1) : !pipe.tensor<u8[w=2]>, !pipe.tensor<u8[w=2]> -> !pipe.tensor<u8[v=2, w=2]>`
  }];
  let arguments = (ins StrAttr:$axis, Variadic<Pipe_Tensor>:$inputs, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $axis `(` $inputs `)` (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($inputs) `->` type($result)
  }];
}

def Pipe_PlaceOp : Pipe_TensorOp<"place", form = "inlined", access = "joined", boxes = "own",
    traits = [Pipe_OfClass<"index">, AttrSizedOperandSegments]> {
  let summary = "Writes a tensor into a region of another";
  let description = [{
    The result is `base` with `patch` at the offsets `at` (one per name in
    `over`); what of the patch lies outside is cut off.

    Constraints:

    - (C1) base, patch and result have the same axis names and element type.
    - (C2) one offset per name in `over`.

    Example: `%2 = pipe.place %patch into %base over ["h"] at(%y) : !pipe.tensor<u8[h=2]>, !pipe.tensor<u8[h=9]> -> !pipe.tensor<u8[h=9]>`
  }];
  let arguments = (ins Pipe_Tensor:$patch, Pipe_Tensor:$base, StrArrayAttr:$over,
                       Variadic<Pipe_Int>:$at, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $patch `into` $base `over` $over `at` `(` $at `)` (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($patch) `,` type($base) `->` type($result)
  }];
}

//===--- class P: point ------------------------------------------------------===//

def Pipe_MapOp : Pipe_TensorOp<"map", form = "inlined", access = "own", boxes = "own",
    traits = [Pipe_OfClass<"point">, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Computes each element from the inputs' elements";
  let description = [{
    The domain is the result's axes. The region gets one scalar per input (an
    input without some axis of the domain is broadcast along it, by name), then
    the i64 coordinate along each axis of the result, and yields one scalar. It may
    use scalars from outside and read outside tensors with `pipe.load`.

    Constraints:

    - (C1) every axis of an input is an axis of the result, with the same
      extent.
    - (C2) the region's arguments are the inputs' element types, then one i64
      per axis of the result.
    - (C3) the yielded type is the result's element type.

    Example:

    ```mlir
    %1 = pipe.map (%0) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]> {
    ^bb0(%p: ui8, %w: i64):
      %q = pipe.unary bit_not %p : ui8
      pipe.yield %q : ui8
    }
    ```
  }];
  let arguments = (ins Variadic<Pipe_Tensor>:$inputs, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` functional-type($inputs, $result) $body
  }];
}

//===--- class H: halo -------------------------------------------------------===//

def Pipe_WindowOp : Pipe_TensorOp<"window", form = "inlined", access = "often", boxes = "own",
    traits = [Pipe_OfClass<"halo">, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Computes each element from a neighbourhood";
  let description = [{
    The neighbourhood spans `low[k] ..= high[k]` along axis `over[k]`. The
    region gets one scalar per neighbour, row-major in the order of `over`, then
    one i64 coordinate per axis of the result, and yields one scalar. What lies
    outside the input follows `border` as in `pipe.pad`.

    Constraints:

    - (C1) `low[k] <= high[k]`, one pair per name in `over`, each an axis of the
      input.
    - (C2) the result has the input's axes and extents.
    - (C3) `fill` has the input's element type, and stands exactly for
      `constant`.
    - (C4) region arguments and yield as described.

    Example:

    ```mlir
    %1 = pipe.window edge %0 over ["w"] low [-1] high [0]
        : !pipe.tensor<i32[w=4]> -> !pipe.tensor<i32[w=4]> {
    ^bb0(%left: i32, %here: i32, %w: i64):
      %d = pipe.binary sub %here, %left : i32
      pipe.yield %d : i32
    }
    ```
  }];
  let arguments = (ins Pipe_Border:$border, Pipe_Tensor:$input, StrArrayAttr:$over,
                       DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                       Optional<Pipe_Scalar>:$fill, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $border $input `over` $over `low` $low `high` $high (`fill` `(` $fill^ `:` type($fill) `)`)?
    (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($input) `->` type($result) $body
  }];
}

def Pipe_TapsOp : Pipe_ScalarOp<"taps", [Pure]> {
  let summary = "Number of taps per output element of a resampling filter";
  let description = [{
    With scale = max(in / out, 1) in f64 and support = filter support * scale:
    min(in, ceil(2 * support + (in + 1) * 2^-49)), which no window of `pipe.weights` exceeds: both of
    its ends are rounded, and that is more than they are rounded by. Without `antialias` the scale is 1.
    `nearest` has 1. Source: Pillow, `precompute_coeffs`, which has 2 * ceil(support) + 1.

    Example: `%k = pipe.taps bilinear %in to %out antialias(true)`
  }];
  let arguments = (ins Pipe_Filter:$filter, Pipe_Int:$in, Pipe_Int:$out, BoolAttr:$antialias);
  let results = (outs Pipe_Int:$result);
  let assemblyFormat = "$filter $in `to` $out `antialias` `(` $antialias `)` attr-dict";
}

def Pipe_WeightsOp : Pipe_TensorOp<"weights", form = "whole", access = "nothing", boxes = "all",
    traits = [Pipe_OfClass<"weights">]> {
  let summary = "Tap weights and first taps of a resampling filter";
  let description = [{
    For output element o of `out` over `in` input elements, in f64 as Pillow
    does: center = (o + 0.5) * (in / out), first = max(trunc(center - support +
    0.5), 0), end = min(trunc(center + support + 0.5), in), weight k =
    filter((k + first - center + 0.5) * (1 / scale)), divided by their sum (in
    tap order). Then `start` = min(first, in - taps), the weights move up by
    first - start, and all other taps weigh 0, so that every window lies inside
    the input. `nearest` has weight 1 at trunc((o + 0.5) * (in / out)). The sines
    of `lanczos` and `hamming` are those of scalar.h.

    An i32 weight is the f64 one times 2^22, rounded half away from zero.

    Constraints:

    - (C1) `weights` is i32 or f64 over (the axis, `k`: any name), `start` i32 over the
      axis; the extent of `k` is the result of `pipe.taps` for the same
      arguments.

    Example:

    ```mlir
    %w, %s = pipe.weights bilinear %in to %out antialias(true) sizes(%k)
        : !pipe.tensor<i32[w=224, k=?]>, !pipe.tensor<i32[w=224]>
    ```
  }];
  let arguments = (ins Pipe_Filter:$filter, Pipe_Int:$in, Pipe_Int:$out, BoolAttr:$antialias,
                       Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$weights, Pipe_Tensor:$start);
  let assemblyFormat = [{
    $filter $in `to` $out `antialias` `(` $antialias `)` (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($weights) `,` type($start)
  }];
}

def Pipe_ResampleOp : Pipe_TensorOp<"resample", form = "inlined", access = "often", boxes = "own",
    traits = [Pipe_OfClass<"halo">]> {
  let summary = "Weighted sums of runs of elements along one axis";
  let description = [{
    `result[.., o, ..] = sum over k of weights[o, k] * input[.., start[o] + k, ..]`
    along `axis`: one pass of a separable resampling.

    `pillow` (u8 elements, i32 weights): the sum is exact, plus 2^21,
    arithmetically shifted right by 22 and clamped to 0 ..= 255. `exact` (f64
    weights): the sum is f64 in tap order, starting from 0.0 and including zero weights, rounded
    once into the element type (integers: half away from zero, saturated).

    Constraints:

    - (C1) `axis` is an axis of the input, and the first of `weights`; `start`
      has it alone.
    - (C2) `pillow` takes u8 elements and i32 weights, `exact` f64 weights.
    - (C3) the other axes keep their extents.

    Example:

    ```mlir
    %1 = pipe.resample pillow %0 along "w" with %weights, %start
        : !pipe.tensor<u8[h=9, w=9]>, !pipe.tensor<i32[w=4, k=5]>, !pipe.tensor<i32[w=4]>
        -> !pipe.tensor<u8[h=9, w=4]>
    ```
  }];
  let arguments = (ins Pipe_Numerics:$numerics, Pipe_Tensor:$input, StrAttr:$axis,
                       Pipe_Tensor:$weights, Pipe_Tensor:$start, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $numerics $input `along` $axis `with` $weights `,` $start (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($input) `,` type($weights) `,` type($start) `->` type($result)
  }];
}

//===--- class G: gather -----------------------------------------------------===//

def Pipe_GatherOp : Pipe_TensorOp<"gather", form = "inlined", access = "often", boxes = "own",
    traits = [Pipe_OfClass<"gather">, AttrSizedOperandSegments,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Samples the input at computed coordinates";
  let description = [{
    The region gets the i64 coordinates of the result's element and yields one
    f64 coordinate per axis in `over`, in the space where input element i covers
    i ..< i + 1 (its centre is i + 0.5, as in Pillow). Axes not in `over` are
    read at the result's own coordinate. The result may lack axes in `over` and
    have others, over which the coordinates alone run.

    `nearest` reads element floor(coordinate). `linear` and `cubic` interpolate
    in f64 between the centres, the last axis of `over` first: with x =
    coordinate - 0.5, i = floor(x) (as i64, at most 2^62 from 0), d = x - i and
    v0 .. v3 the elements i - 1 .. i + 2, linear is v1 + (v2 - v1) * d, and cubic (Pillow's, a = -1) is
    v1 + d * (v2 - v0 + d * (2 * (v0 - v1) + v2 - v3 + d * (v1 - v0 - v2 + v3))),
    sums from left to right. The result is rounded once; for integer elements it
    is truncated and saturated.

    With `constant`, the result is `fill` where a coordinate lies outside
    0 ..< extent (NaN included), and neighbours are moved to the edge. The other
    borders move every element index, where NaN counts as 0.

    Constraints:

    - (C1) `over` names axes of the input; the result has the others.
    - (C2) `fill` has the element type, and stands exactly for `constant`.
    - (C3) the region takes one i64 per axis of the result and yields one f64
      per name in `over`.

    Example:

    ```mlir
    %1 = pipe.gather nearest edge %0 over ["w"]
        : !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[w=8]> {
    ^bb0(%w: i64):
      %x = pipe.cast value %w : i64 -> f64
      pipe.yield %x : f64
    }
    ```
  }];
  let arguments = (ins Pipe_Interpolation:$interpolation, Pipe_Border:$border, Pipe_Tensor:$input,
                       StrArrayAttr:$over, Optional<Pipe_Scalar>:$fill, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// For each axis of the input the axis of the result at whose coordinate it is
    /// read; -1 for those in `over`.
    llvm::SmallVector<int64_t> readAt();
  }];
  let assemblyFormat = [{
    $interpolation $border $input `over` $over (`fill` `(` $fill^ `:` type($fill) `)`)?
    (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($input) `->` type($result) $body
  }];
}

//===--- class R: barrier ----------------------------------------------------===//

def Pipe_ReduceOp : Pipe_TensorOp<"reduce", form = "whole", access = "once", boxes = "own",
    traits = []> {
  let summary = "Combines all elements along some axes into one";
  let description = [{
    Returns `value` without the axes in `over`. The elements along them are
    combined by `kind`; the axes that stay keep their order.

    Integer kinds are exact in any order; an integer `sum` has the input's type
    and wraps. A floating-point `sum` adds element i (row-major over the
    reduced axes, in the input's axis order) to lane i mod 32 of 32 partial
    sums that start at 0.0, then adds lane l + 16 to lane l for l < 16, then
    8, 4, 2, 1: every target gives the same bits. `min max` as in
    `pipe.binary`, so that of nothing but NaN they are NaN. `any all` take bool. `count` takes bool, gives i64.
    `argmin argmax` give the i64 row-major index of the first such element.

    Constraints:

    - (C1) `over` names axes of `value`, each once; with none the result is the
      value.
    - (C2) the result's element type is i64 for `count argmin argmax`, the
      input's otherwise.

    Of no elements, `sum` and `count` give 0, `any` false, `all` true, `min` and
    `max` the other end of the type's range (float: the infinity), `argmin` and
    `argmax` 0.

    Example:

    ```mlir
    %lo = pipe.reduce min %x over ["h", "w"]
        : !pipe.tensor<u8[h=224, w=224, c=3:rgb]> -> !pipe.tensor<u8[c=3:rgb]>
    ```
  }];
  let arguments = (ins Pipe_ReduceKind:$kind, Pipe_Tensor:$value, StrArrayAttr:$over,
                       Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $kind $value `over` $over (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($value) `->` type($result)
  }];
  let extraClassDeclaration = [{ ::penstock::pipe::OpClass getOpClass(); }];
}

def Pipe_ScanOp : Pipe_TensorOp<"scan", form = "whole", access = "often", boxes = "all",
    traits = [Pipe_OfClass<"barrier">, AttrSizedOperandSegments]> {
  let summary = "Accumulates along an axis";
  let description = [{
    `sum` and `max`: result[i] combines elements 0 ..= i in order, sums starting
    from 0.0. `recurrence`: result[i] = value[i] +
    factor * result[i - 1], with result[-1] = 0; the factor, one for all or of
    `factors` the one at i, is rounded to the type that accumulates. f16 and bf16
    accumulate in f32; each stored element is rounded once.

    Constraints:

    - (C1) `axis` is an axis of the value; the result has the value's type.
    - (C2) `factor` or `factors` stands exactly for `recurrence`; `factors` has the
      value's axes, and the type that accumulates.

    Example: `%1 = pipe.scan sum %0 along "t" : !pipe.tensor<f32[t=9]>`
  }];
  let arguments = (ins Pipe_ScanKind:$kind, Pipe_Tensor:$value, StrAttr:$axis,
                       Optional<Pipe_F64>:$factor, Optional<Pipe_Tensor>:$factors,
                       Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $kind $value `along` $axis (`factor` `(` $factor^ `)`)?
    (`factors` `(` $factors^ `:` type($factors) `)`)? (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($value) `->` type($result)
  }];
}

def Pipe_HistogramOp : Pipe_TensorOp<"histogram", form = "passes", access = "often", boxes = "all",
    traits = [Pipe_OfClass<"barrier">]> {
  let summary = "Counts how often each key occurs along some axes";
  let description = [{
    The result adds axis `bin` (last) with i32 counts of the keys 0 .. bins; keys
    outside are not counted.

    Constraints:

    - (C1) the keys are integers; `over` names axes of the value.

    Example: `%1 = pipe.histogram %0 over ["h", "w"] : !pipe.tensor<u8[h=9, w=9, c=3]> -> !pipe.tensor<i32[c=3, bin=256]>`
  }];
  let arguments = (ins Pipe_Tensor:$value, StrArrayAttr:$over, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $value `over` $over (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($value) `->` type($result)
  }];
}

def Pipe_ContractOp : Pipe_TensorOp<"contract", form = "whole", access = "often", boxes = "all",
    traits = [Pipe_OfClass<"barrier">]> {
  let summary = "Multiplies by a matrix along an axis";
  let description = [{
    `result[.., j, ..] = sum over i of value[.., i, ..] * matrix[i, j]`, in the
    summation order of `pipe.reduce sum`. Colour matrices, mel banks, DCT.

    Constraints:

    - (C1) the matrix has two axes; its first is an axis of the value, its
      second replaces it in the result; element types agree and are f32, f64,
      i32 or i64 (which wrap).

    Example: `%1 = pipe.contract %0 by %m : !pipe.tensor<f32[t=9, freq=5]>, !pipe.tensor<f32[freq=5, mel=4]> -> !pipe.tensor<f32[t=9, mel=4]>`
  }];
  let arguments = (ins Pipe_Tensor:$value, Pipe_Tensor:$matrix, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $value `by` $matrix (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($value) `,` type($matrix) `->` type($result)
  }];
}

def Pipe_FftOp : Pipe_TensorOp<"fft", form = "passes", access = "once", boxes = "all",
    traits = [Pipe_OfClass<"barrier">]> {
  let summary = "Discrete Fourier transform of real values along an axis";
  let description = [{
    The axis becomes n / 2 + 1 frequencies under the name `freq`, and axis
    `part` (last, extent 2) holds real and imaginary part of the sum over i of
    value[i] * exp(-2 pi j i f / n). The order of operations is fixed per length
    (docs/rationale/fft.md), and everything is computed in the element type.

    Constraints:

    - (C1) elements are f32 or f64; the axis has a static extent of at least 1.
    - (C2) the result has `freq` in the place of the axis, and `part` behind the
      value's axes.

    Example: `%1 = pipe.fft %0 along "t" : !pipe.tensor<f32[t=8]> -> !pipe.tensor<f32[freq=5, part=2]>`
  }];
  let arguments = (ins Pipe_Tensor:$value, StrAttr:$axis, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $value `along` $axis (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($value) `->` type($result)
  }];
}

def Pipe_CompactOp : Pipe_TensorOp<"compact", form = "passes", access = "once", boxes = "all",
    traits = [Pipe_OfClass<"barrier">]> {
  let summary = "Keeps the elements along an axis that a mask selects";
  let description = [{
    Stable. `count` is the number kept, a rank-0 tensor: it is known on the
    pixel side only, so the result has room for all, and 0 behind those kept.

    Constraints:

    - (C1) the mask is bool over `axis` alone.
    - (C2) the result has the value's axes and element type; extents may differ
      along `axis` only.

    Example: `%1, %n = pipe.compact %0 along "k" where %m : !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<bool[k=9]> -> !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<i64[]>`
  }];
  let arguments = (ins Pipe_Tensor:$value, StrAttr:$axis, Pipe_Tensor:$mask, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result, Pipe_Tensor:$count);
  let assemblyFormat = [{
    $value `along` $axis `where` $mask (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($value) `,` type($mask) `->` type($result) `,` type($count)
  }];
}

def Pipe_GroupOp : Pipe_TensorOp<"group", form = "passes", access = "once", boxes = "all",
    traits = [Pipe_OfClass<"barrier">, AttrSizedOperandSegments]> {
  let summary = "Groups the elements along an axis by integer key";
  let description = [{
    Elements with equal keys are one group; groups are numbered in the order of
    their first elements, up to `limit`. `slot` gives the group of each element:
    -1 where the mask is false, and for elements of a group past the limit.
    `first` gives the place of each group's first element, 0 past the last
    group, and `count` the number of groups.

    Constraints:

    - (C1) the key has the axis first, and integer elements; all of its other
      axes together are one key.
    - (C2) the mask is bool over the axis alone.
    - (C3) `slot` is i64 over the axis, `first` i64 over one new axis with room
      for as many groups as there can be, `count` i64 without axes.

    Example: `%s, %f, %n = pipe.group %key along "k" limit 100 : !pipe.tensor<i32[k=9, xyz=3]> -> !pipe.tensor<i64[k=9]>, !pipe.tensor<i64[m=9]>, !pipe.tensor<i64[]>`
  }];
  let arguments = (ins Pipe_Tensor:$key, StrAttr:$axis, Optional<Pipe_Tensor>:$mask, I64Attr:$limit,
                       Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$slot, Pipe_Tensor:$first, Pipe_Tensor:$count);
  let assemblyFormat = [{
    $key `along` $axis (`where` $mask^)? `limit` $limit (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($key) (`,` type($mask)^)? `->` type($slot) `,` type($first) `,` type($count)
  }];
}

def Pipe_ReduceByOp : Pipe_TensorOp<"reduce_by", form = "passes", access = "once", boxes = "all",
    traits = [Pipe_OfClass<"barrier">]> {
  let summary = "Combines the elements of each group along an axis";
  let description = [{
    Element g of the result is what `pipe.reduce` gives of the elements along
    `axis` whose `group` is g, in their order. Elements of no group of the
    result (-1) are left out; a group without elements gets what a reduction of
    no elements gives. `argmin` and `argmax` give an element's place along
    `axis`; of a group without elements, 0.

    Constraints:

    - (C1) `group` is i64 over `axis` alone.
    - (C2) the result has one new axis in the place of `axis`.
    - (C3) the element types are those of `pipe.reduce`.

    Example: `%1 = pipe.reduce_by sum %0 along "k" by %slot : !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<i64[k=9]> -> !pipe.tensor<f32[m=4, xyz=3]>`
  }];
  let arguments = (ins Pipe_ReduceKind:$kind, Pipe_Tensor:$value, StrAttr:$axis, Pipe_Tensor:$group,
                       Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $kind $value `along` $axis `by` $group (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($value) `,` type($group) `->` type($result)
  }];
}

def Pipe_SortOp : Pipe_TensorOp<"sort", form = "whole", access = "once", boxes = "all",
    traits = [Pipe_OfClass<"barrier">]> {
  let summary = "Stable argsort along an axis";
  let description = [{
    result[i] is the index of the element that stands at place i in ascending
    order; equal elements keep their order. The order of floats is that of `min`
    and `max`, with -0 below +0; NaNs come last, and are equal to each other.
    false comes before true.

    Constraints:

    - (C1) `axis` is an axis of the value; the result is i64 with the same axes.

    Example: `%1 = pipe.sort %0 along "k" : !pipe.tensor<f32[k=9]> -> !pipe.tensor<i64[k=9]>`
  }];
  let arguments = (ins Pipe_Tensor:$value, StrAttr:$axis, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $value `along` $axis (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($value) `->` type($result)
  }];
}

def Pipe_RankByOp : Pipe_TensorOp<"rank_by", form = "passes", access = "once", boxes = "all",
    traits = [Pipe_OfClass<"barrier">]> {
  let summary = "Numbers the elements of each group along an axis";
  let description = [{
    result[i] is how many elements before i are of i's group: 0 for the first
    element of each. An element of no group (a number below 0, or not below the
    extent of `axis`) has -1.

    Constraints:

    - (C1) `group` and the result are i64 over `axis` alone.

    Example: `%1 = pipe.rank_by %slot along "k" : !pipe.tensor<i64[k=9]> -> !pipe.tensor<i64[k=9]>`
  }];
  let arguments = (ins Pipe_Tensor:$group, StrAttr:$axis, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $group `along` $axis (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($group) `->` type($result)
  }];
}

def Pipe_ScatterOp : Pipe_TensorOp<"scatter", form = "passes", access = "once", boxes = "all",
    traits = [Pipe_OfClass<"barrier">, AttrSizedOperandSegments]> {
  let summary = "Combines elements into a tensor at computed places";
  let description = [{
    The base, with the elements of `values` along `axis` combined into it one
    after the other, in their order: element i at the place that number i of each
    of `at` gives along each axis of `over`. What lies outside is left out.

    `sum` adds to what stands there (integers wrap), `min` and `max` are those of
    `pipe.binary`, and of `first` the first one to come takes the base's place.

    Constraints:

    - (C1) `over` names axes of the base, each once, and `at` has one i64 tensor
      over `axis` alone for each of them.
    - (C2) the values have `axis`, which is none of the base's, and besides it those
      of the base that are not in `over`, in their order.
    - (C3) base, values and result have one element type; the result has the
      base's axes.
    - (C4) `sum`, `min` and `max` are not of bool, f16 or bf16.

    Example: `%1 = pipe.scatter sum %0 by %v along "k" over ["m"] at (%slot) : !pipe.tensor<f32[m=4, xyz=3]>, !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<i64[k=9]> -> !pipe.tensor<f32[m=4, xyz=3]>`
  }];
  let arguments = (ins Pipe_ScatterKind:$kind, Pipe_Tensor:$base, Pipe_Tensor:$values,
                       StrAttr:$axis, StrArrayAttr:$over, Variadic<Pipe_Tensor>:$at,
                       Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $kind $base `by` $values `along` $axis `over` $over `at` `(` $at `)`
    (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($base) `,` type($values) `,` type($at) `->` type($result)
  }];
}

def Pipe_FilterOp : Pipe_TensorOp<"filter", form = "whole", access = "once", boxes = "all",
    traits = [Pipe_OfClass<"barrier">]> {
  let summary = "Filters along an axis by a rational transfer function";
  let description = [{
    y with a[0] y[i] = sum over j of b[j] x[i - j] - sum over j > 0 of a[j]
    y[i - j], from silence, in f64, and rounded to the element type once. The
    order of operations is that of the direct form II transposed: numerator and
    denominator are filled up with zeros to one length, every number of both is
    divided by a[0], and then for each element, with z = 0 in the beginning,

    - y = z[0] + b[0] * x,
    - z[j] = (z[j + 1] + x * b[j + 1]) - y * a[j + 1], of the last one
      x * b[j + 1] - y * a[j + 1].

    With one number each, y = x * b[0].

    Constraints:

    - (C1) `axis` is an axis of the value, whose elements are f32 or f64; the
      result has the value's type.
    - (C2) numerator and denominator are f64 over one axis each, whose static
      extent is 1 ... 64.

    Example: `%1 = pipe.filter %0 along "t" by %b over %a : !pipe.tensor<f32[t=9]>, !pipe.tensor<f64[j=2]>, !pipe.tensor<f64[j=3]> -> !pipe.tensor<f32[t=9]>`
  }];
  let arguments = (ins Pipe_Tensor:$value, StrAttr:$axis, Pipe_Tensor:$numerator,
                       Pipe_Tensor:$denominator, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $value `along` $axis `by` $numerator `over` $denominator (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($value) `,` type($numerator) `,` type($denominator) `->` type($result)
  }];
}

//===--- class M: pixels to media ----------------------------------------------===//

def Pipe_CodecEnum : Pipe_Enum<"Codec", "a format that pixels are encoded in", ["jpeg", "png"]>;
def Pipe_CodecAttr : Pipe_EnumAttr<Pipe_CodecEnum, "codec">;

def Pipe_EncodeOp : Pipe_TensorOp<"encode", form = "runtime", access = "once", boxes = "all",
    traits = [Pipe_OfClass<"codec">, AttrSizedOperandSegments]> {
  let summary = "Pixels to the bytes of an image file";
  let description = [{
    `count`, a rank-0 tensor, says how many bytes the file has: it is known on
    the pixel side only, so `bytes` has room for as many as an image of these
    extents can need, and 0 behind them.

    A JPEG file is what libjpeg-turbo writes with its accurate integer DCT, the
    standard tables scaled by `quality` (1 ... 100), 4:2:0 where there is
    colour, and its standard Huffman tables. A PNG file has filter 0 in every
    row, and zlib's level 6.

    Nothing here fails: that the image has 1 ... 65,500 rows and columns, and a
    quality that there is, import makes sure of with a `pipe.check`.

    Constraints:

    - (C1) the value is u8 over h and w, and c with 1 or 3 elements, or without c.
    - (C2) `bytes` is u8 over one axis, `count` i64 without axes.
    - (C3) `quality` stands exactly for `jpeg`.

    Example: `%b, %n = pipe.encode jpeg %x quality(%q) sizes(%m) : !pipe.tensor<u8[h=8, w=8, c=3:rgb]> -> !pipe.tensor<u8[byte=?]>, !pipe.tensor<i64[]>`
  }];
  let arguments = (ins Pipe_CodecAttr:$format, Pipe_Tensor:$value, Optional<Pipe_Int>:$quality,
                       Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$bytes, Pipe_Tensor:$count);
  let assemblyFormat = [{
    $format $value (`quality` `(` $quality^ `)`)? (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($value) `->` type($bytes) `,` type($count)
  }];
}

def Pipe_RecompressOp : Pipe_TensorOp<"recompress", form = "runtime", access = "once", boxes = "all",
    traits = [Pipe_OfClass<"codec">]> {
  let summary = "Pixels through a JPEG file and back";
  let description = [{
    What decoding gives of the file that `pipe.encode jpeg` makes: `rgb` of three
    channels, `gray` of one. Its extents are the input's, so that setup knows
    them.

    Constraints:

    - (C1) as of `pipe.encode`; the result has the value's type.

    Example: `%1 = pipe.recompress %0 quality(%q) : !pipe.tensor<u8[h=8, w=8, c=3:rgb]> -> !pipe.tensor<u8[h=8, w=8, c=3:rgb]>`
  }];
  let arguments = (ins Pipe_Tensor:$value, Pipe_Int:$quality, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $value `quality` `(` $quality `)` (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` type($value) `->` type($result)
  }];
}

#endif
