"""An explanation as one HTML file: its content, its numbers, and its page."""

from skshapley._report._write import explainer_widget, report_html, write_report

__all__ = ["explainer_widget", "report_html", "write_report"]
