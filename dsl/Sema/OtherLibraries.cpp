// SPDX-License-Identifier: Apache-2.0
#include "dsl/Sema/OtherLibraries.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace penstock::dsl {
namespace {

constexpr std::string_view named = "axes have names, and an output states their order";
constexpr std::string_view stages = "stages follow each other: `x |> resize(224, 224) |> flip(w)`";

// clang-format off: a table
constexpr OtherName names[] = {
    // torchvision and albumentations
    {"horizontalflip", "|> flip(w) if chance(0.5)"},
    {"randomhorizontalflip", "|> flip(w) if chance(0.5)"},
    {"verticalflip", "|> flip(h) if chance(0.5)"},
    {"randomverticalflip", "|> flip(h) if chance(0.5)"},
    {"randomrotation", "|> rotate(draw uniform(-15deg .. 15deg))"},
    {"saferotate", "|> rotate(draw uniform(-15deg .. 15deg))"},
    {"randomrotate90", "|> rotate90 if chance(0.5)"},
    {"randomaffine", "|> affine(by = draw uniform(-10deg .. 10deg), scale = draw uniform(0.9 .. 1.1))"},
    {"shiftscalerotate", "|> affine(by = draw uniform(-10deg .. 10deg), dx = draw int(-8 ..= 8), scale = draw uniform(0.9 .. 1.1))"},
    {"randomerasing", "|> erase(area = 0.02 .. 0.33) if chance(0.5)"},
    {"coarsedropout", "|> erase(area = 0.02 .. 0.33) if chance(0.5)"},
    {"cutout", "|> erase(area = 0.02 .. 0.33) if chance(0.5)"},
    {"randominvert", "|> invert if chance(0.5)"},
    {"invertimg", "|> invert if chance(0.5)"},
    {"randomposterize", "|> posterize(4) if chance(0.5)"},
    {"randomsolarize", "|> solarize(128) if chance(0.5)"},
    {"randomautocontrast", "|> autocontrast if chance(0.5)"},
    {"randomequalize", "|> equalize if chance(0.5)"},
    {"randomadjustsharpness", "|> sharpness(2.0) if chance(0.5)"},
    {"adjustsharpness", "|> sharpness(2.0)"},
    {"sharpen", "|> sharpness(2.0)"},
    {"adjustbrightness", "|> brightness(1.2)"},
    {"adjustcontrast", "|> contrast(1.2)"},
    {"adjustsaturation", "|> saturation(1.2)"},
    {"adjusthue", "|> hue(0.1)"},
    {"randombrightnesscontrast", "|> color_jitter(0.2, 0.2)"},
    {"randombrightness", "|> color_jitter(brightness = 0.2)"},
    {"randomcontrast", "|> color_jitter(contrast = 0.2)"},
    {"huesaturationvalue", "|> color_jitter(saturation = 0.2, hue = 0.05)"},
    {"togray", "|> grayscale"},
    {"tograyscale", "|> grayscale"},
    {"rgbtograyscale", "|> grayscale"},
    {"smallestmaxsize", "|> resize(224)"},
    {"padifneeded", "|> center_crop(224)"},
    {"imagecompression", "|> recompress(draw int(50 ..= 90))"},
    {"jpegcompression", "|> recompress(draw int(50 ..= 90))"},
    {"randomjpeg", "|> recompress(draw int(50 ..= 90))"},
    {"gaussnoise", "|> grain(10.0)"},
    {"gaussiannoise", "|> grain(10.0)"},
    {"totensorv2", "|> to_tensor"},
    {"toimage", "", "`decode(rgb)` makes an image of 8-bit pixels"},
    {"topilimage", "", "`decode(rgb)` makes an image of 8-bit pixels"},
    {"piltotensor", "", "`decode(rgb)` makes a tensor already"},
    {"convertimagedtype", "|> to_tensor"},
    {"todtype", "|> to_tensor"},
    {"compose", "", stages},
    {"sequential", "", stages},
    {"imageonlytransform", "", "a `fn` of one's own is a transform"},
    {"randomapply", "", "a condition follows its stage: `|> flip(w) if chance(0.5)`"},
    {"randomchoice", "|> choose { 1 => flip(w), 1 => invert }"},
    {"oneof", "|> choose { 1 => flip(w), 1 => invert }"},
    {"someof", "|> repeat (2) { choose { 1 => flip(w), 1 => invert } }"},
    {"lambda", "map (p in x) { 255 - p }"},
    {"mixup", "mix(a, b, 0.5)"},
    // OpenCV and Pillow
    {"hflip", "|> flip(w)"},
    {"fliplr", "|> flip(w)"},
    {"mirror", "|> flip(w)"},
    {"fliplefttoright", "|> flip(w)"},
    {"vflip", "|> flip(h)"},
    {"flipud", "|> flip(h)"},
    {"rot90", "|> rotate90"},
    {"open", "row.data |> decode(rgb)"},
    {"cvtcolor", "", "`decode(rgb)` gives red, green, blue, and `grayscale` their luma"},
    {"convert", "", "`decode(rgb)` gives red, green, blue, and `grayscale` their luma"},
    {"imread", "row.data |> decode(rgb)"},
    {"folder", "", "`image_folder(root)` numbers folders of classes, and `file_list(list, root)` reads a list of any files"},
    {"glob", "", "`image_folder(root)` numbers folders of classes, and `file_list(list, root)` reads a list of any files"},
    {"imdecode", "row.data |> decode(rgb)"},
    {"decodejpeg", "row.data |> decode(rgb)"},
    {"decodeimage", "row.data |> decode(rgb)"},
    {"readimage", "row.data |> decode(rgb)"},
    {"imresize", "|> resize(224, 224)"},
    {"interpolate", "|> resize(224, 224)"},
    {"thumbnail", "|> resize(224)"},
    {"blur", "|> box_blur(1)"},
    {"boxfilter", "|> box_blur(1)"},
    {"threshold", "map (p in x) { if p > 127 then 255 else 0 }"},
    {"equalizehist", "|> equalize"},
    {"copymakeborder", "|> pad(4, border = reflect)"},
    {"warpaffine", "|> affine(by = 10deg, dx = 4)"},
    {"erode", "window (v in x, h = -1 ..= 1, w = -1 ..= 1) { min(v over [h, w]) }"},
    {"dilate", "window (v in x, h = -1 ..= 1, w = -1 ..= 1) { max(v over [h, w]) }"},
    {"filter2d", "window (v in x, h = -1 ..= 1, w = -1 ..= 1) { u8.clamp(sum(i32(v) over [h, w]) / 9) }"},
    {"conv2d", "window (v in x, h = -1 ..= 1, w = -1 ..= 1) { u8.clamp(sum(i32(v) over [h, w]) / 9) }"},
    {"bitwisenot", "|> invert"},
    {"ascontiguousarray", "", "memory is the compiler's business: leave it out"},
    {"contiguous", "", "memory is the compiler's business: leave it out"},
    {"copy", "", "values never change, so that none needs a copy"},
    {"clone", "", "values never change, so that none needs a copy"},
    // NumPy, PyTorch and Python
    {"sum", "sum(f32(x) over [h, w])"},
    {"max", "max(x over [h, w])"},
    {"amax", "max(x over [h, w])"},
    {"min", "min(x over [h, w])"},
    {"amin", "min(x over [h, w])"},
    {"argmax", "argmax(x over [c])"},
    {"argmin", "argmin(x over [c])"},
    {"any", "any(x > 127 over [h, w])"},
    {"all", "all(x > 127 over [h, w])"},
    {"maximum", "max(a, b)"},
    {"minimum", "min(a, b)"},
    {"clip", "clamp(x, 16, 235)"},
    {"clamp", "clamp(x, 16, 235)"},
    {"bitwiseand", "bit_and(x, 3)"},
    {"bitwiseor", "bit_or(x, 3)"},
    {"bitwisexor", "bit_xor(x, 3)"},
    {"sigmoid", "1.0 / (1.0 + exp(-a))"},
    {"relu", "max(a, 0.0)"},
    {"zeros", "map (k in 0 .. 10) { 0.0 }"},
    {"ones", "map (k in 0 .. 10) { 1.0 }"},
    {"zeroslike", "map (p in a) { 0.0 }"},
    {"oneslike", "map (p in a) { 1.0 }"},
    {"power", "pow(a, 2.0)"},
    {"square", "a * a"},
    {"rint", "round(a)"},
    {"fix", "trunc(a)"},
    {"absolute", "abs(a)"},
    {"fabs", "abs(a)"},
    {"mod", "x % 2"},
    {"float", "f32(x)"},
    {"half", "f16(a)"},
    {"double", "f64(x)"},
    {"long", "i64(x)"},
    {"byte", "u8.clamp(a)"},
    {"astype", "f32(x)"},
    {"to", "f32(x)"},
    {"cast", "f32(x)"},
    {"where", "map (p in a) { if p > 0.5 then p else 0.0 }"},
    {"concatenate", "concat([a, b], h)"},
    {"cat", "concat([a, b], h)"},
    {"vstack", "concat([a, b], h)"},
    {"hstack", "concat([a, b], w)"},
    {"cumsum", "scan_sum(a, w)"},
    {"cummax", "scan_max(a, w)"},
    {"cummin", "-scan_max(-a, w)"},
    {"scanmin", "-scan_max(-a, w)"},
    {"cumprod", "", "`exp(scan_sum(log(x), w))` has the products of numbers above 0"},
    {"scanprod", "", "`exp(scan_sum(log(x), w))` has the products of numbers above 0"},
    {"diff", "a[w = 1 .. extent(a, w)] - a[w = 0 .. extent(a, w) - 1]"},
    {"sorted", "a[w = sort(a, w)]"},
    {"argsort", "sort(a, w)"},
    {"prod", "", "`exp(sum(log(x) over [w]))` is the product of numbers above 0"},
    {"median", "a[w = sort(a, w)][w = extent(a, w) / 2]"},
    {"percentile", "a[w = sort(a, w)][w = (extent(a, w) - 1) * 9 / 10]"},
    {"quantile", "a[w = sort(a, w)][w = (extent(a, w) - 1) * 9 / 10]"},
    {"topk", "reverse(a[w = sort(a, w)], w)[w = 0 .. 5]"},
    {"unique", "", "`group(x, by = key, limit = n)` puts elements with equal keys together"},
    {"reshape", "", "`merge(x, h, w)` makes one axis of two, and `split(x, w, k, 4)` two of one"},
    {"view", "", "`merge(x, h, w)` makes one axis of two, and `split(x, w, k, 4)` two of one"},
    {"ravel", "merge(x, h, w)"},
    {"flatten", "merge(x, h, w)"},
    {"squeeze", "x[c = 0]"},
    {"unsqueeze", "stack([a, b], k)"},
    {"expanddims", "stack([a, b], k)"},
    {"fliplist", "reverse(a, w)"},
    {"reversed", "reverse(a, w)"},
    {"matmul", "", "`contract(x, m)`, over the axis that both have"},
    {"dot", "", "`contract(x, m)`, over the axis that both have"},
    {"einsum", "", "`contract(x, m)`, over the axis that both have"},
    {"tensordot", "", "`contract(x, m)`, over the axis that both have"},
    {"transpose", "", named},
    {"permute", "", named},
    {"moveaxis", "", named},
    {"swapaxes", "", named},
    {"len", "extent(x, h)"},
    {"shape", "extent(x, h)"},
    {"size", "extent(x, h)"},
    {"dtype", "", "the compiler knows it: `penstock check` shows types in its messages"},
    {"item", "", "a tensor without axes is a number already"},
    {"numpy", "", "there is one kind of tensor: leave it out"},
    {"tensor", "", "there is one kind of tensor: leave it out"},
    {"astensor", "", "there is one kind of tensor: leave it out"},
    {"array", "", "there is one kind of tensor: leave it out"},
    {"asarray", "", "there is one kind of tensor: leave it out"},
    {"fromnumpy", "", "there is one kind of tensor: leave it out"},
    {"fromarray", "", "there is one kind of tensor: leave it out"},
    {"cuda", "", "`output image: f16[n, c, h, w] on gpu = ...`"},
    {"rand", "draw uniform(0.0 .. 1.0)"},
    {"random", "draw uniform(0.0 .. 1.0)"},
    {"uniform", "draw uniform(0.0 .. 1.0)"},
    {"randn", "draw normal(0.0, 1.0)"},
    {"gauss", "draw normal(0.0, 1.0)"},
    {"normal", "draw normal(0.0, 1.0)"},
    {"randint", "draw int(0 .. 10)"},
    {"randrange", "draw int(0 .. 10)"},
    {"integers", "draw int(0 .. 10)"},
    {"choice", "|> choose { 1 => flip(w), 1 => invert }"},
    {"shuffle", "", "`for row in image_folder(root) order shuffled`"},
    {"seed", "", "`pipeline train(root: path) with seed = 1 { ... }`"},
    {"manualseed", "", "`pipeline train(root: path) with seed = 1 { ... }`"},
    {"range", "", "a range is written `0 .. 10`"},
    {"arange", "", "a range is written `0 .. 10`"},
    {"enumerate", "", "`map (x in xs) { ... }` visits every element"},
    {"print", "", "`penstock sample FILE` shows the values of a sample"},
    {"isinstance", "", "types are known when compiling"},
    {"dataloader", "", "`batch 64 per rank last drop { output ... }`"},
    {"collatefn", "", "`batch 64 per rank last drop { output ... }`"},
    {"webdataset", "", "`for row in tar_shards(shards, jpg = bytes, label = column(\"cls\", i64))`"},
    {"readcsv", "", "`for row in csv(list, root, data = bytes, label = i64)`"},
    // librosa and torchaudio
    {"stft", "s |> windows(400, 160) |> hann |> spectrum"},
    {"spectrogram", "s |> windows(400, 160) |> hann |> spectrum |> power"},
    {"melspectrogram", "s |> windows(400, 160) |> hann |> spectrum |> power |> mel(80, 20Hz .. 8kHz, 16kHz)"},
    {"amplitudetodb", "|> to_tensor |> log_clamped(0.000001)"},
    {"powertodb", "|> to_tensor |> log_clamped(0.000001)"},
    {"rfft", "s |> windows(400, 160) |> spectrum"},
};

constexpr std::string_view libraries[] = {
    "np",        "numpy",     "cv2",      "cv",         "torch",          "torchvision",
    "T",         "F",         "TF",       "transforms", "v2",             "functional",
    "A",         "alb",       "albu",     "albumentations",               "PIL",
    "Image",     "ImageOps",  "ImageEnhance",           "ImageFilter",    "librosa",
    "torchaudio", "tf",       "tensorflow", "jnp",      "jax",            "nn",
    "math",      "random",    "skimage",  "scipy",      "ndimage",        "pd",
    "pandas",    "kornia",    "K",        "fn",         "dali",           "imgaug",
    "iaa"};

struct OtherType {
  std::string_view theirs, ours;
};
constexpr OtherType types[] = {
    {"float", "f32"},   {"float32", "f32"}, {"single", "f32"},  {"double", "f64"},   {"float64", "f64"},
    {"half", "f16"},    {"float16", "f16"}, {"bfloat16", "bf16"}, {"uint8", "u8"},   {"byte", "u8"},
    {"uchar", "u8"},    {"int8", "i8"},     {"char", "i8"},     {"uint16", "u16"},   {"int16", "i16"},
    {"short", "i16"},   {"int32", "i32"},   {"int64", "i64"},   {"long", "i64"},     {"integer", "int"},
    {"boolean", "bool"}, {"bool_", "bool"}, {"str", "text"},    {"string", "text"},  {"number", "f64"},
    {"u32", "i64"},     {"uint32", "i64"},  {"uint", "i64"},    {"u64", "i64"},      {"uint64", "i64"}};

struct OtherParameter {
  std::string_view theirs;
  std::string_view ours[3];
};
constexpr OtherParameter parameters[] = {
    {"interpolation", {"filter"}},   {"resample", {"filter", "interpolation"}}, {"mode", {"border", "filter", "interpolation"}},
    {"method", {"filter"}},          {"size", {"height", "bands", "by"}},       {"padding", {"by"}},
    {"padding_mode", {"border"}},    {"border_mode", {"border"}},               {"degrees", {"by"}},
    {"angle", {"by"}},               {"limit", {"by"}},                         {"kernel_size", {"size", "radius"}},
    {"ksize", {"size", "radius"}},   {"dim", {"a"}},                            {"axis", {"a"}},
    {"value", {"fill"}},             {"fill_value", {"fill"}},                  {"cval", {"fill"}},
    {"factor", {"amount"}},          {"brightness_factor", {"amount"}},         {"contrast_factor", {"amount"}},
    {"saturation_factor", {"amount"}}, {"hue_factor", {"amount"}},              {"sharpness_factor", {"amount"}},
    {"mean", {"stats"}},             {"std", {"stats"}},                        {"num_ops", {"ops"}},
    {"num_magnitude_bins", {"bins"}}, {"num_classes", {"classes"}},             {"lam", {"amount"}},
    {"alpha", {"amount"}},           {"lambd", {"amount"}},                     {"width", {"w"}},
    {"n_mels", {"bands"}},           {"hop_length", {"step"}},                  {"win_length", {"size"}},
    {"n_fft", {"size"}},             {"sr", {"rate"}},                          {"sample_rate", {"rate"}},
    {"policy", {"data"}},            {"fillcolor", {"fill"}}};

struct Advice {
  std::string_view parameter, says;
};
constexpr Advice advices[] = {
    {"pad_if_needed", "`|> pad_to(224, 224)` before it"},
    {"always_apply", "a stage is applied always, or behind a condition: `if chance(0.5)`"},
    {"inplace", "values never change: leave it out"},
    {"keepdim", "what is reduced has no axis any more, and needs none: leave it out"},
    {"keepdims", "what is reduced has no axis any more, and needs none: leave it out"},
    {"dtype", "a type is a function: `f32(x)`"}};
// clang-format on

template <typename Word> std::string bare(const Word &written) {
  std::string word;
  for (char c : written)
    if (c != '_')
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return word;
}

} // namespace

