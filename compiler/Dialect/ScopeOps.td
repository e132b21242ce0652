// SPDX-License-Identifier: Apache-2.0
//
// Pipelines, branches, loops, batches -------*- tablegen.
#ifndef PENSTOCK_PIPE_SCOPE_OPS_TD
#define PENSTOCK_PIPE_SCOPE_OPS_TD

include "compiler/Dialect/PipeTypes.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"

def Pipe_YieldOp : Pipe_Op<"yield", [Pure, Pipe_OfClass<"other">, Terminator, ReturnLike]> {
  let summary = "Ends a region with its results";
  let description = [{ Example: `pipe.yield %0 : ui8` }];
  let arguments = (ins Variadic<Pipe_AnyValue>:$values);
  let builders = [OpBuilder<(ins), [{ (void)$_builder; }]>];
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Pipe_PipelineOp : Pipe_Op<"pipeline", [Pipe_OfClass<"other">, IsolatedFromAbove, Symbol,
    SingleBlock, NoTerminator]> {
  let summary = "The life of one sample";
  let description = [{
    The body is what happens to one sample; its last op is `pipe.batch`.
    `seed` is the default seed, `substitute` the fraction of bad samples per
    rank and epoch that substitutes may fill (negative: `on_error = fail`),
    `numerics` the default of resampling ops. `hash` is a 64-bit hash of the
    meaning, which states carry. After the split, `slots` is the number of
    8-byte entries of the sample's parameter block.

    Example: `pipe.pipeline @p seed 0 substitute 5.000000e-02 { pipe.batch ... }`
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$seed, F64Attr:$substitute,
                       OptionalAttr<I64Attr>:$hash, OptionalAttr<I64Attr>:$slots);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `seed` $seed `substitute` $substitute (`hash` $hash^)? (`slots` $slots^)?
    attr-dict-with-keyword $body
  }];
}

def Pipe_ChooseOp : Pipe_Op<"choose", [Pure, NoRegionArguments, Pipe_SizedOpInterface,
    Pipe_TensorOpInterface, Pipe_OfForm<"inlined">, Pipe_OfAccess<"joined">]> {
  let summary = "One of several regions, by number";
  let description = [{
    An index outside is clamped. Every region yields the results' types; sizes
    of dynamic axes of tensor results are yielded by no region: they are
    `sizes`, equal for all arms (where they differ, import makes them a
    scalar `pipe.choose` first).

    Constraints:

    - (C1) at least one region, each yielding the result types.
    - (C2) one size per dynamic axis of the results, in order.

    Example:

    ```mlir
    %1 = pipe.choose %coin -> !pipe.tensor<u8[w=4]> {
      pipe.yield %0 : !pipe.tensor<u8[w=4]>
    }, {
      pipe.yield %flipped : !pipe.tensor<u8[w=4]>
    }
    ```
  }];
  let arguments = (ins Pipe_Int:$index, Variadic<Pipe_Int>:$sizes);
  let results = (outs Variadic<Pipe_AnyValue>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$arms);
  let assemblyFormat = [{
    $index (`sizes` `(` $sizes^ `)`)? attr-dict `->` type($results) $arms
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::penstock::pipe::OpClass getOpClass(); }];
}

def Pipe_RepeatOp : Pipe_Op<"repeat", [Pure, AttrSizedOperandSegments, Pipe_SizedOpInterface,
    Pipe_TensorOpInterface, Pipe_OfForm<"passes">, Pipe_OfAccess<"once">, Pipe_NeedsAllInputs, Pipe_RequiredBoxOpInterface,
    SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Runs a region a bounded number of times";
  let description = [{
    `count` is clamped to 0 ..= bound. The region gets the i64 iteration and the
    carried values and yields their next values, of the same types.

    Constraints:

    - (C1) inits, results, carried arguments and yields have the same types.

    Example:

    ```mlir
    %1 = pipe.repeat %n bound 4 (%0) : (ui8) -> (ui8) {
    ^bb0(%i: i64, %x: ui8):
      pipe.yield %x : ui8
    }
    ```
  }];
  let arguments = (ins Pipe_Int:$count, I64Attr:$bound, Variadic<Pipe_AnyValue>:$inits,
                       Variadic<Pipe_Int>:$sizes);
  let results = (outs Variadic<Pipe_AnyValue>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $count `bound` $bound `(` $inits `)` (`sizes` `(` $sizes^ `)`)? attr-dict
    `:` functional-type($inits, $results) $body
  }];
  let hasVerifier = 1;

  let extraClassDeclaration = [{ ::penstock::pipe::OpClass getOpClass(); }];
}

