// SPDX-License-Identifier: Apache-2.0
//
// Parameters, rows, media, keys and draws --*- tablegen.
#ifndef PENSTOCK_PIPE_SAMPLE_OPS_TD
#define PENSTOCK_PIPE_SAMPLE_OPS_TD

include "compiler/Dialect/PipeTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Pipe_ParamOp : Pipe_Op<"param", [Pure]> {
  let summary = "A run-time parameter of the pipeline";
  let description = [{
    Set at session start without compiling. `default` is absent where the user
    must give a value.

    Example: `%0 = pipe.param "magnitude" default(9 : i64) : i64`
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<AnyAttr>:$default_value,
                       OptionalAttr<StrAttr>:$doc);
  let results = (outs Pipe_AnyValue:$result);
  let assemblyFormat = [{
    $name (`default` `(` $default_value^ `)`)? (`doc` $doc^)? attr-dict `:` type($result)
  }];
  let extraClassDeclaration = [{ ::penstock::pipe::OpClass getOpClass(); }];
}

def Pipe_SourceOp : Pipe_ScalarOp<"source", [Pure]> {
  let summary = "Opens a table of rows";
  let description = [{
    `kind` is one the runtime knows (docs/sources.md); `args` are named in
    `arg_names`; `columns` are the fields and their types (a type attribute
    each). A dictionary attribute `settings` holds further arguments, texts and
    integers, that are known when compiling.

    Example:

    ```mlir
    %t = pipe.source "image_folder" (%root) named ["root"]
        columns {data = !pipe.bytes, label = i64, name = !pipe.text}
        : !pipe.text
    ```
  }];
  let arguments = (ins StrAttr:$kind, Variadic<Pipe_AnyValue>:$args,
                       StrArrayAttr:$arg_names, DictionaryAttr:$columns);
  let results = (outs Pipe_Table:$result);
  let assemblyFormat = [{
    $kind `(` $args `)` `named` $arg_names `columns` $columns attr-dict (`:` type($args)^)?
  }];
  let hasVerifier = 1;
}

def Pipe_LengthOp : Pipe_ScalarOp<"length", [Pure]> {
  let summary = "Number of rows of a table";
  let description = [{ Example: `%n = pipe.length %table` }];
  let arguments = (ins Pipe_Table:$table);
  let results = (outs Pipe_Int:$result);
  let assemblyFormat = "$table attr-dict";
}

def Pipe_RowOp : Pipe_Op<"row", [Pure]> {
  let summary = "The row that the epoch's order gives this position";
  let description = [{
    One per pipeline. `list` are the rows of the order `listed`; which rows of
    the table take part, and with which weights, says `pipe.admit`.

    Example: `%row = pipe.row shuffled %table`
  }];
  let arguments = (ins Pipe_OrderKind:$order, Pipe_Table:$table, Optional<Pipe_Tensor>:$list);
  let results = (outs Pipe_Row:$result);
  let assemblyFormat = "$order $table (`list` $list^ `:` type($list))? attr-dict";
  let extraClassDeclaration = [{ ::penstock::pipe::OpClass getOpClass(); }];
}

def Pipe_RowIndexOp : Pipe_ScalarOp<"row_index", [Pure]> {
  let summary = "Where in its table a row stands";
  let description = [{
    Counted from 0, whatever the order takes. That of the pipeline's row is known
    before anything is fetched, so rows of other tables may be picked by it. Of a
    picked row it is that of the row that is there, where a substitute is in its place.

    Example: `%i = pipe.row_index %row`
  }];
  let arguments = (ins Pipe_Row:$row);
  let results = (outs Pipe_Int:$result);
  let assemblyFormat = "$row attr-dict";
}

