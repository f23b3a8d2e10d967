package box

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures are the numbers of architectures in filters of system calls. Others have other rules for the calls of sockets.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64, "loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

// The offsets of the fields of a system call in a filter, on little-endian machines.
const (
	callNumber   = 0
	callArch     = 4
	callArgument = 16 // the first of them; each has 8 bytes
)

// foreign is the least number of system calls of the second ABI of amd64, which no program uses.
const foreign = 0x40000000

// limitSockets leaves the program only sockets that are in its network namespace: neither Unix sockets, to which files in any folder
// lead, nor those of virtual machines. It needs [unix.PR_SET_NO_NEW_PRIVS], and is for the calling thread and the program that it executes.
func limitSockets() error {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("limit the sockets: not known on %s", runtime.GOARCH)
	}
	filter := socketFilter(arch)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if errno != 0 {
		return fmt.Errorf("limit the sockets: %w", errno)
	}
	return nil
}

// socketFilter returns a filter that refuses io_uring, which creates sockets without system calls, too.
func socketFilter(arch uint32) []unix.SockFilter {
	load := func(offset uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
	}
	unless := func(comparison uint16, value uint32, skipped uint8) unix.SockFilter { // skips if the comparison is false
		return unix.SockFilter{Code: unix.BPF_JMP | comparison | unix.BPF_K, K: value, Jf: skipped}
	}
	when := func(value uint32, skipped uint8) unix.SockFilter { // skips if the values are equal
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: skipped}
	}
	end := func(result uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: result}
	}
	refuse := func(errno unix.Errno) unix.SockFilter { return end(unix.SECCOMP_RET_ERRNO | uint32(errno)) }
	return []unix.SockFilter{
		load(callArch),
		when(arch, 1),
		refuse(unix.EPERM),
		load(callNumber),
		unless(unix.BPF_JGE, foreign, 1),
		refuse(unix.EPERM),
		unless(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP, 1),
		refuse(unix.ENOSYS),

		unless(unix.BPF_JEQ, unix.SYS_SOCKET, 6),
		load(callArgument), // the family
		when(unix.AF_INET, 3),
		when(unix.AF_INET6, 2),
		when(unix.AF_NETLINK, 1),
		refuse(unix.EAFNOSUPPORT),
		end(unix.SECCOMP_RET_ALLOW),

		unless(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, 4),
		load(callArgument + 8), // the type, with flags
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf},
		when(unix.SOCK_STREAM, 1),
		refuse(unix.EAFNOSUPPORT), // a pair of other types can be connected to other sockets
		end(unix.SECCOMP_RET_ALLOW),
	}
}
