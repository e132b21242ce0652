# SPDX-License-Identifier: Apache-2.0
"""An image and its mask in a data set's own method, which draws once for both: `get_params` and torchvision's functions."""
import hashlib
import random
import sys

import torch
import torchvision.transforms.functional as TF
from data import folder, masks
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms


class MyDataset(Dataset):
    def __init__(self, image_paths, target_paths, train=True):
        self.image_paths = image_paths
        self.target_paths = target_paths
        self.train = train

    def transform(self, image, mask):
        resize = transforms.Resize(size=(72, 80))
        image = resize(image)
        mask = resize(mask)
        if self.train:
            i, j, h, w = transforms.RandomCrop.get_params(image, output_size=(64, 64))
            image = TF.crop(image, i, j, h, w)
            mask = TF.crop(mask, i, j, h, w)
            if random.random() > 0.5:
                image = TF.hflip(image)
                mask = TF.hflip(mask)
            if random.random() > 0.5:
                image = TF.vflip(image)
                mask = TF.vflip(mask)
            if random.random() > 0.7:
                i, j, h, w = transforms.RandomResizedCrop.get_params(image, (0.3, 0.9), (0.75, 1.33))
                image = TF.resized_crop(image, i, j, h, w, (64, 64))
                mask = TF.resized_crop(mask, i, j, h, w, (64, 64), interpolation=transforms.InterpolationMode.NEAREST)
            angle = random.uniform(-10, 10)
            image = TF.rotate(image, angle, transforms.InterpolationMode.BILINEAR)
            mask = TF.rotate(mask, angle)
            image = transforms.ColorJitter(0.3, 0.3, 0.3, 0.1)(image)
        image = TF.to_tensor(image)
        mask = TF.to_tensor(mask)
        return image, mask

    def __getitem__(self, index):
        image = Image.open(self.image_paths[index])
        mask = Image.open(self.target_paths[index]).convert("L")
        x, y = self.transform(image, mask)
        return x, y

    def __len__(self):
        return len(self.image_paths)


torch.manual_seed(1)
random.seed(1)
images, targets = masks(folder())
for workers in (0, 2):
    loader = DataLoader(MyDataset(images, targets, "--augment" in sys.argv), 5, shuffle=True, num_workers=workers)
    for epoch in range(2):
        for image, mask in loader:
            print(workers, epoch, tuple(image.shape), hashlib.sha256(image.numpy()).hexdigest(), hashlib.sha256(mask.numpy()).hexdigest())
        print(random.random(), float(torch.rand(1)))
