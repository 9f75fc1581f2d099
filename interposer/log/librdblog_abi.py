"""Makes of C declarations a Python module that has them parsed: librdblog_abi.py CDEF MODULE.

Parsing them anew takes each rdb command 30 ms (cffi's documentation, "Out-of-line, ABI level").
"""

import sys
from pathlib import Path

from cffi import FFI

source, module = (Path(arg) for arg in sys.argv[1:])
ffi = FFI()
ffi.cdef(source.read_text())
ffi.set_source(module.stem, None)
ffi.emit_python_code(str(module))
