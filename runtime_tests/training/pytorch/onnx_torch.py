"""The operators of an ONNX model in PyTorch: as many as the tests and benchmarks meet.

Of PyTorch's functions only those are called that a model written for it would call, in
training mode; values that are dead are forgotten, and what PyTorch's own models do in
place is done in place.
"""

import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def text(value, default):
    return default if value is None else value.decode()


class Model:
    """A model without the softmax that ends it: the loss has it.

    step(values, masks, sides) runs it. values: tensors by name, those of parameters, inputs and
    constants; a node all of whose outputs are given is not run (it was folded).
    masks: of dropouts, by the name of their result; without one nothing is dropped.
    sides: by name of the result, under "open" where each Relu lets through, under "pooled"
    what each MaxPool chooses from; without them it follows from the values.
    """

    def __init__(self, path, in_place=True):
        model = onnx.load(path)
        self.version = max(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
        self.nodes = list(model.graph.node)
        self.result = model.graph.output[0].name
        self.initializers = {i.name: torch.from_numpy(numpy_helper.to_array(i).copy())
                             for i in model.graph.initializer}
        last = self.nodes[-1]
        if last.op_type == "Softmax" and last.output[0] == self.result:
            self.nodes.pop()
            self.result = last.input[0]
        self.in_place = in_place
        self.uses = {self.result: 1}
        for node in self.nodes:
            for name in node.input:
                self.uses[name] = self.uses.get(name, 0) + 1

    def __call__(self, values, masks=None, sides=None):
        left, env = dict(self.uses), {}
        given = {**self.initializers, **values}
        for node in self.nodes:
            if all(name in given for name in node.output):
                continue
            inputs = []
            for name in node.input:
                inputs.append(env[name] if name in env else given.get(name))
                left[name] -= 1
                if left[name] == 0:
                    env.pop(name, None)
            last = all(left[name] == 0 for name in node.input)
            rule = getattr(self, node.op_type, None)
            if rule is None:
                raise NotImplementedError(node.op_type)
            mine = self.in_place and last and node.input[0] not in given
            result = rule(inputs, attributes(node), node=node, mine=mine, masks=masks or {},
                          sides=sides)
            results = result if isinstance(result, (list, tuple)) else [result]
            for name, value in zip(node.output, results):
                env[name] = value
            del inputs, result, results
        return env[self.result]

    # What spans the spatial axes.
    @staticmethod
    def window(x, a, kernel):
        """Pads of an axis at both sides, and x as it has to be padded first."""
        spatial = len(kernel)
        pads = list(a.get("pads", [0] * 2 * spatial))
        auto = text(a.get("auto_pad"), "NOTSET")
        strides = a.get("strides", [1] * spatial)
        dilations = a.get("dilations", [1] * spatial)
        if auto.startswith("SAME"):
            for i, size in enumerate(x.shape[2:]):
                span = (kernel[i] - 1) * dilations[i] + 1
                all_ = max(0, (-(-size // strides[i]) - 1) * strides[i] + span - size)
                first = all_ - all_ // 2 if auto == "SAME_LOWER" else all_ // 2
                pads[i], pads[i + spatial] = first, all_ - first
        begin, end = pads[:spatial], pads[spatial:]
        around = [p for i in reversed(range(spatial)) for p in (begin[i], end[i])]
        return list(strides), list(dilations), begin, begin == end, around

    def Conv(self, x, a, **_):
        kernel = x[1].shape[2:]
        strides, dilations, pads, even, around = self.window(x[0], a, kernel)
        image = x[0] if even else F.pad(x[0], around)
        convolve = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[len(kernel)]
        return convolve(image, x[1], x[2] if len(x) > 2 else None, strides,
                        pads if even else 0, dilations, a.get("group", 1))

    def ConvTranspose(self, x, a, **_):
        kernel = x[1].shape[2:]
        strides, dilations, pads, even, _around = self.window(x[0], {**a, "auto_pad": b""}, kernel)
        more, extents = a.get("output_padding", 0), a.get("output_shape")
        auto = text(a.get("auto_pad"), "NOTSET")
        if auto.startswith("SAME") and not extents:
            extents = [size * stride for size, stride in zip(x[0].shape[2:], strides)]
        if extents:
            pads, even = [0] * len(kernel), True
        assert even
        y = F.conv_transpose2d(x[0], x[1], x[2] if len(x) > 2 else None, strides, pads, more,
                               a.get("group", 1), dilations)
        for axis, extent in enumerate(extents or []):
            all_ = y.shape[axis + 2] - extent
            first = all_ // 2 if auto == "SAME_UPPER" else all_ - all_ // 2
            y = y.narrow(axis + 2, first, extent)
        return y

    def MaxPool(self, x, a, node, sides, **_):
        kernel = a["kernel_shape"]
        strides, dilations, pads, even, around = self.window(x[0], a, kernel)
        even = even and all(2 * p <= k for p, k in zip(pads, kernel))

        def padded(image):
            return image if even else F.pad(image, around, value=-float("inf"))

        def pool(image, **more):
            return F.max_pool2d(padded(image), kernel, strides, pads if even else 0, dilations,
                                **more)

        if sides is None:
            return pool(x[0])
        chosen = pool(sides["pooled"][node.output[0]], return_indices=True)[1]
        return padded(x[0]).flatten(2).gather(2, chosen.flatten(2)).reshape(chosen.shape)

    def AveragePool(self, x, a, **_):
        kernel = a["kernel_shape"]
        strides, _, pads, even, around = self.window(x[0], a, kernel)
        count = bool(a.get("count_include_pad", 0))
        if even:
            return F.avg_pool2d(x[0], kernel, strides, pads, count_include_pad=count)
        sums = F.avg_pool2d(F.pad(x[0], around), kernel, strides)
        if count:
            return sums
        ones = F.avg_pool2d(F.pad(torch.ones_like(x[0][:1, :1]), around), kernel, strides)
        return sums / ones

    def GlobalAveragePool(self, x, a, **_):
        return F.adaptive_avg_pool2d(x[0], 1)

    def GlobalMaxPool(self, x, a, **_):
        return F.adaptive_max_pool2d(x[0], 1)

    def BatchNormalization(self, x, a, **_):
        return F.batch_norm(x[0], x[3], x[4], x[1], x[2], True, 1 - a.get("momentum", 0.9),
                            a.get("epsilon", 1e-5))

    def LayerNormalization(self, x, a, **_):
        shape = x[0].shape[a.get("axis", -1):]
        return F.layer_norm(x[0], shape, x[1], x[2] if len(x) > 2 else None,
                            a.get("epsilon", 1e-5))

    def InstanceNormalization(self, x, a, **_):
        return F.instance_norm(x[0], weight=x[1], bias=x[2], eps=a.get("epsilon", 1e-5))

    def LRN(self, x, a, **_):
        return F.local_response_norm(x[0], a["size"], a.get("alpha", 1e-4),
                                     a.get("beta", 0.75), a.get("bias", 1.0))

    def Relu(self, x, a, mine, node, sides, **_):
        if sides is not None:
            return x[0] * sides["open"][node.output[0]].to(x[0].dtype)
        return F.relu(x[0], inplace=mine)

    def Dropout(self, x, a, node, masks, **_):
        ratio = a.get("ratio", 0.5)
        if len(x) > 1 and x[1] is not None:
            ratio = float(x[1])
        mask = masks.get(node.output[0])
        return x[0] if mask is None else x[0] * mask.to(x[0].dtype) * (1 / (1 - ratio))

    def Sum(self, x, a, mine, **_):
        total = x[0]
        for each in x[1:]:
            total = total.add_(each) if mine else total + each
        return total

    def Gemm(self, x, a, **_):
        left = x[0].t() if a.get("transA", 0) else x[0]
        right = x[1].t() if a.get("transB", 0) else x[1]
        alpha, beta = a.get("alpha", 1.0), a.get("beta", 1.0)
        if len(x) > 2:
            return torch.addmm(x[2], left, right, beta=beta, alpha=alpha)
        return alpha * (left @ right)

    def Concat(self, x, a, **_):
        return torch.cat(x, a["axis"])

    def Split(self, x, a, **_):
        sizes = x[1].tolist() if len(x) > 1 else a["split"]
        return torch.split(x[0], sizes, a.get("axis", 0))

    def Reshape(self, x, a, **_):
        shape = a["shape"] if "shape" in a else x[1].tolist()
        # The model was written for another batch.
        shape = [x[0].shape[i] if extent == 0 else extent for i, extent in enumerate(shape)]
        if -1 not in shape and torch.Size(shape).numel() != x[0].numel():
            shape[0] = -1
        return x[0].reshape(shape)

    def Flatten(self, x, a, **_):
        axis = a.get("axis", 1)
        return x[0].reshape(int(torch.Size(x[0].shape[:axis]).numel()), -1)

    def Unsqueeze(self, x, a, **_):
        for axis in sorted(a["axes"] if "axes" in a else x[1].tolist()):
            x = [x[0].unsqueeze(axis)]
        return x[0]

    def Transpose(self, x, a, **_):
        return x[0].permute(a.get("perm", list(reversed(range(x[0].dim())))))

    def Softmax(self, x, a, **_):
        if self.version >= 13:
            return F.softmax(x[0], a.get("axis", -1))
        axis = a.get("axis", 1)
        return F.softmax(x[0].flatten(axis), -1).reshape(x[0].shape)

    def ConstantOfShape(self, x, a, **_):
        value = torch.from_numpy(numpy_helper.to_array(a["value"]).copy())
        return torch.full(x[0].tolist(), value.item(), dtype=value.dtype)

    def Clip(self, x, a, **_):
        low = float(x[1]) if len(x) > 1 and x[1] is not None else a.get("min")
        high = float(x[2]) if len(x) > 2 and x[2] is not None else a.get("max")
        return torch.clamp(x[0], low, high)

    def Gather(self, x, a, **_):
        return F.embedding(x[1], x[0])

    def Where(self, x, a, **_):
        return torch.where(x[0].bool(), x[1], x[2])

    def Max(self, x, a, **_):
        return torch.maximum(*x)

    def Min(self, x, a, **_):
        return torch.minimum(*x)

    def ReduceMean(self, x, a, **_):
        return x[0].mean(a["axes"], bool(a.get("keepdims", 1)))

    def HardSigmoid(self, x, a, **_):
        return torch.clamp(a.get("alpha", 0.2) * x[0] + a.get("beta", 0.5), 0, 1)

    def Selu(self, x, a, **_):  # F.selu has digits that the defaults of ONNX have not
        below = a.get("alpha", 1.67326319217681884765625) * (torch.exp(x[0].clamp(max=0)) - 1)
        return a.get("gamma", 1.05070102214813232421875) * torch.where(x[0] > 0, x[0], below)


def simple(function):
    return lambda self, x, a, **_: function(*x)


for name, function in {
        "Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div,
        "MatMul": torch.matmul, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh,
        "Exp": torch.exp, "Log": torch.log, "Sqrt": torch.sqrt, "Abs": torch.abs,
        "Erf": torch.erf, "Softplus": F.softplus, "Reciprocal": torch.reciprocal,
        "Pow": torch.pow, "Neg": torch.neg, "Identity": lambda x: x}.items():
    setattr(Model, name, simple(function))
