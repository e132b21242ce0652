# SPDX-License-Identifier: Apache-2.0
"""A plain PyTorch script that trains a small model on folders of images. There is nothing of Penstock in it:

    python3 examples/train.py photos
    penstock accelerate examples/train.py photos      # the same with Penstock's batches
"""
import argparse

import torch
import torch.distributed
import torchvision.transforms as T
from torch.utils.data import DataLoader, DistributedSampler
from torchvision.datasets import ImageFolder


def train(rank, options):
    torch.manual_seed(0)
    if options.ranks > 1:
        torch.distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{options.port}", rank=rank,
                                             world_size=options.ranks)
    transform = T.Compose([T.Resize(40), T.CenterCrop(32), T.ToTensor(), T.Normalize((0.5,) * 3, (0.25,) * 3)])
    if options.augment:
        transform = T.Compose([T.RandomResizedCrop(32), T.RandomHorizontalFlip(), *transform.transforms[2:]])
    photos = ImageFolder(options.folder, transform)
    sampler = DistributedSampler(photos) if options.ranks > 1 else None
    loader = DataLoader(photos, options.batch_size, shuffle=sampler is None, sampler=sampler, num_workers=options.workers)

    model = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 5, stride=2), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(4),
                                torch.nn.Flatten(), torch.nn.Linear(128, len(photos.classes)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for epoch in range(options.epochs):
        if sampler is not None:
            sampler.set_epoch(epoch)
        total, right, count = 0.0, 0, 0
        for images, labels in loader:
            scores = model(images)
            loss = torch.nn.functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            if options.ranks > 1:
                for parameter in model.parameters():
                    torch.distributed.all_reduce(parameter.grad)
                    parameter.grad /= options.ranks
            optimizer.step()
            total, right, count = total + loss.item() * len(labels), right + int((scores.argmax(1) == labels).sum()), count + len(labels)
        if rank == 0:
            print(f"epoch {epoch}: loss {total / count:.6f}, {right} of {count} right")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--augment", action="store_true")
    parser.add_argument("--ranks", type=int, default=1, help="processes, connected by gloo")
    parser.add_argument("--port", type=int, default=29511)
    options = parser.parse_args()
    if options.ranks > 1:
        torch.multiprocessing.spawn(train, (options,), options.ranks)
    else:
        train(0, options)
