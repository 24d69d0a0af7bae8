"""A process that uploads, makes and deletes models until it is killed.

    python store_worker.py MODELS_DIR SEED

It says on standard output what it begins and what is done, one JSON list a line:
["begin", kind, name, digest], ["done", kind, name, digest].
"""

import json
import random
import sys
from pathlib import Path

from ollama_tts.names import Digest, ModelName
from ollama_tts.store import manifests
from ollama_tts.store.manifests import Layer, Manifest, encode_manifest
from ollama_tts.store.store import Store

NAMES = ("a", "b", "ns/c:t")


def say(*words: str) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


def upload(store: Store, chance: random.Random) -> Layer:
    data = chance.randbytes(chance.choice([10, 1000, 300_000]))
    digest = Digest.of(data)
    say("begin", "blob", "", str(digest))
    store.blobs.add(digest, [data[at : at + 4096] for at in range(0, len(data), 4096)])
    say("done", "blob", "", str(digest))
    return Layer(manifests.FILE, digest, len(data), "weights")


def create(store: Store, chance: random.Random, name: ModelName) -> None:
    layer = upload(store, chance)
    config = b'{"model_format":"tone","parent_model":"%d"}' % chance.randrange(10)
    contents = {Digest.of(config): config}
    config_layer = Layer(manifests.CONFIG_MEDIA_TYPE, Digest.of(config), len(config))
    manifest = Manifest(config_layer, (layer,))
    digest = str(Digest.of(encode_manifest(manifest)))
    say("begin", "create", name.short, digest)
    store.commit(name, manifest, contents)
    say("done", "create", name.short, digest)


def delete(store: Store, name: ModelName) -> None:
    if any(model.name == name for model in store.list()):
        say("begin", "delete", name.short, "")
        store.delete(name)
        say("done", "delete", name.short, "")


def main() -> None:
    store = Store(Path(sys.argv[1]))
    store.open()
    chance = random.Random(int(sys.argv[2]))
    while True:
        name = ModelName.parse(chance.choice(NAMES))
        if chance.random() < 0.3:
            delete(store, name)
        else:
            create(store, chance, name)


if __name__ == "__main__":
    main()
