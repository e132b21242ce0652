# SPDX-License-Identifier: Apache-2.0
"""An image and its mask as tv_tensors, in one Compose of torchvision's transforms v2."""
import hashlib
import sys

import torch
from data import folder, masks
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.transforms import v2


class Segmentation(Dataset):
    def __init__(self, images, targets, transforms, tensors):
        self.images, self.targets, self.transforms, self.tensors = images, targets, transforms, tensors

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = Image.open(self.images[index]).convert("RGB")
        if self.tensors:
            image = tv_tensors.Image(image)
        mask = tv_tensors.Mask(Image.open(self.targets[index]))
        return self.transforms(image, mask)


torch.manual_seed(2)
images, targets = masks(folder())
tail = [v2.ToDtype({tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}, scale=True),
        v2.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])]
fill = {tv_tensors.Image: 7, tv_tensors.Mask: 255, "others": 7}
if "--augment" in sys.argv:
    of_tensors = [v2.RandomCrop(64, pad_if_needed=True, fill=fill), v2.RandomHorizontalFlip(), v2.RandomVerticalFlip(0.3), *tail]
    of_images = [v2.RandomResizedCrop(48, scale=(0.3, 1.0)), v2.RandomHorizontalFlip(), v2.Pad(3, fill=fill), v2.ToImage(), *tail, v2.ToPureTensor()]
else:
    of_tensors, of_images = [v2.CenterCrop(60), *tail], [v2.Resize((50, 60)), v2.ToImage(), *tail]
for tensors, transforms in ((True, of_tensors), (False, of_images)):
    for collate_fn in (None, list):
        loader = DataLoader(Segmentation(images, targets, v2.Compose(transforms), tensors), 4, shuffle=True, num_workers=2, collate_fn=collate_fn)
        for epoch in range(2):
            for batch in loader:
                for image, mask in [batch] if collate_fn is None else batch:
                    print(epoch, type(image).__name__, type(mask).__name__, image.dtype, tuple(image.shape),
                          hashlib.sha256(image.contiguous().numpy()).hexdigest(), hashlib.sha256(mask.contiguous().numpy()).hexdigest())
