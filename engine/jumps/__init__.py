"""Reversible jump: chains that change the dimension of what they sample."""

from engine.jumps.predict import bands, uncertainty
from engine.jumps.recording import ArchitectureRecording
from engine.jumps.run import ArchitectureRun, sample_architecture, start_architecture
from engine.jumps.settings import JUMPS, JumpSettings
from engine.jumps.sweep import FACTORS, MOVES, VARIANTS, Ledger

__all__ = [
    "FACTORS",
    "JUMPS",
    "MOVES",
    "VARIANTS",
    "ArchitectureRecording",
    "ArchitectureRun",
    "JumpSettings",
    "Ledger",
    "bands",
    "sample_architecture",
    "start_architecture",
    "uncertainty",
]
