"""Networks of images as graphs of ONNX, for what takes models as files.

>>> from bench.models.images import UNet
>>> graph = onnx_model(UNet(width=2, levels=2, side=8)).graph
>>> [node.op_type for node in graph.node][-3:], len(graph.initializer)
(['BatchNormalization', 'Relu', 'Conv'], 34)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from bench.models.images import Images
from bench.models.nodes import EPSILON, Beside, Builder, Chain, Conv, Dense, MaxPool, Mean, Node, Norm, Relu, Sum, Up

OPSET, FORMAT = 17, 8  # versions that every runtime reads


class Graph(Builder):
    """The nodes of a graph: each kind becomes a function from the name of what it is given to that of its result."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """One more node; the name of its result."""
        result = f"value{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [result], **attributes))
        return result

    def conv(self, node: Conv):
        return lambda x: self.op("Conv", x, *node.shapes(), kernel_shape=[node.window] * 2, strides=[node.stride] * 2,
                                 pads=[node.padding] * 4, group=node.groups)

    def norm(self, node: Norm):
        return lambda x: self.op("BatchNormalization", x, *node.shapes(), epsilon=EPSILON)

    def relu(self, node: Relu):
        return lambda x: self.op("Relu", x)

    def maxpool(self, node: MaxPool):
        return lambda x: self.op("MaxPool", x, kernel_shape=[node.window] * 2, strides=[node.stride] * 2,
                                 pads=[node.padding] * 4)

    def mean(self, node: Mean):
        return lambda x: self.op("GlobalAveragePool", x)

    def dense(self, node: Dense):
        return lambda x: self.op("Gemm", self.op("Flatten", x), *node.shapes())

    def up(self, node: Up):
        return lambda x: self.op("ConvTranspose", x, *node.shapes(), kernel_shape=[2, 2], strides=[2, 2])

    def chain(self, node: Chain):
        steps = [self.build(member) for member in node.members]

        def chained(x: str) -> str:
            for step in steps:
                x = step(x)
            return x
        return chained

    def sum(self, node: Sum):
        inner, *shortcut = [self.build(member) for member in node.members]
        return lambda x: self.op("Add", inner(x), shortcut[0](x) if shortcut else x)

    def beside(self, node: Beside):
        inner = self.build(node.inner)
        return lambda x: self.op("Concat", x, inner(x), axis=1)


def onnx_model(model: Images) -> ModelProto:
    """The network of a model in evaluation: "images" to "result"."""
    return made(model.tree(), model.parameters(), model.data()[0].shape)


def made(tree: Node, values: dict[str, np.ndarray], shape: tuple[int, ...]) -> ModelProto:
    """A tree with its values, for inputs of a shape."""
    graph = Graph()
    graph.op("Identity", graph.build(tree)("images"))
    graph.nodes[-1].output[0] = "result"
    images = helper.make_tensor_value_info("images", TensorProto.FLOAT, shape)
    result = helper.make_tensor_value_info("result", TensorProto.FLOAT, None)
    own = [numpy_helper.from_array(value, name) for name, value in values.items()]
    return helper.make_model(helper.make_graph(graph.nodes, "network", [images], [result], own),
                             opset_imports=[helper.make_opsetid("", OPSET)], ir_version=FORMAT)
