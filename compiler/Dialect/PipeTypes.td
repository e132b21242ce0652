// SPDX-License-Identifier: Apache-2.0
//
// Types and attributes of the dialect -----*- tablegen.
#ifndef PENSTOCK_PIPE_TYPES_TD
#define PENSTOCK_PIPE_TYPES_TD

include "compiler/Dialect/PipeDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/BuiltinAttributes.td"

class Pipe_Type<string name, string typeMnemonic> : TypeDef<Pipe_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Pipe_TensorType : Pipe_Type<"NamedTensor", "tensor"> {
  let summary = "A tensor with named axes";
  let description = [{
    Element type and axes, outermost first. An axis is `name=extent`,
    `name=?` (known per sample, from headers, metadata or draws), or
    `name=? max bound` (known per sample, with a static bound), and may carry
    metadata after a colon: `c=3:rgb`, `box=4:xyxy`.

    Constraints:

    - (C1) axis names are distinct.
    - (C2) the element type is one of u8 i8 u16 i16 i32 i64 f16 bf16 f32 f64 bool.

    Example: `!pipe.tensor<u8[h=?, w=224, c=3:rgb]>`
  }];
  let parameters = (ins "mlir::Type":$elementType,
                        ArrayRefParameter<"::penstock::pipe::Axis">:$axes);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<
      (ins "mlir::Type":$elementType, "llvm::ArrayRef<::penstock::pipe::Axis>":$axes), [{
    return $_get(elementType.getContext(), elementType, axes);
  }]>];
  let extraClassDeclaration = [{
    /// Number of axes.
    int64_t getRank() const { return static_cast<int64_t>(getAxes().size()); }
    /// Position of the axis `name`, or -1.
    int64_t axisIndex(llvm::StringRef name) const;
    /// The same axes with another element type.
    NamedTensorType withElementType(mlir::Type elementType) const;
    /// The same element type with other axes.
    NamedTensorType withAxes(llvm::ArrayRef<Axis> axes) const;
    /// Whether every extent is static.
    bool isStatic() const;
    /// Positions of the axes whose extent is known per sample only, in order.
    llvm::SmallVector<int64_t> dynamicAxes() const;
    /// Number of elements; only for static types.
    int64_t numElements() const;
  }];
}

def Pipe_BytesType : Pipe_Type<"Bytes", "bytes"> {
  let summary = "Encoded bytes of one row, fetched when needed";
}
def Pipe_TextType : Pipe_Type<"Text", "text"> {
  let summary = "A text or path: a parameter or a field of a row";
}
def Pipe_TableType : Pipe_Type<"Table", "table"> {
  let summary = "A source: a length and rows by number";
}
def Pipe_RowType : Pipe_Type<"Row", "row"> {
  let summary = "One row of a table";
}
def Pipe_KeyType : Pipe_Type<"Key", "key"> {
  let summary = "The key of a scope's draws: seed, position, view, epoch";
}

class Pipe_Attr<string name, string attrMnemonic> : AttrDef<Pipe_Dialect, name> {
  let mnemonic = attrMnemonic;
}

//===--- constraints ---------------------------------------------------------===//

def Pipe_Scalar : Type<
    CPred<"::penstock::pipe::isScalarType($_self)">,
    "scalar of u8 i8 u16 i16 i32 i64 f16 bf16 f32 f64 bool">;
def Pipe_Tensor : Type<
    CPred<"::llvm::isa<::penstock::pipe::NamedTensorType>($_self)">, "tensor",
    "::penstock::pipe::NamedTensorType">;
def Pipe_Int : Type<CPred<"$_self.isSignlessInteger(64)">, "i64",
    "::mlir::IntegerType">, BuildableType<"$_builder.getI64Type()">;
def Pipe_Bool : Type<CPred<"$_self.isSignlessInteger(1)">, "bool",
    "::mlir::IntegerType">, BuildableType<"$_builder.getI1Type()">;
def Pipe_F64 : Type<CPred<"$_self.isF64()">, "f64",
    "::mlir::FloatType">, BuildableType<"$_builder.getF64Type()">;
def Pipe_Bytes : Type<CPred<"::llvm::isa<::penstock::pipe::BytesType>($_self)">, "bytes">,
    BuildableType<"$_builder.getType<::penstock::pipe::BytesType>()">;
def Pipe_Table : Type<CPred<"::llvm::isa<::penstock::pipe::TableType>($_self)">, "table">,
    BuildableType<"$_builder.getType<::penstock::pipe::TableType>()">;
def Pipe_Row : Type<CPred<"::llvm::isa<::penstock::pipe::RowType>($_self)">, "row">,
    BuildableType<"$_builder.getType<::penstock::pipe::RowType>()">;
def Pipe_Key : Type<CPred<"::llvm::isa<::penstock::pipe::KeyType>($_self)">, "key">,
    BuildableType<"$_builder.getType<::penstock::pipe::KeyType>()">;
def Pipe_ScalarOrTensor : AnyTypeOf<[Pipe_Scalar, Pipe_Tensor]>;
defvar Pipe_AnyValue = AnyType;

//===--- enumerations --------------------------------------------------------===//

