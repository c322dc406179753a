"""Models in training: each rank has a share of the data, and all hold out the same part."""

import dataclasses
import statistics

import models
import numpy as np
import torch
import training_data
from torch import nn

HELD_OUT = 0.05  # of the text's end, which nobody trains on
HELD_OUT_IMAGES = 297
EVALUATED = 32  # batches of the held-out part, the same each time


@dataclasses.dataclass
class Task:
    """What one rank trains.

    loss(module, step) draws this rank's mini-batch of that step; held_out(module) is the loss, in
    nats, of this rank's share of what nobody trains on. `examples`: tokens or images a rank and
    step.
    """

    model: nn.Module
    optimizer: torch.optim.Optimizer
    examples: int
    loss: callable
    held_out: callable


@dataclasses.dataclass
class Size:
    """Of a model and of a rank's mini-batch."""

    width: int
    layers: int
    batch: int
    length: int
    rate: float
    momentum: float = 0.9
    pairs: int = 0  # rows of an embedding of two words
    hidden: int = 40  # units of the linear layer


# By model and name. `large` has 25.3 million parameters and more.
SIZES = {
    "transformer": {"small": Size(64, 4, 16, 96, 2e-3), "medium": Size(256, 4, 8, 64, 1e-3),
                    "large": Size(512, 8, 4, 64, 3e-4)},
    "lstm": {"small": Size(64, 1, 16, 24, 3e-3), "medium": Size(256, 1, 16, 24, 2e-3),
             "large": Size(1024, 1, 8, 24, 1e-3),
             # Nearly all of it is embeddings: most gradients are zero.
             "pairs": Size(64, 1, 2, 24, 3e-3, pairs=1 << 16)},
    "digits": {"small": Size(16, 1, 32, 1, 0.05), "medium": Size(64, 1, 32, 1, 0.05),
               # The same net by steps that are as large, but have no memory.
               "plain": Size(64, 1, 32, 1, 0.5, momentum=0),
               # Likewise, with ten times the weights and little more computation.
               "wide": Size(64, 1, 32, 1, 0.5, momentum=0, hidden=1024)},
}
LSTM_CLASSES = 800


def make(model, size, batch, rank, ranks, seed):
    """Return a rank's task, with `batch` windows or images a step unless it is 0.

    Raises training_data.Missing.
    """
    torch.manual_seed(seed)  # the same weights on all ranks
    chosen = SIZES[model][size]
    if batch:
        chosen = dataclasses.replace(chosen, batch=batch)
    return {"transformer": _transformer, "lstm": _lstm, "digits": _digits}[model](
        chosen, rank, ranks, seed)


def _windows(tokens, size, rank, ranks, seed, classes):
    """Return (loss, held_out) of a model that predicts the next token."""
    cut = int(len(tokens) * (1 - HELD_OUT))
    shard = np.array_split(tokens[:cut], ranks)[rank]
    unseen = np.array_split(tokens[cut:], ranks)[rank]

    def mean_loss(module, source, generator):
        starts = generator.integers(len(source) - size.length, size=size.batch)
        windows = torch.from_numpy(np.stack([source[s:s + size.length + 1] for s in starts]))
        targets = windows[:, 1:].clamp(max=classes - 1).flatten()
        return nn.functional.cross_entropy(module(windows[:, :-1]).flatten(0, 1), targets)

    def loss(module, step):
        return mean_loss(module, shard, np.random.default_rng([seed, rank, step]))

    def held_out(module):
        generator = np.random.default_rng([rank])
        return statistics.fmean(mean_loss(module, unseen, generator).item()
                                for _ in range(EVALUATED))

    return loss, held_out


def _transformer(size, rank, ranks, seed):
    tokens, vocabulary = training_data.characters()
    model = models.CharTransformer(vocabulary, size.length, size.width, size.layers,
                                   max(1, size.width // 64) if size.width > 64 else 4)
    return Task(model, torch.optim.Adam(model.parameters(), size.rate), size.batch * size.length,
                *_windows(tokens, size, rank, ranks, seed, vocabulary))


def _lstm(size, rank, ranks, seed):
    tokens, vocabulary = training_data.words()
    model = models.WordLstm(vocabulary, LSTM_CLASSES, size.width, size.pairs)
    return Task(model, torch.optim.Adam(model.parameters(), size.rate), size.batch * size.length,
                *_windows(tokens, size, rank, ranks, seed, LSTM_CLASSES))


def _digits(size, rank, ranks, seed):
    images, labels = map(torch.from_numpy, training_data.digits())
    order = np.random.default_rng(0).permutation(len(labels))
    unseen = np.array_split(order[:HELD_OUT_IMAGES], ranks)[rank]
    shard = np.array_split(order[HELD_OUT_IMAGES:], ranks)[rank]
    model = models.digits_net(size.width, size.hidden)

    def loss(module, step):
        rows = np.random.default_rng([seed, rank, step]).choice(shard, size.batch, replace=False)
        return nn.functional.cross_entropy(module(images[rows]), labels[rows])

    def held_out(module):
        return nn.functional.cross_entropy(module(images[unseen]), labels[unseen]).item()

    optimizer = torch.optim.SGD(model.parameters(), size.rate, momentum=size.momentum)
    return Task(model, optimizer, size.batch, loss, held_out)