std::span<const OtherName> otherNames() { return names; }

const OtherName *findOtherName(std::string_view written) {
  const std::string word = bare(written);
  const auto found = std::find_if(std::begin(names), std::end(names),
                                  [&](const OtherName &other) { return other.name == word; });
  return found == std::end(names) ? nullptr : found;
}

bool isOtherLibrary(std::string_view name) {
  return std::find(std::begin(libraries), std::end(libraries), name) != std::end(libraries);
}

std::string_view ourType(std::string_view theirs) {
  const auto found = std::find_if(std::begin(types), std::end(types),
                                  [&](const OtherType &type) { return type.theirs == theirs; });
  return found == std::end(types) ? std::string_view() : found->ours;
}

std::span<const std::string_view> ourParameters(std::string_view theirs) {
  const auto found =
      std::find_if(std::begin(parameters), std::end(parameters),
                   [&](const OtherParameter &other) { return other.theirs == theirs; });
  if (found == std::end(parameters))
    return {};
  return found->ours;
}

std::string_view parameterAdvice(std::string_view theirs) {
  const auto found = std::find_if(std::begin(advices), std::end(advices),
                                  [&](const Advice &advice) { return advice.parameter == theirs; });
  return found == std::end(advices) ? std::string_view() : found->says;
}

bool sameWords(std::string_view a, std::string_view b) { return bare(a) == bare(b); }

} // namespace penstock::dsl
