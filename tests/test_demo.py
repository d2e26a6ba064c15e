"""`make demo` writes the announced files without a warning."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

DEMO = Path(__file__).parents[1] / "examples" / "demo.py"


@pytest.mark.slow
def test_demo(tmp_path):
    command = [sys.executable, "-W", "error", str(DEMO)]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert not done.stderr
    assert "standard error" in done.stdout
    assert "exact" in done.stdout
    assert "0.0000" not in done.stdout
    files = {path.name: path for path in (tmp_path / "demo_output").iterdir()}
    for name in ("xgboost", "mlp"):
        pictures = {
            f"{name}_{kind}.png" for kind in ("beeswarm", "importance", "waterfall")
        }
        assert pictures <= {*files}
        frame = pd.read_parquet(files[f"{name}_attributions.parquet"])
        assert (frame["standard_error"] > 0).any() == (
            name == "mlp"
        )  # the trees are read
        assert np.isfinite(frame["value"]).all()
        assert f"demo_output/{name}_waterfall.png" in done.stdout
        assert f"by {name}</h1>" in files[f"{name}_report.html"].read_text(
            encoding="utf-8"
        )
    assert "xgboost_interactions.png" in files
    assert "beyond what each adds by itself" in done.stdout
