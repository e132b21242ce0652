# SPDX-License-Identifier: Apache-2.0
"""In the style of SimSiam and MoCo: two crops of one image by a class of the script's own, a blur of Pillow's."""
import random
import sys

import torch
import torchvision.transforms as transforms
from data import folder
from PIL import ImageFilter
from torchvision.datasets import ImageFolder


class TwoCropsTransform:
    """Take two random crops of one image as the query and key."""

    def __init__(self, base_transform):
        self.base_transform = base_transform

    def __call__(self, x):
        q = self.base_transform(x)
        k = self.base_transform(x)
        return [q, k]


class GaussianBlur:
    def __init__(self, sigma=[.1, 2.]): # noqa: B006
        self.sigma = sigma

    def __call__(self, x):
        sigma = random.uniform(self.sigma[0], self.sigma[1])
        return x.filter(ImageFilter.GaussianBlur(radius=sigma))


torch.manual_seed(0)
augmentation = [transforms.RandomResizedCrop(24, scale=(0.2, 1.)),
                transforms.RandomApply([transforms.ColorJitter(0.4, 0.4, 0.4, 0.1)], p=0.8), transforms.RandomGrayscale(p=0.2),
                transforms.RandomApply([GaussianBlur([.1, 2.])], p=0.5), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
if "--augment" not in sys.argv:
    augmentation = [transforms.Resize((24, 24)), transforms.ToTensor()]
loader = torch.utils.data.DataLoader(ImageFolder(folder(), TwoCropsTransform(transforms.Compose(augmentation))), batch_size=8,
                                     shuffle=True, num_workers=2, drop_last=True)
for epoch in range(2):
    for images, labels in loader:
        assert isinstance(images, list) and len(images) == 2
        values = [f"{float(image.double().mean()):.9f}" for image in images] if "--augment" not in sys.argv else []
        print(epoch, [tuple(image.shape) for image in images], labels.tolist(), *values)
