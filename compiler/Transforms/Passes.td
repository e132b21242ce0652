// SPDX-License-Identifier: Apache-2.0
//
// The passes from pipe to kernels ------------*- tablegen.
#ifndef PENSTOCK_COMPILER_TRANSFORMS_PASSES_TD
#define PENSTOCK_COMPILER_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

def UnrollEach : Pass<"pipe-unroll-each"> {
  let summary = "Write out the views of a `pipe.each`, and short loops that draw";
  let description = [{
    ```mlir
    %1 = pipe.each "v" 2 -> !pipe.tensor<u8[v=2, w=4]> {
    ^bb0(%v: i64):
      %k = pipe.key_view %key, %v
      ...
      pipe.yield %0 : !pipe.tensor<u8[w=4]>
    }
    ```
    becomes two copies of the body, with `%v` as constants 0 and 1, and

    ```mlir
    %1 = pipe.stack "v" (%first, %second)
        : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=4]> -> !pipe.tensor<u8[v=2, w=4]>
    ```

    Leaves no `pipe.each`. What does not depend on the view stands twice;
    CSE joins it again. A `pipe.repeat` of at most 16 iterations that draws is
    unrolled too: each of its draws then has one place, and can be shown.
  }];
}

def InlineConstants : Pass<"pipe-inline-constants"> {
  let summary = "Settle branches whose index is known, and branches of scalars";
  let description = [{
    * A `pipe.choose` of a constant index becomes that arm.
    * The scalar results of a `pipe.choose` get a choose of their own, apart
      from its tensors: scalars belong to setup, tensors to kernels. So do those
      of a `pipe.repeat`, whose tensors' loop goes on carrying them.
    * A check leaves the arms of a choice of tensors: it then also holds where
      another arm is taken.
    * A choose of scalars whose arms cannot fail and hold no loop becomes
      `pipe.select`: evaluating all arms is cheaper than a branch.

    ```mlir
    %1 = pipe.choose %i -> i64 { pipe.yield %a : i64 }, { pipe.yield %b : i64 }
    ```
    becomes
    ```mlir
    %c = pipe.compare ge %i, %one : i64
    %1 = pipe.select %c, %b, %a : i64
    ```

    Leaves no choose with results of both kinds, and no repeat of tensors whose
    scalar results are used.
  }];
}

def SplitChoices : Pass<"pipe-split-choices"> {
  let summary = "Give each tensor of a choice a choice of its own";
  let description = [{
    ```mlir
    %1:2 = pipe.choose %i -> !pipe.tensor<u8[w=4]>, !pipe.tensor<f32[k=2]> {
      pipe.yield %x, %y : ...
    }, {
      %f = pipe.view %x by affine_map<(d0) -> (-d0 + 3)> [] ...
      %m = pipe.map(%y) ...
      pipe.yield %f, %m : ...
    }
    ```
    becomes a choice between `%x` and `%f`, which is a view, and one between `%y`
    and `%m`. Each goes its own way, into the kernels that read it.

    Leaves together what an arm computes together: where an op other than a view
    or a pad is needed for two results, it would be computed twice.
    Measure: `pipe.choose` ops with several tensors as results.
  }];
}

def MergeViews : Pass<"pipe-merge-views"> {
  let summary = "Turn a choice between views of one tensor into one view";
  let description = [{
    Where every arm of a `pipe.choose` yields a view of the same tensor, or the
    tensor itself, the coefficients of the maps become scalars that the index
    selects:

    ```mlir
    %1 = pipe.choose %i -> !pipe.tensor<u8[w=4]> {
      pipe.yield %0 : !pipe.tensor<u8[w=4]>
    }, {
      %f = pipe.view %0 by affine_map<(d0) -> (-d0 + 3)> [] ...
      pipe.yield %f : !pipe.tensor<u8[w=4]>
    }
    ```
    becomes
    ```mlir
    %1 = pipe.view %0 by affine_map<(d0)[s0, s1] -> (d0 * s0 + s1)> [%step, %offset] ...
    ```

    Leaves the choices whose arms compute something.
    Measure: `pipe.choose` ops with tensor results.
  }];
}

def ComposeViews : Pass<"pipe-compose-views"> {
  let summary = "Make one view of a chain of views, and one pad of pads";
  let description = [{
    ```mlir
    %1 = pipe.view %0 by affine_map<(d0) -> (d0 + 2)> [] ...
    %2 = pipe.view %1 by affine_map<(d0) -> (-d0 + 3)> [] ...
    ```
    becomes
    ```mlir
    %2 = pipe.view %0 by affine_map<(d0) -> (-d0 + 5)> [] ...
    ```

    Views that change nothing vanish, constant symbols become part of the map,
    symbols that stand in one sum only are added up once for the sample, those that turn what another one turned are multiplied once, and a
    view that stays inside the inner region of a pad reads what was padded. Leaves the inner view for dead code elimination if it has other
    users. Another order of a product's axes becomes one of its value's.
    Measure: `pipe.view` and `pipe.pad` ops.
  }];
}

