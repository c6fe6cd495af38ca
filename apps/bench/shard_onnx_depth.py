#!/usr/bin/env python3
"""How the time of a sharded ONNX model grows with its depth.

    shard_onnx_depth.py ESPALIER [--mesh 8x8] [--layers 24 96] [--turns 5] [--width 64]

Writes transformers of both depths (needs the Python package onnx): normalisation, attention
of four heads and a perceptron in each layer, residual connections round both. Plans them
without a limit and with shares of what the fastest plan holds. Prints the least times of the
search, in turns, and their ratio.
"""

import argparse
import json
import pathlib
import subprocess
import tempfile

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

HEADS = 4


class Writer:
    def __init__(self, width):
        self.width, self.nodes, self.weights, self.last = width, [], [], "x"

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def op(self, kind, inputs, name, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name

    def product(self, x, rows, columns, name):
        values = numpy.zeros((rows, columns), numpy.float32)
        return self.op("MatMul", [x, self.weight(name + ".w", values)], name)

    def normal(self, x, name):
        ones = numpy.ones(self.width, numpy.float32)
        return self.op("LayerNormalization",
                       [x, self.weight(name + ".w", ones), self.weight(name + ".b", 0 * ones)],
                       name, axis=-1)

    def heads(self, x, name, order):
        sizes = numpy.array([0, 0, HEADS, self.width // HEADS], numpy.int64)
        split = self.op("Reshape", [x, self.weight(name + ".s", sizes)], name + ".split")
        return self.op("Transpose", [split], name, perm=order)

    def layer(self, k):
        w, x, n = self.width, self.last, f"l{k}."
        y = self.normal(x, n + "norm1")
        q, key, v = (self.heads(self.product(y, w, w, n + p), n + p + ".h", order)
                     for p, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]),
                                      ("v", [0, 2, 1, 3])))
        scores = self.op("Softmax", [self.op("MatMul", [q, key], n + "qk")], n + "soft",
                         axis=-1)
        mixed = self.op("MatMul", [scores, v], n + "mix")
        back = self.op("Transpose", [mixed], n + "back", perm=[0, 2, 1, 3])
        joined = self.op("Reshape", [back, self.weight(
            n + "j", numpy.array([0, 0, w], numpy.int64))], n + "joined")
        x = self.op("Add", [x, self.product(joined, w, w, n + "out")], n + "add1")
        y = self.product(self.normal(x, n + "norm2"), w, 4 * w, n + "up")
        y = self.product(self.op("Relu", [y], n + "relu"), 4 * w, w, n + "down")
        self.last = self.op("Add", [x, y], n + "add2")


def write_model(path, layers, width, batch, tokens):
    writer = Writer(width)
    for k in range(layers):
        writer.layer(k)
    shape = [batch, tokens, width]
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    graph = helper.make_graph(writer.nodes, "layers", [value("x")], [value(writer.last)],
                              writer.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def plan(options, path, memory=None):
    command = [options.espalier, "shard", str(path), "--mesh", options.mesh, "--json",
               "--timeout", "5"]
    if memory is not None:
        command += ["--memory", str(memory)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)


def compare(options, paths, held, share):
    limits = [None if share is None else size * share // 100 for size in held]
    turns = [[plan(options, path, limit) for path, limit in zip(paths, limits)]
             for _ in range(options.turns)]
    times = [min(turn[k]["seconds"] for turn in turns) for k in (0, 1)]
    first, second = turns[0]
    print(f"{'no limit' if share is None else f'{share} %'}: {1e3 * times[0]:.2f} and "
          f"{1e3 * times[1]:.2f} ms, ratio {times[1] / times[0]:.2f}, gaps "
          f"{first.get('gap')} and {second.get('gap')} of the bound, {second.get('distinct_blocks')} of "
          f"{second.get('blocks')} blocks distinct, {second['nodes']} nodes, read in "
          f"{second['read_seconds']:.2f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("espalier")
    parser.add_argument("--mesh", default="8x8")
    parser.add_argument("--layers", type=int, nargs=2, default=[24, 96])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--shares", type=int, nargs="*", default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / f"{layers}.onnx" for layers in options.layers]
        for path, layers in zip(paths, options.layers):
            write_model(path, layers, options.width, 512, 128)
        held = [plan(options, path)["memory_bytes"] for path in paths]
        for share in [None, *options.shares]:
            compare(options, paths, held, share)


if __name__ == "__main__":
    main()
