// SPDX-License-Identifier: Apache-2.0
//
// Interfaces that ops implement ----*- tablegen.
//
// Facts that passes, schedules and lowerings need of an op stand with the op.
// No method has a default: an op that gives no answer does not compile.
#ifndef PENSTOCK_PIPE_KERNEL_INTERFACES_TD
#define PENSTOCK_PIPE_KERNEL_INTERFACES_TD

include "mlir/IR/OpBase.td"

class Pipe_Interface<string name> : OpInterface<name> {
  let cppNamespace = "::penstock::pipe";
}

def Pipe_SizedOpInterface : Pipe_Interface<"SizedOpInterface"> {
  let description = [{
    An op with tensor results that carries one i64 operand for each axis of them
    whose extent is known per sample only, in order. An operand list `sizes` is
    all it takes.
  }];
  let verify = [{ return ::penstock::pipe::verifySizes($_op); }];
  let methods = [
    InterfaceMethod<"The extents of the dynamic axes of all results, in order.",
                    "::mlir::OperandRange", "getSizes">,
  ];
}

def Pipe_ClassifiedOpInterface : Pipe_Interface<"ClassifiedOpInterface"> {
  let description = [{
    Every op of the dialect: which class it is of (`OpClass`), on which the fusion
    and the split depend.
  }];
  let methods = [
    InterfaceMethod<"The op's class.", "::penstock::pipe::OpClass", "getOpClass">,
  ];
}

/// Of one class wherever it stands.
class Pipe_OfClass<string opClass>
    : ParamNativeOpTrait<"OfClass", "::penstock::pipe::OpClass::" # opClass> {
  let cppNamespace = "::penstock::pipe";
}

def Pipe_TensorOpInterface : Pipe_Interface<"TensorOpInterface"> {
  let description = [{
    An op that computes tensors: what schedules and lowerings have to know to place
    it among others.
  }];
  let methods = [
    InterfaceMethod<"How a kernel computes it.", "::penstock::pipe::KernelForm", "getKernelForm">,
    InterfaceMethod<"What an element of a result reads of the inputs.",
                    "::penstock::pipe::InputAccess", "getInputAccess">,
  ];
}

class Pipe_OfForm<string form> : ParamNativeOpTrait<"OfForm", "::penstock::pipe::KernelForm::" # form> {
  let cppNamespace = "::penstock::pipe";
}
class Pipe_OfAccess<string access>
    : ParamNativeOpTrait<"OfAccess", "::penstock::pipe::InputAccess::" # access> {
  let cppNamespace = "::penstock::pipe";
}

def Pipe_RequiredBoxOpInterface : Pipe_Interface<"RequiredBoxOpInterface"> {
  let description = [{
    An op with tensor inputs: which elements of them it reads where a box of its
    result is needed. `Pipe_NeedsAllInputs` is the answer of ops that read them all.
  }];
  let methods = [
    InterfaceMethod<"Requests the box of each input that `wanted` of the first result needs.", "void",
                    "requireInputs", (ins "const ::penstock::pipe::Box &":$wanted,
                                          "::penstock::pipe::BoxRequest &":$request)>,
  ];
}

def Pipe_NeedsAllInputs : NativeOpTrait<"NeedsAllInputs"> {
  let cppNamespace = "::penstock::pipe";
}

#endif
