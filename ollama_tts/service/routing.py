"""`Routing`: the option `split` followed through the store, from the name asked for to a voice.

A model that is chosen may itself choose, as long as the way never comes back to where it was.
"""

from collections.abc import Callable, Mapping

from ollama_tts import options
from ollama_tts.errors import ModelNotFound, NotFound, StoreFailed
from ollama_tts.metrics import Metrics
from ollama_tts.names import ModelName
from ollama_tts.service.split import Arm, choose, parse_split, refused
from ollama_tts.store.model import LocalModel

Find = Callable[[str], LocalModel]
Way = tuple[ModelName, ...]


class Routing:
    """Which model speaks a request.

    Args:
        find: A model by its name; raises ModelNotFound and InvalidName.
        metrics: Where choices are counted.
        draw: Gives numbers in [0, 1).
    """

    def __init__(self, find: Find, metrics: Metrics, draw: Callable[[], float]) -> None:
        self._find = find
        self._metrics = metrics
        self._draw = draw

    def chosen(self, asked: str, client_id: str, given: Mapping[str, object]) -> LocalModel:
        """The model that speaks a request for `asked`: that itself, where it has no split.

        `given` are the request's own options, of which `split` is one.

        Raises:
            ModelNotFound: It is not there, or the one that was chosen is not.
            InvalidOption: The split is damaged, or goes in a circle.
        """
        model = self._find(asked)
        text = _split(model.parameters, given)
        way: Way = (_name(asked),)
        while text:
            arms = parse_split(text)
            place = choose(arms, client_id, self._draw)
            self._metrics.split(place + 1)
            model, way = _follow(self._find, arms[place], way)
            text = _split(model.parameters)
        return model

    def successor(self, model: LocalModel) -> LocalModel | None:
        """What the name of `model` means by now, if that is another model; else None."""
        try:
            now = self._find(model.name.full)
        except (NotFound, StoreFailed):
            return None
        return now if now.digest != model.digest else None

    def voices(self, asked: str, given: Mapping[str, object]) -> list[LocalModel]:
        """All models that may speak a request for `asked`; `given` and errors as of `chosen`."""
        model = self._find(asked)
        text = _split(model.parameters, given)
        return _voices(self._find, text, (_name(asked),)) if text else [model]


def check_split(name: ModelName, text: str, find: Find) -> None:
    """Refuse a split that the model `name` is about to get.

    Raises:
        InvalidOption: It is none, names a model that is not there, or leads back to `name`.
    """
    try:
        _voices(find, text, (name,))
    except ModelNotFound as error:
        raise refused(str(error)) from error


def _voices(find: Find, text: str, way: Way) -> list[LocalModel]:
    """The models at all ends of a split, each once; `way` are the names that led to it."""
    found: dict[ModelName, LocalModel] = {}
    for arm in parse_split(text):
        model, further = _follow(find, arm, way)
        inner = _split(model.parameters)
        ends = _voices(find, inner, further) if inner else [model]
        found |= {end.name: end for end in ends}
    return list(found.values())


def _follow(find: Find, arm: Arm, way: Way) -> tuple[LocalModel, Way]:
    """The model of an arm, and the way with it."""
    further = (*way, arm.name)
    if any(arm.name.folded == name.folded for name in way):
        raise refused(f"it goes in a circle: {' → '.join(name.short for name in further)}")
    try:
        return find(arm.name.full), further
    except ModelNotFound as error:
        short = arm.name.short
        raise ModelNotFound(f"model '{short}' not found (split of '{way[-1].short}')") from error


def _name(asked: str) -> ModelName:
    return ModelName.parse_reference(asked)


def _split(parameters: Mapping[str, object], given: Mapping[str, object] | None = None) -> str:
    named = {
        name: value
        for name, value in (*parameters.items(), *(given or {}).items())
        if name.lower() == "split" and value is not None
    }
    return options.resolve(named).speech.split or ""
