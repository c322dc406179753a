#!/usr/bin/python3
"""Train three small models data-parallel and save the gradient of every rank.

The ranks are simulated in one process. Each rank draws mini-batches from its
own disjoint shard of the training set; at every step all ranks compute their
gradients from the same weights, the gradients are averaged, and one optimizer
step follows, as in data-parallel training with an allreduce. At the chosen
steps the gradients from before the averaging are saved as a float32 array of
shape [ranks, d]: little-endian, C order, one row per rank, with the parameters
concatenated in the order of the model's parameters(), each flattened.

Step N means the gradient used in the N-th update, so N - 1 updates precede it.

  transformer  causal transformer, characters of the King James Bible
  lstm         LSTM with a large word embedding, words of the same text; the
               embedding's gradient is sparse and goes to a compressed .npz
               (key "gradients"), the rest to lstm_dense_step{N}.npy
  digits       convolutional net on the 8x8 digits of scikit-learn
"""

import argparse
import dataclasses
import hashlib
import io
import pathlib
import sys
import time
from typing import Callable, Dict


def fail(message):
    """End the program with a one-line error and exit status 1."""
    sys.exit(f"capture_gradients: {message}")


try:
    import numpy as np
    import torch
    from torch import nn
except ImportError as missing:
    fail(f"no module {missing.name}; install Debian's python3-{missing.name} "
         "and run this with the system's python3")

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "training"))
import models  # noqa: E402  (after what may be missing)
import output_file  # noqa: E402
import training_data  # noqa: E402

MIB = 1 << 20
TABLE_HEAD = ["file", "d", "step", "loss", "nonzero", "rms", "max/rms", "kurtosis",
              "mean rms/rms"]
LOG_EVERY = 20  # steps between two lines of output
DEFAULT_STEPS = {"transformer": [20, 500], "lstm": [20, 300], "digits": [20, 100]}


@dataclasses.dataclass
class Task:
    """A model in training and what is saved of its gradient.

    loss(rank) draws the rank's next mini-batch and returns its mean loss in
    nats; outputs maps a file name, with {step} open, to a slice of the list of
    parameters.
    """

    name: str
    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss: Callable[[int], torch.Tensor]
    outputs: Dict[str, slice]


def next_token_loss(model, tokens, ranks, seed, batch, length, classes):
    """Return loss(rank), the cross-entropy of the next token in nats.

    The token stream is cut into one contiguous shard per rank; a mini-batch is
    batch windows of length tokens at random places of the rank's shard. Targets
    of classes - 1 and above count as one class.
    """
    shards = np.array_split(np.asarray(tokens, dtype=np.int64), ranks)
    generators = [np.random.default_rng([seed, rank]) for rank in range(ranks)]

    def loss(rank):
        shard = shards[rank]
        starts = generators[rank].integers(len(shard) - length, size=batch)
        windows = torch.from_numpy(np.stack([shard[s:s + length + 1] for s in starts]))
        targets = windows[:, 1:].clamp(max=classes - 1).flatten()
        return nn.functional.cross_entropy(model(windows[:, :-1]).flatten(0, 1), targets)

    return loss


def transformer_task(ranks, seed, batch=16, context=96):
    """Return the character-level transformer's task."""
    tokens, vocabulary = training_data.characters()
    print(training_data.describe(training_data.read_bible()))
    model = models.CharTransformer(vocabulary, context)
    loss = next_token_loss(model, tokens, ranks, seed, batch, context, vocabulary)
    return Task("transformer", model, torch.optim.Adam(model.parameters(), 2e-3), loss,
                {"transformer_step{step}.npy": slice(None)})


def lstm_task(ranks, seed, batch=16, length=24, classes=800):
    """Return the word-level LSTM's task.

    Words are numbered by falling frequency. The input knows every word; the
    output has the classes - 1 most frequent words and one class for the rest.
    """
    tokens, vocabulary = training_data.words()
    model = models.WordLstm(vocabulary, classes)
    loss = next_token_loss(model, tokens, ranks, seed, batch, length, classes)
    return Task("lstm", model, torch.optim.Adam(model.parameters(), 3e-3), loss,
                {"lstm_step{step}.npz": slice(0, 1),
                 "lstm_dense_step{step}.npy": slice(1, None)})


def digits_task(ranks, seed, batch=32):
    """Return the digits net's task; every rank owns one share of the images."""
    images, labels = map(torch.from_numpy, training_data.digits())
    order = np.random.default_rng(seed).permutation(len(labels))
    shards = np.array_split(order, ranks)
    generators = [np.random.default_rng([seed, rank]) for rank in range(ranks)]
    model = models.digits_net()

    def loss(rank):
        rows = generators[rank].choice(shards[rank], batch, replace=False)
        return nn.functional.cross_entropy(model(images[rows]), labels[rows])

    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    return Task("digits", model, optimizer, loss,
                {"digits_step{step}.npy": slice(None)})


TASKS = {"transformer": transformer_task, "lstm": lstm_task, "digits": digits_task}


