# SPDX-License-Identifier: Apache-2.0
"""In the style of the reference script for ImageNet: a preset class, mixup in a lambda that collates, a sampler of its own epoch."""
import sys

import torch
import torchvision
from data import folder
from torch.utils.data import default_collate
from torchvision.transforms import autoaugment, transforms
from torchvision.transforms.functional import InterpolationMode


class ClassificationPresetTrain:
    def __init__(self, *, crop_size, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225), interpolation=InterpolationMode.BILINEAR,
                 augment=False):
        trans = [transforms.RandomResizedCrop(crop_size, interpolation=interpolation), transforms.RandomHorizontalFlip(0.5),
                 autoaugment.TrivialAugmentWide(interpolation=interpolation)] if augment else [
                     transforms.Resize((crop_size, crop_size), interpolation=interpolation)]
        trans.extend([transforms.PILToTensor(), transforms.ConvertImageDtype(torch.float), transforms.Normalize(mean=mean, std=std)])
        self.transforms = transforms.Compose(trans)

    def __call__(self, img):
        return self.transforms(img)


class RandomMixup(torch.nn.Module):
    def __init__(self, num_classes, alpha=0.2):
        super().__init__()
        self.num_classes, self.alpha = num_classes, alpha

    def forward(self, batch, target):
        target = torch.nn.functional.one_hot(target, num_classes=self.num_classes).to(dtype=batch.dtype)
        lambda_param = float(torch._sample_dirichlet(torch.tensor([self.alpha, self.alpha]))[0])
        return (batch.mul(lambda_param).add_(batch.roll(1, 0).mul(1.0 - lambda_param)),
                target.mul(lambda_param).add_(target.roll(1, 0).mul(1.0 - lambda_param)))


torch.manual_seed(3)
dataset = torchvision.datasets.ImageFolder(folder(), ClassificationPresetTrain(crop_size=24, augment="--augment" in sys.argv))
mixup = RandomMixup(len(dataset.classes))
loader = torch.utils.data.DataLoader(
    dataset, batch_size=4, sampler=torch.utils.data.RandomSampler(dataset), num_workers=2, pin_memory=True,
    collate_fn=lambda batch: mixup(*default_collate(batch)))
model = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(6), torch.nn.Flatten(), torch.nn.Linear(108, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(2):
    for image, target in loader:
        loss = torch.nn.functional.cross_entropy(model(image), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(epoch, f"{loss.item():.6f}", target[:, 0].tolist())
