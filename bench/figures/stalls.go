package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"
)

// stallStep is the interval of the measurement's checks whether the machine schedules it.
const stallStep = time.Millisecond

// stalls records how late this program is woken: how long the machine delays it although it has something to do.
type stalls struct {
	stop chan struct{}
	done sync.WaitGroup
	late []time.Duration
}

func newStalls() *stalls {
	s := &stalls{stop: make(chan struct{})}
	s.done.Go(func() {
		for {
			select {
			case <-s.stop:
				return
			default:
			}
			began := time.Now()
			time.Sleep(stallStep)
			s.late = append(s.late, time.Since(began)-stallStep)
		}
	})
	return s
}

// end ends the recording, and returns all delays.
func (s *stalls) end() []time.Duration {
	close(s.stop)
	s.done.Wait()
	return s.late
}

// echoVariable makes this program the one that [echo] measures.
const echoVariable = "KOPF_BENCH_ECHO"

// runEcho writes each byte that it reads from its terminal back to it.
func runEcho() error {
	before, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(int(os.Stdin.Fd()), before) }() // the terminal ends with the program
	fmt.Print(echoReady)
	one := make([]byte, 1)
	for {
		if _, err := io.ReadFull(os.Stdin, one); err != nil {
			return err
		}
		if _, err := os.Stdout.Write(one); err != nil {
			return err
		}
	}
}

// echoReady is the echo's output as soon as its terminal has stopped echoing by itself.
const echoReady = "ready"

// echo is a program that only echoes the input of its own terminal. Its delay is the minimum delay of any program on
// the machine at that time.
type echo struct {
	terminal *terminal
	letter   byte
}

func (l *environment) openEcho(ctx context.Context) (*echo, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t, err := openTerminal(ctx, program{path: path, env: []string{echoVariable + "=1"}})
	if err != nil {
		return nil, err
	}
	return &echo{terminal: t}, t.waitFor(ctx, keyLimit, "the echo", func(s *screen) bool { return s.x == len(echoReady) })
}

// press types a letter, and returns how long it took until it was on the screen.
func (e *echo) press(ctx context.Context) (time.Duration, error) {
	e.letter = 'a' + (e.letter+1)%26
	text := "\r" + string(e.letter)
	return e.terminal.press(ctx, key{text: text, shows: func(s *screen) bool { return s.x == 1 && s.cells[s.y][0] == rune(e.letter) }})
}