def SinkCasts : Pass<"pipe-sink-casts"> {
  let summary = "Move data before converting it, not after";
  let description = [{
    A view of a pointwise op (`map`, `cast`) becomes the op of views, so that
    the view moves towards the decoder and the widening conversion towards the
    store:

    ```mlir
    %1 = pipe.cast value %0 : !pipe.tensor<u8[w=9]> -> !pipe.tensor<f32[w=9]>
    %2 = pipe.view %1 by affine_map<(d0) -> (d0 + 2)> []
        : !pipe.tensor<f32[w=9]> -> !pipe.tensor<f32[w=4]>
    ```
    becomes
    ```mlir
    %1 = pipe.view %0 by affine_map<(d0) -> (d0 + 2)> []
        : !pipe.tensor<u8[w=9]> -> !pipe.tensor<u8[w=4]>
    %2 = pipe.cast value %1 : !pipe.tensor<u8[w=4]> -> !pipe.tensor<f32[w=4]>
    ```

    Coordinates inside a region are rewritten, so that a per-element draw keeps
    the coordinates of the op that draws. A view also moves through a resample
    (along other axes to the input, along the resampled axis to the weights and
    first taps; a permutation of axes stays behind), through a stack and into
    the arms of a choose. A pad stays where it is: its fill has the wide type.

    A stack of equal pointwise ops becomes the op of a stack. A view of a peer
    becomes the peer's view, and a peer of a widening conversion the conversion
    of a peer; so do the values of all samples.

    A sum of f64 that were integers of up to 16 bits becomes the conversion of
    the integers' sum, which is exact in any order. Few elements, an expression
    of neighbours, stay.

    A view that reads an element twice (overlapping frames) stays: moving it
    would compute the element twice. On a GPU one that only reorders axes stays
    behind a choice whose arms are kernels that read a picture as the choice gives it
    (`x |> gaussian_blur(23, 1.0) if chance(0.5)`): in an arm that hands on a value it
    would be a copy, and others store a picture where it lay. A CPU rather copies, for
    what blurs.
    Measure: bytes per element of what views read.
  }];
  let options = [
    Option<"device", "device", "bool", "false", "some kernels will run on a GPU">
  ];
}

def MergeMaps : Pass<"pipe-merge-maps"> {
  let summary = "Join a pointwise op with its only pointwise user";
  let description = [{
    ```mlir
    %1 = pipe.map (%0) : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<f32[w=4]> {...}
    %2 = pipe.cast value %1 : !pipe.tensor<f32[w=4]> -> !pipe.tensor<f16[w=4]>
    ```
    becomes one map from u8 to f16. The producer must have the same axes as its
    user: a value that the user broadcasts is computed once, apart. What a map
    alone loads, at places that lie inside, is computed there if the map has no
    more elements, so that axes are merged without storing what is merged.

    Leaves the whole chain in one region, which is what pipe-narrow and
    pipe-collapse-tables look at.
    Measure: `pipe.map` and tensor `pipe.cast` ops.
  }];
}

def Narrow : Pass<"pipe-narrow"> {
  let summary = "Replace float arithmetic on u8 by one product and one sum";
  let description = [{
    A map from one u8 element, with constants (which may depend on one small
    static axis, a channel), to f16, bf16 or f32 is a table of 256 values per
    channel. Where `f32(p) * a + b`, rounded to the result type, gives the same
    bits for all 256 inputs of every channel, it replaces the arithmetic; `a`
    and `b` are searched for around the line through the table's end points.

    ```mlir
    %q = pipe.binary div %f, %255 : f32
    %d = pipe.binary sub %q, %m : f32
    %r = pipe.binary div %d, %s : f32
    %x = pipe.cast value %r : f32 -> f16
    ```
    becomes
    ```mlir
    %q = pipe.binary mul %f, %a : f32
    %r = pipe.binary add %q, %b : f32
    %x = pipe.cast value %r : f32 -> f16
    ```

    Product and sum round apart; nothing is contracted. Where no pair is found,
    the op keeps its arithmetic and a remark says so.

    A sum of integers of up to 16 bits as f32 or f64 is exact where the type has all
    integers that it can be: it becomes a sum of integers, and one conversion.
    Measure: cost of the pointwise regions (docs/rationale/tables.md).
  }];
}

def CollapseTables : Pass<"pipe-collapse-tables"> {
  let summary = "Replace costly arithmetic on u8 by a table of 256 entries";
  let description = [{
    A map whose region depends on one u8 element, scalars of the sample,
    constants and the coordinate of at most one small static axis becomes a
    table over `i = 256` (and that axis) and a `pipe.load`, if it costs more
    than the bound of docs/rationale/tables.md. Where nothing depends on the
    sample, the table is a constant; else it is a map of its own, computed once
    per sample.

    Leaves the table as a map without inputs, which the fusion makes a kernel
    of class weights.
    Measure: cost of the pointwise regions over pixels.
  }];
}

