//go:build profile

package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"syscall"
)

// profileVariable names the folder for the profiles.
const profileVariable = "KOPF_BENCH_PROFILE"

// The CPU profile starts with the program. SIGUSR1 ends it and writes the CPU and the memory
// profile.
func init() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	go func() {
		if err := profile(os.Getenv(profileVariable), signals); err != nil {
			fmt.Fprintln(os.Stderr, "profile:", err)
		}
	}()
}

func profile(dir string, signals <-chan os.Signal) error {
	cpu, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		return err
	}
	defer cpu.Close()
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return err
	}
	<-signals
	pprof.StopCPUProfile()
	allocs, err := os.Create(filepath.Join(dir, "allocs.pprof"))
	if err != nil {
		return err
	}
	defer allocs.Close()
	return pprof.Lookup("allocs").WriteTo(allocs, 0)
}
