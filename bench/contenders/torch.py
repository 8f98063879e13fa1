"""PyTorch: eager functions and kernels, and what ``torch.compile`` makes of them (which needs a C++ compiler).

Results are new tensors, as users get them, or go to memory that is kept where a setting says *into*.
"""

from __future__ import annotations

import contextlib
import os

import numpy as np
import torch
import torch.nn.functional as F
from ml_dtypes import bfloat16

from bench.chains import ATTENTIONS, AttentionGradients
from bench.contenders import Prepared, Programs, made
from bench.convolutions import CONVOLUTIONS
from bench.models.nodes import Conv
from bench.patterns import GROUPS, HIDDEN, SIDE, past
from bench.products import PRODUCTS, Product

programs = Programs("torch", torch.__version__)

torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "2")))


def tensors(inputs):
    """Copies of arrays in memory that torch aligns."""
    return [of_low_precision(entry) if entry.dtype == bfloat16 else torch.from_numpy(entry).clone() for entry in inputs]


def of_low_precision(array):
    """NumPy and torch have no common name for this element type."""
    return torch.from_numpy(array.view(np.int16)).clone().view(torch.bfloat16)


def read(returned):
    return [entry.detach().view(torch.int16).numpy().view(bfloat16) if entry.dtype == torch.bfloat16
            else entry.detach().numpy() for entry in (returned if isinstance(returned, (tuple, list)) else [returned])]


def without_gradients():
    """Inference mode for the rest of the process: entering it at each call would be measured too."""
    contextlib.ExitStack().enter_context(torch.inference_mode())


def eager(program, inputs):
    without_gradients()
    return Prepared(program, tensors(inputs), read)


def compiled(program, inputs):
    without_gradients()
    return Prepared(torch.compile(program, dynamic=False), tensors(inputs), read)


def compiled_into(program, inputs):
    """Compiled, with the result in memory that is kept."""
    without_gradients()
    arguments = tensors(inputs)
    result = torch.empty_like(program(*arguments))

    def into(result, *arguments):
        return result.copy_(program(*arguments))
    return Prepared(torch.compile(into, dynamic=False), [result, *arguments], read)


PLAIN = {"eager": eager, "compile": compiled}
BOTH = {**PLAIN, "compile_into": compiled_into}


def into(kernel):
    """A setting that hands memory which is kept to an eager kernel: ``kernel(result, *inputs)``."""
    def prepare(program, inputs):
        without_gradients()
        arguments = tensors(inputs)
        return Prepared(kernel, [torch.empty_like(program(*arguments)), *arguments], read)
    return prepare


@programs("sum_squares", **PLAIN)
@programs("idle", **PLAIN)
def sum_squares(x, y):
    return ((x - y) ** 2).sum()


@programs("gelu", **BOTH)
def gelu(x, y):
    return F.gelu(1.5 * x + y, approximate="tanh")


@programs("softmax_causal", **BOTH, into=into(lambda result, x: torch.softmax(x, -1, out=result)))
@programs("softmax", **BOTH, into=into(lambda result, x: torch.softmax(x, -1, out=result)))
def softmax(x):
    return torch.softmax(x, -1)


@programs("softmax_gradient", **BOTH)
def softmax_gradient(x, y, dy):
    return y * (dy - (y * dy).sum(-1, keepdim=True))


@programs("softmax_gradient", kernel=eager)
def softmax_gradient_kernel(x, y, dy):
    return torch.ops.aten._softmax_backward_data(dy, y, -1, torch.float32)


@programs("softmax_gradient", kernel_into=made)
def softmax_gradient_kernel_into(*inputs):
    without_gradients()
    x, y, dy = tensors(inputs)
    kernel, result = torch.ops.aten._softmax_backward_data.out, torch.empty_like(x)
    return Prepared(lambda: kernel(dy, y, -1, torch.float32, grad_input=result), (), read)


@programs("layer_norm", **BOTH)
def layer_norm(x, gamma, beta):
    return F.layer_norm(x, x.shape[1:], gamma, beta, 1e-5)


