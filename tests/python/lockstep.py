"""All ranks of an allreduce in one process, step by step, with NumPy in place of a network."""

import numpy

REDUCTIONS = {"add": numpy.add, "max": numpy.maximum, "or": numpy.bitwise_or}


def reduce_together(ranks, inputs, outputs=None, step=None):
    """Run the steps of all ranks' Rounds; returns the kinds of the steps."""
    outputs = outputs or [None] * len(ranks)
    kinds = []
    for steps in zip(*(rounds.steps(array, out, step)
                       for rounds, array, out in zip(ranks, inputs, outputs)), strict=True):
        kinds.append(steps[0].kind)
        assert len({(each.kind, each.name) for each in steps}) == 1
        {"all_reduce": _all_reduce, "all_to_all": _exchange, "all_gather": _exchange}[
            steps[0].kind](steps)
    return kinds


def _all_reduce(steps):
    arrays = [numpy.frombuffer(step.words, step.dtype) for step in steps]
    assert {len(array) for array in arrays} == {steps[0].numbers}
    result = REDUCTIONS[steps[0].operation].reduce(arrays)
    for array in arrays:
        array[:] = result


def _exchange(steps):
    for to, receiver in enumerate(steps):
        received = numpy.frombuffer(receiver.receive, "uint64")
        begin = 0
        for source, sender in enumerate(steps):
            part = 0 if sender.kind == "all_gather" else to
            first = sum(sender.send_counts[:part])
            count = sender.send_counts[part]
            assert receiver.receive_counts[source] == count
            words = numpy.frombuffer(sender.send, "uint64")[first:first + count]
            received[begin:begin + count] = words
            begin += count
