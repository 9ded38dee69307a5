//! Stacks of devices as fixture trees of `/proc` and `/sys`.

use std::collections::HashMap;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

struct Host {
    root: TempDir,
    mountinfo: String,
    locations: HashMap<PathBuf, Location>,
}

impl Host {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        for dir in ["proc/self", "sys/dev/block", "sys/class/block", "sys/devices"] {
            fs::create_dir_all(root.path().join(dir)).unwrap();
        }
        Self { root, mountinfo: String::new(), locations: HashMap::new() }
    }

    fn sys(&self) -> PathBuf {
        self.root.path().join("sys")
    }

    fn block(&self, path: &str, number: &str, files: &[(&str, &str)]) -> PathBuf {
        let dir = self.sys().join("devices").join(path);
        fs::create_dir_all(&dir).unwrap();
        for (name, text) in files.iter().chain(&[("dev", number), ("stat", "1 2 3 4 5 6 7 8 9 10 11")]) {
            let file = dir.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, format!("{text}\n")).unwrap();
        }
        symlink(&dir, self.sys().join("dev/block").join(number)).unwrap();
        symlink(&dir, self.sys().join("class/block").join(dir.file_name().unwrap())).unwrap();
        dir
    }

    fn stack(&self, upper: &Path, lower: &[&Path]) {
        fs::create_dir_all(upper.join("slaves")).unwrap();
        for dir in lower {
            symlink(dir, upper.join("slaves").join(dir.file_name().unwrap())).unwrap();
        }
    }

    /// Paths below `point` are found there.
    fn mount(&mut self, number: &str, point: &str, kind: &str, source: &str, options: &str) {
        let id = self.locations.len() as u64 + 20;
        let line = format!("{id} 1 {number} / {point} rw,relatime shared:1 - {kind} {source} {options}\n");
        self.mountinfo.push_str(&line);
        let (major, minor) = number.split_once(':').unwrap();
        let (major, minor) = (major.parse().unwrap(), minor.parse().unwrap());
        let location = Location { path: point.into(), major, minor, mount_id: Some(id) };
        self.locations.insert(point.into(), location);
    }

    fn resolve(&self, path: &str) -> Device {
        fs::write(self.root.path().join("proc/self/mountinfo"), &self.mountinfo).unwrap();
        let roots = Roots { proc: self.root.path().join("proc"), sys: self.sys() };
        let locate = |path: &Path| {
            let above = path.ancestors().find_map(|dir| self.locations.get(dir));
            above.cloned().ok_or_else(|| HostError::NoSuchPath { path: path.into() })
        };
        let resolver = Resolver { roots, locate: Box::new(locate) };
        let device = resolver.device(path.as_ref()).unwrap();
        for id in device.top.iter().chain(device.disks.iter().map(|disk| &disk.id)) {
            assert_eq!(id.counters(&resolver.roots).unwrap().used.reads, 1);
        }
        device
    }
}

fn disk_names(device: &Device) -> Vec<&str> {
    device.disks.iter().map(|disk| disk.id.name.as_str()).collect()
}

#[test]
fn a_partition_leads_to_its_disk_with_its_attributes() {
    let mut host = Host::new();
    let files = [
        ("device/model", "SAMSUNG MZQL2"),
        ("queue/rotational", "0"),
        ("queue/scheduler", "none [mq-deadline]"),
        ("queue/nr_requests", "256"),
        ("queue/logical_block_size", "512"),
        ("queue/physical_block_size", "4096"),
        ("size", "2048"),
    ];
    host.block("pci0/block/sda", "8:0", &files);
    host.block("pci0/block/sda/sda2", "8:2", &[("partition", "2")]);
    host.mount("8:2", "/data", "ext4", "/dev/sda2", "rw,data=ordered");
    let device = host.resolve("/data/db");
    assert_eq!((device.file_system.as_str(), device.mount_point.to_str()), ("ext4", Some("/data")));
    assert_eq!(device.mount_options, ["rw", "relatime", "data=ordered"]);
    assert_eq!(device.top, Some(BlockId { name: "sda2".into(), major: 8, minor: 2 }));
    assert_eq!(device.stack, ["sda2", "sda"]);
    let expected = Disk {
        id: BlockId { name: "sda".into(), major: 8, minor: 0 },
        model: Some("SAMSUNG MZQL2".into()),
        rotational: Some(false),
        scheduler: Some("mq-deadline".into()),
        nr_requests: Some(256),
        logical_block_bytes: Some(512),
        physical_block_bytes: Some(4096),
        size_bytes: Some(1 << 20),
    };
    assert_eq!(device.disks, [expected]);
    assert_eq!(device.note, None);
}

