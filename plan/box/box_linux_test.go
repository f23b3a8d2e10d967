package box

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// hostile is the argument by which the test binary is a program that tries to leave its box.
const hostile = "hostile"

// targets are the things outside of the box that the program tries to reach.
type targets struct {
	TCP, UDP, Abstract, Socket string // addresses; Socket is the path of a socket in a visible folder
	Config, Folder             string // a secret file, and a folder in which a file is to be created
	Elsewhere                  string // a file in an emptied folder
	Home                       string // a file in the home folder of the user
}

// findings are the results of all tries: "reached", or the error.
type findings struct {
	Server                                                        string // the answer of the server that it may reach
	TCP, UDP, Abstract, Socket, Metadata, Config, Create, Unmount string
	Elsewhere, Home, Terminals, Machine, Pair, Ring               string
	Open                                                          string // the inherited file
	Processes                                                     int
	Env                                                           []string
	Run                                                           int // number of files in /run
}

const reached = "reached"

// leftOpen is the descriptor of a file that the process before this program left open.
const leftOpen = 77

// outcome describes a try.
func outcome(err error) string {
	if err == nil {
		return reached
	}
	return err.Error()
}

// tryEverything tries to reach the targets, and prints the findings.
func tryEverything(text string) {
	var t targets
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		panic(err)
	}
	dial := func(network, address string) string {
		conn, err := net.DialTimeout(network, address, time.Minute)
		if err == nil {
			_ = conn.Close()
		}
		return outcome(err)
	}
	ask := func() error {
		conn, err := net.Dial("udp", t.UDP)
		if err != nil {
			return err
		}
		defer func() { _ = conn.Close() }()
		if _, err := conn.Write([]byte("who is there?")); err != nil {
			return err
		}
		_, err = conn.Read(make([]byte, 100))
		return err
	}
	f := findings{Env: os.Environ(), TCP: dial("tcp", t.TCP), UDP: outcome(ask()), Abstract: dial("unix", t.Abstract), Socket: dial("unix", t.Socket)}
	// Without a wall, a connection to the metadata may take as long as the cloud wants.
	if routes, err := os.ReadFile("/proc/net/route"); strings.Count(string(routes), "\n") > 1 {
		f.Metadata = outcome(err) + ", by a route"
	} else {
		f.Metadata = dial("tcp", "169.254.169.254:80")
	}
	content, err := os.ReadFile(t.Config)
	if f.Config = outcome(err); len(content) == 0 {
		f.Config = "empty"
	}
	f.Create = outcome(os.WriteFile(filepath.Join(t.Folder, "left-behind"), nil, 0o600))
	f.Unmount = outcome(unix.Unmount("/run", unix.MNT_DETACH))
	_, err = os.Stat(t.Elsewhere)
	f.Elsewhere = outcome(err)
	_, err = os.ReadFile(t.Home)
	f.Home = outcome(err)
	_, err = os.Stat("/dev/pts/ptmx")
	f.Terminals = outcome(err)
	_, err = unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	f.Machine = outcome(err)
	_, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	f.Pair = outcome(err)
	_, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	f.Ring = errno.Error() // without a filter, the address is bad
	inherited, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", leftOpen))
	if f.Open = outcome(err); err == nil && inherited != t.Elsewhere {
		f.Open = "another file"
	}
	all, _ := filepath.Glob("/proc/[0-9]*")
	f.Processes = len(all)
	entries, _ := os.ReadDir("/run") // unreadable is empty
	f.Run = len(entries)
	if resp, err := http.Get(Server); err == nil {
		body, _ := io.ReadAll(resp.Body)
		f.Server = string(body)
	} else {
		f.Server = err.Error()
	}
	_ = json.NewEncoder(os.Stdout).Encode(f)
}

