"""The models that gradients come from."""

import torch
from torch import nn


HASH_OF_PAIRS = 40503  # 2^16 over the golden ratio: close words lie far apart


class CharTransformer(nn.Module):
    """Pre-norm causal transformer that predicts the next character."""

    def __init__(self, vocabulary, context, width=64, layers=4, heads=4):
        super().__init__()
        self.characters = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0,
                                       activation="gelu", batch_first=True,
                                       norm_first=True)
            for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary)
        mask = torch.full((context, context), float("-inf")).triu(1)
        self.register_buffer("mask", mask)

    def forward(self, tokens):
        hidden = self.characters(tokens) + self.positions.weight
        for block in self.blocks:
            hidden = block(hidden, src_mask=self.mask)
        return self.head(self.norm(hidden))


class WordLstm(nn.Module):
    """LSTM over word embeddings that predicts the class of the next word.

    With `pairs` rows more, the embedding of a word and of the one before it, by a hash, is added.
    """

    def __init__(self, vocabulary, classes, width=64, pairs=0):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.pairs = nn.Embedding(pairs, width) if pairs else None
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens):
        hidden = self.embedding(tokens)
        if self.pairs is not None:
            before = nn.functional.pad(tokens, (1, -1))
            numbers = (before * HASH_OF_PAIRS + tokens) % self.pairs.num_embeddings
            hidden = hidden + self.pairs(numbers)
        return self.head(self.lstm(hidden)[0])


def digits_net(width=16, hidden=40):
    """Return a net of two convolutions and two linear layers, 8x8 to 10 classes."""
    return nn.Sequential(
        nn.Conv2d(1, width, 3, padding=1), nn.ReLU(),
        nn.Conv2d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * width, hidden), nn.ReLU(), nn.Linear(hidden, 10))
