//! Waits that are no work: of sessions for their user, of processes for something to do.

use crate::names;
use crate::report::WaitEvent;

/// Idle events that are met in reports without classes, by their names (Oracle Database Reference, appendix "Oracle Wait
/// Events"; V$EVENT_NAME has the class). A star stands for any rest.
const IDLE: [&str; 62] = [
    "SQL*Net message from client",
    "SQL*Net vector message from client",
    "rdbms ipc message",
    "rdbms ipc reply idle",
    "pmon timer",
    "smon timer",
    "jobq slave wait",
    "job scheduler coordinator slave wait",
    "DIAG idle wait",
    "Space Manager: slave idle wait",
    "VKTM Logical Idle Wait",
    "VKTM Init Wait for GSGA",
    "VKRM Idle",
    "dispatcher timer",
    "shared server idle wait",
    "virtual circuit next request",
    "virtual circuit status",
    "wait for unread message on broadcast channel",
    "wait for unread message on multiple broadcast channels",
    "class slave wait",
    "pipe get",
    "single-task message",
    "null event",
    "i/o slave wait",
    "io slave wait",
    "wakeup time manager",
    "watchdog main loop",
    "lreg timer",
    "fbar timer",
    "heartbeat redo informer",
    "heartbeat monitor sleep",
    "gcs remote message",
    "ges remote message",
    "ASM background timer",
    "ASM cluster membership changes",
    "ASM client timer",
    "OFS idle",
    "GCR sleep",
    "PING",
    "MRP redo arrival",
    "LNS ASYNC *",
    "LGWR worker group idle",
    "Data Guard: *",
    "Streams AQ: * idle wait",
    "Streams AQ: waiting for *",
    "Streams AQ: deallocate messages from Streams Pool",
    "Streams AQ: delete acknowledged messages",
    "Streams capture: waiting for *",
    "LogMiner *: idle",
    "LogMiner: *",
    "PX Idle Wait",
    "PX Deq: Execution Msg",
    "PX Deq: Execute Reply",
    "PX Deq Credit: need buffer idle",
    "PL/SQL lock timer",
    "EMON slave idle wait",
    "JOX Jit Process Sleep",
    "AQPC idle",
    "AQ Master idle",
    "parallel recovery *",
    "KSV master wait idle",
    "recovery area: computing *",
];

/// Whether an event is idle: by its class, or where there is none by its name, which text may cut.
pub(crate) fn is_idle(event: &WaitEvent) -> bool {
    match &event.class {
        Some(class) => class.eq_ignore_ascii_case("idle"),
        None => IDLE.iter().any(|idle| fits(idle, &event.name)),
    }
}

fn fits(idle: &str, name: &str) -> bool {
    match idle.split_once('*') {
        // `SQL*Net` has a star of its own.
        Some((start, end)) if !idle.starts_with("SQL*Net") => name.starts_with(start) && name.ends_with(end),
        _ => idle == name || names::is_cut(name, idle, &names::EVENTS),
    }
}
