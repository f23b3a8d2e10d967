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

// describeMachine tells what the absolute figures depend on.
func describeMachine(ctx context.Context) (string, error) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	var memory unix.Sysinfo_t
	if err := unix.Sysinfo(&memory); err != nil {
		return "", fmt.Errorf("the machine's memory: %w", err)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "", err
	}
	version, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return "", fmt.Errorf("asking go for its version: %w", err)
	}
	return fmt.Sprintf("%d × %s, %d GB, %s/%s, %s, load %s when it began",
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

// meter tells how much of the machine other programs used meanwhile.
type meter struct{ busy, idle, own time.Duration }

func newMeter() meter {
	m, _ := readMeter() // what cannot be read now cannot be read later, and fails then
	return m
}

// others is their share of all CPU time, between 0 and 1. The own programs count as
// far as they have ended.
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

// ownCPU is the CPU time of this program, or of those that it has started and that have
// ended.
func ownCPU(who int) (time.Duration, error) {
	var usage unix.Rusage
	if err := unix.Getrusage(who, &usage); err != nil {
		return 0, fmt.Errorf("the own use of the CPU: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}

// parseMeter reads the first line of /proc/stat: user, nice, system, idle, iowait, irq,
// softirq and steal, in ticks.
func parseMeter(stat string) (meter, error) {
	line, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return meter{}, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var m meter
	for i, field := range fields[1:9] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return meter{}, fmt.Errorf("/proc/stat: %w", err)
		}
		if i == 3 || i == 4 {
			m.idle += time.Duration(n) * tick
		} else {
			m.busy += time.Duration(n) * tick
		}
	}
	return m, nil
}
