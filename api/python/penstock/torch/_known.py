# SPDX-License-Identifier: Apache-2.0
"""torchvision's classes, v1 and v2, as stages. What a class cannot have is an Unknown that says why."""
from __future__ import annotations

import itertools
import math
from typing import Any, Callable, Iterable

import PIL
import torch
import torchvision.transforms as v1
from PIL import Image

from ._chain import Chain, Declarations, Unknown, number, numbers, one_of, span, with_chance

FILTERS = {"nearest": "nearest", "nearest-exact": "nearest", "bilinear": "bilinear", "bicubic": "bicubic", "box": "box",
           "hamming": "hamming", "lanczos": "lanczos"}
WARPS = {"nearest": "nearest", "nearest-exact": "nearest", "bilinear": "linear", "bicubic": "cubic"}
ON_PIXELS = "works on Pillow images only; it stands behind ToTensor or ToImage here, where the bits are torch's own"


class Known:
    """A class's stages, and the line of the table that docs/torchvision.md has for it."""

    def __init__(self, make: Callable[..., Chain], limits: str):
        self.make, self.limits = make, limits


TABLE: dict[str, Known] = {}
#: Classes that have no stages, and why.
NONE: dict[str, str] = {}


def known(name: str, limits: str = "") -> Callable[[Any], Any]:
    def register(make: Any) -> Any:
        TABLE[name] = Known(make, limits)
        return make
    return register


# --- what arguments say -----------------------------------------------------------------------------------------------

def is_second(t: Any) -> bool:
    """True for a class of torchvision.transforms.v2."""
    return any(base.__module__.startswith("torchvision.transforms.v2") for base in type(t).__mro__)


def mode(value: Any) -> str:
    return str(getattr(value, "value", value)).lower()


def filter_of(t: Any) -> str:
    found = mode(t.interpolation)
    if found not in FILTERS:
        raise Unknown(f"interpolation {found} is not known")
    return "" if found == "bilinear" else f", filter = {FILTERS[found]}"


def warp_of(t: Any) -> str:
    found = mode(t.interpolation)
    if found not in WARPS:
        raise Unknown(f"interpolation {found} is not offered for warps")
    return WARPS[found]


def pair(size: Any) -> tuple[int, int]:
    values = [size] if isinstance(size, int) else list(size)
    return int(values[0]), int(values[-1])


def fill_for(fill: Any, chain: Chain) -> Any:
    """v2 may have a fill for each class."""
    if not isinstance(fill, dict):
        return fill
    place = Image.Image if chain.kind == "image" else torch.Tensor
    if chain.kind != "image" and chain.cls != "Tensor":
        found = [cls for cls in fill if chain.cls and getattr(cls, "__module__", "").startswith("torchvision.tv_tensors") and cls.__name__ == chain.cls]
        place = found[0] if found else None
        if not chain.cls:
            raise Unknown("a fill for each class of tensors is not offered here")
    if place not in fill and "others" not in fill:
        raise Unknown("has no fill for what it is given")
    return fill.get(place, fill.get("others"))


def one_number(fill: Any, chain: Chain) -> str:
    """A fill for all channels."""
    fill = fill_for(fill, chain)
    values = [0] if fill is None else list(fill) if isinstance(fill, (list, tuple)) else [fill]
    if len(set(values)) != 1:
        raise Unknown(f"a fill for each channel ({fill}) is not offered")
    return number(values[0]) if chain.kind == "tensor" else str(fill_of_bytes(values[0]))


def fills_of(fill: Any, chain: Chain) -> list[int]:
    """A fill for each channel of a Pillow image, where they differ; else nothing."""
    fill = fill_for(fill, chain)
    if chain.kind != "image" or chain.grey or not isinstance(fill, (list, tuple)) or len(fill) != 3 or len(set(fill)) == 1:
        return []
    return [fill_of_bytes(value) for value in fill]


def fill_of_bytes(value: Any) -> int:
    if not 0 <= int(value) <= 255:
        raise Unknown(f"a fill of {value} is no byte; 0 to 255 are offered")
    return int(value)


def with_fills(fill: Any, chain: Chain, names: Declarations, make: Callable[[str], str]) -> Chain:
    """A stage that fills what it shows beyond an image; `make` of a fill for all channels gives it."""
    fills = fills_of(fill, chain)
    if not fills:
        return chain.then(make(one_number(fill, chain)))
    return chain.then(names.helper("with_inside"), make("0"), f"{names.helper('filled')}({', '.join(map(str, fills))})")