@programs("layer_norm_gradient", autograd=made)
def layer_norm_gradient(*inputs):
    x, gamma, beta, dy = tensors(inputs)
    wanted = [entry.requires_grad_() for entry in (x, gamma, beta)]
    y = layer_norm(*wanted)
    return Prepared(lambda: torch.autograd.grad(y, wanted, dy, retain_graph=True), (), read)


@programs("layer_norm_gradient", kernel=made)
def layer_norm_gradient_kernel(*inputs):
    without_gradients()
    x, gamma, beta, dy = tensors(inputs)
    _, mean, scale = torch.native_layer_norm(x, x.shape[1:], gamma, beta, 1e-5)
    kernel, shape, wanted = torch.ops.aten.native_layer_norm_backward, list(x.shape[1:]), [True] * 3
    return Prepared(lambda: kernel(dy, x, shape, mean, scale, gamma, beta, wanted), (), read)


@programs("layer_norm_gradient", compile=made)
def layer_norm_gradient_compiled(*inputs):
    without_gradients()
    x, gamma, beta, dy = tensors(inputs)
    _, mean, scale = torch.native_layer_norm(x, x.shape[1:], gamma, beta, 1e-5)

    @torch.compile(dynamic=False)
    def backward(x, mean, scale, gamma, dy):
        z = (x - mean) * scale
        dz = dy * gamma
        dx = scale * (dz - dz.mean(-1, keepdim=True) - z * (dz * z).mean(-1, keepdim=True))
        return dx, (dy * z).sum(0), dy.sum(0)
    return Prepared(backward, (x, mean, scale, gamma, dy), read)


def trained(forward, ordered=tensors):
    """A setting: forward and backward pass with autograd."""
    def prepare(program, inputs):
        *given, dy = ordered(inputs)
        wanted = [entry.requires_grad_() for entry in given]
        made_forward = forward(program)

        def call():
            y = made_forward(*wanted)
            return y, *torch.autograd.grad(y, wanted, dy)
        return Prepared(call, (), read)
    return prepare


def directly(program):
    return program


def by_compiler(program):
    return torch.compile(program, dynamic=False)


@programs("batch_norm", eager=trained(directly), compile=trained(by_compiler))
def batch_norm(x, gamma, beta):
    return F.relu(F.batch_norm(x, None, None, gamma, beta, training=True, eps=1e-5))


def optimiser(**options):
    """A setting: torch's own optimiser, with moments of 0, or those that are given."""
    def prepare(program, inputs):
        parameter, gradient, *moments = tensors(inputs)
        parameter = torch.nn.Parameter(parameter)
        parameter.grad = gradient
        own = torch.optim.Adam([parameter], lr=1e-3, betas=(0.9, 0.999), eps=1e-8, **options)
        if moments:
            own.step()  # makes the state
            for name, moment in zip(("exp_avg", "exp_avg_sq"), moments):
                own.state[parameter][name].copy_(moment)

        def state(_):
            return read([parameter, own.state[parameter]["exp_avg"], own.state[parameter]["exp_avg_sq"]])
        return Prepared(own.step, (), state)
    return prepare


def compiled_update(program, inputs):
    """A setting: the formula, compiled, in place."""
    without_gradients()
    parameter, gradient, *moments = tensors(inputs)
    state = parameter, *(moments or [torch.zeros_like(parameter) for _ in range(2)])
    steps = torch.zeros(())
    update = torch.compile(program, dynamic=False)

    def call():
        update(*state, steps, gradient)
        return state
    return Prepared(call, (), read)


OPTIMISERS = {"fused": optimiser(fused=True), "foreach": optimiser(foreach=True), "compile": compiled_update}


@programs("adam", **OPTIMISERS)
@programs("adam_decayed", **OPTIMISERS)
def adam(parameter, mean, square, steps, gradient):
    steps.add_(1)
    mean.mul_(0.9).add_(gradient, alpha=0.1)
    square.mul_(0.999).addcmul_(gradient, gradient, value=0.001)
    parameter.sub_(1e-3 * (mean / (1 - 0.9**steps)) / ((square / (1 - 0.999**steps)).sqrt() + 1e-8))


