"""Every command with its arguments; `command` names the function that carries it out.

Nothing is imported here that help can do without: what a command needs it imports itself.
"""

import argparse


class _Commands:
    """The commands of one parser."""

    def __init__(self, root: argparse.ArgumentParser) -> None:
        self._parsers = root.add_subparsers(title="commands", metavar="COMMAND")

    def add(
        self,
        name: str,
        function: str,
        about: str,
        *,
        alias: str | None = None,
        add_help: bool = True,
    ) -> argparse.ArgumentParser:
        """One command more, carried out by `function`."""
        command = self._parsers.add_parser(
            name,
            help=about,
            description=about,
            aliases=(alias,) if alias else (),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            add_help=add_help,
        )
        command.set_defaults(command=function)
        return command


def parser() -> argparse.ArgumentParser:
    """The parser of the whole command line.

    A parsed namespace has `command`, `module:function` inside `ollama_tts.cli`, or "" where none
    was named.
    """
    root = argparse.ArgumentParser(
        prog="ollama-tts",
        description="An Ollama-compatible server that speaks, and its client.",
        epilog="`ollama-tts COMMAND --help` tells more; `serve --help` lists all settings.",
    )
    root.add_argument(
        "-v", "--version", action="store_const", dest="command", const="serve:version",
        help="print the versions of client and server",
    )  # fmt: skip
    root.set_defaults(command="")
    commands = _Commands(root)
    _add_serving(commands)
    _add_run(commands)
    _add_batch(commands)
    _add_warm(commands)
    _add_transfers(commands)
    _add_lists(commands)
    _add_show(commands)
    _add_naming(commands)
    _add_explain(commands)
    _add_bench(commands)
    return root


def _add_serving(commands: _Commands) -> None:
    serve = commands.add("serve", "serve:serve", "Start the server.", alias="start", add_help=False)
    serve.add_argument(
        "-h", "--help", action="store_const", dest="command", const="serve:show_help",
        help="show this help message and exit",
    )  # fmt: skip
    serve.set_defaults(parser=serve)
    commands.add("version", "serve:version", "Print the versions of client and server.")


def _add_run(commands: _Commands) -> None:
    run = commands.add("run", "run:run", "Speak a text.")
    run.add_argument("model", metavar="MODEL")
    run.add_argument(
        "text",
        metavar="TEXT",
        nargs="*",
        help="what to say; without it, standard input as it comes",
    )
    run.add_argument(
        "-o", "--output", metavar="FILE", help="write the sound there; `-` is standard output"
    )
    run.add_argument("--play", action="store_true", help="play the sound")
    _add_sound(run)
    run.add_argument(
        "--keepalive",
        metavar="TIME",
        type=_lasting,
        help="how long the model stays loaded: 10m, seconds; -1 is for ever, as in --keepalive=-1",
    )
    run.add_argument("--verbose", action="store_true", help="print figures at the end")


def _add_sound(command: argparse.ArgumentParser) -> None:
    command.add_argument("--voice", metavar="V", help="voice of the model")
    command.add_argument("--format", metavar="F", help="wav, pcm, mp3, opus, flac or aac")
    _add_options(command, "an option of the request, such as speed=1.2; may be given several times")


def _add_batch(commands: _Commands) -> None:
    batch = commands.add("batch", "batch:batch", "Speak each line of a file into a file.")
    batch.add_argument("file", metavar="FILE", help="one text a line; `-` is standard input")
    batch.add_argument("-o", "--output", metavar="DIR", required=True)
    batch.add_argument("-m", "--model", metavar="MODEL", help="default: as the server's settings")
    batch.add_argument("--concurrency", metavar="N", type=_positive, default=4)
    _add_sound(batch)


def _add_warm(commands: _Commands) -> None:
    warm = commands.add("warm", "warm:warm", "Speak each line of a file into the audio cache.")
    warm.add_argument("file", metavar="FILE", help="one text a line; `-` is standard input")
    warm.add_argument("-m", "--model", metavar="MODEL", help="default: as the server's settings")
    warm.add_argument("--voice", metavar="V", help="voice of the model")
    _add_options(warm, "an option that later requests will have; may be given several times")