def image_only(chain: Chain) -> None:
    if chain.kind != "image":
        raise Unknown(ON_PIXELS)


def torch_options(t: Any, names: Declarations) -> dict[str, str]:
    """Options of the helpers for colours of u8 tensors, by the version of torchvision's functions."""
    names.helper("torch_colours")
    second, capability = is_second(t), getattr(getattr(torch.backends, "cpu", None), "get_cpu_capability", None)
    tensors = getattr(v1.functional, "F_t", None)
    old = not second and tensors is not None and 255.0 in tensors.adjust_hue.__code__.co_consts # before torchvision 0.15
    return {"second": str(second).lower(), "fused": str(second and (capability is None or capability() != "DEFAULT")).lower(),
            "most": "255.0" if old else "255.999"}


def of_bytes(chain: Chain) -> bool:
    """True if colours are those of a u8 tensor, not of a Pillow image."""
    if chain.kind == "tensor" or chain.kind == "bytes" and "first_channel" in chain.stages:
        raise Unknown("works on Pillow images and u8 tensors of three channels only; the bits of others are torch's own")
    return chain.kind == "bytes"


def resampled(t: Any, chain: Chain) -> str:
    """The options of a resize. Of tensors, torch's bilinear alone has the same weights when it does not smooth."""
    if chain.kind == "image":
        return filter_of(t)
    smooth = getattr(t, "antialias", None) is True
    if mode(t.interpolation) not in (("bilinear", "bicubic") if smooth else ("bilinear",)):
        raise Unknown(f"{mode(t.interpolation)} of a tensor{'' if smooth else ' without antialias'} has other weights than Pillow's")
    return filter_of(t) + ("" if smooth else ", antialias = false")


#: No side of an image is longer.
LARGE = 1 << 20


def resizes_tall_images_down_first(filter: str) -> bool:
    """True if this Pillow resizes down first an image whose height shrinks by more than twice what its width does (python-pillow/Pillow#9549)."""
    return int(PIL.__version__.split(".")[0]) >= 13 and not filter.startswith("nearest")


def padded(padding: Any, how: Any, fill: Any, chain: Chain, names: Declarations) -> Chain:
    values = [padding] if isinstance(padding, int) else [int(value) for value in padding]
    if min(values) < 0:
        raise Unknown(f"a negative padding ({min(values)}), which cuts, is not offered")
    if values[:2] == values[2:]:
        values = values[:2]
    if len(set(values)) == 1:
        values = values[:1]
    sides, border = ", ".join(map(str, values)), str(how)
    if border != "constant":
        return chain.then(f"pad({sides}, {border})")
    return with_fills(fill, chain, names, lambda one: f"pad({sides}{f', constant, {one}' if one != '0' else ''})")


# --- geometry ---------------------------------------------------------------------------------------------------------

@known("Resize", "sizes as one number or two, `max_size`; all filters. On tensors bilinear, with `antialias` bicubic "
                 "(without it, PyTorch's cubic has -0.75 where Pillow's, and that of `resize` here, has -0.5): "
                 "within 1e-5, of u8 within 1; bicubic of u8 by v1 more at sharp edges (2 on photos, 14 on stripes), as it keeps what overshoots "
                 "between across and down")
def resize(t: Any, chain: Chain, names: Declarations) -> Chain:
    how = resampled(t, chain)
    size, most = t.size, getattr(t, "max_size", None)
    tall = chain.kind == "image" and resizes_tall_images_down_first(mode(t.interpolation))
    if size is None: # of the second version
        if tall:
            names.helper("resized")
        return chain.then(f"{names.helper('tall_longer_resized' if tall else 'longer_resized')}({most}{how})")
    if isinstance(size, int) or len(size) == 1:
        size = pair(size)[0]
        if tall:
            names.helper("resized")
            return chain.then(f"shorter_resized({size}, {LARGE if most is None else most}{how})")
        return chain.then(f"resize({size}{how})" if most is None else f"resize_within({size}, {most}{how})")
    return chain.then(f"{names.helper('resized') if tall else 'resize'}({size[0]}, {size[1]}{how})")


