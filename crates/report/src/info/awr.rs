//! The columns of `awr_info`, in its order and under its heads.

use slob_awr::info::Head;

use super::column::Column;
use super::fact;
use crate::figure;

/// The heads of `awr_info`, and what stands below them here.
pub const AWR_COLUMNS: [(Head, Column); 18] = [
    (Head::File, Column::Fact(&fact::ID)),
    (Head::Sessions, Column::Figure(&figure::SESSIONS)),
    (Head::Elapsed, Column::Figure(&figure::WINDOW_S)),
    (Head::DbCpu, Column::Figure(&figure::DB_CPUS)),
    (Head::DbTime, Column::Figure(&figure::AVERAGE_ACTIVE_SESSIONS)),
    (Head::Executes, Column::Figure(&figure::OPERATIONS_PER_S)),
    (Head::LogicalReads, Column::Figure(&figure::LOGICAL_READS_PER_S)),
    (Head::Reads, Column::Figure(&figure::PHYSICAL_READS_PER_S)),
    (Head::ReadMib, Column::Figure(&figure::PHYSICAL_READ_MIB_PER_S)),
    (Head::Writes, Column::Figure(&figure::PHYSICAL_WRITES_PER_S)),
    (Head::WriteMib, Column::Figure(&figure::PHYSICAL_WRITE_MIB_PER_S)),
    (Head::RedoMib, Column::Figure(&figure::REDO_MIB_PER_S)),
    (Head::SingleBlockRead, Column::Figure(&figure::SINGLE_READ_MEAN_US)),
    (Head::DirectRead, Column::Figure(&figure::DIRECT_READ_MEAN_US)),
    (Head::ParallelRead, Column::Figure(&figure::PARALLEL_READ_MEAN_US)),
    (Head::BlockWrite, Column::Figure(&figure::BLOCK_WRITE_MEAN_US)),
    (Head::LogWrite, Column::Figure(&figure::LOG_WRITE_MEAN_US)),
    (Head::TopWait, Column::Fact(&fact::TOP_WAIT)),
];
