// RUN: penstock-opt %s --pipe-verify-kernels --split-input-file --verify-diagnostics

// expected-error @+1 {{has not been split}}
pipe.pipeline @p seed 0 substitute 0.0 {
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
  }
}

// -----

pipe.pipeline @p seed 0 substitute 0.0 slots 9 {
  %batch = pipe.constant 2 : i64 -> i64
  %0 = pipe.entry 8 : i64
  // expected-error @+1 {{is left in the pipeline after the split}}
  %1 = pipe.binary add %0, %0 : i64
  pipe.batch size(%batch) last drop {
    // expected-error @+1 {{reads a scalar that is not a slot}}
    pipe.output "a" %1 axes ["n"] stored ["n"] : i64
  }
}

// -----

pipe.pipeline @p seed 0 substitute 0.0 slots 9 {
  %batch = pipe.constant 2 : i64 -> i64
  // expected-error @+1 {{reads a slot beyond the parameter block}}
  %0 = pipe.entry 9 : i64
  // expected-error @+1 {{launches `nowhere`, which is no kernel}}
  %1 = pipe.launch @nowhere () scalars() : () -> !pipe.tensor<u8[w=4]>
  pipe.batch size(%batch) last drop {
  }
}

// -----

pipe.kernel @k0 "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  // expected-error @+1 {{stands in a kernel of pixels}}
  %key = pipe.key sample
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

pipe.pipeline @p seed 0 substitute 0.0 slots 9 {
  %batch = pipe.constant 2 : i64 -> i64
  // launch, C1.
  // expected-error @+1 {{gives other arguments than `k0` takes}}
  %1 = pipe.launch @k0 () scalars() : () -> !pipe.tensor<u8[w=4]>
  pipe.batch size(%batch) last drop {
  }
}

// -----

pipe.kernel @k0 "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4]>):
  pipe.return %x : !pipe.tensor<u8[w=4]>
}

pipe.pipeline @p seed 0 substitute 0.0 slots 9 {
  %batch = pipe.constant 2 : i64 -> i64
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<u8[w=4]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<u8[w=4]>
  // expected-error @+1 {{has other results than `k0` returns}}
  %1 = pipe.launch @k0 (%x) scalars() : (!pipe.tensor<u8[w=4]>) -> !pipe.tensor<u8[w=5]>
  pipe.batch size(%batch) last drop {
  }
}

// -----

pipe.pipeline @p seed 0 substitute 0.0 slots 9 {
  %batch = pipe.constant 2 : i64 -> i64
  %i = pipe.entry 8 : i64
  %x = pipe.constant dense<1> : tensor<4xui8> -> !pipe.tensor<u8[w=4]>
  %y = pipe.constant dense<1> : tensor<5xui8> -> !pipe.tensor<u8[w=5]>
  // switch, C1.
  // expected-error @+1 {{gives '!pipe.tensor<u8[w=5]>' as '!pipe.tensor<u8[w=4]>'}}
  %0 = pipe.switch %i (%x, %y) : !pipe.tensor<u8[w=4]>, !pipe.tensor<u8[w=5]> -> !pipe.tensor<u8[w=4]>
  pipe.batch size(%batch) last drop {
  }
}

// -----

// Code writes slots by their numbers alone.
pipe.kernel @setup "setup" {
  // expected-error @+1 {{reads a slot beyond the parameter block}}
  %0 = pipe.entry -1 : i64
  // expected-error @+1 {{writes a slot beyond the parameter block}}
  pipe.set_entry 9, %0 : i64
  %1 = pipe.constant dense<0> : tensor<4xi64> -> !pipe.tensor<i64[w=4]>
  // expected-error @+1 {{computes a tensor outside of the kernels of pixels}}
  %2 = pipe.cast value %1 : !pipe.tensor<i64[w=4]> -> !pipe.tensor<f32[w=4]>
  pipe.return
}

pipe.pipeline @p seed 0 substitute 0.0 slots 9 {
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
  }
}

// -----

// expected-error @+1 {{has a parameter block of 1048577 slots; at most 1048576 make sense}}
pipe.pipeline @p seed 0 substitute 0.0 slots 1048577 {
  // expected-error @+1 {{is a parameter of type '!pipe.table'; parameters are numbers and texts}}
  %table = pipe.param "table" : !pipe.table
  // expected-error @+1 {{reads a table that is no source}}
  %row = pipe.row sequential %table
  // expected-error @+1 {{is a parameter of type '!pipe.row'; parameters are numbers and texts}}
  %other = pipe.param "row" : !pipe.row
  // expected-error @+1 {{reads a row of no table}}
  %x = pipe.field %other "x" : i64
  // expected-error @+1 {{is a parameter of type '!pipe.bytes'; parameters are numbers and texts}}
  %data = pipe.param "data" : !pipe.bytes
  // expected-error @+1 {{decodes bytes that do not come from a row}}
  %height = pipe.probe "image" "height" %data : i64
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
  }
}