@known("CenterCrop")
def center_crop(t: Any, chain: Chain, names: Declarations) -> Chain:
    return chain.then("center_crop({}, {})".format(*pair(t.size)))


FILLS = "of tensors one fill for all channels"


@known("Pad", FILLS)
def pad(t: Any, chain: Chain, names: Declarations) -> Chain:
    return padded(t.padding, t.padding_mode, t.fill, chain, names)


@known("RandomCrop", FILLS)
def random_crop(t: Any, chain: Chain, names: Declarations) -> Chain:
    height, width = pair(t.size)
    if t.padding is not None:
        padding = t.padding
        if is_second(t): # left, right, top, bottom; the first version has left, top, right, bottom
            if t.pad_if_needed and t.padding_mode in ("reflect", "symmetric"): # by one pad, not two
                raise Unknown(f"padding and pad_if_needed together with {t.padding_mode} are not offered")
            left, right, top, bottom = padding
            padding = [left, top, right, bottom]
        chain = padded(padding, t.padding_mode, t.fill, chain, names)
    if t.pad_if_needed and str(t.padding_mode) == "constant":
        chain = with_fills(t.fill, chain, names, lambda fill: f"pad_to({height}, {width}, constant, {fill})")
    elif t.pad_if_needed:
        chain = chain.then(f"pad_to({height}, {width}, {t.padding_mode}, 0)")
    return chain.then(f"random_crop({height}, {width})")


@known("RandomResizedCrop", "all filters. On tensors as Resize")
def random_resized_crop(t: Any, chain: Chain, names: Declarations) -> Chain:
    height, width = pair(t.size)
    size = str(height) if height == width else f"{height}, {width}"
    how = resampled(t, chain)
    if "antialias" in how:
        raise Unknown("of a tensor and without antialias it has no operator")
    return chain.then(f"random_resized_crop({size}, scale = {span(*t.scale)}, ratio = {span(*t.ratio)}{how})")


@known("RandomHorizontalFlip")
def horizontal_flip(t: Any, chain: Chain, names: Declarations) -> Chain:
    return chain.then(*with_chance(t.p, ("flip(w)",)))


@known("RandomVerticalFlip")
def vertical_flip(t: Any, chain: Chain, names: Declarations) -> Chain:
    return chain.then(*with_chance(t.p, ("flip(h)",)))


@known("RandomRotation", "about the middle; on Pillow images. With `expand` a crop or resize must follow")
def random_rotation(t: Any, chain: Chain, names: Declarations) -> Chain:
    image_only(chain)
    if t.center is not None:
        raise Unknown("a center of its own is not offered")
    expand = ", expand = true" if t.expand else ""
    return with_fills(t.fill, chain, names, lambda fill: f"random_rotation({span(*t.degrees)}, {warp_of(t)}{expand}, fill = {fill})")


@known("RandomAffine", "about the middle; on Pillow images")
def random_affine(t: Any, chain: Chain, names: Declarations) -> Chain:
    image_only(chain)
    if getattr(t, "center", None) is not None:
        raise Unknown("a center of its own is not offered")
    across, down = t.translate or (0.0, 0.0)
    shear = list(t.shear or (0.0, 0.0)) + [0.0, 0.0]
    return with_fills(t.fill, chain, names, lambda fill: (
        f"random_affine({span(*t.degrees)}, {number(across)}, {number(down)}, {span(*(t.scale or (1.0, 1.0)))}, "
        f"{span(*shear[:2])}, {span(*shear[2:4])}, {warp_of(t)}, fill = {fill})"))


# --- colour -----------------------------------------------------------------------------------------------------------

BYTES = "on Pillow images and u8 tensors"


@known("ColorJitter", f"{BYTES}; of these, contrast of more than 65,793 pixels within 1")
def color_jitter(t: Any, chain: Chain, names: Declarations) -> Chain:
    tensor = of_bytes(chain)
    given = {"brightness": t.brightness, "contrast": t.contrast, "saturation": t.saturation, "hue": t.hue}
    active = {name: value for name, value in given.items() if value is not None}
    if not active:
        return chain
    options = torch_options(t, names) if tensor else {}
    if len(active) == 1:
        (name, (low, high)), = active.items()
        drawn = f"draw uniform({span(low, high)})"
        if tensor:
            wanted = {"brightness": (), "hue": ("second", "most")}.get(name, ("fused",))
            return chain.then(f"torch_{name}({', '.join([drawn, *(options[one] for one in wanted)])})")
        return chain.then(f"{name}({drawn if name == 'hue' else f'f32({drawn})'})")
    ranges = [span(*(value or ((0.0, 0.0) if name == "hue" else (1.0, 1.0)))) for name, value in given.items()]
    return chain.then(f"{'torch_jitter' if tensor else 'color_jitter'}({', '.join([*ranges, *options.values()])})")


