"""``skshapley report``: a folder of explanations as a page for a browser."""

import sys
from argparse import Namespace

from skshapley._cli._status import OK, UsageError, check_free, check_name, check_there
from skshapley._report import report_html
from skshapley._tools._files import write_whole
from skshapley.batches import ExplanationDataset


def run_report(arguments: Namespace) -> int:
    """Write the report of a folder of explanations."""
    check_there(arguments.folder, "FOLDER")
    if arguments.overwrite:
        check_name(arguments.out, "--out")
    else:
        check_free(arguments.out, "--out", "choose another name, or pass --overwrite")
    try:
        dataset = ExplanationDataset(arguments.folder)
    except FileNotFoundError as error:
        raise UsageError(str(error)) from error
    text = report_html(
        dataset.read(arguments.max_rows),
        title=arguments.title,
        max_features=arguments.max_features,
        n_rows=len(dataset),
    )
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(arguments.out, lambda file: file.write(text.encode("utf-8", "replace")))
    sys.stdout.write(f"{arguments.out}\n")
    return OK
