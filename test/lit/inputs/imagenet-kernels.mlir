// imagenet_train after fuse and split. Slots 8.. are ours:
//  8 batch size   9 label        10 height     11 width
// 12 top         13 left         14 crop rows  15 crop columns
// 16 taps w      17 taps h       18 region end row   19 region end column
// 20 flip scale (1 or -1)        21 flip offset (0 or 223)

pipe.kernel @select "select" {
  pipe.return
}

pipe.kernel @setup "setup" {
  %height = pipe.entry 10 : i64
  %width = pipe.entry 11 : i64
  %key = pipe.key sample
  %zero = pipe.constant 0 : i64 -> i64
  %one = pipe.constant 1 : i64 -> i64
  %size = pipe.constant 224 : i64 -> i64
  %scale_low = pipe.constant 8.000000e-02 : f64 -> f64
  %scale_high = pipe.constant 1.0 : f64 -> f64
  %box:4 = pipe.search 10 -> i64, i64, i64, i64 {
  ^bb0(%try: i64):
    %try_key = pipe.key_mix %key, %try
    %u = pipe.draw uniform %try_key (%scale_low, %scale_high : f64, f64) id 101 path "imagenet_train/pixels/random_resized_crop/uniform" : f64
    %height_float = pipe.cast value %height : i64 -> f64
    %width_float = pipe.cast value %width : i64 -> f64
    %pixels = pipe.binary mul %height_float, %width_float : f64
    %area = pipe.binary mul %pixels, %u : f64
    %side = pipe.unary sqrt %area : f64
    %rounded = pipe.unary round %side : f64
    %side_int = pipe.cast value %rounded : f64 -> i64
    %slack_h = pipe.binary sub %height, %side_int : i64
    %slack_w = pipe.binary sub %width, %side_int : i64
    %end_h = pipe.binary add %slack_h, %one : i64
    %end_w = pipe.binary add %slack_w, %one : i64
    %top_try = pipe.draw integer %try_key (%zero, %end_h : i64, i64) id 102 path "imagenet_train/pixels/random_resized_crop/int" : i64
    %left_try = pipe.draw integer %try_key (%zero, %end_w : i64, i64) id 103 path "imagenet_train/pixels/random_resized_crop/int#1" : i64
    %fits_h = pipe.compare le %side_int, %height : i64
    %fits_w = pipe.compare le %side_int, %width : i64
    %not_empty = pipe.compare ge %side_int, %one : i64
    %fits_hw = pipe.binary bit_and %fits_h, %fits_w : i1
    %fits = pipe.binary bit_and %fits_hw, %not_empty : i1
    pipe.accept %fits, %top_try, %left_try, %side_int, %side_int : i64, i64, i64, i64
  } otherwise {
    pipe.yield %zero, %zero, %height, %width : i64, i64, i64, i64
  }
  pipe.set_entry 12, %box#0 : i64
  pipe.set_entry 13, %box#1 : i64
  pipe.set_entry 14, %box#2 : i64
  pipe.set_entry 15, %box#3 : i64
  %taps_w = pipe.taps bilinear %box#3 to %size antialias(true)
  pipe.set_entry 16, %taps_w : i64
  %taps_h = pipe.taps bilinear %box#2 to %size antialias(true)
  pipe.set_entry 17, %taps_h : i64
  %bottom = pipe.binary add %box#0, %box#2 : i64
  pipe.set_entry 18, %bottom : i64
  %right = pipe.binary add %box#1, %box#3 : i64
  pipe.set_entry 19, %right : i64
  %low = pipe.constant 0.0 : f64 -> f64
  %half = pipe.constant 0.5 : f64 -> f64
  %coin = pipe.draw uniform %key (%low, %scale_high : f64, f64) id 104 path "imagenet_train/pixels/chance/uniform" : f64
  %heads = pipe.compare lt %coin, %half : f64
  %minus = pipe.constant -1 : i64 -> i64
  %last = pipe.constant 223 : i64 -> i64
  %step = pipe.select %heads, %minus, %one : i64
  %offset = pipe.select %heads, %last, %zero : i64
  pipe.set_entry 20, %step : i64
  pipe.set_entry 21, %offset : i64
  pipe.return
}

