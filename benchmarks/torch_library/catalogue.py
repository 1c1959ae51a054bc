"""Models of torchvision, timm and transformers in small configurations, without weights, for ``benchmarks.torch_models``.

Each is made by the library's own constructor, with random weights, in train mode, so that batch norms use and move their statistics,
and with dropout and stochastic depth off, whose random numbers are others than PyTorch's.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from inspect import signature
from typing import Any

import torch

Inputs = Callable[[], Mapping[str, Any]]


@dataclass(frozen=True)
class Model:
    """A model by the library that it comes from.

    Attributes:
        name: what the table calls it.
        library: the package that must be installed.
        make: makes it; takes the package.
        inputs: its inputs by name.
    """

    name: str
    library: str
    make: Callable[[Any], Any] = field(repr=False)
    inputs: Inputs = field(repr=False)


def _images(size: int, count: int = 2, name: str = "x") -> Inputs:
    return lambda: {name: torch.randn(count, 3, size, size)}


def _tokens(vocabulary: int = 99, length: int = 12, **more: Any) -> Inputs:
    return lambda: {"input_ids": torch.randint(3, vocabulary, (2, length)), **{k: v() for k, v in more.items()}}


def _padding() -> Any:
    """The second row has eight tokens."""
    return (torch.arange(12) < torch.tensor([[12], [8]])).long()


def _vision(name: str, size: int = 64, count: int = 2, **options: Any) -> Model:
    return Model(name, "torchvision", lambda library: getattr(library.models, name)(weights=None, **options), _images(size, count))


def _vit(library: Any) -> Any:
    return library.models.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64, num_classes=10)


def _swin(library: Any) -> Any:
    return library.models.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10)


def _convnext(library: Any) -> Any:
    block = library.models.convnext.CNBlockConfig
    return library.models.ConvNeXt([block(8, 16, 1), block(16, 24, 1), block(24, 32, 1), block(32, None, 1)], num_classes=10)


def _fcn(library: Any) -> Any:
    return library.models.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=4)


def _timm(kind: str, module: str, size: int = 32, **options: Any) -> Model:
    def make(_: Any) -> Any:
        return getattr(import_module(f"timm.models.{module}"), kind)(num_classes=10, **options)

    return Model(f"{kind} (timm)", "timm", make, _images(size))


def _transformer(kind: str, config: str, inputs: Inputs, /, **options: Any) -> Model:
    def make(library: Any) -> Any:
        settings = getattr(library, config)(**options)
        settings.use_cache = False
        return getattr(library, kind)(settings)

    return Model(kind, "transformers", make, inputs)


_SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "max_position_embeddings": 64}
_GROUPED = {**_SMALL, "num_key_value_heads": 2}
_DECODER: dict[str, Any] = {"decoder_input_ids": lambda: torch.randint(3, 99, (2, 7))}

MODELS = (
    _vision("alexnet"),
    _vision("vgg11_bn", 32),
    _vision("resnet18"),
    _vision("resnet50"),
    _vision("resnext50_32x4d"),
    Model("wide_resnet (4 blocks)", "torchvision", lambda v: v.models.ResNet(v.models.resnet.Bottleneck, [1, 1, 1, 1], width_per_group=128), _images(64)),
    Model("densenet (8 layers)", "torchvision", lambda v: v.models.DenseNet(8, (2, 2, 2, 2), 16), _images(64)),
    _vision("googlenet", aux_logits=False, init_weights=False),
    _vision("inception_v3", 96, aux_logits=False, init_weights=False),
    _vision("mobilenet_v2", width_mult=0.25),
    _vision("mobilenet_v3_small", width_mult=0.5),
    _vision("mnasnet0_5"),
    _vision("shufflenet_v2_x0_5"),
    _vision("squeezenet1_1"),
    _vision("efficientnet_b0"),
    _vision("regnet_y_400mf"),
    Model("convnext (4 blocks)", "torchvision", _convnext, _images(32)),
    Model("vision_transformer", "torchvision", _vit, _images(32)),
    Model("swin_transformer", "torchvision", _swin, _images(32)),
    Model("fcn_resnet50", "torchvision", _fcn, _images(32)),
    _timm("MlpMixer", "mlp_mixer", img_size=32, patch_size=8, num_blocks=2, embed_dim=32),
    _timm("ConvMixer", "convmixer", dim=32, depth=2, patch_size=4),
    _timm("ConvNeXt", "convnext", depths=(1, 1, 1, 1), dims=(8, 16, 24, 32), use_grn=True),
    _timm("VisionTransformer", "vision_transformer", img_size=32, patch_size=8, depth=2, embed_dim=32, num_heads=2, qk_norm=True),
    _timm("VisionTransformerDistilled", "deit", img_size=32, patch_size=8, depth=2, embed_dim=32, num_heads=2),
    _timm("Beit", "beit", img_size=32, patch_size=8, depth=2, embed_dim=32, num_heads=2, use_abs_pos_emb=False, use_rel_pos_bias=True, init_values=0.1),
    _timm("Cait", "cait", img_size=32, patch_size=8, depth=2, embed_dim=32, num_heads=2),
    _timm("Xcit", "xcit", img_size=32, patch_size=8, depth=2, embed_dim=32, num_heads=2, eta=1.0),
    _timm("MetaFormer", "metaformer", depths=(1, 1, 1, 1), dims=(8, 16, 24, 32)),
    Model("ghostnet_050 (timm)", "timm", lambda library: library.create_model("ghostnet_050", num_classes=10), _images(64)),
    _transformer(
        "GPT2LMHeadModel",
        "GPT2Config",
        _tokens(),
        vocab_size=99,
        n_embd=32,
        n_layer=2,
        n_head=4,
        n_positions=64,
        attn_pdrop=0.0,
        embd_pdrop=0.0,
        resid_pdrop=0.0,
    ),
    _transformer("LlamaForCausalLM", "LlamaConfig", _tokens(), **_GROUPED),
    _transformer("MistralForCausalLM", "MistralConfig", _tokens(), **_GROUPED, sliding_window=6),
    _transformer("Qwen2ForCausalLM", "Qwen2Config", _tokens(), **_GROUPED),
    _transformer("Gemma2ForCausalLM", "Gemma2Config", _tokens(), **_GROUPED, head_dim=8),
    _transformer("PhiForCausalLM", "PhiConfig", _tokens(), **_SMALL),
    _transformer("GPTNeoXForCausalLM", "GPTNeoXConfig", _tokens(), **_SMALL),
    _transformer(
        "OPTForCausalLM",
        "OPTConfig",
        _tokens(),
        vocab_size=99,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        ffn_dim=64,
        max_position_embeddings=64,
        word_embed_proj_dim=32,
        dropout=0.0,
    ),
    _transformer("BloomForCausalLM", "BloomConfig", _tokens(), vocab_size=99, hidden_size=32, n_layer=2, n_head=4),
    _transformer("FalconForCausalLM", "FalconConfig", _tokens(), vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4),
    _transformer("BertForMaskedLM", "BertConfig", _tokens(attention_mask=_padding), **_SMALL),
    _transformer("RobertaModel", "RobertaConfig", _tokens(), **_SMALL),
    _transformer(
        "DistilBertForMaskedLM", "DistilBertConfig", _tokens(), vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=64, max_position_embeddings=64
    ),
    _transformer("AlbertModel", "AlbertConfig", _tokens(), **_SMALL, embedding_size=16),
    _transformer("ElectraModel", "ElectraConfig", _tokens(), **_SMALL, embedding_size=16),
    _transformer("DebertaV2Model", "DebertaV2Config", _tokens(), **_SMALL, relative_attention=True, pos_att_type=["c2p", "p2c"]),
    _transformer(
        "T5ForConditionalGeneration", "T5Config", _tokens(**_DECODER), vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0
    ),
    _transformer(
        "BartForConditionalGeneration",
        "BartConfig",
        _tokens(**_DECODER),
        vocab_size=99,
        d_model=32,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=4,
        decoder_attention_heads=4,
        encoder_ffn_dim=64,
        decoder_ffn_dim=64,
        max_position_embeddings=64,
    ),
    _transformer(
        "ViTModel",
        "ViTConfig",
        _images(32, name="pixel_values"),
        **{k: v for k, v in _SMALL.items() if k not in ("vocab_size", "max_position_embeddings")},
        image_size=32,
        patch_size=8,
    ),
    _transformer("MambaForCausalLM", "MambaConfig", _tokens(length=6), vocab_size=99, hidden_size=16, num_hidden_layers=1, state_size=4),
    _transformer("MixtralForCausalLM", "MixtralConfig", _tokens(), **_GROUPED, num_local_experts=4, experts_implementation="batched_mm"),
    _transformer(
        "Wav2Vec2Model",
        "Wav2Vec2Config",
        lambda: {"input_values": torch.randn(2, 400)},
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=64,
        conv_dim=(16, 16),
        conv_stride=(5, 2),
        conv_kernel=(10, 3),
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=4,
        apply_spec_augment=False,
    ),
)


class Loss(torch.nn.Module):
    """A number of all floating results of a model, which depends on each element in another way."""

    def __init__(self, model: Any, names: tuple[str, ...]):
        super().__init__()
        self.model = model
        self.names = names

    def forward(self, *inputs: Any) -> Any:
        """The sum of means of results, each element weighed by a cosine of its position."""
        results = torch.utils._pytree.tree_flatten(self.model(**dict(zip(self.names, inputs, strict=True))))[0]
        results = [y for y in results if isinstance(y, torch.Tensor) and y.is_floating_point()]
        return sum((y * torch.cos(torch.arange(y.numel(), dtype=y.dtype)).view(y.shape)).mean() for y in results)


def without_dropout(module: Any) -> Any:
    """The module with every dropout and stochastic depth off."""
    for part in module.modules():
        for name in ("p", "drop_prob", "dropout", "attention_dropout", "dropout_p", "activation_dropout", "layerdrop", "hidden_dropout", "drop_rate"):
            if isinstance(getattr(part, name, None), float):
                setattr(part, name, 0.0)
    return module


def make(model: Model, dtype: Any = torch.float32) -> tuple[Any, tuple[Any, ...]]:
    """The model with a loss, in train mode, and inputs; raises ImportError where its library is not installed."""
    torch.manual_seed(0)
    built = without_dropout(model.make(import_module(model.library)).train())
    named = dict(model.inputs())
    if model.library != "transformers":
        named = {next(iter(signature(built.forward).parameters)): x for x in named.values()}
    inputs = tuple(x.to(dtype) if x.is_floating_point() else x for x in named.values())
    return Loss(built, tuple(named)).to(dtype), inputs
