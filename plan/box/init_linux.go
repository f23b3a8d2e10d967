package box

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	tmp  = "/tmp"
	home = "/tmp/home"

	// isMade is written to the pipe when the box is made. After a failure, the error is written instead.
	isMade = "made"
	// pipe is the file descriptor of the pipe on which the process reports whether the box is made.
	pipe = 3
)

// emptied are the folders that are empty in every box: they have the sockets of the machine's services, and files of other programs.
var emptied = []string{"/run", "/var/run", tmp}

// initMain makes the box, and runs the program in it. It returns the exit code.
func initMain(args []string) int {
	made := os.NewFile(pipe, "pipe")
	p, listener, inspector, err := prepare(args)
	if err != nil {
		_, _ = fmt.Fprint(made, err) // writing fails only if the reader has ended
		return 1
	}
	if p.Try {
		_, _ = fmt.Fprint(made, isMade)
		return 0
	}
	pass := func(l net.Listener, network, address string) {
		if err := Forward(l, network, address); err != nil {
			fmt.Fprintln(os.Stderr, "kopf: the box cannot pass connections on:", err)
		}
	}
	go pass(listener, "unix", p.Socket)
	if inspector != nil {
		go pass(inspector, "tcp4", Inspector)
	}
	code, err := supervise(p, made)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kopf: start the operator in its box:", err)
	}
	return code
}

// prepare makes the box. It returns the listener for the server, and the listener for the program's inspector; nil without an inspector.
func prepare(args []string) (p plan, server, inspector net.Listener, err error) {
	if err := json.Unmarshal([]byte(strings.Join(args, " ")), &p); err != nil {
		return p, nil, nil, fmt.Errorf("read the description of the box: %w", err)
	}
	// This process may have inherited open connections and folders from the process that started kopf.
	if err := unix.CloseRange(pipe, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return p, nil, nil, fmt.Errorf("close inherited files: %w", err)
	}
	if p.Inspector != "" { // the socket must be created before the folder becomes read-only
		if inspector, err = net.Listen("unix", p.Inspector); err != nil {
			return p, nil, nil, fmt.Errorf("listen for questions to the program: %w", err)
		}
	}
	if err := hideFiles(p); err != nil {
		return p, nil, nil, err
	}
	if p.Open == wallNetwork {
		server, err = net.Listen("tcp4", "127.0.0.1:0")
		return p, server, inspector, err
	}
	if err := raiseLoopback(); err != nil {
		return p, nil, nil, fmt.Errorf("switch the loopback interface on: %w", err)
	}
	if server, err = net.Listen("tcp4", port); err != nil {
		return p, nil, nil, fmt.Errorf("listen in the box: %w", err)
	}
	return p, server, inspector, nil
}

// hideFiles makes all files read-only, empties the folders with sockets and temporary files, and mounts the folders that the program needs
// at their paths again.
func hideFiles(p plan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("separate the mounts: %w", err)
	}
	type folder struct {
		path string
		tree int
	}
	var kept []folder
	paths := slices.Concat([]string{p.Shared}, p.Visible)
	slices.SortFunc(paths, func(a, b string) int { return len(a) - len(b) }) // parents first, so that they do not cover their children
	for _, path := range paths {
		tree, err := unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return fmt.Errorf("keep %s: %w", path, err)
		}
		if path != p.Shared && p.Open != wallFiles {
			if err := makeReadOnly(tree, "", unix.AT_EMPTY_PATH); err != nil {
				return fmt.Errorf("make %s read-only: %w", path, err)
			}
		}
		kept = append(kept, folder{path, tree})
	}
	// In a container that hides parts of /proc, the kernel refuses to mount a new one. Then the program sees other processes with their
	// arguments, but the kernel protects their memory and files.
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("hide other processes: %w", err)
	}
	if p.Open != wallDevices {
		if err := hideDevices(); err != nil {
			return fmt.Errorf("hide the devices: %w", err)
		}
	}
	if p.Open != wallFiles {
		if err := makeReadOnly(unix.AT_FDCWD, "/", unix.AT_RECURSIVE); err != nil {
			return fmt.Errorf("make the files read-only: %w", err)
		}
	}
	if p.Open != wallFolders {
		for _, path := range emptied {
			if err := empty(path); err != nil {
				return err
			}
		}
		if err := os.Mkdir(home, 0o700); err != nil {
			return fmt.Errorf("make a home folder: %w", err)
		}
	}
	if p.Open != wallHome {
		for _, path := range p.Emptied {
			if err := empty(path); err != nil {
				return err
			}
		}
	}
	for _, f := range kept {
		if err := putBack(f.path, f.tree); err != nil {
			return err
		}
	}
	if p.Open == wallHidden {
		return nil
	}
	for _, path := range p.Hidden {
		if err := empty(path); err != nil {
			return err
		}
	}
	return nil
}