def grey_stage(t: Any, chain: Chain, names: Declarations) -> str:
    return f"torch_grayscale({torch_options(t, names)['fused']})" if of_bytes(chain) else "grayscale"


@known("Grayscale", BYTES)
def grayscale(t: Any, chain: Chain, names: Declarations) -> Chain:
    found = chain.then(grey_stage(t, chain, names), grey=t.num_output_channels == 1)
    return one_channel(found, names) if chain.kind == "bytes" else found


@known("RandomGrayscale", BYTES)
def random_grayscale(t: Any, chain: Chain, names: Declarations) -> Chain:
    return chain.then(*with_chance(t.p, (grey_stage(t, chain, names),)))


@known("GaussianBlur", "kernels as wide as high, on Pillow images; within 1 of torchvision, which fixes no order of its sums")
def gaussian_blur(t: Any, chain: Chain, names: Declarations) -> Chain:
    image_only(chain)
    height, width = pair(t.kernel_size)
    if height != width:
        raise Unknown("a kernel that is not as wide as high is not offered")
    low, high = (t.sigma, t.sigma) if isinstance(t.sigma, (int, float)) else t.sigma
    return chain.then(f"random_gaussian_blur({height}, {span(low, high)})")


def with_p(name: str, stage: Callable[[Any], str], tensors: bool = True) -> None:
    """A class that applies one function with probability p; `tensors`: u8 tensors have the same bits."""
    @known(name, BYTES if tensors else "on Pillow images")
    def make(t: Any, chain: Chain, names: Declarations) -> Chain:
        if chain.kind != "bytes" or not tensors:
            image_only(chain)
        return chain.then(*with_chance(t.p, (stage(t),)))


with_p("RandomInvert", lambda t: "invert")
with_p("RandomPosterize", lambda t: f"posterize({int(t.bits)})")
with_p("RandomSolarize", lambda t: f"solarize({math.ceil(t.threshold)})")
with_p("RandomAdjustSharpness", lambda t: f"sharpness({number(t.sharpness_factor)})", False)
with_p("RandomAutocontrast", lambda t: "autocontrast", False)
with_p("RandomEqualize", lambda t: "equalize")


def policy(t: Any, chain: Chain, name: str, *arguments: str) -> Chain:
    image_only(chain)
    how, fill = warp_of(t), one_number(t.fill, chain)
    given = list(arguments)
    if (how, fill) != ("nearest", "0"):
        given += [f"interpolation = {how}", f"fill = {fill}"]
    return chain.then(f"{name}({', '.join(given)})")


POLICY = "one fill for all channels; on Pillow images"


@known("AutoAugment", POLICY)
def auto_augment(t: Any, chain: Chain, names: Declarations) -> Chain:
    data = mode(t.policy)
    if data not in ("imagenet", "cifar10", "svhn"):
        raise Unknown(f"policy {data} is not known")
    return policy(t, chain, "auto_augment", data)


@known("RandAugment", POLICY)
def rand_augment(t: Any, chain: Chain, names: Declarations) -> Chain:
    return policy(t, chain, "rand_augment", str(t.num_ops), str(t.magnitude), str(t.num_magnitude_bins))


@known("TrivialAugmentWide", POLICY)
def trivial_augment_wide(t: Any, chain: Chain, names: Declarations) -> Chain:
    return policy(t, chain, "trivial_augment_wide", str(t.num_magnitude_bins))


# --- between images and tensors ---------------------------------------------------------------------------------------

def one_channel(chain: Chain, names: Declarations) -> Chain:
    return chain.then(names.helper("first_channel"), grey=False) if chain.grey else chain


@known("ToTensor")
def to_tensor(t: Any, chain: Chain, names: Declarations) -> Chain:
    if chain.kind != "image":
        raise Unknown("takes a Pillow image, and this is a tensor")
    return one_channel(chain, names).then("to_tensor", kind="tensor")