def Pipe_SearchOp : Pipe_Op<"search", [Pure]> {
  let summary = "Tries a region until it accepts";
  let description = [{
    `body` gets the i64 number of the try, 0 .. tries, and ends in
    `pipe.accept`; the values of the first accepted try are the results. If
    none is accepted, `otherwise` yields them. All values are scalars.

    Constraints:

    - (C1) accepted values and the yields of `otherwise` have the result types.

    Example:

    ```mlir
    %1 = pipe.search 10 -> i64 {
    ^bb0(%i: i64):
      pipe.accept %ok, %x : i64
    } otherwise {
      pipe.yield %zero : i64
    }
    ```
  }];
  let arguments = (ins I64Attr:$tries);
  let results = (outs Variadic<Pipe_Scalar>:$results);
  let regions = (region SizedRegion<1>:$body, SizedRegion<1>:$otherwise);
  let assemblyFormat = [{
    $tries attr-dict `->` type($results) $body `otherwise` $otherwise
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::penstock::pipe::OpClass getOpClass(); }];
}

def Pipe_AcceptOp : Pipe_ScalarOp<"accept", [Pure, Terminator, HasParent<"SearchOp">]> {
  let summary = "Ends a try: its values, and whether they are taken";
  let description = [{ Example: `pipe.accept %ok, %x : i64` }];
  let arguments = (ins Pipe_Bool:$condition, Variadic<Pipe_Scalar>:$values);
  let assemblyFormat = "$condition `,` $values attr-dict `:` type($values)";
}

def Pipe_EachOp : Pipe_Op<"each", [Pure, Pipe_OfClass<"other">, Pipe_SizedOpInterface, SingleBlockImplicitTerminator<"YieldOp">]> {
  let summary = "Several views of a sample";
  let description = [{
    Runs the region for v = 0 .. views and stacks what it yields under the new
    outermost axis `axis`. The region's keys are `pipe.key_view` of `v`.

    Constraints:

    - (C1) each result type is the yielded tensor type with `axis` of extent
      `views` in front.

    Example:

    ```mlir
    %1 = pipe.each "v" 2 -> !pipe.tensor<u8[v=2, w=4]> {
    ^bb0(%v: i64):
      pipe.yield %0 : !pipe.tensor<u8[w=4]>
    }
    ```
  }];
  let arguments = (ins StrAttr:$axis, I64Attr:$views, Variadic<Pipe_Int>:$sizes);
  let results = (outs Variadic<Pipe_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$axis $views (`sizes` `(` $sizes^ `)`)? attr-dict `->` type($results) $body";
  let hasVerifier = 1;
}

def Pipe_BatchOp : Pipe_Op<"batch", [Pipe_OfClass<"other">, SingleBlock, NoTerminator]> {
  let summary = "What is delivered, and what depends on the whole batch";
  let description = [{
    Still one slot's view: the axis `n` is implicit, other samples of the batch
    are reached by `pipe.peer` and `pipe.peers`, draws of the batch use `pipe.key batch`. `size`
    counts samples per rank, or over all ranks with `global`.

    With `buckets`, samples of like length come together, as the `length` of
    `pipe.admit` says: there are at most so many kinds of batches, and `size` is
    the most elements of one, its longest length times its samples.

    Example: `pipe.batch size(%n) last drop { pipe.output "label" %0 : i64 }`
  }];
  let arguments = (ins Pipe_Int:$size, UnitAttr:$global, Pipe_Last:$last, Optional<Pipe_Int>:$buckets);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `size` `(` $size `)` (`global` $global^)? (`buckets` `(` $buckets^ `)`)? `last` $last
    attr-dict-with-keyword $body
  }];
}

