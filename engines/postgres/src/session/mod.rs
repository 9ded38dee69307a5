//! Sessions: one connection each, with the plans of its statements pinned.

mod arrays;
mod client_loop;
mod interrupt;
mod server_loop;
mod stretches;
mod times;

use std::sync::Arc;

use slob_engine::{EngineError, Session, SessionPlan};
use slob_server::{Cancellable, ClientLoop, Connector as _, LoopPlace};

use self::client_loop::Statements;
use self::interrupt::CancelRequest;
use self::server_loop::ServerLoop;
use crate::connections::SESSION;
use crate::database::Database;
use crate::error::failed;
use crate::namespace::namespace;
use crate::{capacity, catalog};

/// Opens a session.
///
/// # Errors
/// If a schema that it needs is not loaded, or the server refuses another connection.
pub(crate) fn open(database: &Arc<Database>, plan: &SessionPlan) -> Result<Box<dyn Session>, EngineError> {
    let connector = database.servers.connector();
    let endpoint = plan.endpoint(connector.endpoints());
    let name = format!("session {} on {}", plan.number, connector.endpoint(endpoint));
    let step = format!("opening {name}");
    let look = |schema| Ok(vec![database.links().look(|client| catalog::schema(client, schema, &step))?]);
    database.complete.require(plan, &step, namespace, look)?;
    let mut client =
        connector.connect(endpoint).map_err(|error| capacity::explained(database.links(), error))?;
    client.batch_execute(SESSION).map_err(|error| failed(step.as_str(), &error))?;
    let interrupt = CancelRequest { token: client.cancel_token(), connector: Arc::clone(connector) };
    Ok(match database.options.loop_place {
        LoopPlace::Server | LoopPlace::Statement => {
            let work = ServerLoop::open(database, client, plan, &name)?;
            Box::new(Cancellable::new(work, endpoint, interrupt))
        }
        LoopPlace::Client => {
            let statements = Statements::new(database, client);
            Box::new(Cancellable::new(ClientLoop::new(statements, plan, &step)?, endpoint, interrupt))
        }
    })
}
