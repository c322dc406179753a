"""Gradients of a model in training, one a rank, as cohom-bench --input reads them."""

import io

import numpy as np
import tasks
import torch


def gradients(model, size, batch, ranks, steps, seed):
    """Return what each rank brings to the sum of a step, float32 [ranks, parameters].

    steps: how many went before, uncompressed. All ranks are this process.
    Raises training_data.Missing.
    """
    all_ranks = [tasks.make(model, size, batch, rank, ranks, seed) for rank in range(ranks)]
    trained = all_ranks[0]
    parameters = list(trained.model.parameters())
    for step in range(1, steps + 2):
        brought = []
        for task in all_ranks:
            trained.optimizer.zero_grad(set_to_none=True)
            task.loss(trained.model, step).backward()
            brought.append(torch.cat([each.grad.flatten() for each in parameters]))
        mean = torch.stack(brought).mean(0)
        for each, part in zip(parameters, mean.split([each.numel() for each in parameters])):
            each.grad = part.view_as(each)
        trained.optimizer.step()
    return torch.stack(brought).numpy()


def as_npy(array):
    """Return an array as the bytes of a .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()
