"""`python -m tests.support.killed_pull MODELS_DIR NAME`: one pull, in a process to be killed."""

import asyncio
import sys
from pathlib import Path

from tests.support.pulls import place


async def main(models_dir: Path, name: str) -> None:
    here = place(models_dir, stall_s=600.0)
    await here.pull(name)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