#[test]
fn device_mapper_on_md_on_two_disks_gives_both_disks_once() {
    let mut host = Host::new();
    let sda = host.block("pci0/block/sda", "8:0", &[]);
    let sdb = host.block("pci0/block/sdb", "8:16", &[]);
    let part = host.block("pci0/block/sda/sda1", "8:1", &[("partition", "1")]);
    let md = host.block("virtual/block/md0", "9:0", &[]);
    let dm = host.block("virtual/block/dm-0", "253:0", &[]);
    fs::create_dir_all(sda.join("slaves")).unwrap(); // real disks have an empty one
    host.stack(&md, &[&part, &sdb]);
    host.stack(&dm, &[&md, &sda]);
    host.mount("253:0", "/data", "xfs", "/dev/mapper/vg-data", "rw");
    let device = host.resolve("/data");
    assert_eq!(device.stack, ["dm-0", "md0", "sda1", "sda", "sdb"]);
    assert_eq!(disk_names(&device), ["sda", "sdb"]);
    assert_eq!(device.top.unwrap().name, "dm-0");
    assert_eq!(device.disks[0].model, None);
}

#[test]
fn an_overlay_is_followed_to_its_upper_directory() {
    let mut host = Host::new();
    host.block("pci0/block/nvme0n1", "259:0", &[]);
    host.mount("259:0", "/", "ext4", "/dev/nvme0n1", "rw");
    host.mount("0:50", "/merged", "overlay", "overlay", "rw,lowerdir=/l,upperdir=/var/up\\040per,workdir=/w");
    let device = host.resolve("/merged/x");
    assert_eq!(device.file_system, "overlay");
    assert_eq!(device.stack, ["nvme0n1"]);
    assert!(device.note.unwrap().contains("/var/up per on ext4 at /"));
}

#[test]
fn an_overlay_with_an_invisible_upper_directory_gets_a_note() {
    let mut host = Host::new();
    host.mount("0:50", "/", "overlay", "overlay", "rw,upperdir=/host/only");
    host.mount("0:51", "/relative", "overlay", "overlay", "rw,upperdir=host/only");
    for path in ["/x", "/relative/x"] {
        let device = host.resolve(path);
        assert_eq!((device.top, device.disks.len(), device.stack.len()), (None, 0, 0));
        assert!(device.note.unwrap().contains("host/only can't be seen"));
    }
}

#[test]
fn a_loop_device_leads_to_the_disk_of_its_file() {
    let mut host = Host::new();
    host.block("pci0/block/vda", "254:0", &[]);
    host.block("virtual/block/loop0", "7:0", &[("loop/backing_file", "/images/disk.img"), ("loop/dio", "0")]);
    host.block("virtual/block/loop1", "7:1", &[("loop/backing_file", "/gone (deleted)")]);
    host.mount("254:0", "/images", "ext4", "/dev/vda", "rw");
    host.mount("7:0", "/data", "xfs", "/dev/loop0", "rw");
    host.mount("7:1", "/lost", "xfs", "/dev/loop1", "rw");
    let device = host.resolve("/data/db");
    assert_eq!(device.stack, ["loop0", "vda"]);
    assert_eq!((device.top.clone().unwrap().name.as_str(), disk_names(&device)), ("loop0", vec!["vda"]));
    assert!(
        device.note.unwrap().contains("/images/disk.img on ext4, read and written through the page cache")
    );
    let lost = host.resolve("/lost");
    assert_eq!((disk_names(&lost), lost.note.is_some()), (vec!["loop1"], true));
}

#[test]
fn memory_at_the_bottom_is_named() {
    let mut host = Host::new();
    host.mount("0:30", "/shm", "tmpfs", "tmpfs", "rw");
    let direct = [("loop/backing_file", "/shm/disk.img"), ("loop/dio", "1")];
    let zram = host.block("virtual/block/zram0", "252:0", &[]);
    let dm = host.block("virtual/block/dm-0", "253:0", &[]);
    host.stack(&dm, &[&zram]);
    host.block("virtual/block/loop0", "7:0", &direct);
    host.block("virtual/block/ram1", "1:1", &[]);
    host.block("virtual/block/nbd0", "43:0", &[]);
    for (number, point) in [("253:0", "/a"), ("7:0", "/b"), ("1:1", "/c"), ("43:0", "/d")] {
        host.mount(number, point, "ext4", "/dev/x", "rw");
    }
    let of = |point: &str| host.resolve(point).memory;
    assert_eq!(
        ["/shm", "/a", "/b", "/c", "/d"].map(of).map(Option::unwrap_or_default),
        ["tmpfs", "zram0", "tmpfs", "ram1", ""]
    );
    let device = host.resolve("/b");
    assert_eq!((disk_names(&device), device.cached_below), (vec!["loop0"], false));
    assert!(device.note.unwrap().contains("loop0 is the file /shm/disk.img on tmpfs"));
    assert!(host.resolve("/d").note.unwrap().contains("over the network"));
}

