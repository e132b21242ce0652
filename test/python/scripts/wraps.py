# SPDX-License-Identifier: Apache-2.0
"""In the style of Hugging Face's accelerate: a loader becomes a subclass with its own `__iter__`, which fetches a batch ahead,
synchronises generators and sends batches to a device."""
import sys

import torch
from data import folder
from torch.utils.data import BatchSampler, DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder


class BatchSamplerShard(BatchSampler):
    def __init__(self, batch_sampler, num_processes, process_index):
        self.batch_sampler, self.num_processes, self.process_index = batch_sampler, num_processes, process_index
        self.batch_size, self.drop_last = batch_sampler.batch_size, batch_sampler.drop_last

    def __len__(self):
        return len(self.batch_sampler) // self.num_processes

    def __iter__(self):
        for idx, batch in enumerate(self.batch_sampler):
            if idx % self.num_processes == self.process_index:
                yield batch


class DataLoaderShard(DataLoader):
    def __init__(self, dataset, device=None, **kwargs):
        super().__init__(dataset, **kwargs)
        self.device = device

    def __iter__(self):
        state = torch.get_rng_state() # of rank 0, in the original
        torch.set_rng_state(state)
        dataloader_iter = super().__iter__()
        try:
            current_batch = next(dataloader_iter)
        except StopIteration:
            return
        while True:
            try:
                next_batch = next(dataloader_iter)
            except StopIteration:
                yield [part.to(self.device) for part in current_batch]
                break
            yield [part.to(self.device) for part in current_batch]
            current_batch = next_batch


def prepare(dataloader):
    kwargs = {k: getattr(dataloader, k) for k in ("num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn", "generator")}
    sampler = BatchSamplerShard(dataloader.batch_sampler, 2, 0)
    return DataLoaderShard(dataloader.dataset, device=torch.device("cpu"), batch_sampler=sampler, **kwargs)


torch.manual_seed(0)
crop = transforms.RandomResizedCrop(24) if "--augment" in sys.argv else transforms.Resize((24, 24))
loader = prepare(DataLoader(ImageFolder(folder(), transforms.Compose([crop, transforms.ToTensor()])), batch_size=2, shuffle=True, num_workers=2))
for epoch in range(2):
    for images, labels in loader:
        print(epoch, tuple(images.shape), labels.tolist(), f"{float(images.double().mean()):.9f}" if "--augment" not in sys.argv else "")