@known("PILToTensor")
def pil_to_tensor(t: Any, chain: Chain, names: Declarations) -> Chain:
    if chain.kind != "image":
        raise Unknown("takes a Pillow image, and this is a tensor")
    return one_channel(chain, names).then(kind="bytes")


@known("ToImage", "v2")
def to_image(t: Any, chain: Chain, names: Declarations) -> Chain:
    return (pil_to_tensor(t, chain, names) if chain.kind == "image" else chain).then(cls="Image")


@known("ToPILImage", "of what ToTensor made, or of u8")
def to_pil_image(t: Any, chain: Chain, names: Declarations) -> Chain:
    if getattr(t, "mode", None) not in (None, "RGB"):
        raise Unknown(f"mode {t.mode} is not offered")
    if chain.stages and chain.stages[-1] == "to_tensor": # there and back again
        return Chain(chain.stages[:-1])
    return chain.then(*([names.helper("to_image")] if chain.kind == "tensor" else []), kind="image")


def to_type(t: Any, scale: bool, chain: Chain, names: Declarations) -> Chain:
    dtype = str(t.dtype).replace("torch.", "")
    if dtype not in ("float32", "uint8"):
        raise Unknown(f"of the types, float32 and uint8 are offered, not {dtype}")
    if chain.kind == "image":
        raise Unknown("takes a tensor, and this is a Pillow image")
    if (dtype == "uint8") == (chain.kind == "bytes"):
        return chain
    if dtype == "uint8":
        raise Unknown("from float32 to uint8 is not offered")
    if not scale:
        raise Unknown("to float32 without scale is not offered")
    return chain.then(names.helper("scaled") if is_second(t) else "to_tensor", kind="tensor")


@known("ConvertImageDtype", "to float32, or to what it is")
def convert_image_dtype(t: Any, chain: Chain, names: Declarations) -> Chain:
    return to_type(t, True, chain, names)


@known("ToDtype", "v2; one type, to float32 with `scale`, or to what it is")
def to_dtype(t: Any, chain: Chain, names: Declarations) -> Chain:
    if isinstance(t.dtype, dict):
        raise Unknown("a type for each kind of tensor is not offered")
    return to_type(t, bool(t.scale), chain, names)


@known("ToPureTensor", "v2")
def to_pure_tensor(t: Any, chain: Chain, names: Declarations) -> Chain:
    return chain.then(cls="Tensor")


@known("Identity", "v2, and torch.nn")
def identity(t: Any, chain: Chain, names: Declarations) -> Chain:
    return chain


@known("Normalize")
def normalize(t: Any, chain: Chain, names: Declarations) -> Chain:
    if chain.kind != "tensor":
        raise Unknown("takes a float tensor: ToTensor or ConvertImageDtype stands before it")
    mean, std = [list(v) if hasattr(v, "__len__") else [float(v)] for v in (t.mean, t.std)]
    single = "first_channel" in chain.stages
    if len(mean) == len(std) == 1 and not single:
        mean, std = 3 * mean, 3 * std
    if len(mean) != len(std) or len(mean) != (1 if single else 3):
        raise Unknown(f"has {len(mean)} means for {1 if single else 3} channels")
    name = names.constant("stats", f": {{ mean: f32[c], std: f32[c] }} = {{ mean = {numbers(mean)}, std = {numbers(std)} }}")
    return chain.then(f"normalize({name})")


@known("RandomErasing", "float tensors")
def random_erasing(t: Any, chain: Chain, names: Declarations) -> Chain:
    if chain.kind != "tensor":
        raise Unknown("takes a float tensor: ToTensor stands before it")
    area, ratio, value = span(*t.scale), span(*t.ratio), t.value
    if value is None or isinstance(value, str):
        return chain.then(*with_chance(t.p, (f"erase_noise({area}, {ratio})",)))
    values = [value] if isinstance(value, (int, float)) else list(value)
    if len(set(values)) == 1:
        return chain.then(*with_chance(t.p, (f"erase({area}, {ratio}, {number(values[0])})",)))
    colour = names.constant("colour", f": f32[c] = {numbers(values)}")
    return chain.then(*with_chance(t.p, (f"erase({area}, {ratio}, {colour})",)))


