# SPDX-License-Identifier: Apache-2.0
"""In the style of CIFAR training scripts: random crops and flips for training, none for testing, a tiny network."""
import sys

import torch
import torchvision.transforms as transforms
from torch import nn
from torch.utils.data import DataLoader
from data import SmallCIFAR10

augment = "--augment" in sys.argv
torch.manual_seed(1)
stats = transforms.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010))
crop = [transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip()] if augment else []
trainset = SmallCIFAR10(transform=transforms.Compose([*crop, transforms.ToTensor(), stats]))
testset = SmallCIFAR10(seed=2, transform=transforms.Compose([transforms.ToTensor(), stats]))
trainloader = DataLoader(trainset, batch_size=16, shuffle=True, num_workers=2)
testloader = DataLoader(testset, batch_size=50, shuffle=False, num_workers=2)
net = nn.Sequential(nn.Conv2d(3, 6, 5, stride=3), nn.ReLU(), nn.Flatten(), nn.Linear(600, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=3)
for epoch in range(3):
    net.train()
    for inputs, targets in trainloader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(inputs), targets)
        loss.backward()
        optimizer.step()
    scheduler.step()
    net.eval()
    with torch.no_grad():
        correct = sum(int((net(inputs).argmax(1) == targets).sum()) for inputs, targets in testloader)
    print(epoch, f"{loss.item():.6f}", correct)
