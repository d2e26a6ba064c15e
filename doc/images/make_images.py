"""Make the pictures that README.md and the landing page show: python doc/images/make_images.py."""

from pathlib import Path
from runpy import run_path

from skshapley.plots import BeeswarmDisplay

HERE = Path(__file__).parent


def main():
    demo = run_path(str(HERE.parents[1] / "examples" / "demo.py"))
    explanation = demo["explain_trees"](*demo["tumours"]())
    figure = BeeswarmDisplay.from_explanation(explanation).figure_
    figure.savefig(HERE / "readme_beeswarm.png", dpi=130)


if __name__ == "__main__":
    main()
