//! Where a run or a load goes: the target, its endpoints, its services.

use std::num::NonZeroU32;

use crate::error::{SpecError, SpecErrors};
use crate::settings::Settings;
use crate::types::{MASK, Target};

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

/// Says if the parameters of net services contradict each other.
pub(super) fn check_services(settings: &Settings, errors: &mut Vec<SpecError>) {
    // 0 is no number of services: there is one, without a number.
    let max = settings.optional::<NonZeroU32>("SQLNET_SERVICE_MAX");
    if let (Some(max), None) = (max, settings.optional::<String>("SQLNET_SERVICE_BASE")) {
        errors.push(SpecError::ServiceWithoutBase { max: max.get() });
    }
}

/// What may be shown of a list of hosts: before an `@` somebody may have put a password, as in a target.
fn without_login(list: &str) -> String {
    list.rsplit_once('@').map_or_else(|| list.to_owned(), |(_, hosts)| format!("{MASK}@{hosts}"))
}
