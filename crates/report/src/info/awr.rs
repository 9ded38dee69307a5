//! The columns of `awr_info`, in its order and under its heads.

use super::column::Column;
use super::fact;
use crate::figure;

/// The heads of `awr_info`, and what stands below them here.
pub const AWR_COLUMNS: [(&str, Column); 18] = [
    ("FILE", Column::Fact(&fact::ID)),
    ("SESSIONS", Column::Figure(&figure::SESSIONS)),
    ("ELAPSED", Column::Figure(&figure::WINDOW_S)),
    ("DB CPU", Column::Figure(&figure::DB_CPUS)),
    ("DB Tm", Column::Figure(&figure::AVERAGE_ACTIVE_SESSIONS)),
    ("EXECUTES", Column::Figure(&figure::OPERATIONS_PER_S)),
    ("LIO", Column::Figure(&figure::LOGICAL_READS_PER_S)),
    ("PREADS", Column::Figure(&figure::PHYSICAL_READS_PER_S)),
    ("READ_MBS", Column::Figure(&figure::PHYSICAL_READ_MIB_PER_S)),
    ("PWRITES", Column::Figure(&figure::PHYSICAL_WRITES_PER_S)),
    ("WRITE_MBS", Column::Figure(&figure::PHYSICAL_WRITE_MIB_PER_S)),
    ("REDO_MBS", Column::Figure(&figure::REDO_MIB_PER_S)),
    ("DFSR_LAT", Column::Figure(&figure::SINGLE_READ_MEAN_US)),
    ("DPR_LAT", Column::Figure(&figure::DIRECT_READ_MEAN_US)),
    ("DFPR_LAT", Column::Figure(&figure::PARALLEL_READ_MEAN_US)),
    ("DFPW_LAT", Column::Figure(&figure::BLOCK_WRITE_MEAN_US)),
    ("LFPW_LAT", Column::Figure(&figure::LOG_WRITE_MEAN_US)),
    ("TOP WAIT", Column::Fact(&fact::TOP_WAIT)),
];
