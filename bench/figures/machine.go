package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// describeMachine returns a description of the machine, on which absolute figures depend.
func describeMachine(ctx context.Context) (string, error) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	var memory unix.Sysinfo_t
	if err := unix.Sysinfo(&memory); err != nil {
		return "", fmt.Errorf("read the machine's memory: %w", err)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("get the version of Go: %w", err)
	}
	return fmt.Sprintf("%d × %s, %d GB, %s/%s, %s, load %s at the start",
		runtime.NumCPU(), cpuModel(info), memory.Totalram*uint64(memory.Unit)>>30,
		runtime.GOOS, runtime.GOARCH, bytes.TrimSpace(version), strings.Fields(string(load))[0]), nil
}

func cpuModel(info []byte) string {
	for line := range bytes.Lines(info) {
		if key, value, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(key)) == "model name" {
			return string(bytes.TrimSpace(value))
		}
	}
	return "unknown CPU"
}

// meter measures how much of the machine's CPU time other programs use.
type meter struct{ busy, idle, own time.Duration }

func newMeter() meter {
	m, _ := readMeter() // others reports the error
	return m
}

// others returns the share of all CPU time that other programs used since newMeter, from 0 to 1.
// Own child processes count as own only after their exit.
func (m meter) others() (float64, error) {
	now, err := readMeter()
	if err != nil {
		return 0, err
	}
	all := now.busy + now.idle - m.busy - m.idle
	if all == 0 {
		return 0, nil
	}
	return max(0, float64(now.busy-m.busy-(now.own-m.own))/float64(all)), nil
}

func readMeter() (meter, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return meter{}, err
	}
	m, err := parseMeter(string(stat))
	if err != nil {
		return m, err
	}
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		used, err := ownCPU(who)
		if err != nil {
			return m, err
		}
		m.own += used
	}
	return m, nil
}

// ownCPU returns the CPU time of this program, or of its exited child processes.
func ownCPU(who int) (time.Duration, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(who, &usage); err != nil {
		return 0, fmt.Errorf("read the own CPU time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// parseMeter parses the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq
// and steal, in ticks.
func parseMeter(stat string) (meter, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return meter{}, fmt.Errorf("unexpected first line of /proc/stat: %q", line)
	}
	var m meter
	for i, field := range fields[1:9] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return meter{}, fmt.Errorf("parse /proc/stat: %w", err)
		}
		if i == 3 || i == 4 {
			m.idle += time.Duration(n) * tick
		} else {
			m.busy += time.Duration(n) * tick
		}
	}
	return m, nil
}