def _add_options(command: argparse.ArgumentParser, about: str | None = None) -> None:
    command.add_argument(
        "--option", metavar="K=V", action="append", default=[], type=_option, help=about
    )


def _add_transfers(commands: _Commands) -> None:
    create = commands.add("create", "models:create", "Make a model from a Modelfile.")
    create.add_argument("model", metavar="MODEL")
    create.add_argument(
        "-f", "--file", metavar="MODELFILE", default="Modelfile",
        help="default: Modelfile",
    )  # fmt: skip
    create.add_argument("-q", "--quantize", metavar="Q", help="q8_0, q5_0, q4_0, int8, fp16 …")
    export = commands.add("export", "export:export", "Write a model of this machine as a GGUF.")
    export.add_argument("model", metavar="MODEL")
    export.add_argument("-o", "--output", metavar="FILE", required=True)
    export.add_argument(
        "-q", "--quantize", metavar="Q", help="as for create; default: as it is stored"
    )
    pull = commands.add("pull", "models:pull", "Fetch a model.")
    pull.add_argument("model", metavar="MODEL")
    push = commands.add("push", "models:push", "Send a model to its registry.")
    push.add_argument("model", metavar="MODEL")
    for command in (pull, push):
        command.add_argument(
            "--insecure", action="store_true", help="allow http to the registry in the name"
        )


def _add_lists(commands: _Commands) -> None:
    listing = commands.add("list", "models:show_list", "List the stored models.", alias="ls")
    listing.add_argument(
        "prefix", metavar="NAME", nargs="?", default="", help="only names that start so"
    )
    commands.add("ps", "models:show_running", "List the loaded models.")


def _add_show(commands: _Commands) -> None:
    show = commands.add("show", "show:show", "Show what is known of a model.")
    show.add_argument("model", metavar="MODEL")
    part = show.add_mutually_exclusive_group()
    for name in ("license", "modelfile", "parameters", "system", "template"):
        part.add_argument(
            f"--{name}", dest="part", action="store_const", const=name, help=f"only the {name}"
        )
    show.add_argument(
        "-v", "--verbose", action="store_true", help="all of model_info, and the tensors"
    )


def _add_naming(commands: _Commands) -> None:
    copy = commands.add("cp", "models:copy", "Give a model a second name.")
    copy.add_argument("source", metavar="SOURCE")
    copy.add_argument("destination", metavar="DESTINATION")
    remove = commands.add("rm", "models:remove", "Remove models.")
    remove.add_argument("models", metavar="MODEL", nargs="+")
    stop = commands.add("stop", "models:stop", "Unload a model.")
    stop.add_argument("model", metavar="MODEL")


def _add_explain(commands: _Commands) -> None:
    explain = commands.add(
        "explain", "explain:explain", "Tell what a model would be given of a text."
    )
    explain.add_argument("model", metavar="MODEL")
    explain.add_argument("text", metavar="TEXT", nargs="*", help="without it, standard input")
    explain.add_argument("--json", action="store_true", help="print JSON")
    _add_options(explain)


def _add_bench(commands: _Commands) -> None:
    bench = commands.add("bench", "bench:bench", "Measure first audio and real-time factor.")
    bench.add_argument("model", metavar="MODEL")
    bench.add_argument("--concurrency", metavar="N,…", type=_counts, default=(1,))
    bench.add_argument("--requests", metavar="N", type=_positive, default=5, help="a listener (5)")
    bench.add_argument("--text", metavar="TEXT", help="what to say")
    bench.add_argument("--baseline", choices=("reference",), help="measure it too, interleaved")
    bench.add_argument("--json", action="store_true", help="print JSON")
    _add_options(bench)


def _option(text: str) -> tuple[str, object]:
    from ollama_tts.errors import InvalidOption
    from ollama_tts.options import parse_text

    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    try:
        return name.strip(), parse_text(name.strip(), value)
    except InvalidOption as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _lasting(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be an integer, 1 or more")
    return int(text)


def _counts(text: str) -> tuple[int, ...]:
    return tuple(_positive(part.strip()) for part in text.split(","))
