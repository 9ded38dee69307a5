//! Remedies for reads that the page cache of the operating system serves: for checks before a test, runs and verdicts.

use slob_engine::Server;
use slob_host::GroupLimits;
use slob_spec::{Size, Target};

use crate::sampler::Topology;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Sessions and a small page cache need it.
const BESIDE_CACHE: u64 = 256 * MIB;
/// A page cache that holds a smaller share serves less than 'Physical?' tolerates.
const TIMES_PAGE_CACHE: u64 = 24;
const TIMES_CACHE: u64 = 2;
const SCHEMAS: u64 = 4;
/// Some blocks hold no rows.
const WITH_OVERHEAD: f64 = 1.05;

/// Unknown figures are absent.
#[derive(Clone, Debug, Default)]
pub struct PageCache {
    direct_io_advice: Option<String>,
    cache_bytes: Option<u64>,
    data_bytes: u64,
    loaded_bytes: u64,
    memory_bytes: Option<u64>,
    limits: Option<GroupLimits>,
    pid: Option<u32>,
    free_bytes: Option<u64>,
    /// `None` for this host.
    on: Option<String>,
    embedded: bool,
    /// The spelling for a shell.
    target: String,
}

impl PageCache {
    /// `None` if the server says that no page cache is between it and its data. `data_bytes` include blocks that are not loaded
    /// yet.
    pub fn of(
        server: &Server,
        topology: &Topology,
        target: &Target,
        data_bytes: u64,
        missing_bytes: u64,
    ) -> Option<Self> {
        let capabilities = &server.capabilities;
        if capabilities.direct_io == Some(true) || !capabilities.stores_data {
            return None;
        }
        let place = topology.servers.first();
        let host = place.and_then(|place| topology.hosts.get(place.observed_at?.0));
        let found = place.and_then(|place| place.found.as_ref().ok());
        Some(Self {
            direct_io_advice: server.direct_io_advice.clone(),
            cache_bytes: server.cache_bytes,
            data_bytes,
            loaded_bytes: data_bytes.saturating_sub(missing_bytes),
            memory_bytes: host.and_then(|host| host.info()?.memory_bytes),
            limits: found.and_then(|found| found.limits.clone()),
            pid: found.map(|found| found.pid),
            free_bytes: found.and_then(|found| found.free_bytes),
            on: host.and_then(|host| Some(host.ssh.as_ref()?.to_string())),
            embedded: capabilities.embedded,
            target: shlex::try_quote(&target.to_string()).map_or_else(|_| String::new(), Into::into),
        })
    }

    fn limit(&self) -> Option<u64> {
        self.limits.as_ref()?.memory_bytes
    }

    /// The server and its page cache share it.
    fn memory(&self) -> Option<u64> {
        [self.memory_bytes, self.limit()].into_iter().flatten().min()
    }

    /// A server with that memory can't hold them; in whole schemas.
    fn needed(&self, memory: u64) -> u64 {
        let cache = self.cache_bytes.unwrap_or(0);
        let of_page_cache = TIMES_PAGE_CACHE.saturating_mul(memory.saturating_sub(cache));
        let needed = of_page_cache.max(TIMES_CACHE.saturating_mul(cache));
        let unit = if needed > 16 * GIB { GIB } else { 256 * MIB };
        (needed / SCHEMAS).max(1).div_ceil(unit).saturating_mul(unit * SCHEMAS)
    }

    /// It leaves little to the page cache.
    fn wanted_limit(&self) -> Option<u64> {
        Some((self.cache_bytes? + BESIDE_CACHE).div_ceil(64 * MIB) * 64 * MIB)
    }

    /// `None` if the page cache can hold only a small part of the data.
    pub fn warning(&self) -> Option<String> {
        let memory = self.memory();
        if memory.is_some_and(|memory| self.data_bytes >= self.needed(memory)) {
            return None;
        }
        let held = match memory {
            Some(memory) => {
                let whose = if self.limit() == Some(memory) { "its limit of" } else { "its host's" };
                format!(" ({} of data, {whose} {} of memory)", shown(self.data_bytes), shown(memory))
            }
            None => String::new(),
        };
        Some(format!(
            "reads pass through the page cache of the operating system, which may serve most of them{held}"
        ))
    }

    /// Sentences, and their commands below, one a line.
    pub fn remedy(&self) -> String {
        let mut words = Vec::from_iter(self.direct_io_advice.clone());
        let mut commands = Vec::new();
        // A limit that starves a server ends it, so its need must be known.
        if !self.embedded && (words.is_empty() || self.cache_bytes.is_some()) {
            let (way, its_commands) = self.by_size();
            let end = if its_commands.is_empty() { '.' } else { ':' };
            words.push(format!("{}{way}{end}", if words.is_empty() { "" } else { "Without it: " }));
            commands = its_commands;
        }
        [words.join(" ")].into_iter().chain(commands).collect::<Vec<_>>().join("\n")
    }

