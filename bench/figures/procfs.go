package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU times in /proc.
const tick = 10 * time.Millisecond

// memory is the memory of a process, in bytes.
type memory struct {
	resident int64 // VmRSS: the current value
	peak     int64 // VmHWM: the peak so far
	heap     int64 // RssAnon: the current value without the pages of the executable
}

func memoryOf(pid int) (memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	return parseMemory(string(status))
}

func parseMemory(status string) (memory, error) {
	var m memory
	found := 0
	for line := range strings.Lines(status) {
		key, value, _ := strings.Cut(line, ":")
		var to *int64
		switch key {
		case "VmRSS":
			to = &m.resident
		case "VmHWM":
			to = &m.peak
		case "RssAnon":
			to = &m.heap
		default:
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return memory{}, fmt.Errorf("parse %s of a process: %w", key, err)
		}
		*to = kilobytes << 10
		found++
	}
	if found != 3 {
		return memory{}, fmt.Errorf("the status of a process lacks its memory: %q", status)
	}
	return m, nil
}

func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return parseCPU(string(stat))
}

// parseCPU returns utime + stime, the 14th and 15th fields. The second field is a name in
// parentheses, which may contain spaces.
func parseCPU(stat string) (time.Duration, error) {
	_, rest, _ := strings.Cut(stat[max(0, strings.LastIndexByte(stat, ')')):], " ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("the stat of a process lacks its CPU time: %q", stat)
	}
	var sum time.Duration
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("parse the CPU time of a process: %w", err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}

// megabytes converts bytes to the unit of the goals.
func megabytes(bytes int64) float64 { return float64(bytes) / 1e6 }
