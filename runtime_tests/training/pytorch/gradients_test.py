"""Loss and gradients of one training step, here and in PyTorch.

    gradients_test.py STEP_VALUES WORK [small model]...
    gradients_test.py STEP_VALUES WORK --models FOLDER_OR_FILE... [--batch N]

Both frameworks get the same parameters, inputs, labels and masks. PyTorch runs in double
precision, which is taken for the truth, and in single precision, to say what can be
asked. An error is |a - b|_2 / |b|_2 of a whole tensor. Asked: 1e-5 of the loss and of
each gradient, or where PyTorch's own single precision is worse than 2.5e-6, at most four
times its error.

Where a Relu's argument or the difference of two in a maximum is 0 but for rounding, a
gradient has a step, and single precision is on one side or the other. A tensor that is
farther off is right all the same where it is as near as that to a run in double precision
with noise of the size of single precision's rounding on every result: then all that
differs is the side. Status 77: PyTorch or onnx is not installed.
"""

import argparse
import glob
import math
import os
import subprocess
import sys

try:
    import numpy as np
    import onnx
    import torch
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-torch python3-onnx)")
    sys.exit(77)

import onnx_torch
import small_models

ASKED = 1e-5
NOISE = 2.0 ** -23  # of the root mean square of a result, and halved twice
NOISY_RUNS = 24
TYPES = {"float32": np.float32, "int64": np.int64, "int32": np.int32, "bool": np.uint8,
         "uint8": np.uint8}


def read_values(folder):
    """Tensors by role and name."""
    values = {}
    data = np.memmap(os.path.join(folder, "values"), np.uint8, "r")
    with open(os.path.join(folder, "index"), encoding="utf-8") as lines:
        for line in lines:
            role, kind, extents, offset, name = line.rstrip("\n").split("\t")
            shape = [int(extent) for extent in extents.split()]
            size = math.prod(shape) * np.dtype(TYPES[kind]).itemsize
            part = data[int(offset):int(offset) + size].view(TYPES[kind]).reshape(shape)
            values.setdefault(role, {})[name] = torch.from_numpy(np.array(part))
    return values


def torch_step(path, values, precision, noise=None):
    """Loss and gradients by name."""
    def of(tensor):
        return tensor.to(precision) if tensor.is_floating_point() else tensor

    known, trained = {}, {}
    for role in ("input", "constant", "state", "parameter"):
        for name, tensor in values.get(role, {}).items():
            known[name] = of(tensor.clone())
    for name in values["gradient"]:
        trained[name] = known[name] = known[name].requires_grad_()
    labels = known.pop("labels")
    # One model does not know that it is run in training mode: nothing else is folded.
    scores = onnx_torch.Model(path, in_place=False)(known, values.get("mask"),
                                                          noise)
    loss = torch.nn.functional.cross_entropy(scores.reshape(labels.numel(), -1),
                                             labels.reshape(-1))
    loss.backward()
    return float(loss), {name: tensor.grad for name, tensor in trained.items()}


def error(a, b):
    size = float(b.double().norm())
    return float((a.double() - b.double()).norm()) / (size or 1.0)


def rounding(seed):
    """What single precision does to a result, at random."""
    random = torch.Generator().manual_seed(seed)

    def noise(value):
        if not value.is_floating_point():
            return value
        size = NOISE * 0.5 ** (seed % 3) * value.detach().square().mean().sqrt()
        return value + size * torch.randn(value.shape, generator=random, dtype=value.dtype)

    return noise


def beside_noise(path, values, wrong):
    """Of those that are too far off, (name, error, PyTorch's own): what remains so beside
    runs with noise."""
    for seed in range(NOISY_RUNS if wrong else 0):
        _, noisy = torch_step(path, values, torch.float64, rounding(seed))
        wrong = [(name, ours, theirs) for name, ours, theirs in wrong if name == "loss"
                 or error(values["gradient"][name], noisy[name]) > max(ASKED, 4 * theirs)]
        if not wrong:
            break
    return wrong


def compare(title, path, program, work, batch):
    os.makedirs(work, exist_ok=True)
    command = [program, path, work] + ([str(batch)] if batch else [])
    subprocess.run(command, check=True)
    values = read_values(work)
    os.remove(os.path.join(work, "values"))
    true_loss, truth = torch_step(path, values, torch.float64)
    loss, single = torch_step(path, values, torch.float32)
    errors = [("loss", abs(float(values["loss"]["loss"]) / true_loss - 1),
               abs(loss / true_loss - 1))]
    for name, gradient in values["gradient"].items():
        errors.append((name, error(gradient, truth[name]), error(single[name], truth[name])))
    # A gradient that is 0 but for rounding, of what a normalisation takes away again, has
    # no relative error: it is measured by the largest gradient.
    largest = max(float(g.norm()) for g in truth.values())
    errors = [e for e in errors
              if e[0] == "loss" or float(truth[e[0]].norm()) > 1e-9 * largest]
    wrong = [e for e in errors if e[1] > max(ASKED, 4 * e[2])]
    off = len(wrong)
    wrong = beside_noise(path, values, wrong)
    worst = max(errors, key=lambda e: e[1])
    within = sum(e[1] <= ASKED for e in errors)
    print(f"{title}: loss {true_loss:.6f}, error {errors[0][1]:.1e} (PyTorch's own "
          f"{errors[0][2]:.1e}); of {len(errors) - 1} gradients the worst {worst[1]:.1e} "
          f"(PyTorch's own {worst[2]:.1e}) in {worst[0]}; {within} of {len(errors)} within "
          f"{ASKED:.0e}, {off - len(wrong)} on the other side of a step", flush=True)
    for name, ours, theirs in wrong:
        print(f"  WRONG {name}: {ours:.2e}, PyTorch's own {theirs:.2e}")
    return not wrong


def files(places):
    for place in places:
        yield from sorted(glob.glob(os.path.join(place, "*.onnx"))) if os.path.isdir(
            place) else [place]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("work")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--models", nargs="+", default=[])
    parser.add_argument("--batch", type=int)
    options = parser.parse_args()
    torch.set_num_threads(1)
    good = True
    for name in options.names or ([] if options.models else small_models.MODELS):
        path = os.path.join(options.work, name + ".onnx")
        os.makedirs(options.work, exist_ok=True)
        small_models.MODELS[name](path)
        good &= compare(name, path, options.program, os.path.join(options.work, name), None)
    for path in files(options.models):
        name = os.path.basename(path)
        good &= compare(name, path, options.program, os.path.join(options.work, name),
                        options.batch)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
