//! Layout of the running kernel's structures, from its own type information (BTF).

use std::fs;

use btfparse::{Error, ErrorKind, Integer32Value, Offset, Readable, TypeInformation, TypeVariant};

const TYPES: &str = "/sys/kernel/btf/vmlinux";

/// Byte offsets within structures, and the form of block tracepoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) bio_flags: i32,
    pub(crate) bio_bytes: i32,
    pub(crate) bio_next: i32,
    pub(crate) bio_device: BioDevice,
    pub(crate) request_bio: i32,
    pub(crate) request_bytes: i32,
    /// A task's voluntary context switches.
    pub(crate) task_waits: i32,
    /// Argument with the request or bio: kernels before 5.11 pass the queue first.
    pub(crate) subject: i16,
    /// Argument with the bio of `block_bio_backmerge` and `block_bio_frontmerge`, which those kernels have elsewhere.
    pub(crate) merged_bio: i16,
    /// Kernels before 5.11 do not tell of two requests that become one.
    pub(crate) tells_merged_requests: bool,
    /// Bits of a bio that flush the device's cache, or write past it.
    pub(crate) durable_bits: i32,
    pub(crate) file: FileLayout,
}

/// The way from a system call to the file that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileLayout {
    /// The first argument, which lives on beside the result.
    pub(crate) argument: i32,
    pub(crate) task_files: i32,
    pub(crate) files_table: i32,
    pub(crate) table_files: i32,
    pub(crate) inode: i32,
    pub(crate) entry: i32,
    pub(crate) parent: i32,
    pub(crate) entry_inode: i32,
    pub(crate) number: i32,
    pub(crate) file_system: i32,
    pub(crate) device: i32,
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
            bio_next: need("bio", "bi_next")?,
            bio_device,
            request_bio: need("request", "bio")?,
            request_bytes: need("request", "__data_len")?,
            task_waits: need("task_struct", "nvcsw")?,
            subject: last_argument("block_rq_issue")?,
            merged_bio: last_argument("block_bio_backmerge")?,
            tells_merged_requests: arguments(&types, "block_rq_merge").is_some(),
            durable_bits: bit(&types, "__REQ_PREFLUSH")? | bit(&types, "__REQ_FUA")?,
            file: FileLayout {
                argument: need("pt_regs", if cfg!(target_arch = "aarch64") { "orig_x0" } else { "di" })?,
                task_files: need("task_struct", "files")?,
                files_table: need("files_struct", "fdt")?,
                table_files: need("fdtable", "fd")?,
                inode: need("file", "f_inode")?,
                entry: need("file", "f_path")? + need("path", "dentry")?,
                parent: need("dentry", "d_parent")?,
                entry_inode: need("dentry", "d_inode")?,
                number: need("inode", "i_ino")?,
                file_system: need("inode", "i_sb")?,
                device: need("super_block", "s_dev")?,
            },
        })
    }
}

fn bit(types: &TypeInformation, name: &str) -> Result<i32, String> {
    let found = types.id_of("req_flag_bits").and_then(|id| match types.from_id(id)? {
        TypeVariant::Enum(bits) => {
            let named = bits.named_value_list().iter().find(|named| named.name == name)?;
            let shift = match named.value {
                Integer32Value::Signed(shift) => u32::try_from(shift).ok()?,
                Integer32Value::Unsigned(shift) => shift,
            };
            1_i32.checked_shl(shift)
        }
        _ => None,
    });
    found.ok_or_else(|| format!("this kernel's `enum req_flag_bits` has no `{name}`"))
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
