package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/runner/settlement"
)

// diskFullAdvice returns the next step after an error of a full disk or quota, or "". Errors of this machine say where;
// those of compilers and of other programs are messages only.
func diskFullAdvice(err error) string {
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || strings.Contains(err.Error(), syscall.ENOSPC.Error())
	if !full || errors.Is(err, devcluster.ErrDiskFull) || advisesItself(err) {
		return ""
	}
	where := ""
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		where = e.Path
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		where = e.New
	}
	if where == "" || strings.HasPrefix(where, "/dev/") {
		return "; the disk is full: free some space, and try again"
	}
	return "; the disk of " + filepath.Dir(where) + " is full: free some space there, and try again"
}

// advisesItself reports whether the error has a next step for a full disk already.
func advisesItself(err error) bool {
	_, ok := errors.AsType[*settlement.ReportError](err)
	return ok
}
