package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// logTo redirects the log of all components to a file. The log of the last run is kept with
// the suffix .1.
func logTo(path string, verbosity int) (*os.File, error) {
	if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("keep the last log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the log: %w", err)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true", "v": strconv.Itoa(verbosity),
	} {
		if err := flags.Set(name, value); err != nil {
			return nil, errors.Join(fmt.Errorf("configure the log: %w", err), f.Close())
		}
	}
	klog.SetOutput(f)
	// Some libraries write directly to standard error, and so does a panic.
	if err := unix.Dup2(int(f.Fd()), int(os.Stderr.Fd())); err != nil {
		return nil, errors.Join(fmt.Errorf("redirect standard error: %w", err), f.Close())
	}
	// Clients of this process need no warnings about deprecated APIs.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	return f, nil
}

// duplicate returns a second handle of the file, which a redirection does not affect.
func duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicate %s: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
