"""The page of `rdb timeline` in a real browser; see test_page.py."""
