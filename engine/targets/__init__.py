"""Targets: log densities with gradients that every sampler can run, and what is known about them exactly."""

from engine.targets.banana import banana
from engine.targets.conjugate import hierarchical_normal, normal_gamma
from engine.targets.formula import FormulaError, formula_target
from engine.targets.funnel import funnel
from engine.targets.gaussian import dense_gaussian, gaussian
from engine.targets.modes import two_modes
from engine.targets.ring import ring
from engine.targets.spec import FAMILIES, TargetSpec, build, parameters_of
from engine.targets.student import student
from engine.targets.target import Conditionals, Target, TargetError, Truth

__all__ = [
    "FAMILIES",
    "Conditionals",
    "FormulaError",
    "Target",
    "TargetError",
    "TargetSpec",
    "Truth",
    "banana",
    "build",
    "dense_gaussian",
    "formula_target",
    "funnel",
    "gaussian",
    "hierarchical_normal",
    "normal_gamma",
    "parameters_of",
    "ring",
    "student",
    "two_modes",
]