@programs("variance", **PLAIN)
def variance(x):
    return x.var(0, correction=0)


@programs("sum_middle", **PLAIN)
def sum_middle(x):
    return x.sum(1)


@programs("gather", **BOTH, into=into(lambda result, table, index: torch.index_select(table, 0, index, out=result)))
def gather(table, index):
    return F.embedding(index, table)


@programs("scatter_add", kernel=eager)
def scatter_add(table, index, dy):
    return torch.ops.aten.embedding_dense_backward(dy, index, len(table), -1, False)


@programs("scatter_add", **BOTH)
def scatter_add_by_index(table, index, dy):
    return torch.zeros_like(table).index_add_(0, index, dy)


@programs("scatter_add", into=made)
def scatter_add_into(*inputs):
    without_gradients()
    table, index, dy = tensors(inputs)
    gradient = torch.empty_like(table)
    return Prepared(lambda: gradient.zero_().index_add_(0, index, dy), (), read)


@programs("uniform", **BOTH, into=into(lambda result, like: result.uniform_()))
def uniform(like):
    return torch.rand_like(like)


@programs("normal", **BOTH, into=into(lambda result, like: result.normal_()))
def normal(like):
    return torch.randn_like(like)


@programs("small", **PLAIN)
def small(a, b, c):
    return (a + b) * c


def first_result(compile_it):
    """A setting: the function, autograd and all, from its definition to its first result."""
    def prepare(program, inputs):
        logits, labels = tensors(inputs)
        logits.requires_grad_()
        return Prepared(lambda: program(compile_it, logits, labels), (), read)
    return prepare


@programs("cold", eager=first_result(lambda function: function), compile=first_result(torch.compile))
@programs("cached", compile=first_result(torch.compile))
def cross_entropy(compile_it, logits, labels):
    loss = compile_it(lambda logits, labels: F.cross_entropy(logits, labels))(logits, labels)
    return loss, torch.autograd.grad(loss, logits)[0]


def product_of(case: Product):
    def product(x, w):
        return (x.mT if case.left else x) @ (w.mT if case.right else w)
    return product


def product_into(case: Product):
    def product(result, x, w):
        return torch.matmul(x.mT if case.left else x, w.mT if case.right else w, out=result)
    return product


for name, case in PRODUCTS.items():
    programs(name, **PLAIN, into=into(product_into(case)))(product_of(case))


@programs("dense", **BOTH)
@programs("dense_bfloat16", **BOTH)
def dense(x, w, b, r):
    return F.gelu(torch.addmm(b, x, w)) + r


@programs("group_norm", **BOTH)
def group_norm(x, gamma, beta):
    return F.group_norm(x, GROUPS, gamma, beta, 1e-5)


def masked(setting):
    """A setting whose program is given the mask, which is made once."""
    def prepare(program, inputs):
        future = torch.from_numpy(~past(inputs[0].shape[-1]))
        return setting(lambda x: program(x, future), inputs)
    return prepare


@programs("masked_softmax", **{name: masked(setting) for name, setting in BOTH.items()})
def masked_softmax(x, future):
    return torch.softmax(x.masked_fill(future, float(HIDDEN)), -1)


@programs("exp_masked", **BOTH, into=into(lambda result, x: torch.exp(x, out=result)))
def exp_masked(x):
    return torch.exp(x)


@programs("silu_saturated", **BOTH)
def silu_saturated(x):
    return F.silu(x)


@programs("gated", **BOTH)
def gated(a, b):
    return F.silu(a) * b


@programs("max_transposed", **PLAIN)
def max_transposed(x):
    return x.T.amax(0)


@programs("sum_short", **PLAIN)
def sum_short(x):
    return x.sum(1)


