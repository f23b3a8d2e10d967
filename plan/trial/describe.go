package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/plan/box"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// describeTime limits the time in which the operator must describe itself.
const describeTime = time.Minute

// Describe runs the operator only to get its descriptions. It runs as in [Run], but without a server.
func Describe(ctx context.Context, o Options) (_ []inspect.Description, err error) {
	// The operator can write to this folder, so the folder is used for nothing else.
	folder := filepath.Join(o.Folder, "describe")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return nil, fmt.Errorf("describe the operator: %w", err)
	}
	request, answer := filepath.Join(folder, "describe.json"), filepath.Join(folder, "description.json")
	body, err := json.Marshal(inspect.DescribeRequest{Answer: answer})
	if err != nil {
		return nil, fmt.Errorf("describe the operator: %w", err)
	}
	if err := os.WriteFile(request, body, 0o600); err != nil {
		return nil, fmt.Errorf("describe the operator: %w", err)
	}
	t := &trial{Options: o}
	var output tail
	operator, err := t.start(box.Spec{
		Path: o.Binary, Args: o.Args, Dir: o.Dir, Shared: folder, Visible: append(slices.Clone(o.Visible), filepath.Dir(o.Binary)), Emptied: o.Emptied, Hidden: o.Hidden,
		Env: append(slices.Clone(o.Env), "KUBECONFIG="+os.DevNull, inspect.DescribeVariable+"="+request), Stdout: &output, Stderr: &output,
	})
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(describeTime)
	defer timer.Stop()
	select {
	case <-operator.Done():
	case <-ctx.Done():
		operator.Stop(0)
		return nil, context.Cause(ctx)
	case <-timer.C: // the program may run no operator, and not end
		operator.Stop(0)
	}
	file, err := os.OpenFile(answer, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) // the operator may have made a symlink or a pipe instead of the file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &ExitError{Err: operator.Err(), Output: output.lines()}
	}
	if err != nil {
		return nil, fmt.Errorf("describe the operator: %w", err)
	}
	defer func() { _ = file.Close() }() // the file is only read
	return inspect.ReadDescriptions(file)
}
