"""Rows of requests that the program completes, of processes that join, and of tools."""

from __future__ import annotations

from .rows import ROWS, Row, add

add("Grequest_start", Row(stub="hand", real="hand"))
add("Grequest_complete", Row(real="hand"))

# Processes that join.
add("Comm_spawn Comm_spawn_multiple", Row(real="hand", made="rdb_comm_made({comm}, *{new});"))
add("Intercomm_create", Row(real="hand", made="rdb_comm_made({comm}, *{new});"))
add("Comm_accept Comm_connect", Row(blocks=True, made="rdb_comm_made({comm}, *{new});"))
add("Comm_join", Row(blocks=True))
add("Open_port Close_port Publish_name Unpublish_name Lookup_name", Row(blocks=True))
ROWS["MPI_Comm_get_parent"] = Row(real="hand")

# The tool information interface.
add("T_init_thread", Row(stub="hand", real="hand"))
add(
    "T_finalize T_enum_get_info T_enum_get_item T_cvar_get_info T_cvar_handle_alloc"
    " T_cvar_handle_free T_cvar_read T_cvar_write T_pvar_get_info T_pvar_session_create"
    " T_pvar_session_free T_pvar_handle_alloc T_pvar_handle_free T_pvar_start T_pvar_stop"
    " T_pvar_read T_pvar_write T_pvar_reset T_pvar_readreset T_category_get_info",
    Row(real="hand"),
)
add(
    "T_cvar_get_num T_cvar_get_index T_pvar_get_num T_pvar_get_index T_category_get_num"
    " T_category_get_index T_category_get_cvars T_category_get_pvars T_category_get_categories"
    " T_category_changed",
    Row(),
)