// hideDevices hides all devices except the few that programs need, such as /dev/null. It hides terminals, disks, and the memory of other programs.
func hideDevices() error {
	const dev = "/dev"
	names := []string{"null", "zero", "full", "random", "urandom"}
	kept := make([]int, len(names))
	for i, name := range names {
		tree, err := unix.OpenTree(unix.AT_FDCWD, filepath.Join(dev, name), unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return err
		}
		kept[i] = tree
	}
	if err := unix.Mount("tmpfs", dev, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0755"); err != nil {
		return err
	}
	for i, name := range names {
		path := filepath.Join(dev, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		if err := unix.MoveMount(kept[i], "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return err
		}
		if err := unix.Close(kept[i]); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"} {
		if err := os.Symlink("/proc/self/"+target, filepath.Join(dev, name)); err != nil {
			return err
		}
	}
	return nil
}

func makeReadOnly(dir int, path string, flags uint) error {
	return unix.MountSetattr(dir, path, flags, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

// empty makes a folder or a file empty. It does nothing if the path does not exist.
func empty(path string) error {
	there, err := exists(path)
	if err != nil || !there {
		return err
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved // /var/run, for example, is a symlink
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0700")
	} else {
		err = unix.Mount(os.DevNull, path, "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("hide %s: %w", path, err)
	}
	return nil
}

// putBack mounts a folder at its path again, which may be in an emptied folder.
func putBack(path string, tree int) error {
	if there, err := exists(path); err != nil || !there {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return fmt.Errorf("show %s: %w", path, err)
		}
	}
	if err := unix.MoveMount(tree, "", unix.AT_FDCWD, path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	return unix.Close(tree)
}

// raiseLoopback switches the loopback interface on, the only one in the box.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// supervise runs the program until it ends, or until the standard input closes. This process is the first process of its PID namespace, so
// the kernel kills all other processes of the box when it ends.
func supervise(p plan, made *os.File) (code int, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	cmd := exec.Command("/proc/self/exe", append([]string{p.Name, p.Path}, p.Args...)...)
	switch cmd.Args[0] = execName; p.Open {
	case wallPrivileges:
		cmd = exec.Command(p.Path, p.Args...)
	case wallSockets:
		cmd.Args[0] = openName
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		_, _ = fmt.Fprint(made, err)
		return 1, err
	}
	_, _ = fmt.Fprint(made, isMade)
	_ = made.Close()
	parent := make(chan struct{})
	go func() {
		defer close(parent)
		_, _ = io.Copy(io.Discard, os.Stdin) // an error counts as the end of the input
	}()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case <-signals:
			_ = cmd.Process.Signal(syscall.SIGTERM) // an error means that the program has ended
		case <-parent:
			return 1, nil
		case err := <-ended:
			if exit, ok := errors.AsType[*exec.ExitError](err); ok {
				return max(exit.ExitCode(), 1), nil
			}
			if err != nil {
				return 1, err
			}
			return 0, nil
		}
	}
}

// execMain drops the privileges that made the box, calls limit to limit the sockets, and executes the program. The program cannot undo
// these steps. The arguments are the name, the path and the arguments of the program.
func execMain(args []string, limit func() error) int {
	err := dropPrivileges()
	if err == nil {
		err = limit()
	}
	if err == nil {
		args[1], err = exec.LookPath(args[1])
	}
	if err == nil {
		err = syscall.Exec(args[1], append([]string{args[0]}, args[2:]...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, "kopf: start the operator in its box:", err)
	return 1
}

// dropPrivileges permanently drops the capabilities of the calling thread, which executes the program.
func dropPrivileges() error {
	last, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return err
	}
	highest, err := strconv.Atoi(strings.TrimSpace(string(last)))
	if err != nil {
		return fmt.Errorf("read the number of capabilities: %w", err)
	}
	runtime.LockOSThread()
	for c := range highest + 1 {
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
			return fmt.Errorf("drop a privilege: %w", err)
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop the privileges: %w", err)
	}
	return nil
}
