"""Evidence: the probability of the data under a model, all its parameters integrated out."""

from engine.evidence.probabilities import ModelProbabilities, group_probabilities, model_probabilities
from engine.evidence.run import (
    ArchitectureEvidence,
    ArchitectureEvidenceRun,
    Evidence,
    EvidenceRun,
    Problem,
    architecture_evidence,
    log_evidence,
    network_problem,
    normal_reference,
)
from engine.evidence.spec import EvidenceSpec

__all__ = [
    "ArchitectureEvidence",
    "ArchitectureEvidenceRun",
    "Evidence",
    "EvidenceRun",
    "EvidenceSpec",
    "ModelProbabilities",
    "Problem",
    "architecture_evidence",
    "group_probabilities",
    "log_evidence",
    "model_probabilities",
    "network_problem",
    "normal_reference",
]
