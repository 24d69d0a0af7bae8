"""The official layout of a checkpoint: which file holds which tensors of which shape."""

from collections.abc import Mapping

from ollama_tts.backends.chattts.config import ChatTTSConfig, ConvConfig

Shapes = Mapping[str, tuple[int, ...]]

GPT = "asset/gpt/model.safetensors"
EMBED = "asset/Embed.safetensors"
DECODER = "asset/Decoder.safetensors"
DVAE = "asset/DVAE.safetensors"
VOCOS = "asset/Vocos.safetensors"
TOKENIZER = "asset/tokenizer/tokenizer.json"
CONFIG = "config.json"
SPEAKERS = "speakers.json"
REQUIRED = (GPT, EMBED, DECODER, VOCOS, TOKENIZER)

# Files may hold these beside what is asked for; nothing here reads them.
IGNORED = frozenset({"embed_tokens.weight"})


def shapes(config: ChatTTSConfig) -> Mapping[str, Shapes]:
    """The tensors of every weight file: relative path → name → shape."""
    return {
        GPT: _gpt(config),
        EMBED: _embed(config),
        DECODER: _decoder(config),
        DVAE: _dvae(config),
        VOCOS: _vocos(config),
    }


def _gpt(config: ChatTTSConfig) -> Shapes:
    width, inner = config.gpt.hidden_size, config.gpt.intermediate_size
    found: dict[str, tuple[int, ...]] = {"norm.weight": (width,)}
    for i in range(config.gpt.num_hidden_layers):
        p = f"layers.{i}."
        found |= {f"{p}self_attn.{n}_proj.weight": (width, width) for n in "qkvo"}
        found |= {f"{p}mlp.{n}_proj.weight": (inner, width) for n in ("gate", "up")}
        found |= {f"{p}mlp.down_proj.weight": (width, inner)}
        found |= {f"{p}{n}_layernorm.weight": (width,) for n in ("input", "post_attention")}
    return found


def _embed(config: ChatTTSConfig) -> Shapes:
    width, text, audio = (
        config.gpt.hidden_size,
        config.gpt.num_text_tokens,
        config.gpt.num_audio_tokens,
    )
    found: dict[str, tuple[int, ...]] = {"emb_text.weight": (text, width)}
    found |= _head("head_text", text, width)
    for i in range(config.gpt.num_vq):
        found[f"emb_code.{i}.weight"] = (audio, width)
        found |= _head(f"head_code.{i}", audio, width)
    return found


def _head(name: str, rows: int, width: int) -> dict[str, tuple[int, ...]]:
    p = f"{name}.parametrizations.weight.original"
    return {p + "0": (rows, 1), p + "1": (rows, width)}


def _decoder(config: ChatTTSConfig) -> Shapes:
    return {
        "coef": (1, config.vocos.n_mels, 1),
        "out_conv.weight": (config.vocos.n_mels, config.decoder.odim, 3),
        **_stack("decoder.", config.decoder),
    }


def _stack(p: str, c: ConvConfig) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {
        p + "conv_in.0.weight": (c.bn_dim, c.idim, 3),
        p + "conv_in.0.bias": (c.bn_dim,),
        p + "conv_in.2.weight": (c.hidden, c.bn_dim, 3),
        p + "conv_in.2.bias": (c.hidden,),
        p + "conv_out.weight": (c.odim, c.hidden, 1),
    }
    for i in range(c.n_layer):
        found |= _convnext(f"{p}decoder_block.{i}.", c.hidden, 4 * c.hidden, "weight")
    return found


def _convnext(p: str, width: int, inner: int, scale: str) -> dict[str, tuple[int, ...]]:
    return {
        p + "dwconv.weight": (width, 1, 7),
        p + "dwconv.bias": (width,),
        p + "norm.weight": (width,),
        p + "norm.bias": (width,),
        p + "pwconv1.weight": (inner, width),
        p + "pwconv1.bias": (inner,),
        p + "pwconv2.weight": (width, inner),
        p + "pwconv2.bias": (width,),
        p + scale: (width,),
    }


def _dvae(config: ChatTTSConfig) -> Shapes:
    c, mels = config.dvae, config.vocos.n_mels
    inner, per_group = c.decoder.idim, c.vq.dim // c.vq.G
    found: dict[str, tuple[int, ...]] = {
        "coef": (1, mels, 1),
        "downsample_conv.0.weight": (inner, mels, 3),
        "downsample_conv.0.bias": (inner,),
        "downsample_conv.2.weight": (inner, inner, 4),
        "downsample_conv.2.bias": (inner,),
        "out_conv.weight": (mels, inner, 3),
        **_mel("preprocessor_mel.", config),
        **_stack("encoder.", c.encoder),
        **_stack("decoder.", c.decoder),
    }
    for g in range(c.vq.G):
        p = f"vq_layer.quantizer.rvqs.{g}.project_"
        found |= {
            p + "in.weight": (len(c.vq.levels), per_group),
            p + "in.bias": (len(c.vq.levels),),
            p + "out.weight": (per_group, len(c.vq.levels)),
            p + "out.bias": (per_group,),
        }
    return found


def _mel(p: str, config: ChatTTSConfig) -> dict[str, tuple[int, ...]]:
    bins = config.vocos.n_fft // 2 + 1
    return {
        p + "mel_spec.spectrogram.window": (config.vocos.n_fft,),
        p + "mel_spec.mel_scale.fb": (bins, config.vocos.n_mels),
    }


def _vocos(config: ChatTTSConfig) -> Shapes:
    c = config.vocos
    found: dict[str, tuple[int, ...]] = {
        **_mel("feature_extractor.", config),
        "backbone.embed.weight": (c.dim, c.n_mels, 7),
        "backbone.embed.bias": (c.dim,),
        "head.out.weight": (c.n_fft + 2, c.dim),
        "head.out.bias": (c.n_fft + 2,),
        "head.istft.window": (c.n_fft,),
    }
    for name in ("norm", "final_layer_norm"):
        found |= {f"backbone.{name}.weight": (c.dim,), f"backbone.{name}.bias": (c.dim,)}
    for i in range(c.num_layers):
        found |= _convnext(f"backbone.convnext.{i}.", c.dim, c.intermediate_dim, "gamma")
    return found