@programs("sum_ends", **PLAIN)
def sum_ends(x):
    return x.sum((0, 2))


@programs("lgamma", **BOTH, into=into(lambda result, x: torch.lgamma(x, out=result)))
def lgamma(x):
    return torch.lgamma(x)


@programs("sin_huge", **BOTH, into=into(lambda result, x: torch.sin(x, out=result)))
def sin_huge(x):
    return torch.sin(x)


@programs("matmul_strided", **PLAIN)
def matmul_strided(x, w):
    return x[::2, ::2] @ w


@programs("matmul_sliced", **PLAIN)
def matmul_sliced(x, w):
    return x[:, SIDE:2 * SIDE] @ w[:, SIDE // 2:3 * SIDE // 2].mT


@programs("bytes", int_mm=made)
def bytes_of_one_sign(x, w):
    """x - 128 is an int8; what that changes is known before."""
    without_gradients()
    more = torch.from_numpy(128 * w.sum(0, dtype="int32"))
    x, w = tensors([(x ^ 128).view("int8"), w])
    return Prepared(lambda x, w: torch._int_mm(x, w).add_(more), [x, w], lambda y: [y.numpy()])


@programs("bytes", quantized=made)
def bytes_to_float(x, w):
    """The operator of quantized layers, whose weights are packed before."""
    without_gradients()
    x, w = tensors([x, w])
    packed = torch.ops.onednn.qlinear_prepack(w.T.contiguous(), list(x.shape))
    scales, zeros = torch.ones(w.shape[1]), torch.zeros(w.shape[1], dtype=torch.int64)

    def call(x):
        return torch.ops.onednn.qlinear_pointwise(x, 1.0, 0, packed, scales, zeros, None, 1.0, 0, torch.float32,
                                                  "none", [], "")
    return Prepared(call, [x], lambda y: [y.numpy()])


def channels_last(inputs):
    """Copies whose images and filters have their channels innermost in memory."""
    return [entry.contiguous(memory_format=torch.channels_last) if entry.ndim == 4 else entry
            for entry in tensors(inputs)]


def last(prepare):
    """A setting with channels last."""
    def prepared(program, inputs):
        call, arguments, *rest = prepare(program, inputs)
        return Prepared(call, channels_last([entry.numpy() for entry in arguments]), *rest)
    return prepared


def convolution_of(node: Conv):
    def result(x, w):
        return F.conv2d(x, w, None, node.stride, node.padding, 1, node.groups)
    return result


def gradients_of(node: Conv):
    kernel, padding = torch.ops.aten.convolution_backward, [node.padding] * 2

    def gradients(x, w, dy):
        return kernel(dy, x, w, None, [1, 1], padding, [1, 1], False, [0, 0], node.groups, [True, True, False])[:2]
    return gradients


for name, entry in CONVOLUTIONS.items():
    ways = {**PLAIN, "eager_last": last(eager), "compile_last": last(compiled)}
    programs(name, **ways)(convolution_of(entry.node))
    programs(f"{name}_gradients", **ways)(gradients_of(entry.node))


@programs("residual_block", eager=trained(directly), eager_last=trained(directly, channels_last),
          compile=trained(by_compiler), compile_last=trained(by_compiler, channels_last))
def residual_block(x, w, gamma, beta):
    y = F.batch_norm(F.conv2d(x, w, padding=1), None, None, gamma, beta, training=True, eps=1e-5)
    return F.relu(y + x)


def attention_of(problem):
    def attention(q, k, v):
        return F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=problem.causal)[0]
    return attention


for name, entry in ATTENTIONS.items():
    ways = (directly, by_compiler) if issubclass(entry, AttentionGradients) else ()
    settings = {way: trained(how) for way, how in zip(PLAIN, ways)} or PLAIN
    programs(name, **settings)(attention_of(entry))


@programs("mlp_block", **PLAIN)
def mlp_block(x, w1, b1, w2, b2):
    return torch.addmm(b2, F.gelu(torch.addmm(b1, x, w1), approximate="tanh"), w2)
