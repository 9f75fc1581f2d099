"""Constants that differ between MPI's ABIs, in groups: within one, no two have the same value.

The standard says for each parameter of what kind it is (KINDS), so that constants can be translated
wherever one is passed.  Inside rdb those of Open MPI 4.1 are used ("canonical").
"""

from __future__ import annotations


def _words(prefix: str, words: str) -> tuple[str, ...]:
    return tuple(prefix + word for word in words.split())


GROUPS: dict[str, tuple[str, ...]] = {
    "rank": _words("MPI_", "ANY_SOURCE PROC_NULL ROOT UNDEFINED"),
    "tag": ("MPI_ANY_TAG",),
    "undefined": ("MPI_UNDEFINED",),
    "comparison": _words("MPI_", "IDENT CONGRUENT SIMILAR UNEQUAL"),
    "topology": _words("MPI_", "GRAPH CART DIST_GRAPH UNDEFINED"),
    "level": _words("MPI_THREAD_", "SINGLE FUNNELED SERIALIZED MULTIPLE"),
    "order": _words("MPI_ORDER_", "C FORTRAN"),
    "distribution": _words("MPI_DISTRIBUTE_", "BLOCK CYCLIC NONE"),
    "darg": ("MPI_DISTRIBUTE_DFLT_DARG",),
    "split": _words("MPI_", "COMM_TYPE_SHARED UNDEFINED"),
    "typeclass": _words("MPI_TYPECLASS_", "REAL INTEGER COMPLEX"),
    "lock": _words("MPI_LOCK_", "EXCLUSIVE SHARED"),
    "whence": _words("MPI_SEEK_", "SET CUR END"),
    "keyval": _words(
        "MPI_",
        "KEYVAL_INVALID TAG_UB HOST IO WTIME_IS_GLOBAL APPNUM LASTUSEDCODE UNIVERSE_SIZE"
        " WIN_BASE WIN_SIZE WIN_DISP_UNIT WIN_CREATE_FLAVOR WIN_MODEL",
    ),
    "combiner": _words(
        "MPI_COMBINER_",
        "NAMED DUP CONTIGUOUS VECTOR HVECTOR INDEXED HINDEXED INDEXED_BLOCK STRUCT SUBARRAY"
        " DARRAY F90_REAL F90_COMPLEX F90_INTEGER RESIZED HINDEXED_BLOCK",
    ),
    "error": (
        "MPI_SUCCESS",
        *_words(
            "MPI_ERR_",
            "BUFFER COUNT TYPE TAG COMM RANK REQUEST ROOT GROUP OP TOPOLOGY DIMS ARG UNKNOWN"
            " TRUNCATE OTHER INTERN IN_STATUS PENDING ACCESS AMODE ASSERT BAD_FILE BASE CONVERSION"
            " DISP DUP_DATAREP FILE_EXISTS FILE_IN_USE FILE INFO_KEY INFO_NOKEY INFO_VALUE INFO IO"
            " KEYVAL LOCKTYPE NAME NO_MEM NOT_SAME NO_SPACE NO_SUCH_FILE PORT QUOTA READ_ONLY"
            " RMA_CONFLICT RMA_SYNC SERVICE SIZE SPAWN UNSUPPORTED_DATAREP UNSUPPORTED_OPERATION"
            " WIN RMA_RANGE RMA_ATTACH RMA_FLAVOR RMA_SHARED",
        ),
        *_words(
            "MPI_T_ERR_",
            "MEMORY NOT_INITIALIZED CANNOT_INIT INVALID_INDEX INVALID_ITEM INVALID_HANDLE"
            " OUT_OF_HANDLES OUT_OF_SESSIONS INVALID_SESSION CVAR_SET_NOT_NOW CVAR_SET_NEVER"
            " PVAR_NO_STARTSTOP PVAR_NO_WRITE PVAR_NO_ATOMIC INVALID INVALID_NAME",
        ),
    ),
    "flavor": _words("MPI_WIN_FLAVOR_", "CREATE ALLOCATE DYNAMIC SHARED"),
    "model": _words("MPI_WIN_", "SEPARATE UNIFIED"),
    "offset": ("MPI_DISPLACEMENT_CURRENT",),
    "verbosity": _words(
        "MPI_T_VERBOSITY_",
        "USER_BASIC USER_DETAIL USER_ALL TUNER_BASIC TUNER_DETAIL TUNER_ALL"
        " MPIDEV_BASIC MPIDEV_DETAIL MPIDEV_ALL",
    ),
    "bind": _words(
        "MPI_T_BIND_",
        "NO_OBJECT MPI_COMM MPI_DATATYPE MPI_ERRHANDLER MPI_FILE MPI_GROUP MPI_OP MPI_REQUEST"
        " MPI_WIN MPI_MESSAGE MPI_INFO",
    ),
    "scope": _words("MPI_T_SCOPE_", "CONSTANT READONLY LOCAL GROUP GROUP_EQ ALL ALL_EQ"),
    "pvarclass": _words(
        "MPI_T_PVAR_CLASS_",
        "STATE LEVEL SIZE PERCENTAGE HIGHWATERMARK LOWWATERMARK COUNTER AGGREGATE TIMER GENERIC",
    ),
}

# Sums of bits.
FLAGS: dict[str, tuple[str, ...]] = {
    "assert": _words("MPI_MODE_", "NOCHECK NOPRECEDE NOPUT NOSTORE NOSUCCEED"),
    "amode": _words(
        "MPI_MODE_",
        "CREATE RDONLY WRONLY RDWR DELETE_ON_CLOSE UNIQUE_OPEN EXCL APPEND SEQUENTIAL",
    ),
}

# Kind of a parameter, as the standard has it -> group.
KINDS: dict[str, str] = {
    "RANK": "rank",
    "RANK_NNI": "rank",
    "TAG": "tag",
    "COLOR": "undefined",
    "INDEX": "undefined",
    "COMM_COMPARISON": "comparison",
    "GROUP_COMPARISON": "comparison",
    "TOPOLOGY_TYPE": "topology",
    "THREAD_LEVEL": "level",
    "ORDER": "order",
    "DISTRIB_ENUM": "distribution",
    "DTYPE_DISTRIBUTION": "darg",
    "SPLIT_TYPE": "split",
    "TYPECLASS": "typeclass",
    "LOCK_TYPE": "lock",
    "UPDATE_MODE": "whence",
    "KEYVAL": "keyval",
    "COMBINER": "combiner",
    "ERROR_CLASS": "error",
    "ERROR_CODE": "error",
    "ASSERT": "assert",
    "ACCESS_MODE": "amode",
    "OFFSET": "offset",
    "TOOL_VAR_VERBOSITY": "verbosity",
    "BIND_TYPE": "bind",
    "VARIABLE_SCOPE": "scope",
    "PVAR_CLASS": "pvarclass",
}
# The exit code of a process is nobody's constant.
EXCEPT = {("MPI_Abort", "errorcode")}

NAMES = sorted({name for group in (*GROUPS.values(), *FLAGS.values()) for name in group})
# The program needs their values, rdb does not.
LIMITS = (
    *_words(
        "MPI_MAX_",
        "PROCESSOR_NAME ERROR_STRING OBJECT_NAME PORT_NAME INFO_KEY INFO_VAL DATAREP_STRING"
        " LIBRARY_VERSION_STRING",
    ),
    *_words("MPI_", "BSEND_OVERHEAD VERSION SUBVERSION"),
)


def group_of(function: str, parameter: str, kind: str) -> str | None:
    return None if (function, parameter) in EXCEPT else KINDS.get(kind)