#[test]
fn a_loop_device_through_the_page_cache_is_found_anywhere_in_the_stack() {
    let mut host = Host::new();
    host.block("pci0/block/vda", "254:0", &[]);
    let file = ("loop/backing_file", "/images/disk.img");
    let cached = host.block("virtual/block/loop0", "7:0", &[file, ("loop/dio", "0")]);
    host.block("virtual/block/loop1", "7:1", &[file, ("loop/dio", "1")]);
    host.block("virtual/block/loop2", "7:2", &[file]);
    let dm = host.block("virtual/block/dm-0", "253:0", &[]);
    host.stack(&dm, &[&cached]);
    host.mount("254:0", "/images", "ext4", "/dev/vda", "rw");
    let cases = [("7:0", true), ("7:1", false), ("7:2", true), ("253:0", true)];
    for (index, (number, cached_below)) in cases.into_iter().enumerate() {
        let point = format!("/data{index}");
        host.mount(number, &point, "xfs", "/dev/x", "rw");
        assert_eq!(host.resolve(&point).cached_below, cached_below, "{number}");
    }
    assert!(!host.resolve("/images/x").cached_below);
    // A direct one on a file system of one that is not.
    host.mount("7:0", "/inner", "ext4", "/dev/loop0", "rw");
    host.block("virtual/block/loop3", "7:3", &[("loop/backing_file", "/inner/disk.img"), ("loop/dio", "1")]);
    host.mount("7:3", "/outer", "ext4", "/dev/loop3", "rw");
    assert_eq!(host.resolve("/outer").cached_device.as_deref(), Some("loop0"));
}

#[test]
fn reads_of_the_disks_below_count_beside_those_of_the_top_device() {
    let mut host = Host::new();
    host.block("pci0/block/vda", "254:0", &[]);
    let file = ("loop/backing_file", "/images/disk.img");
    let top = host.block("virtual/block/loop0", "7:0", &[file, ("loop/dio", "0")]);
    fs::write(top.join("stat"), "1 0 4000 4 5 6 7 8 9 10 11\n").unwrap();
    host.mount("254:0", "/images", "ext4", "/dev/vda", "rw");
    host.mount("7:0", "/data", "xfs", "/dev/loop0", "rw");
    let roots = Roots { proc: host.root.path().join("proc"), sys: host.sys() };
    let counters = |path: &str| host.resolve(path).counters_in(&roots).unwrap().unwrap();
    // The disk's own file says that 3 sectors were read.
    let stacked = counters("/data");
    assert_eq!((stacked.used.read_bytes, stacked.disk_read_bytes), (4000 * 512, Some(3 * 512)));
    assert_eq!(counters("/images").disk_read_bytes, None, "a disk by itself has nothing below");
    let device = host.resolve("/data");
    fs::remove_file(host.sys().join("devices/pci0/block/vda/stat")).unwrap();
    assert_eq!(device.counters_in(&roots).unwrap().unwrap().disk_read_bytes, None, "unknown is not 0");
}

#[test]
fn btrfs_members_come_from_sysfs() {
    let mut host = Host::new();
    for (name, number) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")] {
        let dir = host.block(&format!("pci0/block/{name}"), number, &[]);
        let pool = host.sys().join("fs/btrfs").join(if name == "sdc" { "uuid-2" } else { "uuid-1" });
        fs::create_dir_all(pool.join("devices")).unwrap();
        symlink(&dir, pool.join("devices").join(name)).unwrap();
    }
    host.mount("0:40", "/two", "btrfs", "/dev/sdb", "rw,subvol=/x");
    host.mount("0:41", "/one", "btrfs", "/dev/sdc", "rw");
    let two = host.resolve("/two");
    assert_eq!((two.top.clone(), disk_names(&two)), (None, vec!["sda", "sdb"]));
    assert!(two.note.unwrap().contains("2 devices"));
    let one = host.resolve("/one");
    assert_eq!((one.top.unwrap().name.as_str(), one.note), ("sdc", None));
}

#[test]
fn file_systems_without_a_block_device_get_a_note() {
    let cases = [
        ("tmpfs", "memory"),
        ("nfs4", "filer:/vol"),
        ("zfs", "zpool iostat"),
        ("virtiofs", "host"),
        ("9p", "host"),
    ];
    for (kind, word) in cases {
        let mut host = Host::new();
        host.mount("0:44", "/x", kind, "filer:/vol", "rw");
        let device = host.resolve("/x/y");
        assert_eq!((device.top, device.disks.len(), device.stack.len()), (None, 0, 0), "{kind}");
        let note = device.note.unwrap();
        assert!(note.contains(word) && note.contains(kind), "{note}");
    }
}

#[test]
fn a_device_that_sysfs_does_not_show_gets_a_note() {
    let mut host = Host::new();
    host.mount("8:1", "/", "ext4", "/dev/sda1", "rw");
    let device = host.resolve("/x");
    assert_eq!((device.top, device.disks.len()), (None, 0));
    assert!(device.note.unwrap().contains("8:1"));
}
