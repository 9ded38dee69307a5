//! Services, from their three parameters.

use std::num::NonZeroU32;

use crate::error::{SpecError, SpecErrors};
use crate::settings::Settings;
use crate::value::{MASK, Services, Target};

/// Reads the target; ENDPOINTS, if set, takes the place of its hosts.
pub(super) fn target(settings: &Settings, errors: &mut Vec<SpecError>) -> Result<Target, SpecErrors> {
    let target: Target = settings.required("TARGET")?;
    let Some(list) = settings.optional::<String>("ENDPOINTS") else { return Ok(target) };
    Ok(target.with_endpoints(&list).unwrap_or_else(|fault| {
        let list = without_login(&list);
        errors.push(SpecError::Endpoints { list, target: target.to_string(), fault });
        target
    }))
}

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

/// What may be shown of a list of hosts: before an `@` somebody may have put a password, as in a target.
fn without_login(list: &str) -> String {
    list.rsplit_once('@').map_or_else(|| list.to_owned(), |(_, hosts)| format!("{MASK}@{hosts}"))
}
