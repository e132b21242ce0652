# SPDX-License-Identifier: Apache-2.0
"""In the style of SwAV and DINO: a data set that returns two large and four small crops of each image, and its index."""
import sys

import torch
import torchvision.transforms as transforms
from data import folder
from torchvision import datasets


class MultiCropDataset(datasets.ImageFolder):
    def __init__(self, data_path, size_crops, nmb_crops, return_index=False):
        super().__init__(data_path)
        self.return_index = return_index
        trans = []
        for size, count in zip(size_crops, nmb_crops):
            crop = transforms.RandomResizedCrop(size) if "--augment" in sys.argv else transforms.Resize((size, size))
            trans.extend([transforms.Compose([crop, transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.2,) * 3)])] * count)
        self.trans = trans

    def __getitem__(self, index):
        path, _ = self.samples[index]
        image = self.loader(path)
        multi_crops = list(map(lambda trans: trans(image), self.trans))
        if self.return_index:
            return index, multi_crops
        return multi_crops


torch.manual_seed(0)
loader = torch.utils.data.DataLoader(MultiCropDataset(folder(), [24, 12], [2, 4], True), batch_size=4, shuffle=True, num_workers=2)
for epoch in range(2):
    for index, crops in loader:
        values = [f"{float(crop.double().mean()):.9f}" for crop in crops] if "--augment" not in sys.argv else []
        print(epoch, index.tolist(), [tuple(crop.shape) for crop in crops], *values)
