"""Messages between processes of rdb, on one host or several, and who may send them."""
