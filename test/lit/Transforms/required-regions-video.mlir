// RUN: penstock-opt %s --pipe-required-regions --cse | FileCheck %s

// The frames stay, and the region is what is read of each of them.
// CHECK-LABEL: pipe.pipeline @crop_of_a_clip
// CHECK: %[[FIRST:.*]] = pipe.field %{{.*}} "start" : i64
// CHECK: %[[TOP:.*]] = pipe.field %{{.*}} "top" : i64
// CHECK: %[[END:.*]] = pipe.binary add %[[TOP]], %{{.*}} : i64
// CHECK: pipe.decode "video" "rgb" {{.*}} asked(%[[FIRST]], %[[STEP:.*]]) {{.*}} region ["h", "w"](%[[TOP]], %{{.*}}, %[[END]], %{{.*}})
// CHECK-SAME: "makes pixels of the region that is read of each frame"
pipe.pipeline @crop_of_a_clip seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "s" (%root) named ["root"] columns {video = !pipe.bytes, start = i64, top = i64} : !pipe.text
  %row = pipe.row sequential %table
  %data = pipe.field %row "video" : !pipe.bytes
  %start = pipe.field %row "start" : i64
  %top = pipe.field %row "top" : i64
  %step = pipe.constant 4 : i64 -> i64
  %batch = pipe.constant 2 : i64 -> i64
  %h = pipe.probe "video" "height" %data : i64
  %w = pipe.probe "video" "width" %data : i64
  %x = pipe.decode "video" "rgb" %data asked(%start, %step) sizes(%h, %w) : !pipe.tensor<u8[t=3, h=?, w=?, c=3:rgb]>
  %0 = pipe.view %x by affine_map<(d0, d1, d2, d3)[s0] -> (d0, d1 + s0, d2, d3)> [%top] : !pipe.tensor<u8[t=3, h=?, w=?, c=3:rgb]> -> !pipe.tensor<u8[t=3, h=8, w=8, c=3:rgb]>
  pipe.batch size(%batch) last drop {
    pipe.output "a" %0 axes ["n", "t", "h", "w", "c"] stored ["n", "t", "h", "w", "c"] : !pipe.tensor<u8[t=3, h=8, w=8, c=3:rgb]>
  }
}
