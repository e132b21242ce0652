# SPDX-License-Identifier: Apache-2.0
"""A data set of the script's own: a table of files and numbers, samples as dicts, one transform for training and one for
validation, weights in the sampler."""
import os
import random
import sys

import numpy as np
import torch
from data import folder
from PIL import Image
from torch.utils.data import DataLoader, Dataset, WeightedRandomSampler
from torchvision import transforms


class LandmarksDataset(Dataset):
    def __init__(self, root, split, transform=None):
        names = sorted(os.path.join(d, f) for d, _, files in os.walk(root) for f in files)
        self.rows = [{"path": name, "age": 20.5 + i} for i, name in enumerate(names) if (i % 4 == 0) == (split == "val")]
        self.transform = transform

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        row = self.rows[idx]
        image = Image.open(row["path"]).convert("RGB")
        w, h = image.size
        sample = {"image": image, "landmarks": np.array([[w / 2, h / 2]], np.float32), "age": row["age"], "name": row["path"]}
        if self.transform:
            sample["image"] = self.transform(sample["image"])
        return sample


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2 ** 32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


torch.manual_seed(0)
crop = [transforms.RandomCrop(48), transforms.RandomHorizontalFlip()] if "--augment" in sys.argv else [transforms.CenterCrop(48)]
tail = [transforms.Resize(32), transforms.ToTensor(), transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
image_datasets = {"train": LandmarksDataset(folder(), "train", transforms.Compose(crop + tail)),
                  "val": LandmarksDataset(folder(), "val", transforms.Compose([transforms.CenterCrop(48)] + tail))}
g = torch.Generator()
g.manual_seed(0)
dataloaders = {
    "train": DataLoader(image_datasets["train"], 4, sampler=WeightedRandomSampler([1.0 + i for i in range(12)], 16), num_workers=2,
                        worker_init_fn=seed_worker, generator=g, persistent_workers=True),
    "val": DataLoader(image_datasets["val"], 3, num_workers=0)}
for epoch in range(2):
    for phase in ["train", "val"]:
        for batch in dataloaders[phase]:
            value = float(batch["image"].double().mean()) if phase == "val" or "--augment" not in sys.argv else 0.0
            print(epoch, phase, list(map(os.path.basename, batch["name"])), batch["landmarks"].tolist(), batch["age"].tolist(), f"{value:.9f}")