// outside starts everything that a program must not reach, and the server that it may reach.
func outside(t *testing.T) (targets, Spec) {
	t.Helper()
	shared, elsewhere := shortDir(t), shortDir(t)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp("/var/tmp", "kopf-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	folder, credentials := filepath.Join(home, "folder"), filepath.Join(home, "credentials")
	if err := os.WriteFile(credentials, []byte("of the user"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	config, secret := filepath.Join(folder, "config"), filepath.Join(elsewhere, "secret")
	if err := os.WriteFile(config, []byte("the way to production"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(secret, []byte("of another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(secret)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := unix.Dup3(int(file.Fd()), leftOpen, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(leftOpen) })
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	socket := filepath.Join(shared, "server.sock")
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "welcome") })}
	serving := listen("unix", socket)
	go func() { _ = server.Serve(serving) }()
	t.Cleanup(func() { _ = server.Close() })
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = names.Close() })
	go func() {
		for buffer := make([]byte, 100); ; {
			n, from, err := names.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = names.WriteTo(buffer[:n], from)
		}
	}()
	all := targets{
		TCP: listen("tcp4", "127.0.0.1:0").Addr().String(), UDP: names.LocalAddr().String(), Config: config, Folder: folder,
		Abstract: listen("unix", "@"+filepath.Base(shared)).Addr().String(), Socket: listen("unix", filepath.Join(folder, "agent.sock")).Addr().String(),
		Elsewhere: secret, Home: credentials,
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return all, Spec{
		Path: program, Args: []string{hostile, string(text)}, Dir: folder, Socket: socket, Shared: shared,
		Visible: []string{filepath.Dir(program), folder}, Emptied: []string{home, filepath.Join(home, "missing")}, Hidden: []string{config}, Env: []string{"PATH=/bin", "GORACE=atexit_sleep_ms=0"},
	}
}

// shortDir returns a temporary folder whose path is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "kopf-box-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// needBoxes skips the test on machines that cannot make boxes.
func needBoxes(t *testing.T) {
	t.Helper()
	err := Check(shortDir(t))
	if _, ok := errors.AsType[*UnavailableError](err); ok {
		t.Skipf("allow user namespaces to run this test: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// findIn runs the hostile program in a box without a wall.
func findIn(t *testing.T, s Spec, open wall) findings {
	t.Helper()
	var stdout, stderr bytes.Buffer
	described := planOf(s)
	described.Open = open
	p, err := launch(described, s.Env, &stdout, &stderr)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	var f findings
	if err := json.Unmarshal(stdout.Bytes(), &f); err != nil || p.Err() != nil {
		t.Fatalf("%v, %v: %s%s", err, p.Err(), &stdout, &stderr)
	}
	return f
}

// ways returns the ways out of a box by which the program has reached something.
func (f findings) ways() map[wall][]string {
	ways := make(map[wall][]string)
	for _, one := range []struct {
		behind wall
		name   string
		result string
	}{
		{wallNetwork, "TCP", f.TCP}, {wallNetwork, "UDP", f.UDP}, {wallSockets, "socket", f.Socket}, {wallFolders, "elsewhere", f.Elsewhere}, {wallHome, "home", f.Home},
		{wallSockets, "machine", f.Machine}, {wallSockets, "pair", f.Pair}, {wallDevices, "terminals", f.Terminals}, {"", "inherited file", f.Open},
		{wallHidden, "kubeconfig", f.Config}, {wallFiles, "files", f.Create}, {wallPrivileges, "unmount", f.Unmount},
	} {
		if one.result == reached {
			ways[one.behind] = append(ways[one.behind], one.name)
		}
	}
	return ways
}

func TestBox_HostileProgramReachesOnlyTheServer(t *testing.T) {
	needBoxes(t)
	t.Setenv("AWS_SECRET_ACCESS_KEY", "of the user")
	_, spec := outside(t)
	f := findIn(t, spec, "")
	if ways := f.ways(); len(ways) > 0 || f.Run > 0 || f.Server != "welcome" || f.Ring != unix.ENOSYS.Error() || f.Processes > 2 {
		t.Errorf("reached %v: %+v", ways, f)
	}
	if !strings.Contains(f.Metadata, syscall.ENETUNREACH.Error()) {
		t.Errorf("the address of the cloud's metadata: %s", f.Metadata)
	}
	want := "PATH=/bin,GORACE=atexit_sleep_ms=0,HOME=/tmp/home,TMPDIR=/tmp,PWD=" + spec.Dir
	if got := strings.Join(f.Env, ","); got != want && got+",PWD="+spec.Dir != want {
		t.Errorf("the environment is %s, want %s", got, want)
	}
}

func TestBox_EachWallKeepsItsOwnWayClosed(t *testing.T) {
	needBoxes(t)
	for open, want := range map[wall]string{
		wallNetwork: "TCP,UDP", wallFolders: "elsewhere", wallHome: "home", wallDevices: "terminals", wallSockets: "socket,machine,pair", wallHidden: "kubeconfig", wallFiles: "files", wallPrivileges: "unmount",
	} {
		_, spec := outside(t)
		f := findIn(t, spec, open)
		if got := strings.Join(f.ways()[open], ","); got != want {
			t.Errorf("without %s: reached %q, want %q: %+v", open, got, want, f)
		}
	}
}

func TestBox_StopEndsAllProcesses(t *testing.T) {
	needBoxes(t)
	shared := shortDir(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	p, err := Start(Spec{
		Path: "sh", Args: []string{"-c", "sleep 1000 & echo started; trap '' TERM; wait; sleep 1000"}, Dir: "/", Shared: shared,
		Env: []string{"PATH=" + os.Getenv("PATH")}, Stdout: w, Stderr: w,
	})
	_ = w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(r, make([]byte, len("started"))); err != nil {
		t.Fatal(err)
	}
	p.Stop(0)
	// The pipe ends when the last process with it has ended.
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Error(err)
	}
}

func TestBox_ExitCodeAndNameAreTheProgramsOwn(t *testing.T) {
	needBoxes(t)
	p, err := Start(Spec{Path: "sh", Name: "a-shell", Args: []string{"-c", `test "$0" = a-shell && exit 7`}, Dir: "/", Shared: shortDir(t), Env: []string{"PATH=" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if p.Err() == nil || p.Err().Error() != "exit status 7" {
		t.Error(p.Err())
	}
}