def Pipe_AdmitOp : Pipe_ScalarOp<"admit", [AttrSizedOperandSegments]> {
  let summary = "Which rows of the table the order takes";
  let description = [{
    Rows whose `where` is false are left out; `weight` is the weight of a row
    for the order `weighted`, `length` that by which batches are made
    (`pipe.batch` with buckets). All depend on parameters and on metadata of the
    pipeline's row alone, and are computed once for each row of the table
    before the first sample; the split checks that.

    Constraints:

    - (C1) at least one of the three is there.

    Example: `pipe.admit where %wide weight %w`
  }];
  let arguments = (ins Optional<Pipe_Bool>:$condition, Optional<F64>:$weight, Optional<F64>:$length);
  let assemblyFormat = [{
    (`where` $condition^)? (`weight` $weight^)? (`length` $length^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Pipe_FieldsOp : Pipe_Op<"fields", [Pipe_OfClass<"other">]> {
  let summary = "The fields of rows whose elements are read before pixels";
  let description = [{
    They are the arguments of the kernel "setup" or "rows", in this order. Made by
    `pipe-split`, of `pipe.field_element`.

    Constraints:

    - (C1) each comes from `pipe.field`.

    Example: `pipe.fields "setup"(%boxes) : !pipe.tensor<i64[k=? max 9, box=4]>`
  }];
  let arguments = (ins StrAttr:$kind, Variadic<Pipe_Tensor>:$fields);
  let assemblyFormat = "$kind `(` $fields `)` attr-dict `:` type($fields)";
  let hasVerifier = 1;
}

def Pipe_PickOp : Pipe_ScalarOp<"pick", [Pure]> {
  let summary = "Another row of a table, by number";
  let description = [{
    Fetching runs far ahead, so `index` may depend on keys, parameters, lengths and
    the place of the pipeline's row alone, never on fields, headers or pixels; the split checks
    that. An index outside the table is clamped. The split marks with `of_row` what depends on
    the place of the pipeline's row, and so is replaced together with it.

    Example: `%other = pipe.pick %table[%i]`
  }];
  let arguments = (ins Pipe_Table:$table, Pipe_Int:$index);
  let results = (outs Pipe_Row:$result);
  let assemblyFormat = "$table `[` $index `]` attr-dict";
}

def Pipe_FieldOp : Pipe_Op<"field", [Pure, Pipe_SizedOpInterface]> {
  let summary = "One field of a row";
  let description = [{
    Scalars and extents are metadata, known before setup; bytes and tensors are
    fetched when something needs them. The extents of a tensor field whose axes
    are not static come from `pipe.field_extent`.

    Example: `%label = pipe.field %row "label" : i64`
  }];
  let arguments = (ins Pipe_Row:$row, StrAttr:$name, Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_AnyValue:$result);
  let assemblyFormat = "$row $name (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($result)";
  let extraClassDeclaration = [{ ::penstock::pipe::OpClass getOpClass(); }];
}

def Pipe_FieldExtentOp : Pipe_ScalarOp<"field_extent", [Pure]> {
  let summary = "Extent of an axis of a tensor field, before it is fetched";
  let description = [{ Example: `%k = pipe.field_extent %row "boxes" "k"` }];
  let arguments = (ins Pipe_Row:$row, StrAttr:$name, StrAttr:$axis);
  let results = (outs Pipe_Int:$result);
  let assemblyFormat = "$row $name $axis attr-dict";
}

def Pipe_FieldElementOp : Pipe_ScalarOp<"field_element", [Pure]> {
  let summary = "One element of a tensor field, before pixels";
  let description = [{
    A number of the row's own list, known to setup as scalar fields are. Indices count from 0, one
    for each axis of the field as it is stored; as `pipe.load` has it, one that lies outside means
    the nearest element, and an empty tensor reads as 0. `pipe-split` puts it into setup, as a load.

    Constraints:

    - (C1) one index per axis of `of`, whose element type is the result's.

    Example: `%left = pipe.field_element %row "boxes"[%k, %zero] of !pipe.tensor<i64[k=? max 9, box=4]> : i64`
  }];
  let arguments = (ins Pipe_Row:$row, StrAttr:$name, Variadic<Pipe_Int>:$indices, TypeAttr:$of);
  let results = (outs Pipe_Scalar:$result);
  let assemblyFormat = "$row $name `[` $indices `]` `of` $of attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Pipe_ProbeOp : Pipe_ScalarOp<"probe", [Pure]> {
  let summary = "Reads the header of encoded bytes";
  let description = [{
    Gives one of the numbers that runtime/abi/media.h lists for the medium: of an
    `image` its `height` and `width` in pixels before any orientation is applied,
    and the EXIF `orientation` 1..8.

    Constraints:

    - (C1) `media` and `number` are in that list, and the result has its type.

    Example: `%h = pipe.probe "image" "height" %data : i64`
  }];
  let arguments = (ins StrAttr:$media, StrAttr:$number, Pipe_Bytes:$data);
  let results = (outs Pipe_Scalar:$result);
  let assemblyFormat = "$media $number $data attr-dict `:` type($result)";
  let hasVerifier = 1; // C1
}

def Pipe_DecodeOp : Pipe_Op<"decode", [Pure, Pipe_OfClass<"media">, Pipe_SizedOpInterface, AttrSizedOperandSegments]> {
  let summary = "Media to tensor";
  let description = [{
    Media, formats and arguments are those of runtime/abi/media.h. Of an `image`,
    the result's axes are h, w and c, in u8 or u16; of a `video` t, h, w and c, and it
    is `asked` for the number of the first frame and the step to the next one; of
    `numbers` any, and it is asked to skip so many bytes; of `npy` and `nifti` any, too,
    those of the file; of `ply` and `pcd` the points and the numbers of each, of the fields that
    stand in place of a format, with a blank between two (all of them where there are none); of a `wave` t, and c unless it is `mono`. `region` is
    what the required-region analysis asks for along the axes in `over`: all first
    elements, then all ends; without it everything is decoded. The result's
    elements outside the region are not defined, and nothing reads them. With
    `orient`, the orientation of EXIF or of the affine is applied: sizes, region and result are those
    of the upright image or volume. With `planes`, files that have them cross to a GPU as luma and
    chroma, of which that kernel makes the pixels there; nothing else differs.

    Constraints:

    - (C1) `media` and `format` are known, and `asked` are its arguments.
    - (C2) `over` names axes of the result, in their order, and `region` has two
      numbers for each.
    - (C3) `planes` stands on an `image` of any size in `rgb` of ui8 alone.

    Example:

    ```mlir
    %x = pipe.decode "image" "rgb" %data sizes(%h, %w)
        region ["h", "w"](%top, %left, %bottom, %right)
        : !pipe.tensor<ui8[h=?, w=?, c=3:rgb]>
    %y = pipe.decode "video" "rgb" %clip asked(%first, %step) sizes(%h, %w)
        : !pipe.tensor<ui8[t=16, h=?, w=?, c=3:rgb]>
    ```
  }];
  let arguments = (ins StrAttr:$media, StrAttr:$format, Pipe_Bytes:$data,
                       Variadic<Pipe_Int>:$asked, Variadic<Pipe_Int>:$sizes,
                       OptionalAttr<StrArrayAttr>:$over, Variadic<Pipe_Int>:$region,
                       UnitAttr:$orient, OptionalAttr<FlatSymbolRefAttr>:$planes);
  let results = (outs Pipe_Tensor:$result);
  let assemblyFormat = [{
    $media $format (`orient` $orient^)? $data (`asked` `(` $asked^ `)`)?
    (`sizes` `(` $sizes^ `)`)? (`region` $over `(` $region^ `)`)? (`planes` $planes^)? attr-dict
    `:` type($result)
  }];
  let hasVerifier = 1; // C1, C2, C3
  let extraClassDeclaration = [{
    /// Returns whether a file's planes can stand for the result.
    bool mayCrossAsPlanes();
  }];
}

//===--- keys and draws ------------------------------------------------------===//

def Pipe_KeyOp : Pipe_ScalarOp<"key", [Pure]> {
  let summary = "The key of the sample's or the batch's draws";
  let description = [{
    `sample`: seed, epoch and this sample's position. `batch`: the position of
    the rank's first slot of the batch instead.

    Example: `%k = pipe.key sample`
  }];
  let arguments = (ins Pipe_KeyScope:$scope);
  let results = (outs Pipe_Key:$result);
  let assemblyFormat = "$scope attr-dict";
}

def Pipe_KeyViewOp : Pipe_ScalarOp<"key_view", [Pure]> {
  let summary = "The key of one view inside a sample";
  let description = [{
    Sets the counter's view word to `view`; nested views count row-major.

    Example: `%k1 = pipe.key_view %k, %v`
  }];
  let arguments = (ins Pipe_Key:$key, Pipe_Int:$view);
  let results = (outs Pipe_Key:$result);
  let assemblyFormat = "$key `,` $view attr-dict";
}

def Pipe_KeyMixOp : Pipe_ScalarOp<"key_mix", [Pure]> {
  let summary = "The key of one iteration of a repeat or a search";
  let description = [{
    Example: `%k1 = pipe.key_mix %k, %i`
  }];
  let arguments = (ins Pipe_Key:$key, Pipe_Int:$index);
  let results = (outs Pipe_Key:$result);
  let assemblyFormat = "$key `,` $index attr-dict";
}

def Pipe_DrawOp : Pipe_ScalarOp<"draw", [Pure, AttrSizedOperandSegments]> {
  let summary = "A random value, a pure function of key, id and element";
  let description = [{
    `id` hashes the draw's user-visible `path` and never changes. Element e (0
    without `at`) uses words 2e and 2e+1 of the Philox stream (docs/scalars.md, "Draws"),
    as a 64-bit number b = word[2e] * 2^32 + word[2e+1]:

    * `bits`: b, as i64.
    * `uniform`(lo, hi: f64): lo + (b >> 11) * 2^-53 * (hi - lo), and lo where
      rounding would give hi.
    * `integer`(lo, end: i64): lo + ((b * (end - lo)) >> 64), for end > lo; lo
      otherwise.
    * `permutation`(n, i: i64): where the keyed permutation of 0..n sends i; the
      key of the permutation is b.

    All other distributions are functions of the prelude over these.

    Constraints:

    - (C1) `bits` takes no argument, the others two of the types above.

    Example: `%u = pipe.draw uniform %key (%lo, %hi) id 17 path "crop/area" : f64`
  }];
  let arguments = (ins Pipe_DrawKind:$kind, Pipe_Key:$key, Variadic<Pipe_Scalar>:$args,
                       Optional<Pipe_Int>:$element, I64Attr:$id, StrAttr:$path);
  let results = (outs Pipe_Scalar:$result);
  let assemblyFormat = [{
    $kind $key `(` $args (`:` type($args)^)? `)` (`at` `(` $element^ `)`)? `id` $id `path` $path
    attr-dict `:` type($result)
  }];
  let hasVerifier = 1;
}

def Pipe_ContextEnum : Pipe_Enum<"ContextKind", "a number of the running batch",
  ["slot", "count"]>;
def Pipe_ContextAttr : Pipe_EnumAttr<Pipe_ContextEnum, "context_kind">;

def Pipe_ContextOp : Pipe_ScalarOp<"context", [Pure]> {
  let summary = "This sample's slot in the batch, or the batch's sample count";
  let description = [{
    Stands in the batch block only: a sample does not depend on its batch.

    Example: `%n = pipe.context count`
  }];
  let arguments = (ins Pipe_ContextAttr:$kind);
  let results = (outs Pipe_Int:$result);
  let assemblyFormat = "$kind attr-dict";
}

def Pipe_CheckOp : Pipe_ScalarOp<"check"> {
  let summary = "Fails the sample where a condition does not hold";
  let description = [{
    The sample is then a bad sample with this message, in which `{0}` and `{1}`
    stand for the two values. `{0:f64}` and `{0:f32}` stand for a real number of
    that type, whose bits as an f64 the value holds.

    Example: `pipe.check %ok, "the image has {0} rows" (%h, %h)`
  }];
  let arguments = (ins Pipe_Bool:$condition, StrAttr:$message, Pipe_Int:$first, Pipe_Int:$second);
  let assemblyFormat = "$condition `,` $message `(` $first `,` $second `)` attr-dict";
}

#endif