    /// More data than the page cache can hold, with the present limit or a lower one.
    fn by_size(&self) -> (String, Vec<String>) {
        let there = self.limit().filter(|limit| self.has_room(self.needed(*limit)));
        if let Some(limit) = there {
            let (load, commands) = self.load(self.needed(limit));
            return (format!("the server may use {} of memory: {load}", shown(limit)), commands);
        }
        let Some(limit) = self.wanted_limit() else {
            let beside = shown(BESIDE_CACHE);
            let way = format!(
                "limit the server's memory to its buffer cache and {beside} more, and load {TIMES_PAGE_CACHE} times as much as it has \
                 beside that cache"
            );
            return (way, Vec::new());
        };
        let by_memory = self.memory().map(|memory| {
            let room = self.free_bytes.map(|free| format!(", and {} are free", shown(free)));
            let (memory, needed) = (shown(memory), shown(self.needed(memory)));
            format!(
                " (all of its {memory} of memory would take {needed} of data{})",
                room.unwrap_or_default()
            )
        });
        let (how, command) = self.limiting(limit);
        let (load, commands) = self.load(self.needed(limit));
        let way = format!(
            "limit the server's memory to {}, its cache of {} and {} more{}{}, {how}, and {load}",
            shown(limit),
            shown(self.cache_bytes.unwrap_or(0)),
            shown(BESIDE_CACHE),
            self.on.as_ref().map(|host| format!(", on {host}")).unwrap_or_default(),
            by_memory.unwrap_or_default(),
        );
        (way, command.into_iter().chain(commands).collect())
    }

    fn has_room(&self, data_bytes: u64) -> bool {
        let missing = data_bytes.saturating_sub(self.loaded_bytes) as f64 * WITH_OVERHEAD;
        self.free_bytes.is_none_or(|free| missing <= free as f64)
    }

    /// Without room for the data, there is no command.
    fn load(&self, data_bytes: u64) -> (String, Vec<String>) {
        let (all, loaded) = (shown(data_bytes), shown(self.loaded_bytes));
        if self.loaded_bytes >= data_bytes {
            return ("run again on what is loaded".to_owned(), Vec::new());
        }
        if !self.has_room(data_bytes) {
            let free = shown(self.free_bytes.unwrap_or(0));
            let room =
                format!("make room for {all} of data: {loaded} are loaded, and only {free} are free there");
            return (room, Vec::new());
        }
        let (target, scale) = (&self.target, size(data_bytes / SCHEMAS));
        let drop = (self.loaded_bytes > 0).then(|| format!("slob drop --target {target}"));
        let load = format!("slob setup --target {target} --scale {scale} {SCHEMAS}");
        (format!("load {all}"), drop.into_iter().chain([load]).collect())
    }

    /// The command is for its container, its unit, or a control group.
    fn limiting(&self, bytes: u64) -> (&'static str, Option<String>) {
        let limit = size(bytes);
        let path = self.limits.as_ref().map(|limits| limits.path.as_str()).unwrap_or_default();
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        for (number, part) in parts.iter().enumerate().rev() {
            if let Some((program, id)) = container(part, parts[..number].last().copied()) {
                let command = format!("{program} update --memory {limit} --memory-swap {limit} {id}");
                return ("by its container's runtime", Some(command));
            }
        }
        if parts.iter().any(|part| part.starts_with("kubepods")) {
            return ("in resources.limits.memory of its pod", None);
        }
        let is_unit = |part: &&&str| [".service", ".scope"].iter().any(|ending| part.ends_with(ending));
        if let Some(unit) = parts.iter().rfind(is_unit) {
            let command =
                format!("systemctl set-property --runtime '{unit}' MemoryMax={limit} MemorySwapMax=0");
            return ("as root", Some(command));
        }
        let is_first = self.limits.as_ref().is_some_and(|limits| limits.version == 1);
        let (folder, file) = match is_first {
            true => ("/sys/fs/cgroup/memory/slob", "memory.limit_in_bytes"),
            false => ("/sys/fs/cgroup/slob", "memory.max"),
        };
        let pid = self.pid.map_or_else(|| "PID".to_owned(), |pid| pid.to_string());
        let command =
            format!("mkdir -p {folder}; echo {limit} >{folder}/{file}; echo {pid} >{folder}/cgroup.procs");
        ("as root", Some(command))
    }
}

/// Control groups have names such as `docker-ID.scope` or `docker/ID`. Returns the runtime's program and the id.
fn container(part: &str, parent: Option<&str>) -> Option<(&'static str, String)> {
    let scope = |prefix: &str| part.strip_prefix(prefix)?.strip_suffix(".scope");
    let below = || part.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(part);
    let (program, id) = match (scope("docker-"), scope("libpod-"), parent) {
        (Some(id), ..) => ("docker", id),
        (_, Some(id), _) => ("podman", id),
        (.., Some("docker")) => ("docker", below()?),
        (.., Some("libpod" | "libpod_parent")) => ("podman", below()?),
        _ => return None,
    };
    Some((program, id.chars().take(12).collect()))
}

