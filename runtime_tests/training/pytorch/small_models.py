"""Small ONNX models with weights: what gradients are compared on."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    def __init__(self, shape, version=17, kind=TensorProto.FLOAT):
        self.version, self.nodes, self.initializers, self.count = version, [], [], 0
        self.random = np.random.default_rng(1)
        self.x = helper.make_tensor_value_info("x", kind, shape)

    def constant(self, array, name=None):
        self.count += 1
        name = name or f"constant{self.count}"
        self.initializers.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def weight(self, *shape, scale=None, around=0.0):
        scale = scale or 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 4)
        values = around + scale * self.random.standard_normal(shape)
        return self.constant(values.astype(np.float32), f"w{len(self.initializers)}")

    def op(self, kind, *inputs, outputs=1, **attributes):
        self.count += 1
        names = [f"y{self.count}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, f"n{self.count}", **attributes))
        return names[0] if outputs == 1 else names

    def save(self, result, shape, path):
        y = helper.make_tensor_value_info(result, TensorProto.FLOAT, shape)
        graph = helper.make_graph(self.nodes, "small", [self.x], [y], self.initializers)
        opset = [helper.make_opsetid("", self.version)]
        onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


def mlp(path):
    b = Builder([16, 20])
    y = "x"
    for wide, function in ((32, "Tanh"), (24, "Relu"), (10, None)):
        before = 20 if y == "x" else last
        y = b.op("Gemm", y, b.weight(wide, before), b.weight(wide), transB=1)
        y = b.op(function, y) if function else y
        last = wide
    b.save(y, [16, 10], path)


def convnet(path):
    b = Builder([4, 3, 17, 17])

    def block(x, out, into, kernel, stride, groups=1):
        y = b.op("Conv", x, b.weight(out, into // groups, kernel, kernel), group=groups,
                 kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4)
        y = b.op("BatchNormalization", y, b.weight(out, around=1.0), b.weight(out),
                 b.constant(np.zeros(out, np.float32)), b.constant(np.ones(out, np.float32)))
        return b.op("Relu", y)

    x = block("x", 16, 3, 3, 2)
    x = b.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = block(x, 16, 16, 3, 1, groups=4)
    y = b.op("Concat", y, block(x, 8, 16, 1, 1), axis=1)
    y = b.op("LRN", y, size=3, alpha=0.1)
    z = b.op("Conv", x, b.weight(24, 16, 3, 3), b.weight(24), pads=[1, 1, 1, 1])
    y = b.op("AveragePool", b.op("Add", y, z), kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    y = b.op("Dropout", y, b.constant(np.float32(0.3)))
    y = b.op("Flatten", b.op("GlobalAveragePool", y))
    y = b.op("Gemm", y, b.weight(24, 7), b.weight(7))
    b.save(b.op("Softmax", y), [4, 7], path)


def transformer(path):
    batch, length, width, heads, words = 2, 12, 32, 4, 50
    rows, each = batch * length, width // heads
    b = Builder([batch, length], kind=TensorProto.INT64)

    def shaped(x, *shape):
        return b.op("Reshape", x, b.constant(np.array(shape, np.int64)))

    def linear(x, into, out):
        return b.op("Add", b.op("MatMul", x, b.weight(into, out)), b.weight(out))

    def norm(x):
        return b.op("LayerNormalization", x, b.weight(width, around=1.0), b.weight(width))

    def attend(x):
        q, k, v = (b.op("Transpose", shaped(linear(x, width, width), batch, length, heads, each),
                        perm=perm) for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = b.op("Mul", b.op("MatMul", q, k), b.constant(np.float32(each**-0.5)))
        y = b.op("MatMul", b.op("Softmax", scores), v)
        y = shaped(b.op("Transpose", y, perm=[0, 2, 1, 3]), batch, length, width)
        return linear(y, width, width)

    x = b.op("Gather", b.weight(words, width, scale=1.0), "x")
    x = b.op("Add", x, b.weight(length, width))
    for _ in range(2):
        x = b.op("Add", x, attend(norm(x)))
        y = linear(norm(x), width, 4 * width)
        half = b.op("Mul", y, b.constant(np.float32(0.5)))
        erf = b.op("Erf", b.op("Mul", y, b.constant(np.float32(0.5**0.5))))
        y = b.op("Mul", half, b.op("Add", erf, b.constant(np.float32(1))))
        x = b.op("Add", x, linear(y, 4 * width, width))
    y = b.op("MatMul", shaped(norm(x), rows, width), b.weight(width, words))
    b.save(y, [rows, words], path)


def upward(path):
    b = Builder([3, 6, 5, 5])
    x = b.op("ConvTranspose", "x", b.weight(6, 8, 3, 3), b.weight(8), strides=[2, 2],
             pads=[1, 1, 1, 1])
    x = b.op("InstanceNormalization", x, b.weight(8, around=1.0), b.weight(8))
    x = b.op("Max", x, b.weight(8, 1, 1))
    y = b.op("ConvTranspose", x, b.weight(8, 4, 4, 3), group=2, output_shape=[9, 9])
    z = b.op("ConvTranspose", y, b.weight(8, 2, 4, 3), strides=[3, 2],
             output_padding=[2, 1], auto_pad="SAME_LOWER")
    z = b.op("ReduceMean", z, axes=[1, 2, 3], keepdims=1)
    y = b.op("Add", y, z)
    x = b.op("Min", b.op("Selu", y), b.op("Softplus", x))
    mask = b.constant(b.random.integers(0, 2, (9, 9)).astype(bool))
    x = b.op("Where", mask, x, b.op("HardSigmoid", y))
    z = b.op("Pow", b.op("Softplus", y), b.constant(np.float32(1.5)))
    x = b.op("Add", x, b.op("Reciprocal", b.op("Add", z, b.constant(np.float32(1)))))
    x = b.op("Flatten", b.op("GlobalMaxPool", x))
    x = b.op("Gemm", x, b.weight(8, 5), b.weight(5), beta=0.5)
    b.save(x, [3, 5], path)


MODELS = {"mlp": mlp, "convnet": convnet, "upward": upward, "transformer": transformer}
