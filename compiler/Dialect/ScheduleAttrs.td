// SPDX-License-Identifier: Apache-2.0
//
// How kernels become loops, as attributes ---*- tablegen.
#ifndef PENSTOCK_SCHEDULE_ATTRS_TD
#define PENSTOCK_SCHEDULE_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Schedule_Dialect : Dialect {
  let name = "schedule";
  let cppNamespace = "::penstock::pipe";
  let summary = "How a kernel becomes loops on a CPU";
  let description = [{
    Attributes of the ops in a `pipe.kernel` from the stage `schedule` on. `compiler/Schedules`
    writes them, verifiers check them, `compiler/Conversion` obeys. None of them changes a result.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def Schedule_TailEnum : I32EnumAttr<"Tail", "how rows end that are no whole number of vectors", [
    I32EnumAttrCase<"overlap", 0>, I32EnumAttrCase<"single", 1>, I32EnumAttrCase<"narrow", 2>]> {
  let cppNamespace = "::penstock::pipe";
  let genSpecializedAttr = 0;
}

def Schedule_LoopsAttr : AttrDef<Schedule_Dialect, "Loops"> {
  let mnemonic = "loops";
  let summary = "The loops that compute and store a tensor";
  let description = [{
    Axes are gone through from the outermost inwards, with `lanes` elements along the axis `along`
    at once, and those of the axis `unroll` side by side. An axis that is shorter than a vector takes half as many lanes, and
    half of these, until they fit.

    Some things differ from sample to sample and not from element to element. The loops are written
    for each combination of the arms of choices, for as many as `arms` at most. `versions` names what else they are
    written twice for, where it is met below the tensor: "bounded", numbers of the sample that are no
    larger than 65,536, of which no NaN comes; "strides", a distance between lanes of 1 or -1 (flips), or
    that of a dense input whose outermost axis they go along; "rows", rows that a pad makes up.

    `tail` says how rows end: with a last vector that overlaps the one before it ("overlap"), element by
    element ("single"), or with a vector of half as many lanes, or half of these, as long as they hold the rest
    ("narrow"; "overlap" where nobody knows how long a row is).

    Constraints:

    - (C1) `lanes` is a power of two up to 64.
    - (C2) `arms` is 1 to 16.
    - (C3) `versions` are "bounded", "strides" and "rows", each at most once.
    - (C4) `along` and `unroll` are two axes, and with `lanes` stands `along`.

    Example: `#schedule.loops<along = "w", lanes = 32, unroll = "c", arms = 2, versions = ["rows"], tail = overlap>`
  }];
  let parameters = (ins
    OptionalParameter<"::mlir::StringAttr">:$along,
    DefaultValuedParameter<"int64_t", "1">:$lanes,
    OptionalParameter<"::mlir::StringAttr">:$unroll,
    DefaultValuedParameter<"int64_t", "1">:$arms,
    OptionalParameter<"::mlir::ArrayAttr">:$versions,
    EnumParameter<Schedule_TailEnum>:$tail);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether `versions` names it.
    bool hasVersion(llvm::StringRef name) const;
  }];
}

#endif