def Pipe_PeerOp : Pipe_Op<"peer", [Pure, Pipe_OfClass<"peer">]> {
  let summary = "The same value of another sample of the batch";
  let description = [{
    `slot` is clamped to the samples of this rank's batch. The peer's
    dynamic extents must equal this sample's, or the axis is static.

    Constraints:

    - (C1) stands in a `pipe.batch`; the result has the value's type, which is
      static.

    Example: `%1 = pipe.peer %0[%other] : !pipe.tensor<u8[w=4]>`
  }];
  let arguments = (ins Pipe_ScalarOrTensor:$value, Pipe_Int:$slot);
  let results = (outs Pipe_ScalarOrTensor:$result);
  let assemblyFormat = "$value `[` $slot `]` attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}

def Pipe_PeersOp : Pipe_Op<"peers", [Pure, Pipe_OfClass<"peer">, Pipe_SizedOpInterface]> {
  let summary = "The same value of every sample of the batch";
  let description = [{
    The values of all samples of this rank's batch, by slot, along the new
    outermost axis `axis`. What a bad sample was replaced by counts as its
    sample; slots that a last batch does not have are not there: the extent of
    `axis` is `pipe.context count`. Where it is static, every batch has so many
    samples.

    Constraints:

    - (C1) stands in a `pipe.batch`.
    - (C2) the value is static; the result has its element type, and its axes
      behind `axis`, with a size where `axis` is dynamic.

    Example:

    ```mlir
    %1 = pipe.peers %0 along "n" sizes(%n)
        : !pipe.tensor<f32[w=4]> -> !pipe.tensor<f32[n=?, w=4]>
    ```
  }];
  let arguments = (ins Pipe_Tensor:$value, StrAttr:$axis, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $value `along` $axis (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Pipe_OutputOp : Pipe_Op<"output", [Pipe_OfClass<"other">, AttrSizedOperandSegments]> {
  let summary = "Delivers a value under a name";
  let description = [{
    The value has the declared element type and the declared logical axis
    order without `n`. `axes` are the declared axes with `n` in its place;
    `stored` is the memory order, equal to `axes` unless the user said
    otherwise; after fusion the value has its axes in that order. `ragged` delivers values and offsets; the length of the leading
    dynamic axis is its size operand. With `fill`, such an output is delivered as one tensor, as
    long as the batch's longest sample, with this element behind the end of others.

    Where pixels decide how many elements an axis has (see `pipe.compact`), the
    value has room for all, and `counts` holds, for each axis in `counted`, how
    many there are. More than its entry of `limits` fail the sample, with the
    entry of `messages`. Such a count is also the length of the ragged axis.

    Constraints:

    - (C1) every axis is static, or bounded and `ragged`.
    - (C2) `counts` are i64 tensors without axes; each has an axis of the value,
      a limit and a message.
    - (C3) `fill` is of the value's element type, and that of a `ragged` output.

    Example: `pipe.output "image" %0 axes ["n", "c"] stored ["n", "c"] : !pipe.tensor<f16[c=3]>`
  }];
  let arguments = (ins StrAttr:$name, Pipe_ScalarOrTensor:$value, Variadic<Pipe_Int>:$sizes,
                       StrArrayAttr:$axes, StrArrayAttr:$stored, UnitAttr:$ragged,
                       DefaultValuedAttr<Pipe_Place, "::penstock::pipe::Place::automatic">:$placement,
                       Variadic<Pipe_Tensor>:$counts, OptionalAttr<StrArrayAttr>:$counted,
                       OptionalAttr<DenseI64ArrayAttr>:$limits, OptionalAttr<StrArrayAttr>:$messages,
                       OptionalAttr<TypedAttrInterface>:$fill);
  let assemblyFormat = [{
    $name $value (`sizes` `(` $sizes^ `)`)? `axes` $axes `stored` $stored (`ragged` $ragged^)?
    (`fill` $fill^)?
    (`on` $placement^)? (`counts` `(` $counts^ `:` type($counts) `)` `of` $counted `limits` $limits
    `messages` $messages)? attr-dict `:` type($value)
  }];
  let hasVerifier = 1;
}

#endif
