"""``skshapley status``: what is in a folder of explanations, and whether it is whole."""

import sys
from argparse import Namespace

from skshapley._cli._status import FAILED, OK, UsageError, check_there
from skshapley.batches import ExplanationDataset


def run_status(arguments: Namespace) -> int:
    """Say how far a run has come, and name what is damaged or lost."""
    check_there(arguments.folder, "FOLDER")
    try:
        dataset = ExplanationDataset(arguments.folder)
    except FileNotFoundError as error:
        raise UsageError(str(error)) from error
    wrong = dataset.check()
    for sentence in wrong:
        sys.stderr.write(f"skshapley: {sentence}\n")
    state = "finished" if dataset.finished else "not finished"
    if wrong:
        sys.stdout.write(f"{arguments.folder}: {state}, {len(wrong)} damaged or lost\n")
        return FAILED
    skipped = len(dataset.skipped())
    sys.stdout.write(
        f"{arguments.folder}: {state}, {len(dataset)} rows explained, {skipped} set aside\n"
    )
    return OK if dataset.finished and not skipped else FAILED
