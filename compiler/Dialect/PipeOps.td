// SPDX-License-Identifier: Apache-2.0
//
// All ops of the dialect, by kind -----------*- tablegen.
#ifndef PENSTOCK_PIPE_OPS_TD
#define PENSTOCK_PIPE_OPS_TD

include "compiler/Dialect/PipeTypes.td"
include "compiler/Dialect/ScalarOps.td"
include "compiler/Dialect/SampleOps.td"
include "compiler/Dialect/TensorOps.td"
include "compiler/Dialect/ScopeOps.td"
include "compiler/Dialect/KernelOps.td"

def Pipe_RemarkAttr : Pipe_Attr<"Remark", "remark"> {
  let summary = "What a pass did, or did not do and why";
  let description = [{
    Passes attach these to the op they speak of, in the list `pipe.remarks`;
    `penstock explain` renders them and nothing else.
  }];
  let parameters = (ins "::mlir::StringAttr":$pass, "::mlir::StringAttr":$text);
  let assemblyFormat = "`<` $pass `,` $text `>`";
}

#endif
