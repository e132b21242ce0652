// RUN: penstock-opt %s --pipe-required-regions --cse --split-input-file | FileCheck %s

// Each arm has its crop: the region is that of the arm that is taken.
// CHECK-LABEL: pipe.pipeline @arms_have_their_own_boxes
// CHECK: %[[I:.*]] = pipe.field %{{.*}} "i" : i64
// CHECK: %[[SECOND:.*]] = pipe.compare ge %[[I]], %{{.*}} : i64
// CHECK: %[[TOP:.*]] = pipe.select %[[SECOND]],
// CHECK: %[[BOTTOM:.*]] = pipe.select %[[SECOND]],
// CHECK: pipe.decode {{.*}} region ["h", "w"](%[[TOP]], %{{.*}}, %[[BOTTOM]], %{{.*}}) {{.*}}"decodes the region
pipe.pipeline @arms_have_their_own_boxes seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "s" (%root) named ["root"] columns {data = !pipe.bytes, i = i64} : !pipe.text
  %row = pipe.row sequential %table
  %data = pipe.field %row "data" : !pipe.bytes
  %h = pipe.probe "image" "height" %data : i64
  %w = pipe.probe "image" "width" %data : i64
  %x = pipe.decode "image" "gray" %data sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]>
  %i = pipe.field %row "i" : i64
  %batch = pipe.constant 2 : i64 -> i64
  %y = pipe.choose %i -> !pipe.tensor<u8[h=8, w=8]> {
    %0 = pipe.view %x by affine_map<(d0, d1) -> (d0 + 10, d1)> [] : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=8, w=8]>
    pipe.yield %0 : !pipe.tensor<u8[h=8, w=8]>
  }, {
    %0 = pipe.view %x by affine_map<(d0, d1) -> (d0 + 90, d1)> [] : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=8, w=8]>
    pipe.yield %0 : !pipe.tensor<u8[h=8, w=8]>
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %y axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<u8[h=8, w=8]>
  }
}

// -----

// A decode that one arm reads, behind a pointwise op outside of it.
// CHECK-LABEL: pipe.pipeline @decodes_only_for_the_arm
// CHECK: %[[SECOND:.*]] = pipe.compare ge
// CHECK: %[[TOP:.*]] = pipe.select %[[SECOND]], %{{.*}}, %[[ZERO:.*]] : i64
// CHECK: %[[BOTTOM:.*]] = pipe.select %[[SECOND]], %{{.*}}, %[[ZERO]] : i64
// CHECK: pipe.decode {{.*}} region ["h", "w"](%[[TOP]], %{{.*}}, %[[BOTTOM]], %{{.*}}) {{.*}}"decodes what is read, only where a branch
pipe.pipeline @decodes_only_for_the_arm seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "s" (%root) named ["root"] columns {data = !pipe.bytes, i = i64, z = !pipe.tensor<u8[h=8, w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %data = pipe.field %row "data" : !pipe.bytes
  %h = pipe.probe "image" "height" %data : i64
  %w = pipe.probe "image" "width" %data : i64
  %x = pipe.decode "image" "gray" %data sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]>
  %v = pipe.view %x by affine_map<(d0, d1) -> (d0 + 90, d1)> [] : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=8, w=8]>
  %i = pipe.field %row "i" : i64
  %z = pipe.field %row "z" : !pipe.tensor<u8[h=8, w=8]>
  %batch = pipe.constant 2 : i64 -> i64
  %y = pipe.choose %i -> !pipe.tensor<u8[h=8, w=8]> {
    pipe.yield %z : !pipe.tensor<u8[h=8, w=8]>
  }, {
    pipe.yield %v : !pipe.tensor<u8[h=8, w=8]>
  }
  pipe.batch size(%batch) last drop {
    pipe.output "a" %y axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<u8[h=8, w=8]>
  }
}

// -----

// Another sample may read what this one's arm does not.
// CHECK-LABEL: pipe.pipeline @peers_do_not_ask_the_arm
// CHECK: pipe.decode {{.*}}"decodes the region that is read
pipe.pipeline @peers_do_not_ask_the_arm seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "s" (%root) named ["root"] columns {data = !pipe.bytes, i = i64, z = !pipe.tensor<u8[h=8, w=8]>} : !pipe.text
  %row = pipe.row sequential %table
  %data = pipe.field %row "data" : !pipe.bytes
  %h = pipe.probe "image" "height" %data : i64
  %w = pipe.probe "image" "width" %data : i64
  %x = pipe.decode "image" "gray" %data sizes(%h, %w) : !pipe.tensor<u8[h=?, w=?]>
  %i = pipe.field %row "i" : i64
  %z = pipe.field %row "z" : !pipe.tensor<u8[h=8, w=8]>
  %batch = pipe.constant 2 : i64 -> i64
  pipe.batch size(%batch) last drop {
    %slot = pipe.context slot
    %y = pipe.choose %i -> !pipe.tensor<u8[h=8, w=8]> {
      pipe.yield %z : !pipe.tensor<u8[h=8, w=8]>
    }, {
      %v = pipe.view %x by affine_map<(d0, d1) -> (d0 + 90, d1)> [] : !pipe.tensor<u8[h=?, w=?]> -> !pipe.tensor<u8[h=8, w=8]>
      %p = pipe.peer %v[%slot] : !pipe.tensor<u8[h=8, w=8]> -> !pipe.tensor<u8[h=8, w=8]>
      pipe.yield %p : !pipe.tensor<u8[h=8, w=8]>
    }
    pipe.output "a" %y axes ["n", "h", "w"] stored ["n", "h", "w"] : !pipe.tensor<u8[h=8, w=8]>
  }
}
