# SPDX-FileCopyrightText: 2026 The dl4j-memopt authors
# SPDX-License-Identifier: Apache-2.0
"""The networks of io.memopt.gpu.CudnnCase in PyTorch: memory and time of a training step in FP32, TF32 off, on one GPU.

Usage: torch_peers.py [NETWORK,batch,steps ...], e.g. VGG16,32,20 RESNET50,32,40 LENET,1024,100 CIFAR,128,100 CHAR_LSTM,32,40

The architectures are those of Deeplearning4j's zoo and of CudnnCase (numbers of parameters are printed, to be compared), with stochastic
gradient descent and momentum, Adam or, as in the zoo's ResNet50, RMSprop. Batches are on the device, each step ends with a synchronisation.
Prints for each network: most bytes allocated and reserved by PyTorch, growth of what the driver says is in use since before the
network, median step in ms with quartiles.
"""

import statistics
import sys
import time

import torch
from torch import nn

MIB = 1 << 20


def lenet():
    # Two convolutions of kernel 5 with Same padding, as the zoo's, and its dense layer of 500.
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)),
        nn.Conv2d(1, 20, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(20, 50, 5, padding="same"), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(50 * 7 * 7, 500), nn.ReLU(), nn.Linear(500, 10))


def vgg16():
    layers, channels = [], 3
    for block in ([64] * 2, [128] * 2, [256] * 3, [512] * 3, [512] * 3):
        for filters in block:
            layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.ReLU(inplace=True)]
            channels = filters
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(512 * 49, 4096), nn.ReLU(inplace=True), nn.Linear(4096, 4096),
        nn.ReLU(inplace=True), nn.Linear(4096, 1000))


class Bottleneck(nn.Module):
    """A block of the zoo's ResNet50; stride 0 stands for the identity as its shortcut."""

    def __init__(self, channels, filters, out, stride):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(channels, filters, 1, max(stride, 1)), nn.BatchNorm2d(filters), nn.ReLU(inplace=True),
            nn.Conv2d(filters, filters, 3, padding=1), nn.BatchNorm2d(filters), nn.ReLU(inplace=True),
            nn.Conv2d(filters, out, 1), nn.BatchNorm2d(out))
        self.short = (
            nn.Sequential(nn.Conv2d(channels, out, 1, stride), nn.BatchNorm2d(out)) if stride else nn.Identity())
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        return self.relu(self.main(x) + self.short(x))


def resnet50():
    # Unlike torchvision's, the zoo's first stage halves the image too; it ends with a max pooling of 3x3.
    layers = [
        nn.ZeroPad2d(3), nn.Conv2d(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2)]
    channels = 64
    for filters, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(channels, filters, 4 * filters, 0 if block else 2))
            channels = 4 * filters
    return nn.Sequential(*layers, nn.MaxPool2d(3, 2), nn.Flatten(), nn.Linear(2048, 1000))


def cifar():
    layers, channels = [], 3
    for filters in (32, 32, 0, 64, 64, 0, 128, 0):
        if filters:
            layers += [nn.Conv2d(channels, filters, 3, padding=1), nn.ReLU(inplace=True)]
            channels = filters
        else:
            layers.append(nn.MaxPool2d(2))
    return nn.Sequential(
        *layers, nn.Flatten(), nn.Linear(128 * 16, 256), nn.ReLU(inplace=True), nn.Linear(256, 10))


class CharLstm(nn.Module):
    """Two recurrent layers of 256 units; PyTorch has two biases for each gate, Deeplearning4j one."""

    def __init__(self):
        super().__init__()
        self.layers = nn.LSTM(80, 256, 2, batch_first=True)
        self.out = nn.Linear(256, 80)

    def forward(self, x):
        return self.out(self.layers(x)[0]).flatten(0, 1)


def momentum(parameters):
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, nesterov=True)


def rms_prop(parameters):
    return torch.optim.RMSprop(parameters, lr=1e-3, alpha=0.96, eps=1e-3)


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-3)


# Name: how it is made, shape of one item, number of classes, labels of one item, optimizer.
NETWORKS = {
    "LENET": (lenet, (784,), 10, 1, momentum),
    "CIFAR": (cifar, (3, 32, 32), 10, 1, adam),
    "CHAR_LSTM": (CharLstm, (200, 80), 80, 200, adam),
    "VGG16": (vgg16, (3, 224, 224), 1000, 1, momentum),
    "RESNET50": (resnet50, (3, 224, 224), 1000, 1, rms_prop),
}


def used():
    free, total = torch.cuda.mem_get_info()
    return total - free


def measure(name, batch, steps):
    make, shape, classes, labels, optimizer_of = NETWORKS[name]
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = used()
    network = make().cuda()
    optimizer = optimizer_of(network.parameters())
    loss = nn.CrossEntropyLoss()
    x = torch.rand(batch, *shape, device="cuda")
    y = torch.randint(classes, (batch * labels,), device="cuda")
    times = []
    for _ in range(steps + 5):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss(network(x), y).backward()
        optimizer.step()
        torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - start))
    first, times = times[0], times[5:]
    low, median, high = statistics.quantiles(times, n=4)
    print(
        f"{name:9} b{batch:<5} {sum(p.numel() for p in network.parameters()):,} parameters; allocated"
        f" {torch.cuda.max_memory_allocated() / MIB:.1f} MiB, reserved {torch.cuda.max_memory_reserved() / MIB:.1f},"
        f" driver {(used() - before) / MIB:.1f}; first step {first:.0f} ms, median {median:.2f} (quartiles {low:.2f},"
        f" {high:.2f})", flush=True)


def main(arguments):
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.zeros(1, device="cuda")
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()},"
          f" {torch.cuda.get_device_name()}")
    for argument in arguments or ["LENET,1024,100", "CIFAR,128,100", "CHAR_LSTM,32,40", "VGG16,32,20", "RESNET50,32,40"]:
        name, batch, steps = argument.split(",")
        measure(name, int(batch), int(steps))


if __name__ == "__main__":
    main(sys.argv[1:])
