// Command runtime runs runc without the capabilities that this machine does not have. On such a
// machine, privileged containers ask for all capabilities and cannot start otherwise. Tests set it
// as the default runtime of their Docker engine.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// capabilities are the names, in the order of their numbers.
var capabilities = strings.Fields(`CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP
	LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT
	SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE
	AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE`)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	for n, arg := range args {
		flag, value, given := strings.Cut(arg, "=")
		if !given && n+1 < len(args) {
			value = args[n+1]
		}
		var err error
		switch flag {
		case "--bundle", "-b":
			err = restrict(filepath.Join(value, "config.json"))
		case "--process", "-p":
			err = restrict(value)
		}
		if err != nil {
			return fmt.Errorf("restrict the capabilities of the container: %w", err)
		}
	}
	runc, err := exec.LookPath("runc")
	if err != nil {
		return fmt.Errorf("find runc: %w", err)
	}
	return fmt.Errorf("run runc: %w", syscall.Exec(runc, append([]string{"runc"}, args...), os.Environ()))
}

// restrict removes capabilities from a file with the configuration of a container or a process.
func restrict(path string) error {
	available, err := bounding()
	if err != nil {
		return err
	}
	body, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var config map[string]any
	if err := json.Unmarshal(body, &config); err != nil {
		return err
	}
	process, ok := config["process"].(map[string]any)
	if !ok {
		process = config // of an exec
	}
	sets, _ := process["capabilities"].(map[string]any)
	for name, set := range sets {
		all, _ := set.([]any)
		sets[name] = slices.DeleteFunc(all, func(c any) bool { return !slices.Contains(available, c.(string)) })
	}
	if body, err = json.Marshal(config); err != nil {
		return err
	}
	return os.WriteFile(path, body, 0o600)
}

// bounding returns the names of the capabilities that processes can have here.
func bounding() ([]string, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(status)) {
		digits, ok := strings.CutPrefix(line, "CapBnd:")
		if !ok {
			continue
		}
		mask, err := strconv.ParseUint(strings.TrimSpace(digits), 16, 64)
		if err != nil {
			return nil, err
		}
		var names []string
		for n, name := range capabilities {
			if mask&(1<<n) != 0 {
				names = append(names, "CAP_"+name)
			}
		}
		return names, nil
	}
	return nil, fmt.Errorf("no capabilities in /proc/self/status")
}