/// Parameters and the kernel take this form.
fn size(bytes: u64) -> String {
    Size::Bytes(bytes).to_string()
}

/// People read `384 MiB` or `4.0 GiB`.
fn shown(bytes: u64) -> String {
    match bytes {
        bytes if bytes >= GIB => format!("{:.1} GiB", bytes as f64 / GIB as f64),
        bytes => format!("{} MiB", bytes / MIB),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_group(path: &str, version: u32, memory_bytes: Option<u64>) -> PageCache {
        PageCache {
            cache_bytes: Some(128 * MIB),
            data_bytes: 320 * MIB,
            loaded_bytes: 320 * MIB,
            memory_bytes: Some(24 * GIB),
            limits: Some(GroupLimits { version, path: path.into(), memory_bytes, ..GroupLimits::default() }),
            pid: Some(4711),
            free_bytes: Some(73 * GIB),
            target: "db://h/d".into(),
            ..PageCache::default()
        }
    }

    #[test]
    fn the_limit_is_set_where_the_server_runs() {
        let id = "0123456789abcdef".repeat(4);
        let docker = "\ndocker update --memory 384M --memory-swap 384M 0123456789ab\n";
        let commands = [
            (
                "/system.slice/system-db.slice/db@15-main.service",
                2,
                "\nsystemctl set-property --runtime 'db@15-main.service' MemoryMax=384M MemorySwapMax=0\n",
            ),
            (&format!("/system.slice/docker-{id}.scope"), 2, docker),
            (&format!("/docker/{id}"), 1, docker),
            (&format!("/machine.slice/libpod-{id}.scope/container"), 2, "\npodman update --memory 384M "),
            (
                "/kubepods.slice/kubepods-pod1.slice/cri-containerd-1.scope",
                2,
                "resources.limits.memory of its pod",
            ),
            (
                "/jobs/db",
                1,
                "\nmkdir -p /sys/fs/cgroup/memory/slob; echo 384M >/sys/fs/cgroup/memory/slob/memory.limit_in_bytes",
            ),
            (
                "/jobs/db",
                2,
                "echo 384M >/sys/fs/cgroup/slob/memory.max; echo 4711 >/sys/fs/cgroup/slob/cgroup.procs\n",
            ),
        ];
        for (path, version, command) in commands {
            let remedy = of_group(path, version, None).remedy();
            assert!(remedy.contains(command), "{path}: {remedy}");
        }
    }

    /// 'Load far more' had no size, and the size that it meant did not fit on the disk.
    #[test]
    fn what_is_to_be_loaded_has_a_size_that_fits_on_the_disk() {
        let free = of_group("/", 2, None);
        let remedy = free.remedy();
        let load = "and load 6.0 GiB:\n";
        let commands = "\nslob drop --target db://h/d\nslob setup --target db://h/d --scale 1536M 4";
        assert!(remedy.contains(load) && remedy.ends_with(commands), "{remedy}");
        assert!(
            remedy.contains("24.0 GiB of memory would take 576.0 GiB of data, and 73.0 GiB are free"),
            "{remedy}"
        );
        let full = PageCache { free_bytes: Some(GIB), ..free.clone() }.remedy();
        assert!(full.contains("make room for 6.0 GiB") && !full.contains("slob setup"), "{full}");
        let empty = PageCache { loaded_bytes: 0, ..free };
        assert!(!empty.remedy().contains("slob drop"), "{}", empty.remedy());
    }

    #[test]
    fn a_limit_that_is_there_decides_what_is_enough() {
        let held = of_group("/db.service", 2, Some(512 * MIB));
        assert!(held.warning().is_some_and(|warning| warning.contains("its limit of 512 MiB")));
        let words = "the server may use 512 MiB of memory: load 9.0 GiB:\nslob drop";
        assert!(held.remedy().starts_with(words), "{}", held.remedy());
        let enough = PageCache { data_bytes: held.needed(512 * MIB), ..held };
        assert_eq!(enough.warning(), None);
        // A limit that takes more data than there is room for is lowered.
        let large = of_group("/db.service", 2, Some(8 * GIB));
        assert!(large.remedy().contains("MemoryMax=384M"), "{}", large.remedy());
    }

    #[test]
    fn direct_io_comes_first_and_an_embedded_database_has_no_limit_of_its_own() {
        let advice = "Set direct=on, and restart the server.";
        let server = PageCache { direct_io_advice: Some(advice.into()), ..of_group("/", 2, None) };
        assert!(server.remedy().starts_with(&format!("{advice} Without it: limit")), "{}", server.remedy());
        let embedded = PageCache { embedded: true, ..server };
        assert_eq!(embedded.remedy(), advice);
    }
}
