// SPDX-License-Identifier: Apache-2.0
//
// Operations of machines on lanes -----------*- tablegen.
//
// Vectors have one dimension. A part is 16 bytes of a vector, from its beginning on.
#ifndef PENSTOCK_LANE_OPS_TD
#define PENSTOCK_LANE_OPS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Lane_Dialect : Dialect {
  let name = "lane";
  let cppNamespace = "::penstock::lane";
  let summary = "What machines do with lanes and arith has no op for";
  let description = [{
    Stands beside arith and vector from the stage `loops` to the stage `llvm`. Every op
    is what one instruction computes on some machine that Penstock makes code for; which
    widths a machine has, `Lanes` and the patterns of its folder know.
  }];
  let useDefaultAttributePrinterParser = 1;
}

class Lane_Op<string mnemonic, list<Trait> traits = []>
    : Op<Lane_Dialect, mnemonic, !listconcat([Pure], traits)>;

class Lane_VectorOf<list<Type> elements> : VectorOfRankAndType<[1], elements>;
def Lane_Bytes : Lane_VectorOf<[I8]>;
def Lane_Words : Lane_VectorOf<[I16]>;
def Lane_Ints : Lane_VectorOf<[I32]>;
def Lane_Floats : Lane_VectorOf<[F32]>;

//===--- sums of products ------------------------------------------------------===//

def Lane_DotPairsOp : Lane_Op<"dot_pairs", [AllTypesMatch<["a", "b"]>]> {
  let summary = "Adds the products of two neighbours";
  let description = [{
    `result[i] = a[2i] * b[2i] + a[2i + 1] * b[2i + 1]`, signed; wraps for four times
    -32768 alone.

    Constraints:

    - (C1) the result has half as many elements.

    Example: `%s = lane.dot_pairs %a, %b : vector<16xi16> -> vector<8xi32>`
  }];
  let arguments = (ins Lane_Words:$a, Lane_Words:$b);
  let results = (outs Lane_Ints:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a) `->` type($result)";
  let hasVerifier = 1;
}

def Lane_DotQuadsOp : Lane_Op<"dot_quads", [SameOperandsAndResultType]> {
  let summary = "Adds the products of four neighbouring bytes to a sum";
  let description = [{
    `bytes` are unsigned, `weights` signed, four of each in an element:
    `result[i] = sum[i] + sum over k of bytes[i][k] * weights[i][k]`, and wraps.

    Example: `%t = lane.dot_quads %sum, %bytes, %weights : vector<16xi32>`
  }];
  let arguments = (ins Lane_Ints:$sum, Lane_Ints:$bytes, Lane_Ints:$weights);
  let results = (outs Lane_Ints:$result);
  let assemblyFormat = "$sum `,` $bytes `,` $weights attr-dict `:` type($result)";
}

//===--- elements by number ----------------------------------------------------===//

def Lane_ShufflePartsOp : Lane_Op<"shuffle_parts", [SameOperandsAndResultType]> {
  let summary = "Takes bytes of the same part by number";
  let description = [{
    The low four bits of a byte of `places` are the place in its part; where its sign is
    set, the result is 0.

    Example: `%b = lane.shuffle_parts %a, %places : vector<32xi8>`
  }];
  let arguments = (ins Lane_Bytes:$bytes, Lane_Bytes:$places);
  let results = (outs Lane_Bytes:$result);
  let assemblyFormat = "$bytes `,` $places attr-dict `:` type($result)";
}

def Lane_PermuteOp : Lane_Op<"permute", [SameOperandsAndResultType]> {
  let summary = "Takes bytes of a vector by number";
  let description = [{
    Places count modulo the number of elements.

    Example: `%b = lane.permute %a, %places : vector<64xi8>`
  }];
  let arguments = (ins Lane_Bytes:$bytes, Lane_Bytes:$places);
  let results = (outs Lane_Bytes:$result);
  let assemblyFormat = "$bytes `,` $places attr-dict `:` type($result)";
}

