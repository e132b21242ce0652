// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// Parameters, rows, media, keys and draws, written and read back.

// CHECK-LABEL: func.func @rows
func.func @rows(%root: !pipe.text, %w: f64, %i: i64) {
  // CHECK: pipe.param "magnitude" default(9 : i64) doc "how much" : i64
  %0 = pipe.param "magnitude" default(9 : i64) doc "how much" : i64
  // CHECK: pipe.source "image_folder"(%{{.*}}) named ["root"] columns {data = !pipe.bytes, label = i64} {settings = {index = "off"}} : !pipe.text
  %1 = pipe.source "image_folder" (%root) named ["root"] columns {data = !pipe.bytes, label = i64} {settings = {index = "off"}} : !pipe.text
  // CHECK: pipe.length %{{.*}}
  %2 = pipe.length %1
  // CHECK: pipe.row shuffled %{{.*}}
  %3 = pipe.row shuffled %1
  // CHECK: pipe.compare lt %{{.*}}, %{{.*}} : i64
  %4 = pipe.compare lt %i, %2 : i64
  // CHECK: pipe.admit where %{{.*}} weight %{{.*}}
  pipe.admit where %4 weight %w
  // CHECK: pipe.admit length %{{.*}}
  pipe.admit length %w
  // CHECK: pipe.row_index %
  %place = pipe.row_index %3
  // CHECK: pipe.pick %{{.*}}[%{{.*}}]
  %5 = pipe.pick %1[%i]
  // CHECK: pipe.field %{{.*}} "label" : i64
  %6 = pipe.field %5 "label" : i64
  // CHECK: pipe.field_extent %{{.*}} "boxes" "k"
  %7 = pipe.field_extent %3 "boxes" "k"
  // CHECK: pipe.field_element %{{.*}} "boxes"[%{{.*}}, %{{.*}}] of !pipe.tensor<f32[k=?, box=4:xyxy]> : f32
  %element = pipe.field_element %3 "boxes"[%i, %i] of !pipe.tensor<f32[k=?, box=4:xyxy]> : f32
  // CHECK: pipe.field %{{.*}} "boxes" sizes(%{{.*}}) : !pipe.tensor<f32[k=?, box=4:xyxy]>
  %8 = pipe.field %3 "boxes" sizes(%7) : !pipe.tensor<f32[k=?, box=4:xyxy]>
  // CHECK: pipe.fields "setup"(%{{.*}}) : !pipe.tensor<f32[k=?, box=4:xyxy]>
  pipe.fields "setup"(%8) : !pipe.tensor<f32[k=?, box=4:xyxy]>
  // CHECK: pipe.check %{{.*}}, "there are {0} of {1}"(%{{.*}}, %{{.*}})
  pipe.check %4, "there are {0} of {1}" (%2, %0)
  return
}

// CHECK-LABEL: func.func @media
func.func @media(%data: !pipe.bytes, %first: i64) {
  // CHECK: pipe.probe "image" "height" %{{.*}} : i64
  %0 = pipe.probe "image" "height" %data : i64
  // CHECK: pipe.decode "image" "rgb" orient %{{.*}} sizes(%{{.*}}, %{{.*}}) region ["h", "w"](%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : <u8[h=?, w=?, c=3:rgb]>
  %1 = pipe.decode "image" "rgb" orient %data sizes(%0, %0) region ["h", "w"] (%first, %first, %0, %0) : !pipe.tensor<u8[h=?, w=?, c=3:rgb]>
  // CHECK: pipe.decode "image" "rgb" %{{.*}} sizes(%{{.*}}, %{{.*}}) planes @planes : <u8[h=?, w=?, c=3:rgb]>
  %p = pipe.decode "image" "rgb" %data sizes(%0, %0) planes @planes : !pipe.tensor<u8[h=?, w=?, c=3:rgb]>
  // CHECK: pipe.decode "ply" "x y z" %{{.*}} sizes(%{{.*}}) : <f32[k=?, q=3]>
  %points = pipe.decode "ply" "x y z" %data sizes(%0) : !pipe.tensor<f32[k=?, q=3]>
  // CHECK: pipe.decode "video" "rgb" %{{.*}} asked(%{{.*}}, %{{.*}}) sizes(%{{.*}}, %{{.*}}) : <u8[t=16, h=?, w=?, c=3:rgb]>
  %2 = pipe.decode "video" "rgb" %data asked(%first, %first) sizes(%0, %0) : !pipe.tensor<u8[t=16, h=?, w=?, c=3:rgb]>
  return
}

// CHECK-LABEL: func.func @draws
func.func @draws(%i: i64, %low: f64, %high: f64) {
  // CHECK: pipe.key sample
  %0 = pipe.key sample
  // CHECK: pipe.key_view %{{.*}}, %{{.*}}
  %1 = pipe.key_view %0, %i
  // CHECK: pipe.key_mix %{{.*}}, %{{.*}}
  %2 = pipe.key_mix %1, %i
  // CHECK: pipe.draw uniform %{{.*}}(%{{.*}}, %{{.*}} : f64, f64) at(%{{.*}}) id 17 path "crop/area" : f64
  %3 = pipe.draw uniform %2 (%low, %high : f64, f64) at(%i) id 17 path "crop/area" : f64
  // CHECK: pipe.draw bits %{{.*}}() id 18 path "seed" : i64
  %4 = pipe.draw bits %0 () id 18 path "seed" : i64
  // CHECK: pipe.context count
  %5 = pipe.context count
  return
}
