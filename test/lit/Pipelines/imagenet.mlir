// RUN: penstock-opt %S/../inputs/imagenet-pipe.mlir --penstock-opt-pipeline --penstock-kernels-pipeline | FileCheck %s
// RUN: penstock-opt %S/../inputs/imagenet-pipe.mlir --penstock-opt-pipeline="disable=merge-views,compose-views,sink-casts,merge-maps,narrow,collapse-tables" --penstock-kernels-pipeline="disable=required-regions,fuse" | FileCheck %s --check-prefix=PLAIN

// Both passes of the resize, the crop, the transposition, normalise and the
// store are one kernel; the flip is in the tables of the width.
// CHECK: pipe.kernel @k0 "pixels"
// CHECK-NEXT: ^bb0(%[[X:.*]]: !pipe.tensor<u8[h=?, w=?, c=3:rgb]>,
// CHECK: %[[CROP:.*]] = pipe.view %[[X]]
// CHECK-NEXT: %[[WIDE:.*]] = pipe.resample pillow %[[CROP]] along "w"
// CHECK-NEXT: %[[SMALL:.*]] = pipe.resample pillow %[[WIDE]] along "h"
// CHECK-NEXT: %[[PLANES:.*]] = pipe.view %[[SMALL]]
// CHECK-NEXT: %[[F16:.*]] = pipe.map(%[[PLANES]],
// CHECK-NEXT: ^bb0
// CHECK-NEXT: pipe.cast value %{{.*}} : ui8 -> f32
// CHECK-NEXT: pipe.binary mul
// CHECK-NEXT: pipe.binary add
// CHECK-NEXT: pipe.cast value %{{.*}} : f32 -> f16
// CHECK: pipe.return %[[F16]] : !pipe.tensor<f16[c=3:rgb, h=224, w=224]>
// CHECK: pipe.kernel @weights0 "pixels" attributes {{.*weights}}
// CHECK: pipe.weights
// CHECK-COUNT-2: pipe.view
// CHECK: pipe.kernel @weights1 "pixels" attributes {{.*weights}}
// CHECK-NOT: pipe.view
// CHECK: pipe.kernel @select "select"
// CHECK-NEXT: pipe.return
// CHECK: pipe.kernel @setup "setup"
// CHECK: pipe.set_entry {{[0-9]+}}, %{{.*}} {draw = "imagenet_train/pixels/chance/uniform"} : f64
// CHECK-LABEL: pipe.pipeline @imagenet_train
// CHECK: pipe.decode {{.*}} region
// CHECK-COUNT-3: pipe.launch
// CHECK-NOT: pipe.launch

// Nothing moved, nothing joined: every op is a kernel, and the choice between
// the image and its mirror is one of them.
// PLAIN-COUNT-10: pipe.kernel @{{.*}} "pixels"
// PLAIN-NOT: "pixels"
// PLAIN: pipe.decode
// PLAIN-NOT: region
// PLAIN-COUNT-10: pipe.launch