def Lane_PermuteTwoOp : Lane_Op<"permute_two", [SameOperandsAndResultType]> {
  let summary = "Takes elements of two vectors by number";
  let description = [{
    Places of `high` follow those of `low`, and count modulo all of them.

    Example: `%b = lane.permute_two %low, %high, %places : vector<64xi8>`
  }];
  let arguments = (ins Lane_VectorOf<[I8, I32]>:$low, Lane_VectorOf<[I8, I32]>:$high,
                       Lane_VectorOf<[I8, I32]>:$places);
  let results = (outs Lane_VectorOf<[I8, I32]>:$result);
  let assemblyFormat = "$low `,` $high `,` $places attr-dict `:` type($result)";
}

//===--- narrowing and masks ---------------------------------------------------===//

def Lane_PackOp : Lane_Op<"pack", [AllTypesMatch<["a", "b"]>]> {
  let summary = "Narrows two vectors into one, saturated";
  let description = [{
    Signed elements become unsigned ones of half the width, 0 and the largest one where
    they do not fit. Each part of the result holds that part of `a`, then that of `b`.

    Constraints:

    - (C1) the result has as many elements as both, of half the width.

    Example: `%p = lane.pack %a, %b : vector<16xi16> -> vector<32xi8>`
  }];
  let arguments = (ins Lane_VectorOf<[I16, I32]>:$a, Lane_VectorOf<[I16, I32]>:$b);
  let results = (outs Lane_VectorOf<[I8, I16]>:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($a) `->` type($result)";
  let hasVerifier = 1;
}

def Lane_SignMaskOp : Lane_Op<"sign_mask"> {
  let summary = "The signs of bytes, a bit for each";
  let description = [{ Example: `%m = lane.sign_mask %a : vector<32xi8>` }];
  let arguments = (ins Lane_Bytes:$bytes);
  let results = (outs I32:$result);
  let assemblyFormat = "$bytes attr-dict `:` type($bytes)";
}

//===--- floats ----------------------------------------------------------------===//

def Lane_MinNumberOp : Lane_Op<"min_number", [SameOperandsAndResultType]> {
  let summary = "The smaller number";
  let description = [{
    -0 is below +0. Of one NaN, which is quiet, the result is the other operand.

    Example: `%m = lane.min_number %a, %b : vector<16xf32>`
  }];
  let arguments = (ins Lane_Floats:$a, Lane_Floats:$b);
  let results = (outs Lane_Floats:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($result)";
}

def Lane_MaxNumberOp : Lane_Op<"max_number", [SameOperandsAndResultType]> {
  let summary = "The larger number";
  let description = [{
    As `lane.min_number`.

    Example: `%m = lane.max_number %a, %b : vector<16xf32>`
  }];
  let arguments = (ins Lane_Floats:$a, Lane_Floats:$b);
  let results = (outs Lane_Floats:$result);
  let assemblyFormat = "$a `,` $b attr-dict `:` type($result)";
}

def Lane_NanBecomesEnum : I32EnumAttr<"NanBecomes", "what stands in the place of a NaN", [
    I32EnumAttrCase<"canonical", 0>, I32EnumAttrCase<"infinity", 1>,
    I32EnumAttrCase<"negative_infinity", 2>]> {
  let cppNamespace = "::penstock::lane";
  let genSpecializedAttr = 0;
}
def Lane_NanBecomes : EnumAttr<Lane_Dialect, Lane_NanBecomesEnum, "nan_becomes">;

def Lane_ReplaceNanOp : Lane_Op<"replace_nan", [SameOperandsAndResultType]> {
  let summary = "Numbers as they are, NaNs replaced";
  let description = [{
    By the canonical NaN, positive and quiet without payload, or by an infinity. All
    other bits stay.

    Example: `%m = lane.replace_nan canonical %a : vector<16xf32>`
  }];
  let arguments = (ins Lane_NanBecomes:$by, Lane_Floats:$value);
  let results = (outs Lane_Floats:$result);
  let assemblyFormat = "$by $value attr-dict `:` type($result)";
}

def Lane_ConvertUpOp : Lane_Op<"convert_up"> {
  let summary = "Unsigned integers to the nearest floats above";
  let description = [{ Example: `%f = lane.convert_up %a : vector<16xi32> -> vector<16xf32>` }];
  let arguments = (ins Lane_Ints:$value);
  let results = (outs Lane_Floats:$result);
  let assemblyFormat = "$value attr-dict `:` type($value) `->` type($result)";
}

#endif
