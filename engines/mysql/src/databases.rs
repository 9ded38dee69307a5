//! The servers of a target, as a run uses them.

use std::sync::Mutex;

use slob_engine::{OpenSpec, Result};
use slob_server::{Connector as _, Environment, LoadedSchemas, LoopPlace, Servers};

use crate::connect::Connector;
use crate::globals::Globals;
use crate::product::Product;
use crate::statement::widest_stretch;

pub(crate) struct Databases {
    pub(crate) servers: Servers<Connector>,
    pub(crate) product: Product,
    pub(crate) loop_place: LoopPlace,
    pub(crate) loaded: LoadedSchemas,
    /// The end of the run restores it.
    pub(crate) changed: Mutex<Vec<Globals>>,
}

impl Databases {
    pub(crate) fn open(spec: &OpenSpec) -> Result<Self> {
        let connector = Connector::new(&spec.target, &Environment::process())?;
        // Another product may not know the settings.
        let product = Product::ask(&mut connector.connect_any()?)?;
        Ok(Self {
            servers: Servers::connect(connector)?,
            product,
            loop_place: LoopPlace::from_options(&spec.options),
            loaded: LoadedSchemas::default(),
            changed: Mutex::default(),
        })
    }

    /// Consecutive SELECTs of up to so many keys are one statement.
    pub(crate) fn joined_keys(&self) -> u16 {
        widest_stretch(&self.product, self.loop_place)
    }
}