class Pipe_Enum<string name, string summary, list<string> cases>
    : I32EnumAttr<name, summary,
        !foreach(i, !range(!size(cases)), I32EnumAttrCase<cases[i], i>)> {
  let cppNamespace = "::penstock::pipe";
  let genSpecializedAttr = 0;
}
class Pipe_EnumAttr<EnumAttrInfo info, string attrMnemonic>
    : EnumAttr<Pipe_Dialect, info, attrMnemonic>;

def Pipe_UnaryKindEnum : Pipe_Enum<"UnaryKind", "operation on one scalar",
  ["neg", "bit_not", "abs", "floor", "ceil", "trunc", "round", "round_away", "sqrt"]>;
def Pipe_UnaryKind : Pipe_EnumAttr<Pipe_UnaryKindEnum, "unary_kind">;

def Pipe_BinaryKindEnum : Pipe_Enum<"BinaryKind", "operation on two scalars",
  ["add", "sub", "mul", "div", "rem", "min", "max", "bit_and", "bit_or", "bit_xor", "shl", "shr"]>;
def Pipe_BinaryKind : Pipe_EnumAttr<Pipe_BinaryKindEnum, "binary_kind">;

def Pipe_PredicateEnum : Pipe_Enum<"Predicate", "comparison",
  ["eq", "ne", "lt", "le", "gt", "ge"]>;
def Pipe_Predicate : Pipe_EnumAttr<Pipe_PredicateEnum, "predicate">;

def Pipe_CastModeEnum : Pipe_Enum<"CastMode", "what a cast does with values that do not fit",
  ["value", "clamp", "bits"]>;
def Pipe_CastMode : Pipe_EnumAttr<Pipe_CastModeEnum, "cast_mode">;

def Pipe_DrawKindEnum : Pipe_Enum<"DrawKind", "what a draw returns",
  ["bits", "uniform", "integer", "permutation"]>;
def Pipe_DrawKind : Pipe_EnumAttr<Pipe_DrawKindEnum, "draw_kind">;

def Pipe_KeyScopeEnum : Pipe_Enum<"KeyScope", "whose position a key carries",
  ["sample", "batch"]>;
def Pipe_KeyScope : Pipe_EnumAttr<Pipe_KeyScopeEnum, "key_scope">;

def Pipe_BorderEnum : Pipe_Enum<"Border", "what stands outside a tensor",
  ["constant", "edge", "reflect", "symmetric", "wrap"]>;
def Pipe_Border : Pipe_EnumAttr<Pipe_BorderEnum, "border">;

def Pipe_FilterEnum : Pipe_Enum<"Filter", "resampling filter",
  ["nearest", "box", "bilinear", "hamming", "bicubic", "lanczos"]>;
def Pipe_Filter : Pipe_EnumAttr<Pipe_FilterEnum, "filter">;

def Pipe_InterpolationEnum : Pipe_Enum<"Interpolation", "how a gather samples between elements",
  ["nearest", "linear", "cubic"]>;
def Pipe_Interpolation : Pipe_EnumAttr<Pipe_InterpolationEnum, "interpolation">;

def Pipe_NumericsEnum : Pipe_Enum<"Numerics", "which arithmetic defines a resampling op",
  ["pillow", "exact"]>;
def Pipe_Numerics : Pipe_EnumAttr<Pipe_NumericsEnum, "numerics">;

def Pipe_ReduceKindEnum : Pipe_Enum<"ReduceKind", "how elements combine",
  ["sum", "min", "max", "any", "all", "count", "argmin", "argmax"]>;
def Pipe_ReduceKind : Pipe_EnumAttr<Pipe_ReduceKindEnum, "reduce_kind">;

def Pipe_ScanKindEnum : Pipe_Enum<"ScanKind", "what a scan accumulates",
  ["sum", "max", "recurrence"]>;
def Pipe_ScanKind : Pipe_EnumAttr<Pipe_ScanKindEnum, "scan_kind">;

def Pipe_ScatterKindEnum : Pipe_Enum<"ScatterKind", "what elements at one place become",
  ["sum", "min", "max", "first"]>;
def Pipe_ScatterKind : Pipe_EnumAttr<Pipe_ScatterKindEnum, "scatter_kind">;

def Pipe_OrderKindEnum : Pipe_Enum<"OrderKind", "in which order an epoch visits the rows",
  ["sequential", "shuffled", "weighted", "listed"]>;
def Pipe_OrderKind : Pipe_EnumAttr<Pipe_OrderKindEnum, "order_kind">;

def Pipe_LastEnum : Pipe_Enum<"LastBatch", "what happens to an incomplete last batch",
  ["drop", "keep", "pad"]>;
def Pipe_Last : Pipe_EnumAttr<Pipe_LastEnum, "last_batch">;

def Pipe_PlaceEnum : Pipe_Enum<"Place", "where the writer of a stage wants it to run",
  ["automatic", "cpu", "gpu"]>;
def Pipe_Place : Pipe_EnumAttr<Pipe_PlaceEnum, "placement">;

def Pipe_AxisNames : TypedArrayAttrBase<StrAttr, "axis names">;

#endif
