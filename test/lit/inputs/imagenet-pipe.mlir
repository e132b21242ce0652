// imagenet_train as import leaves it: decode, random resized crop to 224, flip
// decided per sample, normalise, f16 in [n, c, h, w].

pipe.pipeline @imagenet_train seed 0 substitute 5.000000e-02 {
  %root = pipe.param "root" : !pipe.text
  %batch = pipe.param "per_rank" default(256 : i64) : i64
  %table = pipe.source "image_folder" (%root) named ["root"]
      columns {data = !pipe.bytes, label = i64, name = !pipe.text} : !pipe.text
  %row = pipe.row shuffled %table
  %data = pipe.field %row "data" : !pipe.bytes
  %height = pipe.probe "image" "height" %data : i64
  %width = pipe.probe "image" "width" %data : i64
  %image = pipe.decode "image" "rgb" %data sizes(%height, %width)
      : !pipe.tensor<u8[h=?, w=?, c=3:rgb]>

  // random_resized_crop: the box (without the ratio, to keep this file short)
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
  %crop = pipe.view %image by affine_map<(d0, d1, d2)[s0, s1] -> (d0 + s0, d1 + s1, d2)> [%box#0, %box#1]
      sizes(%box#2, %box#3)
      : !pipe.tensor<u8[h=?, w=?, c=3:rgb]> -> !pipe.tensor<u8[h=?, w=?, c=3:rgb]>

  // resize: along w, then along h
  %taps_w = pipe.taps bilinear %box#3 to %size antialias(true)
  %weights_w, %start_w = pipe.weights bilinear %box#3 to %size antialias(true) sizes(%taps_w)
      : !pipe.tensor<i32[w=224, k=?]>, !pipe.tensor<i32[w=224]>
  %wide = pipe.resample pillow %crop along "w" with %weights_w, %start_w sizes(%box#2)
      : !pipe.tensor<u8[h=?, w=?, c=3:rgb]>, !pipe.tensor<i32[w=224, k=?]>, !pipe.tensor<i32[w=224]>
      -> !pipe.tensor<u8[h=?, w=224, c=3:rgb]>
  %taps_h = pipe.taps bilinear %box#2 to %size antialias(true)
  %weights_h, %start_h = pipe.weights bilinear %box#2 to %size antialias(true) sizes(%taps_h)
      : !pipe.tensor<i32[h=224, k=?]>, !pipe.tensor<i32[h=224]>
  %small = pipe.resample pillow %wide along "h" with %weights_h, %start_h
      : !pipe.tensor<u8[h=?, w=224, c=3:rgb]>, !pipe.tensor<i32[h=224, k=?]>, !pipe.tensor<i32[h=224]>
      -> !pipe.tensor<u8[h=224, w=224, c=3:rgb]>

  // flip(w) if chance(0.5)
  %low = pipe.constant 0.0 : f64 -> f64
  %half = pipe.constant 0.5 : f64 -> f64
  %coin = pipe.draw uniform %key (%low, %scale_high : f64, f64) id 104 path "imagenet_train/pixels/chance/uniform" : f64
  %heads = pipe.compare lt %coin, %half : f64
  %arm = pipe.cast value %heads : i1 -> i64
  %flipped = pipe.choose %arm -> !pipe.tensor<u8[h=224, w=224, c=3:rgb]> {
    pipe.yield %small : !pipe.tensor<u8[h=224, w=224, c=3:rgb]>
  }, {
    %mirror = pipe.view %small by affine_map<(d0, d1, d2) -> (d0, -d1 + 223, d2)> []
        : !pipe.tensor<u8[h=224, w=224, c=3:rgb]> -> !pipe.tensor<u8[h=224, w=224, c=3:rgb]>
    pipe.yield %mirror : !pipe.tensor<u8[h=224, w=224, c=3:rgb]>
  }

  // normalize(imagenet)
  %mean = pipe.constant dense<[4.850000e-01, 4.560000e-01, 4.060000e-01]> : tensor<3xf32> -> !pipe.tensor<f32[c=3]>
  %std = pipe.constant dense<[2.290000e-01, 2.240000e-01, 2.250000e-01]> : tensor<3xf32> -> !pipe.tensor<f32[c=3]>
  %full = pipe.constant 255.0 : f32 -> f32
  %unit = pipe.map (%flipped) : (!pipe.tensor<u8[h=224, w=224, c=3:rgb]>) -> !pipe.tensor<f32[h=224, w=224, c=3:rgb]> {
  ^bb0(%p: ui8, %h: i64, %w: i64, %c: i64):
    %f = pipe.cast value %p : ui8 -> f32
    %q = pipe.binary div %f, %full : f32
    pipe.yield %q : f32
  }
  %pixels = pipe.map (%unit, %mean, %std)
      : (!pipe.tensor<f32[h=224, w=224, c=3:rgb]>, !pipe.tensor<f32[c=3]>, !pipe.tensor<f32[c=3]>)
      -> !pipe.tensor<f32[h=224, w=224, c=3:rgb]> {
  ^bb0(%p: f32, %m: f32, %s: f32, %h: i64, %w: i64, %c: i64):
    %d = pipe.binary sub %p, %m : f32
    %q = pipe.binary div %d, %s : f32
    pipe.yield %q : f32
  }
  %label = pipe.field %row "label" : i64

  pipe.batch size(%batch) last drop {
    %planes = pipe.view %pixels by affine_map<(d0, d1, d2) -> (d1, d2, d0)> []
        : !pipe.tensor<f32[h=224, w=224, c=3:rgb]> -> !pipe.tensor<f32[c=3:rgb, h=224, w=224]>
    %stored = pipe.cast value %planes : !pipe.tensor<f32[c=3:rgb, h=224, w=224]> -> !pipe.tensor<f16[c=3:rgb, h=224, w=224]>
    pipe.output "image" %stored axes ["n", "c", "h", "w"] stored ["n", "c", "h", "w"]
        : !pipe.tensor<f16[c=3:rgb, h=224, w=224]>
    pipe.output "label" %label axes ["n"] stored ["n"] : i64
  }
}
