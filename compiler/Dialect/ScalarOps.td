// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on one element ---------------*- tablegen.
//
// The scalar semantics are those of `runtime/abi/scalar.h`. These ops exist
// (instead of arith and math) because arith leaves undefined what a contract
// defines, and because MLIR folds math ops with the host's libm.
#ifndef PENSTOCK_PIPE_SCALAR_OPS_TD
#define PENSTOCK_PIPE_SCALAR_OPS_TD

include "compiler/Dialect/PipeTypes.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"

def Pipe_ConstantOp : Pipe_Op<"constant", [Pure, ConstantLike,
    Pipe_TensorOpInterface, Pipe_OfForm<"inlined">, Pipe_OfAccess<"nothing">]> {
  let summary = "A value known when compiling";
  let description = [{
    A scalar (integer or float attribute) or a small static tensor (elements
    attribute over the builtin tensor type of the same extents).

    Constraints:

    - (C1) the attribute's type fits the result type.

    Example:

    ```mlir
    %0 = pipe.constant 255.0 : f32 -> f32
    %1 = pipe.constant dense<[1.0, 2.0]> : tensor<2xf32> -> !pipe.tensor<f32[c=2]>
    ```
  }];
  let arguments = (ins TypedAttrInterface:$value);
  let results = (outs Pipe_ScalarOrTensor:$result);
  let assemblyFormat = "$value attr-dict `->` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{ ::penstock::pipe::OpClass getOpClass(); }];
}

def Pipe_UnaryOp : Pipe_ScalarOp<"unary", [Pure, SameOperandsAndResultType]> {
  let summary = "Applies an operation to one scalar";
  let description = [{
    `neg` and `abs` wrap on integers. `floor ceil trunc round round_away sqrt`
    take floats; `round` is half to even; `sqrt` is IEEE 754. `bit_not` takes
    integers and bool (logical not).

    Constraints:

    - (C1) `kind` is defined for the operand's type; f16 and bf16 are storage
      types and have no arithmetic.

    Example: `%1 = pipe.unary sqrt %0 : f64`
  }];
  let arguments = (ins Pipe_UnaryKind:$kind, Pipe_Scalar:$value);
  let results = (outs Pipe_Scalar:$result);
  let assemblyFormat = "$kind $value attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Pipe_BinaryOp : Pipe_ScalarOp<"binary", [Pure, SameOperandsAndResultType]> {
  let summary = "Applies an operation to two scalars of one type";
  let description = [{
    Integers wrap; `div` truncates and `rem` has the dividend's sign, both give
    0 for a divisor 0; shift counts are masked to the width. Float `div` is
    IEEE 754; float `rem` is fmod. `min` and `max` return the number when one
    side is NaN, and order -0 below +0.

    Constraints:

    - (C1) `bit_and bit_or bit_xor` take integers or bool, `shl shr` integers.
    - (C2) the other kinds take integers, f32 or f64.

    Example: `%2 = pipe.binary add %0, %1 : ui8`
  }];
  let arguments = (ins Pipe_BinaryKind:$kind, Pipe_Scalar:$lhs, Pipe_Scalar:$rhs);
  let results = (outs Pipe_Scalar:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def Pipe_CompareOp : Pipe_ScalarOp<"compare", [Pure, SameTypeOperands]> {
  let summary = "Compares two scalars of one type";
  let description = [{
    Ordered comparison: with a NaN every predicate is false but `ne`.

    Example: `%2 = pipe.compare lt %0, %1 : f64`
  }];
  let arguments = (ins Pipe_Predicate:$predicate, Pipe_Scalar:$lhs, Pipe_Scalar:$rhs);
  let results = (outs Pipe_Bool:$result);
  let assemblyFormat = "$predicate $lhs `,` $rhs attr-dict `:` type($lhs)";
  let hasFolder = 1;
}

def Pipe_SelectOp : Pipe_ScalarOp<"select", [Pure,
    AllTypesMatch<["onTrue", "onFalse", "result"]>]> {
  let summary = "Picks one of two scalars";
  let description = [{
    Both sides are evaluated; everything is total, so that is safe.

    Example: `%3 = pipe.select %0, %1, %2 : f32`
  }];
  let arguments = (ins Pipe_Bool:$condition, Pipe_Scalar:$onTrue, Pipe_Scalar:$onFalse);
  let results = (outs Pipe_Scalar:$result);
  let assemblyFormat = "$condition `,` $onTrue `,` $onFalse attr-dict `:` type($result)";
  let hasFolder = 1;
}

def Pipe_CastOp : Pipe_Op<"cast", [Pure, Pipe_SizedOpInterface,
    Pipe_TensorOpInterface, Pipe_OfForm<"inlined">, Pipe_OfAccess<"own">,
    DeclareOpInterfaceMethods<Pipe_RequiredBoxOpInterface>]> {
  let summary = "Converts the element type";
  let description = [{
    On a scalar, or on every element of a tensor. What the modes do:

    * `value`: integer to integer keeps the low bits; float to integer
      truncates, saturates and takes NaN to 0; integer to float and float to
      narrower float round once to nearest even; to bool is `!= 0`.
    * `clamp`: as `value`, but integer to integer saturates.
    * `bits`: the same bits as another type of the same width; any NaN shows the
      canonical bits, since processors leave different ones.

    Constraints:

    - (C1) both sides are scalars, or tensors with the same axes.
    - (C2) `bits` needs types of one width.

    Example: `%1 = pipe.cast clamp %0 : i32 -> ui8`
  }];
  let arguments = (ins Pipe_CastMode:$mode, Pipe_ScalarOrTensor:$value,
                       Variadic<Pipe_Int>:$sizes);
  let results = (outs Pipe_ScalarOrTensor:$result);
  let assemblyFormat = [{
    $mode $value (`sizes` `(` $sizes^ `)`)? attr-dict `:` type($value) `->` type($result)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{ ::penstock::pipe::OpClass getOpClass(); }];
}

def Pipe_LoadOp : Pipe_Op<"load", [Pure, Pipe_OfClass<"other">]> {
  let summary = "Reads one element of a tensor at computed indices";
  let description = [{
    One index per axis, in order; an index outside is clamped to the nearest
    element, and an empty tensor reads as 0. Stands inside the region of a
    point, window or gather op, where the tensor is a small table; among the
    scalars of a sample it reads constants, and fields of a row in setup.

    Constraints:

    - (C1) one index per axis.

    Example: `%v = pipe.load %table[%i, %c] : !pipe.tensor<ui8[i=256, c=3]>`
  }];
  let arguments = (ins Pipe_Tensor:$tensor, Variadic<Pipe_Int>:$indices);
  let results = (outs Pipe_Scalar:$result);
  let assemblyFormat = "$tensor `[` $indices `]` attr-dict `:` type($tensor) `->` type($result)";
  let hasVerifier = 1;
}

#endif
