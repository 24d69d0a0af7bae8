"""`python -m tests.support.killed_transfer pull|push MODELS_DIR NAME [PART_BYTES]`: one pull or
push, in a process to be killed."""

import asyncio
import sys
from pathlib import Path

from tests.support.pulls import PART_BYTES, cut_in, place


async def main(doing: str, models_dir: Path, name: str, part_bytes: int) -> None:
    here = place(models_dir, stall_s=600.0, cut=cut_in(part_bytes))
    await (here.pull(name) if doing == "pull" else here.push(name))


if __name__ == "__main__":
    doing, models_dir, name, *rest = sys.argv[1:]
    asyncio.run(main(doing, Path(models_dir), name, int(rest[0]) if rest else PART_BYTES))
