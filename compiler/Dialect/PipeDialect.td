// SPDX-License-Identifier: Apache-2.0
//
// The pipe dialect ----------------------*- tablegen.
#ifndef PENSTOCK_PIPE_DIALECT_TD
#define PENSTOCK_PIPE_DIALECT_TD

include "compiler/Dialect/KernelInterfaces.td"

def Pipe_Dialect : Dialect {
  let name = "pipe";
  let cppNamespace = "::penstock::pipe";
  let summary = "What happens to one sample, and nothing about how";
  let description = [{
    A pipeline is the body of one sample: scalars that follow from the key,
    headers and metadata, tensors with named axes that follow from media, and
    outputs. Every op is pure in the sense of contract 1 (docs/architecture.md): its result is what
    the scalar interpreter in `stdlib/reference` computes.

    The same ops live on three levels: in `pipe.pipeline` as imported, in
    `pipe.kernel` after fusion, and (the scalar ones) inside the regions of
    `pipe.map`, `pipe.window` and `pipe.gather`.
  }];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = [{ void registerTypes(); }];
  let hasConstantMaterializer = 1;
}

/// Every op says of which class it is: by `Pipe_OfClass`, or by a `getOpClass` of
/// its own where that depends on its types or its body.
class Pipe_Op<string mnemonic, list<Trait> traits = []>
    : Op<Pipe_Dialect, mnemonic, !listconcat(traits, [Pipe_ClassifiedOpInterface])>;

/// An op without tensors.
class Pipe_ScalarOp<string mnemonic, list<Trait> traits = []>
    : Pipe_Op<mnemonic, !listconcat(traits, [Pipe_OfClass<"scalar">])>;

#endif
