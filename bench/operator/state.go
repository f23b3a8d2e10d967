package main

import (
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// printState makes the operator print its state on SIGUSR2, after it has prepared for that.
func printState(prepare func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR2)
	go func() {
		for range signals {
			prepare()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Println("goroutines", runtime.NumGoroutine(), "ticks", ticks.Load(), "heap", m.HeapAlloc, "stacks", m.StackInuse)
		}
	}()
}
