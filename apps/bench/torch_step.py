"""Training steps in PyTorch: the peer of train_bench.py.

    torch_step.py MODEL.onnx | layers=6,width=512,heads=8,sequence=128,vocabulary=1000

prints a line of JSON: growth_bytes (VmHWM at the end less what was resident when the
library was loaded and had run one small step), and of each step but the first seconds
and processor_seconds (all threads).
"""

import argparse
import json
import os
import sys
import time

import torch
import torch.nn.functional as F

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                             "../../runtime_tests/training/pytorch"))


def status(key):
    with open("/proc/self/status", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    raise KeyError(key)


def warm_up():
    """What libraries keep from their first use on."""
    image = torch.randn(1, 16, 8, 8)
    w = torch.randn(16, 16, 3, 3, requires_grad=True)
    F.cross_entropy(F.conv2d(image, w, padding=1).flatten(1) @ torch.randn(1024, 4),
                    torch.zeros(1, dtype=torch.int64)).backward()


def onnx_parameters(model, onnx):
    """Random values for a model that says of its weights only how large they are."""
    ones, given = set(), {}
    for node in model.nodes:
        if node.op_type == "BatchNormalization":
            ones.update((node.input[1], node.input[4]))
    shapes = {}
    for node in model.nodes:
        if node.op_type == "ConstantOfShape":
            shapes[node.output[0]] = model.initializers[node.input[0]].tolist()
    for name, shape in shapes.items():
        if len(shape) >= 2:
            fan = 1
            for extent in shape[1:]:
                fan *= extent
            given[name] = torch.randn(shape) * (2 / fan) ** 0.5
        else:
            given[name] = (torch.ones if name in ones else torch.zeros)(shape)
    statistics = {name for node in model.nodes if node.op_type == "BatchNormalization"
                  for name in node.input[3:5]}
    for name, value in given.items():
        value.requires_grad_(name not in statistics)
    return given


def onnx_network(path, batch, channels_last):
    import onnx
    import onnx_torch
    model = onnx_torch.Model(path)
    known = onnx_parameters(model, onnx)
    graph = onnx.load(path).graph
    inputs = [i for i in graph.input if i.name not in model.initializers]
    shape = [d.dim_value for d in inputs[0].type.tensor_type.shape.dim]
    shape[0] = batch
    image = torch.randn(shape)
    if channels_last:
        image = image.to(memory_format=torch.channels_last)
    del graph

    def scores():
        return model({**known, inputs[0].name: image}).flatten(1)

    classes = 1000
    parameters = [p for p in known.values() if p.requires_grad]
    return scores, parameters, torch.randint(classes, (batch,))


def shape_of(spec):
    """Layers, width, heads, sequence and vocabulary: GPT-2's but for what is named."""
    shape = {"layers": 12, "width": 768, "heads": 12, "sequence": 1024, "vocabulary": 50257}
    shape.update((key, int(value)) for key, value in (item.split("=")
                                                      for item in spec.split(",")))
    return shape.values()


def normalise(x, scale, bias):
    return F.layer_norm(x, scale.shape, scale, bias)


def transformer(spec, batch):
    """The network of `espalier train --transformer`: GPT-2's, embedding and head tied."""
    layers, d, heads, length, words = shape_of(spec)
    parameters = []

    def weight(*extents, scale=0.02):
        parameters.append((torch.randn(extents) * scale).requires_grad_())
        return parameters[-1]

    def linear(into, out):
        return weight(into, out), weight(out, scale=0)

    def norm():
        scale = torch.ones(d, requires_grad=True)
        parameters.append(scale)
        return scale, weight(d, scale=0)

    embedding, places = weight(words, d), weight(length, d)
    blocks = [(norm(), linear(d, 3 * d), linear(d, d), norm(), linear(d, 4 * d),
               linear(4 * d, d)) for _ in range(layers)]
    last = norm()
    tokens = torch.randint(words, (batch, length))
    hidden = torch.full((length, length), -float("inf")).triu(1)
    rows, each = batch * length, d // heads

    def apart(x):
        return x.view(batch, length, heads, each).transpose(1, 2).reshape(
            batch * heads, length, each)

    def attend(x, qkv, project):
        q, k, v = (apart(part) for part in torch.addmm(qkv[1], x, qkv[0]).split(d, 1))
        p = F.softmax(torch.baddbmm(hidden, q, k.transpose(1, 2), alpha=each**-0.5), -1)
        y = torch.bmm(p, v).view(batch, heads, length, each).transpose(1, 2)
        return torch.addmm(project[1], y.reshape(rows, d), project[0])

    def scores():
        x = (F.embedding(tokens, embedding) + places).view(rows, d)
        for norm1, qkv, project, norm2, widen, narrow in blocks:
            x = x + attend(normalise(x, *norm1), qkv, project)
            y = F.gelu(torch.addmm(widen[1], normalise(x, *norm2), widen[0]))
            x = x + torch.addmm(narrow[1], y, narrow[0])
        return normalise(x, *last) @ embedding.t()

    return scores, parameters, torch.randint(words, (rows,))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("network")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--channels-last", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.network.endswith(".onnx"):
        import onnx_torch  # before the baseline
        del onnx_torch
    warm_up()
    baseline = status("VmRSS")
    if options.network.endswith(".onnx"):
        network = onnx_network(options.network, options.batch, options.channels_last)
    else:
        network = transformer(options.network, options.batch)
    scores, parameters, labels = network
    optimiser = torch.optim.SGD(parameters, lr=0.01)
    seconds, processor = [], []
    for _ in range(options.steps):
        start, used = time.perf_counter(), time.process_time()
        optimiser.zero_grad(set_to_none=True)
        loss = F.cross_entropy(scores(), labels)
        loss.backward()
        optimiser.step()
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - used)
    print(json.dumps({"growth_bytes": status("VmHWM") - baseline, "loss": float(loss),
                      "seconds": seconds[1:], "processor_seconds": processor[1:]}))


if __name__ == "__main__":
    main()
