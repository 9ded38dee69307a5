//! Services, from their three parameters.

use std::num::NonZeroU32;

use crate::error::SpecError;
use crate::settings::Settings;
use crate::value::Services;

/// Reads the services, and says if they contradict each other.
pub(super) fn services(settings: &Settings, errors: &mut Vec<SpecError>) -> Services {
    let services = Services {
        admin: settings.optional("ADMIN_SQLNET_SERVICE"),
        base: settings.optional("SQLNET_SERVICE_BASE"),
        // 0 is no number of services: there is one, without a number.
        max: settings.optional::<NonZeroU32>("SQLNET_SERVICE_MAX"),
    };
    if let (Some(max), None) = (services.max, &services.base) {
        errors.push(SpecError::ServiceWithoutBase { max: max.get() });
    }
    services
}
