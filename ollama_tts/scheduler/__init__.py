"""Which models are in memory: leases, keep-alive, eviction, the queue. asyncio only, no locks."""

from ollama_tts.scheduler.admission import Terms
from ollama_tts.scheduler.clock import Clock, Timer
from ollama_tts.scheduler.lease import Lease
from ollama_tts.scheduler.scheduler import Scheduler
from ollama_tts.scheduler.snapshot import LoadedModel

__all__ = ["Clock", "Lease", "LoadedModel", "Scheduler", "Terms", "Timer"]