// Tap tables of the width, already mirrored where the sample is flipped.
pipe.kernel @weights_w "pixels" {
^bb0(%in: i64, %taps: i64, %step: i64, %offset: i64):
  %size = pipe.constant 224 : i64 -> i64
  %weights, %start = pipe.weights bilinear %in to %size antialias(true) sizes(%taps)
      : !pipe.tensor<i32[w=224, k=?]>, !pipe.tensor<i32[w=224]>
  %0 = pipe.view %weights by affine_map<(d0, d1)[s0, s1] -> (s0 * d0 + s1, d1)> [%step, %offset] sizes(%taps)
      : !pipe.tensor<i32[w=224, k=?]> -> !pipe.tensor<i32[w=224, k=?]>
  %1 = pipe.view %start by affine_map<(d0)[s0, s1] -> (s0 * d0 + s1)> [%step, %offset]
      : !pipe.tensor<i32[w=224]> -> !pipe.tensor<i32[w=224]>
  pipe.return %0, %1 : !pipe.tensor<i32[w=224, k=?]>, !pipe.tensor<i32[w=224]>
}

pipe.kernel @weights_h "pixels" {
^bb0(%in: i64, %taps: i64):
  %size = pipe.constant 224 : i64 -> i64
  %weights, %start = pipe.weights bilinear %in to %size antialias(true) sizes(%taps)
      : !pipe.tensor<i32[h=224, k=?]>, !pipe.tensor<i32[h=224]>
  pipe.return %weights, %start : !pipe.tensor<i32[h=224, k=?]>, !pipe.tensor<i32[h=224]>
}

