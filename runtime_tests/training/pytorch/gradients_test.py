"""Loss and gradients of one training step, here and in PyTorch.

    gradients_test.py STEP_VALUES WORK [--double] [small model]...
    gradients_test.py STEP_VALUES WORK [--double] --models FOLDER_OR_FILE... [--batch N]

Both frameworks get the same parameters, inputs, labels and masks. PyTorch runs in double
precision, which is taken for the truth, and in single precision, to say what can be
asked. An error is |a - b|_2 / |b|_2 of a whole tensor. Asked: 1e-5 of the loss and of
each gradient, or where PyTorch's own single precision is worse than 2.5e-6, at most four
times its error.

Where a Relu's argument, or the difference of two that a maximum is taken of, is 0 but for
rounding, a gradient has a step, and single precision is on one side or the other. If a
tensor is farther off, PyTorch runs again, in both precisions, with our sides given: what
our Relus let through, what our poolings chose. Then there are no steps, and the same is
asked of every tensor. What single precision does to PyTorch is seen from several runs
there, all but the first with inputs that are one off in their last place.

--double: our side in double precision as well, through the oracle of the kernels' tests,
and 1e-9 is asked. Small models are compared in both. Status 77: PyTorch or onnx is not
installed.
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

ASKED = {"single": 1e-5, "double": 1e-9}
OWN_RUNS = 4
TYPES = {"float32": np.float32, "float64": np.float64, "int64": np.int64, "int32": np.int32, "bool": np.uint8,
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


def torch_step(path, values, precision, sides=None):
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
    scores = onnx_torch.Model(path, in_place=False)(known, values.get("mask"), sides)
    loss = torch.nn.functional.cross_entropy(scores.reshape(labels.numel(), -1),
                                             labels.reshape(-1))
    loss.backward()
    return float(loss), {name: tensor.grad for name, tensor in trained.items()}


def error(a, b):
    size = float(b.double().norm())
    return float((a.double() - b.double()).norm()) / (size or 1.0)


def moved(values, seed):
    """With inputs one off in their last place, up or down."""
    random = torch.Generator().manual_seed(seed)

    def move(tensor):
        if not tensor.is_floating_point():
            return tensor
        up = torch.rand(tensor.shape, generator=random) < 0.5
        return torch.nextafter(tensor, torch.where(up, math.inf, -math.inf))

    return {**values, "input": {name: move(t) for name, t in values["input"].items()}}


def step_errors(values, gradients, loss, truth, true_loss):
    found = {"loss": abs(loss / true_loss - 1)}
    # A gradient that is 0 but for rounding, of what a normalisation takes away again, has
    # no relative error.
    largest = max(float(g.norm()) for g in truth.values())
    for name in values["gradient"]:
        if float(truth[name].norm()) > 1e-9 * largest:
            found[name] = error(gradients[name], truth[name])
    return found


def errors_of(values, path, precision, sides=None):
    """(name, our error, what is allowed, PyTorch's own error) of loss and gradients, and
    the true loss."""
    true_loss, truth = torch_step(path, values, torch.float64, sides)
    ours = step_errors(values, values["gradient"], float(values["loss"]["loss"]), truth,
                       true_loss)
    theirs = {}
    for seed in range(OWN_RUNS if sides else 1):
        loss, single = torch_step(path, moved(values, seed) if seed else values,
                                  torch.float32, sides)
        own = step_errors(values, single, loss, truth, true_loss)
        theirs = {name: max(theirs.get(name, 0), own[name]) for name in own}
    asked = ASKED[precision]
    return true_loss, [(name, ours[name],
                        asked if precision == "double" else max(asked, 4 * theirs[name]),
                        theirs[name]) for name in ours]


def describe(title, errors, asked):
    worst = max(errors, key=lambda e: e[1])
    times = max((e[1] / e[3] for e in errors if e[1] > asked), default=0)
    within = sum(e[1] <= asked for e in errors)
    print(f"{title}: loss {errors[0][1]:.1e} off (PyTorch's own {errors[0][3]:.1e}); of "
          f"{len(errors) - 1} gradients the worst {worst[1]:.1e} (PyTorch's own "
          f"{worst[3]:.1e}) in {worst[0]}; {within} of {len(errors)} within {asked:.0e}, the "
          f"others at most {times:.1f} times PyTorch's own",
          flush=True)


def compare(title, path, program, work, batch, precision):
    os.makedirs(work, exist_ok=True)
    command = [program, path, work] + (["--batch", str(batch)] if batch else [])
    subprocess.run(command + (["--double"] if precision == "double" else []), check=True)
    values = read_values(work)
    os.remove(os.path.join(work, "values"))
    loss, errors = errors_of(values, path, precision)
    describe(f"{title}, {precision}, loss {loss:.6f}", errors, ASKED[precision])
    wrong = [e for e in errors if e[1] > e[2]]
    if wrong and precision == "single":
        _, errors = errors_of(values, path, precision, values)
        describe(f"  {len(wrong)} of them too far; on our side of each step", errors,
                 ASKED[precision])
        wrong = [e for e in errors if e[1] > e[2]]
    for name, ours, allowed, theirs in wrong:
        print(f"  WRONG {name}: {ours:.2e}, at most {allowed:.2e}, PyTorch's own {theirs:.2e}")
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
    parser.add_argument("--double", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.makedirs(options.work, exist_ok=True)
    models = [(os.path.basename(path), path) for path in files(options.models)]
    precisions = ["double"] if options.double else ["single"]
    if not models:
        precisions = ["double"] if options.double else ["single", "double"]
        for name in options.names or small_models.MODELS:
            models.append((name, os.path.join(options.work, name + ".onnx")))
            small_models.MODELS[name](models[-1][1])
    good = True
    for name, path in models:
        for precision in precisions:
            good &= compare(name, path, options.program, os.path.join(options.work, name),
                            options.batch, precision)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
