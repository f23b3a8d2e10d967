package box

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// architectures are the supported architectures, with their numbers in filters of system calls. On other architectures, sockets are
// created by other system calls.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64, "riscv64": unix.AUDIT_ARCH_RISCV64, "loong64": unix.AUDIT_ARCH_LOONGARCH64,
}

// The offsets of the fields of a system call in a filter, on little-endian machines.
const (
	callNumber   = 0
	callArch     = 4
	callArgument = 16 // offset of the first argument; each argument has 8 bytes
)

// foreign is the lowest number of the system calls of x32, the second ABI of amd64, which no operator uses.
const foreign = 0x40000000

// limitSockets permits only sockets that belong to a network namespace. It forbids Unix sockets, because paths in any folder can lead to
// them, and sockets of virtual machines. It requires [unix.PR_SET_NO_NEW_PRIVS]. The limit applies to the calling thread, and to the
// program that the thread executes.
func limitSockets() error {
	arch, ok := architectures[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("limit the sockets: not supported on %s", runtime.GOARCH)
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

// socketFilter returns the filter of system calls. It also refuses io_uring, which could create sockets without the filtered calls.
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
		load(callArgument), // family of the socket
		when(unix.AF_INET, 3),
		when(unix.AF_INET6, 2),
		when(unix.AF_NETLINK, 1),
		refuse(unix.EAFNOSUPPORT),
		end(unix.SECCOMP_RET_ALLOW),

		unless(unix.BPF_JEQ, unix.SYS_SOCKETPAIR, 4),
		load(callArgument + 8), // type of the sockets, with flags
		{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: 0xf},
		when(unix.SOCK_STREAM, 1),
		refuse(unix.EAFNOSUPPORT), // a socket of another type could be connected to other sockets later
		end(unix.SECCOMP_RET_ALLOW),
	}
}
