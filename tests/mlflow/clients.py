#!/usr/bin/env python3
"""What users do with the real `mlflow` package, against a real `kedge server`.

Run by a Python that has mlflow (KEDGE_PEER_PYTHON); parts that need scikit-learn, matplotlib or
pandas are skipped where they are not there.

Usage: PYTHON clients.py [--bin FOLDER] [unittest options]        (default: build/bin)
"""

from access_clients import CommandLineTest, FaultTest, LoginTest  # noqa: F401
from artifact_clients import ArtifactTest, PartsTest  # noqa: F401
from client_case import main
from model_clients import ModelTest, TraceTest  # noqa: F401
from tracking_clients import TrackingTest  # noqa: F401

if __name__ == "__main__":
    main()