pipe.kernel @pixels "pixels" {
^bb0(%image: !pipe.tensor<u8[h=?, w=?, c=3:rgb]>,
     %weights_w: !pipe.tensor<i32[w=224, k=?]>, %start_w: !pipe.tensor<i32[w=224]>,
     %weights_h: !pipe.tensor<i32[h=224, k=?]>, %start_h: !pipe.tensor<i32[h=224]>,
     %top: i64, %left: i64, %rows: i64, %columns: i64):
  %crop = pipe.view %image by affine_map<(d0, d1, d2)[s0, s1] -> (d0 + s0, d1 + s1, d2)> [%top, %left]
      sizes(%rows, %columns)
      : !pipe.tensor<u8[h=?, w=?, c=3:rgb]> -> !pipe.tensor<u8[h=?, w=?, c=3:rgb]>
  %wide = pipe.resample pillow %crop along "w" with %weights_w, %start_w sizes(%rows)
      : !pipe.tensor<u8[h=?, w=?, c=3:rgb]>, !pipe.tensor<i32[w=224, k=?]>, !pipe.tensor<i32[w=224]>
      -> !pipe.tensor<u8[h=?, w=224, c=3:rgb]>
  %small = pipe.resample pillow %wide along "h" with %weights_h, %start_h
      : !pipe.tensor<u8[h=?, w=224, c=3:rgb]>, !pipe.tensor<i32[h=224, k=?]>, !pipe.tensor<i32[h=224]>
      -> !pipe.tensor<u8[h=224, w=224, c=3:rgb]>
  %planes = pipe.view %small by affine_map<(d0, d1, d2) -> (d1, d2, d0)> []
      : !pipe.tensor<u8[h=224, w=224, c=3:rgb]> -> !pipe.tensor<u8[c=3:rgb, h=224, w=224]>
  %mean = pipe.constant dense<[4.850000e-01, 4.560000e-01, 4.060000e-01]> : tensor<3xf32> -> !pipe.tensor<f32[c=3]>
  %std = pipe.constant dense<[2.290000e-01, 2.240000e-01, 2.250000e-01]> : tensor<3xf32> -> !pipe.tensor<f32[c=3]>
  %full = pipe.constant 255.0 : f32 -> f32
  %0 = pipe.map (%planes, %mean, %std)
      : (!pipe.tensor<u8[c=3:rgb, h=224, w=224]>, !pipe.tensor<f32[c=3]>, !pipe.tensor<f32[c=3]>)
      -> !pipe.tensor<f16[c=3:rgb, h=224, w=224]> {
  ^bb0(%p: ui8, %m: f32, %s: f32, %c: i64, %h: i64, %w: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %q = pipe.binary div %f, %full : f32
    %d = pipe.binary sub %q, %m : f32
    %r = pipe.binary div %d, %s : f32
    %x = pipe.cast value %r : f32 -> f16
    pipe.yield %x : f16
  }
  pipe.return %0 : !pipe.tensor<f16[c=3:rgb, h=224, w=224]>
}

pipe.pipeline @imagenet_train seed 0 substitute 5.000000e-02 hash 1 slots 22 {
  %root = pipe.param "root" : !pipe.text
  %batch = pipe.param "per_rank" default(256 : i64) : i64
  pipe.set_entry 8, %batch : i64
  %table = pipe.source "image_folder" (%root) named ["root"]
      columns {data = !pipe.bytes, label = i64, name = !pipe.text} : !pipe.text
  %row = pipe.row shuffled %table
  %label = pipe.field %row "label" : i64
  pipe.set_entry 9, %label : i64
  %data = pipe.field %row "data" : !pipe.bytes
  %height = pipe.probe "image" "height" %data : i64
  %width = pipe.probe "image" "width" %data : i64
  pipe.set_entry 10, %height : i64
  pipe.set_entry 11, %width : i64
  %h = pipe.entry 10 : i64
  %w = pipe.entry 11 : i64
  %top = pipe.entry 12 : i64
  %left = pipe.entry 13 : i64
  %rows = pipe.entry 14 : i64
  %columns = pipe.entry 15 : i64
  %taps_w = pipe.entry 16 : i64
  %taps_h = pipe.entry 17 : i64
  %bottom = pipe.entry 18 : i64
  %right = pipe.entry 19 : i64
  %step = pipe.entry 20 : i64
  %offset = pipe.entry 21 : i64
  %image = pipe.decode "image" "rgb" %data sizes(%h, %w) region ["h", "w"](%top, %left, %bottom, %right)
      : !pipe.tensor<u8[h=?, w=?, c=3:rgb]>
  %weights_w:2 = pipe.launch @weights_w () scalars(%columns, %taps_w, %step, %offset : i64, i64, i64, i64) sizes(%taps_w)
      : () -> (!pipe.tensor<i32[w=224, k=?]>, !pipe.tensor<i32[w=224]>)
  %weights_h:2 = pipe.launch @weights_h () scalars(%rows, %taps_h : i64, i64) sizes(%taps_h)
      : () -> (!pipe.tensor<i32[h=224, k=?]>, !pipe.tensor<i32[h=224]>)
  %pixels = pipe.launch @pixels (%image, %weights_w#0, %weights_w#1, %weights_h#0, %weights_h#1)
      scalars(%top, %left, %rows, %columns : i64, i64, i64, i64)
      : (!pipe.tensor<u8[h=?, w=?, c=3:rgb]>, !pipe.tensor<i32[w=224, k=?]>, !pipe.tensor<i32[w=224]>,
         !pipe.tensor<i32[h=224, k=?]>, !pipe.tensor<i32[h=224]>)
      -> !pipe.tensor<f16[c=3:rgb, h=224, w=224]>
  %size = pipe.entry 8 : i64
  %label_slot = pipe.entry 9 : i64
  pipe.batch size(%size) last drop {
    pipe.output "image" %pixels axes ["n", "c", "h", "w"] stored ["n", "c", "h", "w"]
        : !pipe.tensor<f16[c=3:rgb, h=224, w=224]>
    pipe.output "label" %label_slot axes ["n"] stored ["n"] : i64
  }
}
