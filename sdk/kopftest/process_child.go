package kopftest

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
)

// child is the process of an operator.
type child struct {
	cmd     *exec.Cmd
	stdin   *os.File // standard input of the process; closing it stops the operator
	frames  *pipe
	output  *pipe
	stopped chan struct{} // receives when a signal has stopped all threads of the process
	ended   chan struct{} // closed when the process has ended and all its output was read
	close   func()        // closes stdin, once
}

// startChild starts the test binary as an operator. The functions receive the messages and the printed lines of the process.
func startChild(spec childSpec, receive func(*frame), printed func(line string)) (_ *child, err error) {
	if !canFreeze {
		return nil, fmt.Errorf("%w on this platform: run the test on Linux or macOS, or give its file a build tag", errors.ErrUnsupported)
	}
	encoded, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var opened []*os.File
	defer func() {
		if err != nil {
			for _, f := range opened {
				_ = f.Close()
			}
		}
	}()
	var ends [6]*os.File // pairs of reading and writing ends
	for i := 0; i < len(ends); i += 2 {
		if ends[i], ends[i+1], err = os.Pipe(); err != nil {
			return nil, err
		}
		opened = append(opened, ends[i], ends[i+1])
	}
	// The flags select no test. Otherwise, if TestMain does not call RunAs, the tests would start the process again.
	cmd := exec.Command(binary, "-test.run=^$") //nolint:gosec,noctx // the test binary itself, which outlives the test's context to stop gracefully
	cmd.Env = append(os.Environ(), processVar+"="+string(encoded), "KUBECONFIG="+spec.Kubeconfig)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = ends[0], ends[3], ends[3], []*os.File{ends[5]}
	dieWithTests(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_ = ends[0].Close()
	p := &child{cmd: cmd, stdin: ends[1], stopped: make(chan struct{}, 1), ended: make(chan struct{})}
	p.close = sync.OnceFunc(func() { _ = p.stdin.Close() })
	p.output = newPipe(ends[2], ends[3], printed)
	p.frames = newPipe(ends[4], ends[5], func(line string) {
		one := new(frame)
		if err := json.Unmarshal([]byte(line), one); err != nil {
			printed(fmt.Sprintf("%v: %s", err, line)) // the process was killed in the middle, or a handler writes to the descriptor
			return
		}
		receive(one)
	})
	return p, nil
}

// framesToTest returns the pipe from an operator's process to its test.
func framesToTest() *frames {
	const descriptor = 3 // number of the first extra file in the process
	closeOnExec(descriptor)
	return &frames{out: os.NewFile(descriptor, "kopftest")}
}

// wait waits for the end of the process, and returns an error unless the process succeeded. It must be called once.
func (p *child) wait() error {
	defer close(p.ended)
	err := awaitExit(p.cmd, func() {
		select {
		case p.stopped <- struct{}{}:
		default:
		}
	})
	p.close()
	p.frames.finish()
	p.output.finish()
	return err
}

// stop asks the operator to stop.
func (p *child) stop() { p.close() }

// kill ends the process and waits until it has ended.
func (p *child) kill() {
	_ = p.cmd.Process.Kill() // fails if the process has ended
	<-p.ended
}

// freeze stops the process. It returns when all threads have stopped and all messages and lines were received.
func (p *child) freeze(ctx context.Context) error {
	select {
	case <-p.stopped: // drops the signal of an earlier stop that another process ended
	default:
	}
	if err := p.cmd.Process.Signal(stopSignal); err != nil {
		return err
	}
	select {
	case <-p.stopped:
	case <-p.ended:
		return errors.New("it has ended")
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.frames.sync()
	p.output.sync()
	return nil
}

func (p *child) thaw() error { return p.cmd.Process.Signal(continueSignal) }

// pipe reads the lines that a process writes. The test can write a mark to the same pipe. When it reads the mark, it has read
// all earlier lines of the process.
type pipe struct {
	in, out *os.File
	mark    string
	marks   chan struct{}
	reading sync.WaitGroup
	syncing sync.Mutex
}

func newPipe(in, out *os.File, line func(string)) *pipe {
	p := &pipe{in: in, out: out, mark: "\x00" + rand.Text() + "\n", marks: make(chan struct{})}
	p.reading.Go(func() { p.read(line) })
	return p
}

func (p *pipe) read(line func(string)) {
	begun := "" // incomplete line of a process that was frozen while writing
	for in := bufio.NewReader(p.in); ; {
		text, err := in.ReadString('\n')
		begun += text
		if before, found := strings.CutSuffix(begun, p.mark); found {
			begun = before
			p.marks <- struct{}{}
		} else if text, found := strings.CutSuffix(begun, "\n"); found {
			begun = ""
			line(text)
		}
		if err != nil {
			if begun != "" {
				line(begun)
			}
			return
		}
	}
}

// sync returns when all lines of the process have been read. The process must be frozen.
func (p *pipe) sync() {
	p.syncing.Lock()
	defer p.syncing.Unlock()
	if _, err := p.out.WriteString(p.mark); err == nil {
		<-p.marks
	}
}

// finish ends the reading, even if child processes of the process keep the pipe open.
func (p *pipe) finish() {
	p.sync()
	_ = p.out.Close()
	_ = p.in.Close()
	p.reading.Wait()
}
