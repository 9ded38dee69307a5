//! Layout of the running kernel's structures, from its own type information (BTF).

use std::fs;

use btfparse::{Error, ErrorKind, Offset, Readable, TypeInformation, TypeVariant};

const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Byte offsets within structures, and the form of block tracepoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) bio_flags: i32,
    pub(crate) bio_bytes: i32,
    pub(crate) bio_device: BioDevice,
    pub(crate) request_bio: i32,
    pub(crate) request_bytes: i32,
    /// A task's voluntary context switches.
    pub(crate) task_waits: i32,
    /// Argument with the request or bio: kernels before 5.11 pass the queue first.
    pub(crate) subject: i16,
    /// Argument with the bio of `block_bio_backmerge`, which those kernels have elsewhere.
    pub(crate) merged_bio: i16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BioDevice {
    /// `bio->bi_bdev->bd_dev`, from 5.12 on.
    Number { bdev: i32, number: i32 },
    /// `bio->bi_disk` with the numbers of the whole disk.
    Disk { disk: i32, major: i32, first_minor: i32 },
}

impl Layout {
    /// The error is a phrase: the kernel publishes no types, or lacks a structure.
    pub(crate) fn of_running_kernel() -> Result<Self, String> {
        let bytes = fs::read(TYPES).map_err(|error| format!("{TYPES}: {error} (CONFIG_DEBUG_INFO_BTF)"))?;
        let types = TypeInformation::new(&Bytes(bytes)).map_err(|error| format!("{TYPES}: {error:?}"))?;
        let at =
            |structure: &str, member: &str| match types.offset_of(types.id_of(structure)?, member).ok()?.1 {
                Offset::ByteOffset(offset) => i32::try_from(offset).ok(),
                Offset::BitOffsetAndSize(..) => None,
            };
        let need = |structure: &str, member: &str| {
            at(structure, member)
                .ok_or_else(|| format!("this kernel's `struct {structure}` has no `{member}`"))
        };
        let last_argument = |tracepoint: &str| match arguments(&types, tracepoint) {
            Some(count) => Ok(count - 1),
            None => Err(format!("this kernel has no tracepoint {tracepoint}")),
        };
        let bio_device = match (at("bio", "bi_bdev"), at("block_device", "bd_dev")) {
            (Some(bdev), Some(number)) => BioDevice::Number { bdev, number },
            _ => BioDevice::Disk {
                disk: need("bio", "bi_disk")?,
                major: need("gendisk", "major")?,
                first_minor: need("gendisk", "first_minor")?,
            },
        };
        Ok(Self {
            bio_flags: need("bio", "bi_opf")?,
            bio_bytes: need("bio", "bi_iter")? + need("bvec_iter", "bi_size")?,
            bio_device,
            request_bio: need("request", "bio")?,
            request_bytes: need("request", "__data_len")?,
            task_waits: need("task_struct", "nvcsw")?,
            subject: last_argument("block_rq_issue")?,
            merged_bio: last_argument("block_bio_backmerge")?,
        })
    }
}

fn arguments(types: &TypeInformation, tracepoint: &str) -> Option<i16> {
    let pointer = types.id_of(&format!("btf_trace_{tracepoint}"))?;
    match types.from_id(types.pointee_tid(pointer).ok()?)? {
        // The first parameter is the tracepoint's own data.
        TypeVariant::FuncProto(function) => i16::try_from(function.parameter_list().len() - 1).ok(),
        _ => None,
    }
}

struct Bytes(Vec<u8>);

impl Readable for Bytes {
    fn read(&self, offset: u64, buffer: &mut [u8]) -> btfparse::Result<()> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX);
        let found = from.checked_add(buffer.len()).and_then(|to| self.0.get(from..to));
        let found =
            found.ok_or_else(|| Error::new(ErrorKind::InvalidOffset, "beyond the end of the types"))?;
        buffer.copy_from_slice(found);
        Ok(())
    }
}
