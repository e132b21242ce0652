// SPDX-License-Identifier: Apache-2.0
//
// Ops that the split and the fusion leave --*- tablegen.
#ifndef PENSTOCK_PIPE_KERNEL_OPS_TD
#define PENSTOCK_PIPE_KERNEL_OPS_TD

include "compiler/Dialect/PipeTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def Pipe_KernelOp : Pipe_Op<"kernel", [Pipe_OfClass<"other">, IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "Pure definitions that become one piece of generated code";
  let description = [{
    The block's arguments are the input tensors, then scalars. The terminator
    returns the tensors that are stored. A kernel is not loops: `schedule` says
    how each target turns it into loops.

    `kind` is `pixels`, or `codec`: one `pipe.encode` or `pipe.recompress`, whose
    results are returned in order, and which the runtime runs in place of
    generated code; or `rows`, `select` or `setup`: those take no argument, read
    and write the sample's parameter block with `pipe.entry` and `pipe.set_entry`,
    and return nothing.

    Constraints:

    - (C1) on a CPU, a schedule has the feature `level` (runtime/abi/level.h), and may say
      `streaming`: outputs bypass the caches; and `reciprocals`: what is divided by one number for all lanes is
      multiplied by its reciprocal, and corrected.
    - (C2) on a GPU, it has a `mapping`, "grid", "block" or "tile", and `threads` of a
      block, a multiple of 32 up to 1024; it may say in `resident` how many blocks, 1 to 32, are to fit on a
      multiprocessor at once, by their registers.
    - (C3) ops inside have no other `schedule` than "scratch", or with the mapping "tile" "shared"; a resample or
      reduce may have "ring", a reduce "warps", "threads" or "block", or "inline" where it takes no more
      than 32 elements, a number known when compiling.
    - (C4) on a CPU, a schedule may have `row_tile`, fewer rows than the kernel goes through, if all ops treat
      rows alone and none knows which one it is at: the rows of a tile go through all ops before the next tile.
    - (C5) with the mapping "tile" stand `tile`, so many rows along one axis of the outputs and one place along
      others, which a block makes, and `rows`, how many of each value that is "shared" there is room for; an op may
      have `rows` of its own.
    - (C6) on a CPU, ops may have `loops`, how their results become loops where these are stored: a
      `#schedule.loops`, or an array with one, or `unit`, for each result; and what stores operands elsewhere, such
      as `pipe.return`, `copies`, likewise, for those that are stored already. Their axes are the tensor's.
    - (C7) an axis that `unroll` names there has at most 16 elements, a number known when compiling.
    - (C8) a resample may have "ring" where it is Pillow's along the last axis but channels, of 1 to 4 channels of bytes
      that lie side by side in memory, into columns whose number is known when compiling, and there are rows in front.
    - (C9) with the mapping "tile" may stand `copied`: `bytes` of shared memory, a multiple of 16, for those of the
      kernel's tensors that `inputs` names by their numbers, ascending, of which a block copies what it reads.
    - (C10) on a CPU, a reduce may have `reduction`, a `#schedule.reduction` of how it goes: `along` is an axis of its
      result, `unroll` another one, of at most 16 elements, a number known when compiling.
    - (C11) a result that is unrolled there has 1 to 256 elements, a number known when compiling; a reduce that is
      "inline" is unrolled and goes the way "single".
    - (C12) the way "rows" is one of sums, counts, minima, maxima and their places, of numbers, with as many elements
      for each result as are known when compiling (for a sum of floats at least 32), by two lanes or more, into rows
      of at least as many results.
    - (C13) the way "lanes" has lanes along the operand's last axis, or the one before channels, which `unroll` names; 2
      or more, 32 for a sum of floats. A run is of its last axes, of known extents. What goes beside are sums of floats of
      rows of known length, as many at most as there are results side by side, and so are rows a period apart; channels of those have such rows, too.
      Places are of rows of known length, of no fewer elements than there are lanes.
    - (C14) a reduce may have "ring" where a view of its rows alone reads it, what comes of that is stored row by row,
      and lanes lie along rows in both.
    - (C15) on a CPU, a scan and a filter may have `scan`, a `#schedule.scan` of how they go: `along` is an axis that they do not go
      along; rows that are unrolled, not of a filter, have 1 to 4 elements, and what goes beside are as many rows at most as there are
      along the last other axis, numbers known when compiling; bands have as many rows as lanes.
    - (C16) the way "transposed" has 4 or 8 bytes an element and rows of 16, 32 or 64 bytes in its squares, and goes
      along the last axis; that and the one before have as many elements at least as there are lanes.
    - (C17) on a CPU, a histogram and a scatter may have `turns`, a `#schedule.turns`; several are for extents that are
      known when compiling, and for sums of integers; so is `skip`, of a scatter whose values have no other axes.
    - (C18) on a CPU, a contract may have `contract`, a `#schedule.contract` of how it goes: `along` and `unroll` are axes
      of the result with as many elements at least, known when compiling, as there are lanes and results beside. Partial
      sums that are unrolled are of 1 to 64 products, and 256 of all results that are made together; in registers, of 32
      or more.
    - (C19) `bands` stands with floats, rows of 16, 32 or 64 bytes in the lanes, along the matrix's columns, and `unroll`; what is summed and the columns
      are as many as there are lanes, known when compiling, and so are those along `unroll` where they are known. No more go beside than there are lanes.
    - (C20) on a CPU, a weights may have `weights`, a `#schedule.weights` of how many outputs go at once: several are of a
      filter without sines, "lanczos" and "hamming" having them, and at most as many as there are, a number known when compiling.
    - (C21) on a CPU, an fft may have `fft`, a `#schedule.fft` of how it goes: `along` is an axis that it does not go along, with
      as many rows at least as there are lanes, where their number is known. Where squares are transposed, these have rows of 16, 32 or 64 bytes,
      and there are as many frequencies as lanes.
    - (C22) on a CPU, a sort may have `sort`, a `#schedule.sort` of how it goes: `along` is an axis that it does not go
      along, with as many rows at least as there are lanes, and rows are 2 to 4096 elements of 4 bytes or less, all
      numbers that are known when compiling.
    - (C23) the way "transposed" there goes along the last axis, of as many elements at least as there are lanes, with rows
      of 16, 32 or 64 bytes in its squares: 4 bytes an element and its place for integers of 1 or 2 bytes, 8 for others.
    - (C24) the partial sums of a sum of floats are in "registers" in the way "across" that is not unrolled, and "lanes",
      where there are 32 elements at least of which it is known when compiling where each one goes; in "memory" they
      are of one result at a time, with no channels.
    - (C25) `small` stands with sums of i64, and counts.
    - (C26) on a CPU, an operation of a map's body that gives a byte may have `table`, true or false: whether it is looked up in
      a table of all 256 that is made before the loops, where it is made of one byte and of what is there before them;
      and so may a load of a byte at a byte's place, of a tensor whose extents are known when compiling: whether all of them are read before the loops.
    - (C27) on a CPU, a schedule may have `together`: groups of two or more outputs, by their ascending numbers,
      which the same loops store. They are computed there, along the same axes, of known extents, by the same loops
      without `across`.
    - (C28) on a CPU, a schedule may have `dense`: numbers of the kernel's tensors, inputs before outputs, ascending, that
      have more than one axis, all but the first of known extents: wherever the kernel is launched, rows along
      the first axis follow each other without a gap.
    - (C29) what is `joined` there stands behind a reduction that goes through the same elements for the same results, in
      the same way, not unrolled. Nothing is stored between them, and it takes nothing of that one, nor of those that it is joined to.
    - (C30) on a GPU, a schedule may have `held`: `tensors`, numbers of the kernel's, inputs before outputs, ascending, of
      known extents and a multiple of 16 bytes, which lie one and the same place, `at` bytes into the block's shared memory, a multiple of 16.
      An output is among them only as the last one, and stored where the element that it is made of lies (`analysis::isInPlace`).
    - (C31) and it may have `part`, where the mapping is "grid" and there is one output with axes: a launch makes one place
      along its first axis, which the runtime says.

    Example:

    ```mlir
    pipe.kernel @k0 "pixels" {
    ^bb0(%x: !pipe.tensor<u8[w=4]>):
      pipe.return %x : !pipe.tensor<u8[w=4]>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind,
                       OptionalAttr<DictionaryAttr>:$schedule);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $kind (`schedule` $schedule^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Pipe_ReturnOp : Pipe_Op<"return", [Pure, Pipe_OfClass<"other">, Terminator, HasParent<"KernelOp">]> {
  let summary = "Ends a kernel with the tensors that it stores";
  let description = [{ Example: `pipe.return %0 : !pipe.tensor<u8[w=4]>` }];
  let arguments = (ins Variadic<Pipe_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def Pipe_ExtentOp : Pipe_Op<"extent", [Pure, Pipe_OfClass<"other">]> {
  let summary = "Extent of an axis of a kernel's argument";
  let description = [{
    Only on block arguments of a kernel: elsewhere the extent is an operand of
    the definition (`sizes`).

    Example: `%n = pipe.extent %x "h" : !pipe.tensor<u8[h=?]>`
  }];
  let arguments = (ins Pipe_Tensor:$tensor, StrAttr:$axis);
  let results = (outs Pipe_Int:$result);
  let assemblyFormat = "$tensor $axis attr-dict `:` type($tensor)";
}

def Pipe_CancellationPointOp : Pipe_ScalarOp<"cancellation_point"> {
  let summary = "Leaves the function where the caller has asked for it";
  let description = [{
    In code that kernels have become. Where the byte at `flag` (of type
    `!llvm.ptr`, `pst_kernel_args::stop`) is not 0, the function returns at once:
    a kernel with `PST_KERNEL_STOPPED`, a function without result to a caller that
    looks at the flag itself.

    Example: `pipe.cancellation_point %flag : !llvm.ptr`
  }];
  let arguments = (ins AnyType:$flag);
  let assemblyFormat = "$flag attr-dict `:` type($flag)";
}

def Pipe_KeyNumbersOp : Pipe_ScalarOp<"key_numbers", [Pure]> {
  let summary = "The four numbers of a key, as arguments for a kernel";
  let description = [{
    State (the seed with its indices mixed in), position, epoch and view of
    `random::Key`. Setup computes them where a kernel draws per element.

    Example: `%s, %p, %e, %v = pipe.key_numbers %key`
  }];
  let arguments = (ins Pipe_Key:$key);
  let results = (outs Pipe_Int:$state, Pipe_Int:$position, Pipe_Int:$epoch, Pipe_Int:$view);
  let assemblyFormat = "$key attr-dict";
}

def Pipe_KeyOfOp : Pipe_ScalarOp<"key_of", [Pure]> {
  let summary = "The key that has these four numbers";
  let description = [{
    The inverse of `pipe.key_numbers`, inside a kernel of pixels.

    Example: `%key = pipe.key_of %s, %p, %e, %v`
  }];
  let arguments = (ins Pipe_Int:$state, Pipe_Int:$position, Pipe_Int:$epoch, Pipe_Int:$view);
  let results = (outs Pipe_Key:$result);
  let assemblyFormat = "$state `,` $position `,` $epoch `,` $view attr-dict";
}

def Pipe_LaunchOp : Pipe_Op<"launch", [Pure, Pipe_OfClass<"other">, Pipe_SizedOpInterface, AttrSizedOperandSegments]> {
  let summary = "Runs a kernel for this sample";
  let description = [{
    `tensors` and `scalars` are the kernel's arguments.
    With `guard`, the kernel runs only where it is true; elsewhere nothing reads
    its results (see `pipe.switch`). With `once`, its results are the same for all
    samples of a batch: it runs for the first of them, in a stage of the batch.
    Launches on a GPU that have the same `group` are one (`pipe-join-launches`): a sample's blocks run
    what it takes of them one after the other. Those that have the same `chain` within a group are run by
    one block (`pipe-hold-pictures`), and those of other chains read nothing of theirs.

    Constraints:

    - (C1) operand and result types equal the kernel's arguments and returned
      values.
    - (C2) one size per dynamic axis of the results, in order.
    - (C3) what runs `once` has no `group`, and a group has a number of at least 0.
    - (C4) what has a `chain`, a number of at least 0, has a `group`.

    Example: `%1 = pipe.launch @k0 (%0) scalars(%s : i64) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=4]>`
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<Pipe_Tensor>:$tensors,
                       Variadic<Pipe_Scalar>:$scalars, Variadic<Pipe_Int>:$sizes,
                       Optional<Pipe_Bool>:$guard, UnitAttr:$once, OptionalAttr<I64Attr>:$group,
                       OptionalAttr<I64Attr>:$chain);
  let results = (outs Variadic<Pipe_Tensor>:$results);
  let hasVerifier = 1;
  let assemblyFormat = [{
    $kernel (`once` $once^)? `(` $tensors `)` `scalars` `(` $scalars (`:` type($scalars)^)? `)` (`sizes` `(` $sizes^ `)`)?
    (`guard` `(` $guard^ `)`)? attr-dict `:` functional-type($tensors, $results)
  }];
}

def Pipe_SwitchOp : Pipe_Op<"switch", [Pure, Pipe_OfClass<"other">]> {
  let summary = "Names the tensor of the arm that ran";
  let description = [{
    After fusion, the arms of a `pipe.choose` are guarded launches; this picks
    the buffer of arm `index`. It copies nothing: the runtime binds the buffer.

    Constraints:

    - (C1) all inputs and the result have one type.

    Example: `%2 = pipe.switch %i (%0, %1) : !pipe.tensor<u8[w=4]>`
  }];
  let arguments = (ins Pipe_Int:$index, Variadic<Pipe_Tensor>:$inputs);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = "$index `(` $inputs `)` attr-dict `:` type($inputs) `->` type($result)";
}

def Pipe_EntryOp : Pipe_ScalarOp<"entry", [Pure]> {
  let summary = "An entry of the sample's parameter block";
  let description = [{
    Entries have 8 bytes: integers sign- or zero-extended to i64 by their
    type, f64 as its bits, f32 widened to f64, bool as 0 or 1.

    Example: `%h = pipe.entry 12 : i64`
  }];
  let arguments = (ins I64Attr:$index);
  let results = (outs Pipe_Scalar:$result);
  let assemblyFormat = "$index attr-dict `:` type($result)";
}

def Pipe_SetEntryOp : Pipe_Op<"set_entry", [Pipe_OfClass<"other">]> {
  let summary = "Fills an entry of the sample's parameter block";
  let description = [{
    In a `rows`, `select` or `setup` kernel: stores a computed scalar. In a pipeline
    after the split: the runtime fills the entry with a parameter, a scalar
    field or a probed header value before setup runs; with `of_rows`, where rows are chosen, and for
    no sample.

    Example: `pipe.set_entry 12, %h : i64`
  }];
  let arguments = (ins I64Attr:$index, Pipe_AnyValue:$value);
  let assemblyFormat = "$index `,` $value attr-dict `:` type($value)";
}

#endif
