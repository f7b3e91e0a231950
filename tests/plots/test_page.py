"""Pages of HTML."""

from __future__ import annotations

from posvec.plots.page import write_page


def test_a_page_is_written_in_one_step(tmp_path):
    write_page("<p>é</p>", tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == "<p>é</p>".encode()
    assert len(list(tmp_path.iterdir())) == 1
