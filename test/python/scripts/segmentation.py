# SPDX-License-Identifier: Apache-2.0
"""In the style of torchvision's references/segmentation: transforms of image and target, with numbers that they draw for both, a palette
mask, a collate_fn that pads images of several sizes."""
import hashlib
import random
import sys

import numpy as np
import torch
from data import folder, masks
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T
from torchvision.transforms import functional as F


def pad_if_smaller(img, size, fill=0):
    min_size = min(img.size)
    if min_size < size:
        ow, oh = img.size
        padh = size - oh if oh < size else 0
        padw = size - ow if ow < size else 0
        img = F.pad(img, (0, 0, padw, padh), fill=fill)
    return img


class Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, image, target):
        for t in self.transforms:
            image, target = t(image, target)
        return image, target


class RandomResize:
    def __init__(self, min_size, max_size=None):
        self.min_size = min_size
        self.max_size = min_size if max_size is None else max_size

    def __call__(self, image, target):
        size = random.randint(self.min_size, self.max_size)
        image = F.resize(image, size)
        target = F.resize(target, size, interpolation=T.InterpolationMode.NEAREST)
        return image, target


class RandomHorizontalFlip:
    def __init__(self, flip_prob):
        self.flip_prob = flip_prob

    def __call__(self, image, target):
        if random.random() < self.flip_prob:
            image = F.hflip(image)
            target = F.hflip(target)
        return image, target


class RandomCrop:
    def __init__(self, size):
        self.size = size

    def __call__(self, image, target):
        image = pad_if_smaller(image, self.size)
        target = pad_if_smaller(target, self.size, fill=255)
        crop_params = T.RandomCrop.get_params(image, (self.size, self.size))
        image = F.crop(image, *crop_params)
        target = F.crop(target, *crop_params)
        return image, target


class PILToTensor:
    def __call__(self, image, target):
        image = F.pil_to_tensor(image)
        target = torch.as_tensor(np.array(target), dtype=torch.int64)
        return image, target


class ConvertImageDtype:
    def __init__(self, dtype):
        self.dtype = dtype

    def __call__(self, image, target):
        image = F.convert_image_dtype(image, self.dtype)
        return image, target


class Normalize:
    def __init__(self, mean, std):
        self.mean = mean
        self.std = std

    def __call__(self, image, target):
        image = F.normalize(image, mean=self.mean, std=self.std)
        return image, target


class VOCDataset(Dataset):
    def __init__(self, images, targets, transforms):
        self.images, self.targets, self.transforms = images, targets, transforms

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        img = Image.open(self.images[index]).convert("RGB")
        target = Image.open(self.targets[index])
        if self.transforms is not None:
            img, target = self.transforms(img, target)
        return img, target


def cat_list(images, fill_value=0):
    max_size = tuple(max(s) for s in zip(*[img.shape for img in images]))
    batch_shape = (len(images),) + max_size
    batched_imgs = images[0].new(*batch_shape).fill_(fill_value)
    for img, pad_img in zip(images, batched_imgs):
        pad_img[..., : img.shape[-2], : img.shape[-1]].copy_(img)
    return batched_imgs


def collate_fn(batch):
    images, targets = list(zip(*batch))
    return cat_list(images, fill_value=0), cat_list(targets, fill_value=255)


torch.manual_seed(0)
random.seed(0)
images, targets = masks(folder())
tail = [PILToTensor(), ConvertImageDtype(torch.float), Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))]
train = [RandomResize(40, 96), RandomHorizontalFlip(0.5), RandomCrop(48)]
dataset = VOCDataset(images, targets, Compose((train if "--augment" in sys.argv else [RandomResize(48)]) + tail))
loader = DataLoader(dataset, 4, shuffle=True, num_workers=2, collate_fn=collate_fn, drop_last=True)
for epoch in range(2):
    for image, target in loader:
        print(epoch, tuple(image.shape), hashlib.sha256(image.numpy()).hexdigest(), hashlib.sha256(target.numpy()).hexdigest())
