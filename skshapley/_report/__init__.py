"""An explanation as one HTML file: its content, its numbers, and its page."""

from skshapley._report._notebook import explainer_widget
from skshapley._report._write import report_html, write_report

__all__ = ["explainer_widget", "report_html", "write_report"]
