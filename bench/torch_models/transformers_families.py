"""Families of transformers: text, images, sound and both, of two layers and a small vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
import transformers

from bench.torch_models.family import Family, Made

_WORDS = 99
_LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
_COMMON = {"vocab_size": _WORDS, **_LAYERS, "intermediate_size": 64, "max_position_embeddings": 64, "pad_token_id": 0,
           "bos_token_id": 1, "eos_token_id": 2}
_FEW_HEADS = {**_COMMON, "num_key_value_heads": 2}
_EXPERTS = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
_IDS = {"vocab_size": _WORDS, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
_BOTH_WAYS = {**_IDS, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
              "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
              "max_position_embeddings": 64, "decoder_start_token_id": 1}
_T5 = {**_IDS, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}
_SQUARE = {**_LAYERS, "intermediate_size": 64, "image_size": 32, "patch_size": 8}


def _words(length: int = 12) -> torch.Tensor:
    return torch.randint(3, _WORDS, (2, length))


def _model(config: str, model: str, settings: dict[str, Any]) -> Any:
    known = getattr(transformers, config)(**settings)
    for name in ("use_cache", "output_hidden_states"):
        if hasattr(known, name):
            setattr(known, name, False)
    return getattr(transformers, model)(known)


def _of_words(config: str, model: str, settings: dict[str, Any], is_masked: bool = True) -> Made:
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[1, 9:] = 0
    inputs = {"input_ids": _words(), **({"attention_mask": mask} if is_masked else {})}
    return _model(config, model, settings), (), inputs


def _between(config: str, model: str, settings: dict[str, Any]) -> Made:
    return _model(config, model, settings), (), {"input_ids": _words(), "decoder_input_ids": _words(7)}


def _of_images(config: str, model: str, settings: dict[str, Any], side: int = 32) -> Made:
    return _model(config, model, settings), (), {"pixel_values": torch.randn(2, 3, side, side)}


def _clip() -> Made:
    text = {**_COMMON, "projection_dim": 32}
    config = {"text_config": text, "vision_config": {**_SQUARE, "projection_dim": 32}, "projection_dim": 32}
    given = {"input_ids": _words(), "pixel_values": torch.randn(2, 3, 32, 32)}
    return _model("CLIPConfig", "CLIPModel", config), (), given


def _whisper() -> Made:
    settings = {**_BOTH_WAYS, "num_mel_bins": 16, "max_source_positions": 20, "max_target_positions": 16,
                "suppress_tokens": None, "begin_suppress_tokens": None}
    inputs = {"input_features": torch.randn(2, 16, 40), "decoder_input_ids": _words(7)}
    return _model("WhisperConfig", "WhisperModel", settings), (), inputs


def _wav2vec2() -> Made:
    settings = {**_LAYERS, "intermediate_size": 64, "conv_dim": (16, 16), "conv_stride": (4, 2), "conv_kernel": (8, 3),
                "num_feat_extract_layers": 2, "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2,
                "layerdrop": 0.0, "apply_spec_augment": False}
    return _model("Wav2Vec2Config", "Wav2Vec2Model", settings), (), {"input_values": torch.randn(2, 400)}


def _detr() -> Made:
    body = {"backbone_config": transformers.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1],
                                                         layer_type="basic", out_features=["stage2"]),
            "use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None}
    layers = {name: value for name, value in _BOTH_WAYS.items() if name.endswith(("_layers", "_heads", "_dim"))}
    settings = {**layers, **body, "d_model": 32, "num_queries": 5}
    return _model("DetrConfig", "DetrForObjectDetection", settings), (), {"pixel_values": torch.randn(2, 3, 64, 64)}


def _segformer() -> Made:
    settings = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 2, 2, 4],
                "decoder_hidden_size": 16, "num_labels": 5}
    model = _model("SegformerConfig", "SegformerForSemanticSegmentation", settings)
    return model, (), {"pixel_values": torch.randn(2, 3, 64, 64)}


def _encoders() -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        "BERT": ("BertConfig", "BertForMaskedLM", _COMMON),
        "RoBERTa": ("RobertaConfig", "RobertaModel", _COMMON),
        "DistilBERT": ("DistilBertConfig", "DistilBertModel",
                       {**_IDS, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}),
        "ALBERT": ("AlbertConfig", "AlbertModel", {**_COMMON, "embedding_size": 16}),
        "ELECTRA": ("ElectraConfig", "ElectraModel", {**_COMMON, "embedding_size": 16}),
        "DeBERTa v2": ("DebertaV2Config", "DebertaV2Model",
                       {**_COMMON, "relative_attention": True, "pos_att_type": ["p2c", "c2p"]}),
        "MPNet": ("MPNetConfig", "MPNetModel", _COMMON),
        "ModernBERT": ("ModernBertConfig", "ModernBertModel", _COMMON),
        "ConvBERT": ("ConvBertConfig", "ConvBertModel", {**_COMMON, "embedding_size": 32}),
        "FNet": ("FNetConfig", "FNetModel", {**_COMMON, "type_vocab_size": 2})}


def _decoders() -> dict[str, tuple[str, str, dict[str, Any]]]:
    few, experts = _FEW_HEADS, {**_FEW_HEADS, **_EXPERTS}
    gpt = {**_IDS, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
    return {
        "GPT-2": ("GPT2Config", "GPT2LMHeadModel", gpt),
        "GPT-NeoX": ("GPTNeoXConfig", "GPTNeoXForCausalLM", _COMMON),
        "OPT": ("OPTConfig", "OPTForCausalLM", {**_COMMON, "ffn_dim": 64, "word_embed_proj_dim": 32}),
        "BLOOM": ("BloomConfig", "BloomForCausalLM", {**_IDS, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
        "Falcon": ("FalconConfig", "FalconForCausalLM", _COMMON),
        "Llama": ("LlamaConfig", "LlamaForCausalLM", few),
        "Mistral": ("MistralConfig", "MistralForCausalLM", {**few, "sliding_window": 8}),
        "Qwen2": ("Qwen2Config", "Qwen2ForCausalLM", few),
        "Qwen3": ("Qwen3Config", "Qwen3ForCausalLM", {**few, "head_dim": 8}),
        "Gemma 2": ("Gemma2Config", "Gemma2ForCausalLM", {**few, "head_dim": 8, "sliding_window": 8}),
        "Phi-3": ("Phi3Config", "Phi3ForCausalLM", few),
        "Mixtral": ("MixtralConfig", "MixtralForCausalLM", experts),
        "Qwen3 MoE": ("Qwen3MoeConfig", "Qwen3MoeForCausalLM", {**experts, "head_dim": 8}),
        "OLMoE": ("OlmoeConfig", "OlmoeForCausalLM", experts),
        "Mamba": ("MambaConfig", "MambaForCausalLM", {**_IDS, "hidden_size": 32, "num_hidden_layers": 2}),
        "Mamba-2": ("Mamba2Config", "Mamba2ForCausalLM", {**_IDS, "hidden_size": 32, "num_hidden_layers": 2,
                                                         "num_heads": 8, "head_dim": 8, "state_size": 8, "n_groups": 2,
                                                         "chunk_size": 4})}


def _seers() -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        "ViT": ("ViTConfig", "ViTModel", _SQUARE),
        "BEiT": ("BeitConfig", "BeitModel", _SQUARE),
        "DINOv2": ("Dinov2Config", "Dinov2Model", _SQUARE),
        "ConvNeXt": ("ConvNextConfig", "ConvNextModel", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}),
        "Swin": ("SwinConfig", "SwinModel", {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4,
                                             "image_size": 32, "patch_size": 4}),
        "ResNet": ("ResNetConfig", "ResNetModel", {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1]})}


def families() -> Iterator[Family]:
    for name, given in {**_encoders(), **_decoders()}.items():
        yield Family("transformers", name, partial(_of_words, *given, is_masked=name not in ("FNet", "Mamba")))
    for name, given in {"T5": ("T5Config", "T5Model", _T5), "BART": ("BartConfig", "BartModel", _BOTH_WAYS),
                        "Pegasus": ("PegasusConfig", "PegasusModel", _BOTH_WAYS)}.items():
        yield Family("transformers", name, partial(_between, *given))
    for name, given in _seers().items():
        yield Family("transformers", name, partial(_of_images, *given))
    for name, make in {"CLIP": _clip, "Whisper": _whisper, "wav2vec 2.0": _wav2vec2, "DETR": _detr,
                       "SegFormer": _segformer}.items():
        yield Family("transformers", name, make)