def RequiredRegions : Pass<"pipe-required-regions"> {
  let summary = "Ask the decoder for what the outputs need, and no more";
  let description = [{
    ```mlir
    %x = pipe.decode "image" "rgb" %data sizes(%h, %w) : ...
    %y = pipe.view %x by affine_map<(d0, d1, d2)[s0, s1] -> (d0 + s0, d1 + s1, d2)> [%top, %left] ...
    ```
    becomes
    ```mlir
    %bottom = pipe.binary add %top, %rows : i64
    %right = pipe.binary add %left, %columns : i64
    %x = pipe.decode "image" "rgb" %data sizes(%h, %w) region ["h", "w"](%top, %left, %bottom, %right) : ...
    ```

    The boxes come from compiler/Analysis/RequiredRegions. Scalars move before
    the tensors, out of the arms of choices too: they are all known in setup.
    Measure: pixels that decoders are asked for.
  }];
}

def ShareKernels : Pass<"pipe-share-kernels", "mlir::ModuleOp"> {
  let summary = "Make one kernel of many that differ in places";
  let description = [{
    Eight kernels or more whose text is the same, but for numbers in the places that
    their views read, become one with arguments for these:

    ```mlir
    %0 = pipe.view %x by affine_map<(d0, d1) -> (7, d0, d1)>[]
    ```
    becomes
    ```mlir
    %0 = pipe.view %x by affine_map<(d0, d1)[s0] -> (s0, d0, d1)>[%place]
    ```
    Code for views of an `each` is made once. Measure: kernels.
  }];
}

def Fuse : Pass<"pipe-fuse", "mlir::ModuleOp"> {
  let summary = "Cut the tensor ops of a pipeline into kernels";
  let description = [{
    By the rule of docs/rationale/fusion.md. Each piece becomes a
    `pipe.kernel` and a `pipe.launch`; arms of a choose that are not pointwise
    become guarded launches and a `pipe.switch`.

    ```mlir
    %1 = pipe.map (%0) ...
    %2 = pipe.window edge %1 ...
    pipe.output "x" %2 ...
    ```
    becomes
    ```mlir
    pipe.kernel @k0 "pixels" {...}
    %2 = pipe.launch @k0 (%0) scalars() ...
    pipe.output "x" %2 ...
    ```

    With `every-op` each op is a kernel of its own: what `--disable-pass=fuse`
    gives. `transfer` says where values cross to a GPU, if there is one: what comes before is
    in kernels of its own, `place = "cpu"`; at `planes`, decodes name the kernel that makes pixels of
    luma and chroma. With `device` a picture is complete before it is resized again: blocks of a GPU make
    tiles of one resizing. Leaves scalars where they are; pipe-split moves them.
    Measure: kernels and temporaries.
  }];
  let options = [
    Option<"everyOp", "every-op", "bool", "false", "each op becomes a kernel of its own">,
    Option<"device", "device", "bool", "false", "some kernels will run on a GPU">,
    Option<"transfer", "transfer", "std::string", "\"pixels\"",
           "what crosses to a GPU: planes, pixels, resampled or final">
  ];
}

def Split : Pass<"pipe-split", "mlir::ModuleOp"> {
  let summary = "Give every scalar a slot, and its code to select or setup";
  let description = [{
    ```mlir
    %h = pipe.probe "image" "height" %data : i64
    %w = pipe.probe "image" "width" %data : i64
    %half = pipe.binary div %h, %two : i64
    %1 = pipe.launch @k0 (%0) scalars(%half) ...
    ```
    becomes
    ```mlir
    pipe.kernel @setup "setup" {
      %h = pipe.entry 8 : i64
      %half = pipe.binary div %h, %two : i64
      pipe.set_entry 9, %half : i64
      pipe.return
    }
    %h = pipe.probe "image" "height" %data : i64
    %w = pipe.probe "image" "width" %data : i64
    pipe.set_entry 8, %h : i64
    %half = pipe.entry 9 : i64
    %1 = pipe.launch @k0 (%0) scalars(%half) ...
    ```

    Slots below 8 are the runtime's (runtime/abi/kernel.h). What people are shown
    of the draws (`drawnNames`) also gets a slot, with `draw = "path"`. An index of
    `pipe.pick` that depends on headers or fields is an error: rows are chosen
    before anything is fetched.
  }];
}

def VerifyKernels : Pass<"pipe-verify-kernels", "mlir::ModuleOp"> {
  let summary = "Check what fusion and split promise";
  let description = [{
    In a pipeline: no scalar arithmetic, every scalar operand is a `pipe.entry`,
    every tensor is made by a decode, a field, a launch, a switch or a peer, and
    every slot below `slots`. Launches fit their kernels. In a kernel of
    class pixels: no media, no draw without its key's numbers.
  }];
}

#endif