@known("ImageClassification", "the preset of torchvision's weights, on Pillow images")
def image_classification(t: Any, chain: Chain, names: Declarations) -> Chain:
    image_only(chain)
    return normalize(t, to_tensor(t, center_crop(_With(size=t.crop_size), resize(
        _With(size=t.resize_size, interpolation=t.interpolation), chain, names), names), names), names)


class _With:
    """Something with these attributes."""

    def __init__(self, **values: Any):
        self.__dict__.update(values)


# --- containers -------------------------------------------------------------------------------------------------------
# Their parts may be anything: `follow(transform, chain)` says what it makes of a chain.

Follow = Callable[[Any, Chain], Chain]


def parts_of(t: Any) -> list[Any]:
    inner = getattr(t, "transforms", t)
    return list(getattr(inner, "transforms", inner)) # RandomApply may hold a Compose


def in_turn(parts: Iterable[Any], chain: Chain, follow: Follow) -> Chain:
    for part in parts:
        chain = follow(part, chain)
    return chain


def keeping(start: Chain, end: Chain, name: str) -> tuple[str, ...]:
    if (end.kind, end.grey, end.cls) != (start.kind, start.grey, start.cls):
        raise Unknown(f"what stands in {name} makes something else of an image")
    return end.after(start)


@known("RandomApply", "what stands in it keeps images images")
def random_apply(t: Any, chain: Chain, names: Declarations, follow: Follow) -> Chain:
    inner = keeping(chain, in_turn(parts_of(t), chain, follow), "RandomApply")
    return chain.then(*with_chance(t.p, inner))


@known("RandomChoice", "what stands in it keeps images images")
def random_choice(t: Any, chain: Chain, names: Declarations, follow: Follow) -> Chain:
    parts = parts_of(t)
    weights = [1.0] * len(parts) if t.p is None else [float(p) for p in t.p]
    if not sum(weights) > 0:
        raise Unknown("its weights are all 0")
    arms = [keeping(chain, follow(part, chain), "RandomChoice") for part in parts]
    return chain.then(*one_of(list(zip(weights, arms))))


@known("RandomOrder", "up to three transforms that keep images images")
def random_order(t: Any, chain: Chain, names: Declarations, follow: Follow) -> Chain:
    parts = parts_of(t)
    if len(parts) > 3:
        raise Unknown(f"{len(parts)} transforms have too many orders; three are offered")
    orders = [keeping(chain, in_turn(order, chain, follow), "RandomOrder") for order in itertools.permutations(parts)]
    return chain.then(*one_of([(1.0, order) for order in orders]))


CONTAINERS = {"RandomApply", "RandomChoice", "RandomOrder"}

TENSORS = "computes on tensors, in torch's own bits"
NONE.update({
    "AugMix": "mixes several augmented images by weights of a Dirichlet distribution; there is no operator for it",
    "ElasticTransform": "displaces by a field that torch blurs; there is no operator for it",
    "FiveCrop": "makes five images of one",
    "TenCrop": "makes ten images of one",
    "Lambda": "where it only calls what is known; else its text is Python's",
    "LinearTransformation": TENSORS,
    "RandomPerspective": "there is no operator for perspective warps",
    "ClampBoundingBoxes": "boxes: see `flip` of records in docs/operators.md",
    "ClampKeyPoints": "key points are not images",
    "ConvertBoundingBoxFormat": "boxes are not images",
    "CutMix": "mixes a batch: write it in the `batch` block, as examples/resnet50.pipe does",
    "MixUp": "mixes a batch: write it in the `batch` block, as examples/resnet50.pipe does",
    "JPEG": "quality from a range: `recompress` in a pipeline of your own",
    "RGB": TENSORS,
    "GaussianNoise": TENSORS,
    "RandomChannelPermutation": TENSORS,
    "RandomIoUCrop": "needs boxes",
    "RandomPhotometricDistort": "there is no operator for its order of steps",
    "RandomResize": "draws a size: a batch needs one",
    "RandomShortestSize": "draws a size: a batch needs one",
    "RandomZoomOut": "draws a size: a batch needs one",
    "ScaleJitter": "draws a size: a batch needs one",
    "SanitizeBoundingBoxes": "boxes are not images",
    "SanitizeKeyPoints": "key points are not images",
    "SetClampingMode": "boxes are not images",
    "UniformTemporalSubsample": "of videos: `decode(rgb, first = , count = , step = )` reads only those frames",
    "Transform": "a base class",
})
