//! An assembler for eBPF: instructions, labels, and references to maps.
//!
//! Opcodes are those of <https://docs.kernel.org/bpf/standardization/instruction-set.html>.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Calls clobber `R0` to `R5`; `R10` is the end of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    R10,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Four,
    Eight,
}

/// The width is 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Add = 0x00,
    Sub = 0x10,
    Mul = 0x20,
    Or = 0x40,
    And = 0x50,
    Shl = 0x60,
    Shr = 0x70,
    Mod = 0x90,
    Mov = 0xb0,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum If {
    Equal = 0x10,
    Above = 0x20,
    NotEqual = 0x50,
    SignedAtMost = 0xd0,
}

/// `enum bpf_func_id` has these numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    KtimeNs = 5,
    CurrentPidTgid = 14,
    CurrentTask = 35,
    ProbeReadKernel = 113,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label(usize);

#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<[u8; 8]>,
    labels: usize,
    places: HashMap<Label, usize>,
    jumps: Vec<(usize, Label)>,
}

const IMMEDIATE: u8 = 0x00;
const REGISTER: u8 = 0x08;
const ALU64: u8 = 0x07;
const JUMP: u8 = 0x05;
const MAP: u8 = 1;
const MAP_VALUE: u8 = 2;

impl Assembler {
    fn push(&mut self, code: u8, dst: Register, src: u8, offset: i16, immediate: i32) {
        let [low, high] = offset.to_le_bytes();
        let [a, b, c, d] = immediate.to_le_bytes();
        self.code.push([code, dst as u8 | src << 4, low, high, a, b, c, d]);
    }

    pub(crate) fn op(&mut self, op: Op, dst: Register, src: Register) {
        self.push(ALU64 | op as u8 | REGISTER, dst, src as u8, 0, 0);
    }

    pub(crate) fn op_imm(&mut self, op: Op, dst: Register, immediate: i32) {
        self.push(ALU64 | op as u8 | IMMEDIATE, dst, 0, 0, immediate);
    }

    pub(crate) fn load(&mut self, width: Width, dst: Register, base: Register, offset: i16) {
        self.push(0x61 | Self::width(width), dst, base as u8, offset, 0);
    }

    pub(crate) fn store(&mut self, width: Width, base: Register, offset: i16, src: Register) {
        self.push(0x63 | Self::width(width), base, src as u8, offset, 0);
    }

    /// Memory of eight bytes.
    pub(crate) fn atomic_add(&mut self, base: Register, offset: i16, src: Register) {
        self.push(0xdb, base, src as u8, offset, 0);
    }

    fn width(width: Width) -> u8 {
        if width == Width::Eight { 0x18 } else { 0x00 }
    }

    pub(crate) fn call(&mut self, helper: Helper) {
        self.push(0x85, Register::R0, 0, 0, helper as i32);
    }

    pub(crate) fn exit(&mut self) {
        self.op_imm(Op::Mov, Register::R0, 0);
        self.push(0x95, Register::R0, 0, 0, 0);
    }

    pub(crate) fn map(&mut self, dst: Register, map: BorrowedFd<'_>) {
        self.wide(dst, MAP, map, 0);
    }

    /// `offset` is within the one value of an array.
    pub(crate) fn array_value(&mut self, dst: Register, array: BorrowedFd<'_>, offset: usize) {
        self.wide(dst, MAP_VALUE, array, offset);
    }

    fn wide(&mut self, dst: Register, source: u8, map: BorrowedFd<'_>, offset: usize) {
        self.push(0x18, dst, source, 0, map.as_raw_fd());
        self.push(0, Register::R0, 0, 0, offset as i32);
    }

    pub(crate) fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    pub(crate) fn place(&mut self, label: Label) {
        self.places.insert(label, self.code.len());
    }

    pub(crate) fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(JUMP, Register::R0, 0, 0, 0);
    }

    pub(crate) fn jump_if(&mut self, condition: If, left: Register, right: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(JUMP | condition as u8, left, 0, 0, right);
    }

    /// Panics at a label that was never placed, or is too far away.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        for (from, label) in self.jumps {
            let distance = self.places[&label] as i64 - from as i64 - 1;
            let offset = i16::try_from(distance).expect("a jump of 32 KiB");
            self.code[from][2..4].copy_from_slice(&offset.to_le_bytes());
        }
        self.code.concat()
    }
}

#[cfg(test)]
mod tests {
    use super::Register::{R0, R1, R6, R10};
    use super::*;

    #[test]
    fn instructions_have_the_bytes_of_the_specification() {
        let mut asm = Assembler::default();
        let end = asm.label();
        asm.op(Op::Mov, R6, R1);
        asm.load(Width::Eight, R1, R6, 8);
        asm.store(Width::Four, R10, -4, R1);
        asm.jump_if(If::Equal, R1, 7, end);
        asm.atomic_add(R6, 16, R1);
        asm.op_imm(Op::Shr, R1, 32);
        asm.place(end);
        asm.call(Helper::KtimeNs);
        asm.exit();
        let expected: [[u8; 8]; 9] = [
            [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
            [0x79, 0x61, 8, 0, 0, 0, 0, 0],
            [0x63, 0x1a, 0xfc, 0xff, 0, 0, 0, 0],
            [0x15, 0x01, 2, 0, 7, 0, 0, 0],
            [0xdb, 0x16, 16, 0, 0, 0, 0, 0],
            [0x77, 0x01, 0, 0, 32, 0, 0, 0],
            [0x85, 0x00, 0, 0, 5, 0, 0, 0],
            [0xb7, R0 as u8, 0, 0, 0, 0, 0, 0],
            [0x95, 0x00, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(asm.finish(), expected.concat());
    }
}
