# SPDX-License-Identifier: Apache-2.0
"""In the style of Lightning: a trainer reads a loader's attributes and signature, and makes it anew with a sampler of its own in each
epoch."""
import inspect
import sys

import torch
from data import SmallCIFAR10
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import transforms


class LoggingLoader(DataLoader):
    def __init__(self, *args, note="", **kwargs):
        super().__init__(*args, **kwargs)
        self.note = note


def replaced(dataloader, sampler):
    attrs = {k: v for k, v in vars(dataloader).items() if not k.startswith("_")}
    params = set(inspect.signature(DataLoader.__init__).parameters) | set(inspect.signature(type(dataloader).__init__).parameters)
    kwargs = {name: value for name, value in attrs.items() if name in params}
    kwargs.update(sampler=sampler, shuffle=False, batch_sampler=None, batch_size=dataloader.batch_size, drop_last=False)
    return type(dataloader)(**kwargs)


class Trainer:
    def fit(self, module, epochs):
        for epoch in range(epochs):
            dataloader = module.train_dataloader()
            sampler = DistributedSampler(dataloader.dataset, num_replicas=2, rank=1, seed=5)
            dataloader = replaced(dataloader, sampler)
            assert isinstance(dataloader, LoggingLoader) and dataloader.note == "train"
            sampler.set_epoch(epoch)
            for batch_idx, batch in enumerate(dataloader):
                module.training_step(epoch, batch, batch_idx)


class Module:
    def train_dataloader(self):
        crop = [transforms.RandomCrop(32, padding=4)] if "--augment" in sys.argv else []
        data = SmallCIFAR10(transforms.Compose([*crop, transforms.ToTensor()]))
        return LoggingLoader(data, batch_size=8, shuffle=True, num_workers=1, note="train")

    def training_step(self, epoch, batch, batch_idx):
        x, y = batch
        print(epoch, batch_idx, tuple(x.shape), y.tolist(), f"{float(x.double().mean()):.9f}" if "--augment" not in sys.argv else "")


torch.manual_seed(0)
Trainer().fit(Module(), 2)
