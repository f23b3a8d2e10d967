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

// logTo sends what all components log into a file. The log of the last run is kept beside it.
func logTo(path string, verbosity int) (*os.File, error) {
	if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("keeping the last log: %w", err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("creating the log: %w", err)
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{
		"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL", "one_output": "true", "v": strconv.Itoa(verbosity),
	} {
		if err := flags.Set(name, value); err != nil {
			return nil, errors.Join(fmt.Errorf("configuring the log: %w", err), f.Close())
		}
	}
	klog.SetOutput(f)
	// Some libraries write to standard error by themselves, and so does a panic.
	if err := unix.Dup2(int(f.Fd()), int(os.Stderr.Fd())); err != nil {
		return nil, errors.Join(fmt.Errorf("redirecting standard error: %w", err), f.Close())
	}
	// Warnings about deprecated APIs are for those who chose them.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	return f, nil
}

// duplicate opens the same file once more, to survive a redirection.
func duplicate(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("duplicating %s: %w", f.Name(), err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}