def rank_gradients(task, ranks):
    """Return (gradients, loss) of one step without changing the weights.

    gradients[rank] is the list of the parameters' gradients; loss is the mean
    over the ranks, in nats.
    """
    gradients, losses = [], []
    for rank in range(ranks):
        task.model.zero_grad(set_to_none=True)
        loss = task.loss(rank)
        loss.backward()
        gradients.append([parameter.grad for parameter in task.model.parameters()])
        losses.append(loss.item())
    return gradients, float(np.mean(losses))


def flatten(gradients, part):
    """Return a slice of all ranks' gradients as a '<f4' array [ranks, d]."""
    rows = [torch.cat([g.flatten() for g in rank[part]]).numpy() for rank in gradients]
    return np.ascontiguousarray(np.stack(rows), dtype="<f4")


def train(task, steps, ranks):
    """Train up to the last of the steps; yield the gradients at each of them.

    Yields (file name, step, loss in nats, array [ranks, d]).
    """
    size = sum(p.numel() for p in task.model.parameters())
    print(f"{task.name}: {size} parameters, {ranks} ranks, saving at steps {steps}")
    begin, recent = time.monotonic(), []
    for step in range(1, max(steps) + 1):
        gradients, loss = rank_gradients(task, ranks)
        recent.append(loss)
        if step in steps:
            for file_name, part in task.outputs.items():
                yield file_name.format(step=step), step, loss, flatten(gradients, part)
        for parameter, *per_rank in zip(task.model.parameters(), *gradients):
            parameter.grad = torch.stack(per_rank).mean(0)
        task.optimizer.step()
        if step == 1 or step % LOG_EVERY == 0:
            print(f"{task.name}: step {step:4d}  loss {loss:.3f}  mean of the last "
                  f"{len(recent)} {np.mean(recent):.3f}  {time.monotonic() - begin:.0f} s",
                  flush=True)
            recent = []


def encode(file_name, array):
    """Return the array as the bytes of a .npy or a compressed .npz file."""
    buffer = io.BytesIO()
    if file_name.endswith(".npz"):
        np.savez_compressed(buffer, gradients=array)
    else:
        np.save(buffer, array)
    return buffer.getvalue()


def statistics(array):
    """Return the table cells that describe a gradient array [ranks, d].

    Nonzero share, rms, largest magnitude over rms, kurtosis E[x^4]/E[x^2]^2
    (a normal distribution has 3), and the rms of the mean over the ranks in
    relation to the rms (1: ranks equal, 1/sqrt(ranks): ranks uncorrelated).
    """
    x = array.astype(np.float64)
    square = np.mean(x * x)
    rms = np.sqrt(square)
    mean_rms = np.sqrt(np.mean(x.mean(0) ** 2))
    return [f"{np.count_nonzero(array) / array.size:.4f}", f"{rms:.3e}",
            f"{np.abs(x).max() / rms:.1f}", f"{np.mean(x ** 4) / square ** 2:.1f}",
            f"{mean_rms / rms:.3f}"]


def parse_arguments():
    """Return the checked command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, metavar="DIR", required=True,
                        help="directory for the arrays; made where missing")
    parser.add_argument("--models", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--steps", nargs="+", type=int, metavar="N",
                        help=f"steps to save, for all models; default {DEFAULT_STEPS}")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2, help="of torch; default 2")
    parser.add_argument("--max-mib", type=float, default=11.0, metavar="MIB",
                        help="most that one run may write, in MiB; default 11")
    options = parser.parse_args()
    if not 1 <= options.ranks <= 32:  # 32 shards of the digits still hold a mini-batch
        parser.error("--ranks must be 1 to 32")
    if options.seed < 0 or options.threads < 1 or min(options.steps or [1]) < 1:
        parser.error("--seed must be at least 0, --threads and --steps at least 1")
    return options


def main():
    """Train the chosen models, save the gradients, print a Markdown table and their SHA-256."""
    options = parse_arguments()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fail(f"--out {options.out}: {error.strerror}")
    rows, left = [TABLE_HEAD, ["---"] * len(TABLE_HEAD)], int(options.max_mib * MIB)
    digests = []
    for name in options.models:
        torch.manual_seed(options.seed)
        try:
            task = TASKS[name](options.ranks, options.seed)
        except training_data.Missing as missing:
            fail(str(missing))
        steps = sorted(set(options.steps or DEFAULT_STEPS[name]))
        for file_name, step, loss, array in train(task, steps, options.ranks):
            content = encode(file_name, array)
            left -= len(content)
            if left < 0:
                fail(f"{file_name} ({len(content) / MIB:.2f} MiB) would exceed --max-mib")
            try:
                output_file.write(options.out / file_name, content)
            except OSError as error:
                fail(f"{error.filename}: cannot be written: {error.strerror}")
            rows.append([file_name, array.shape[1], step, f"{loss:.3f}", *statistics(array)])
            digests.append(f"{hashlib.sha256(content).hexdigest()} {len(content):8} {file_name}")
    for cells in rows:
        print("| " + " | ".join(map(str, cells)) + " |")
    print("\n```\n" + "\n".join(digests) + "\n```")


if __name__ == "__main__":
    main()
