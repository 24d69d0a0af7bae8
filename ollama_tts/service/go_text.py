"""Values as Go prints them: the text of `show`'s parameters and of PARAMETER lines."""

import json
from collections.abc import Mapping

NAME_WIDTH = 30


def plain(value: object) -> str:
    """Go's `%v`: true, 42, 0.3, 1e+06, bare text; what is no scalar as JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    return value if isinstance(value, str) else json.dumps(value)


def literal(value: object) -> str:
    """Go's `%#v`: like `plain`, with texts in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else plain(value)


def _float(value: float) -> str:
    """Shortest digits; an exponent below 1e-4 and from 1e21 on, as for `float64` in Go's JSON."""
    if abs(value) < 1e21 and value == int(value):
        return str(int(value))
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa.removesuffix('.0')}e{exponent}" if e else text


def parameter_lines(parameters: Mapping[str, object]) -> str:
    """`parameters` of `show`: one value a line, the name padded to 30 and a blank."""
    return "\n".join(
        f"{name:<{NAME_WIDTH}} {literal(item)}"
        for name, value in parameters.items()
        for item in (value if isinstance(value, list) else [value])
    )
