package dockertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/docker/docker/client"
	"golang.org/x/sys/unix"
)

// startTimeout bounds the start and the stop of the engine.
const startTimeout = time.Minute

// Engine is a Docker engine whose files, processes and networks belong to this process alone. The process must run in
// separate Linux namespaces, which hack/e2e-k3d creates.
type Engine struct {
	dir     string
	runtime string
	cmd     *exec.Cmd
	log     *os.File
	exited  chan struct{}
}

// New starts an engine in a folder, which must be empty. The runtime is the program of the
// package runtime. Its data are in a tmpfs of this size, such as 2g.
func New(dir, runtime, size string) (*Engine, error) {
	if err := loopbackUp(); err != nil {
		return nil, fmt.Errorf("start the loopback interface: %w", err)
	}
	for _, name := range []string{"data", "exec"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return nil, err
		}
	}
	if err := unix.Mount("tmpfs", filepath.Join(dir, "data"), "tmpfs", 0, "size="+size); err != nil {
		return nil, fmt.Errorf("mount a tmpfs: %w", err)
	}
	log, err := os.Create(filepath.Join(dir, "dockerd.log"))
	if err != nil {
		return nil, err
	}
	e := &Engine{dir: dir, runtime: runtime, log: log}
	return e, e.Start()
}

// loopbackUp starts the loopback interface of a new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// Socket returns the path of the engine's socket.
func (e *Engine) Socket() string { return filepath.Join(e.dir, "docker.sock") }

// DataDir returns the folder of the engine's data, a mount of its own.
func (e *Engine) DataDir() string { return filepath.Join(e.dir, "data") }

// Start starts the engine again after Stop or Kill.
func (e *Engine) Start() error {
	e.cmd = exec.Command("dockerd",
		"--data-root", e.DataDir(), "--exec-root", filepath.Join(e.dir, "exec"), "--pidfile", filepath.Join(e.dir, "docker.pid"),
		"--host", "unix://"+e.Socket(), "--group", "root", "--cgroup-parent", "/kopf-e2e-k3d",
		"--add-runtime", "restricted="+e.runtime, "--default-runtime", "restricted")
	e.cmd.Stdout, e.cmd.Stderr = e.log, e.log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := e.cmd.Start(); err != nil {
		return fmt.Errorf("start dockerd: %w", err)
	}
	e.exited = make(chan struct{})
	go func() {
		_ = e.cmd.Wait() // the engine's log has the reason
		close(e.exited)
	}()
	api, err := client.NewClientWithOpts(client.WithHost("unix://" + e.Socket()))
	if err != nil {
		return err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := api.Ping(ctx); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-e.exited:
			return fmt.Errorf("dockerd does not start: %s", e.lastLog())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("dockerd does not answer: %s", e.lastLog()), e.Kill())
		}
	}
}

// Stop ends the engine, and the containers with it.
func (e *Engine) Stop() error { return e.end(syscall.SIGTERM) }

// Kill kills the engine. Its containers keep running, until it is started again.
func (e *Engine) Kill() error { return e.end(syscall.SIGKILL) }

func (e *Engine) end(signal syscall.Signal) error {
	if err := e.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end dockerd: %w", err)
	}
	select {
	case <-e.exited:
		return nil
	case <-time.After(startTimeout):
		return errors.New("dockerd does not end")
	}
}

// Freeze makes the engine hang, until Thaw is called. It returns when all threads of the engine have stopped.
func (e *Engine) Freeze() error {
	if err := e.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		err := unix.Waitid(unix.P_PID, e.cmd.Process.Pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// Thaw resumes the engine.
func (e *Engine) Thaw() error { return e.cmd.Process.Signal(syscall.SIGCONT) }

// lastLog returns the last lines of the engine's log.
func (e *Engine) lastLog() string {
	body, err := os.ReadFile(e.log.Name())
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(body), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-5):], []byte("\n")))
}
