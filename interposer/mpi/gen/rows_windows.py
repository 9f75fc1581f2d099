"""Rows of one-sided communication (lower/windows.h) and of files (lower/files.c)."""

from __future__ import annotations

from .rows import Row, add

add(
    "Win_create_keyval Win_free_keyval Win_set_attr Win_get_attr Win_delete_attr"
    " Win_create_errhandler Win_set_errhandler Win_get_errhandler Win_call_errhandler",
    Row(stub="hand", real="none"),
)
add(
    "Win_create Win_allocate Win_allocate_shared Win_create_dynamic Win_free",
    Row(stub="hand", real="hand"),
)
add(
    "Win_attach Win_detach Win_shared_query Put Rput Get Rget Accumulate Raccumulate"
    " Get_accumulate Rget_accumulate Fetch_and_op Compare_and_swap",
    Row(real="hand"),
)
add(
    "Win_get_group Win_set_name Win_get_name Win_get_info Win_sync Win_test",
    Row(),
)
add("Win_set_info Win_lock Win_lock_all Win_post Win_start Win_wait", Row(blocks=True))
add(
    "Win_fence Win_complete Win_unlock_all Win_flush_all Win_flush_local_all",
    Row(blocks=True, after="window_landed(vw_win, WINDOW_ALL_TARGETS, reads);"),
)
add(
    "Win_unlock Win_flush Win_flush_local",
    Row(blocks=True, after="window_landed(vw_win, rank, reads);"),
)

# Files.
add(
    "File_create_errhandler File_set_errhandler File_get_errhandler File_call_errhandler",
    Row(stub="hand", real="none"),
)
add("File_open", Row(real="hand", made="rdb_file_opened(*fh);"))
add(
    "File_set_size File_preallocate File_set_info File_set_view File_seek_shared"
    " File_set_atomicity File_sync",
    Row(blocks=True),
)
add(
    "File_seek File_get_size File_get_group File_get_info File_get_position"
    " File_get_position_shared File_get_byte_offset File_get_type_extent File_get_atomicity",
    Row(),
)
add(
    "Register_datarep File_close File_delete File_get_view File_get_amode"
    " File_read File_read_at File_read_all File_read_at_all File_read_shared File_read_ordered"
    " File_write File_write_at File_write_all File_write_at_all File_write_shared"
    " File_write_ordered"
    " File_iread File_iread_at File_iread_all File_iread_at_all File_iread_shared"
    " File_iwrite File_iwrite_at File_iwrite_all File_iwrite_at_all File_iwrite_shared"
    " File_read_all_begin File_read_at_all_begin File_read_ordered_begin"
    " File_read_all_end File_read_at_all_end File_read_ordered_end"
    " File_write_all_begin File_write_at_all_begin File_write_ordered_begin"
    " File_write_all_end File_write_at_all_end File_write_ordered_end",
    Row(real="hand"),
)
