package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// describeTimeout is how long a program may take to describe its operators. Register should not block, so this is plenty.
const describeTimeout = time.Minute

// describeGrace is how long a program may continue after its first operator has described itself. A
// program with several operators starts them within that time.
const describeGrace = 2 * time.Second

// describePolling is the interval between checks for the description by a program that does not exit.
const describePolling = 20 * time.Millisecond

// Describe starts a built program to describe its operators, with the operator's flags for its scope. The operators
// do not connect to a cluster; the resources are the resources of their future cluster. It returns one description
// for each operator of the program. The error is a [*DescribeError] if the program exits without one.
func Describe(ctx context.Context, binary, dir string, args []string, resources []inspect.APIResource) (all []inspect.Description, err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(binary), "describe-")
	if err != nil {
		return nil, fmt.Errorf("describe the operator: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	answer := filepath.Join(tmp, "answer.json")
	request := filepath.Join(tmp, "request.json")
	body, err := json.Marshal(inspect.DescribeRequest{Resources: resources, Answer: answer})
	if err != nil {
		return nil, fmt.Errorf("describe the operator: %w", err)
	}
	if err := os.WriteFile(request, body, 0o600); err != nil {
		return nil, fmt.Errorf("describe the operator: %w", err)
	}

	// A program with an older SDK ignores the request; it must not become an operator of a cluster.
	kubeconfig := filepath.Join(tmp, "kubeconfig")
	none, err := newNoCluster(kubeconfig)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, none.close()) }()

	var mu sync.Mutex
	var tail []string
	c, err := start(childSpec{
		path: binary, args: args, dir: dir, kubeconfig: kubeconfig,
		env: []string{inspect.DescribeVariable + "=" + request},
		line: func(stderr bool, text string) {
			mu.Lock()
			defer mu.Unlock()
			tail = append(tail, text)
			tail = slices.Clone(tail[max(0, len(tail)-maxTail):])
		},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		c.kill()
		<-c.done
	}()
	if err := awaitAnswer(ctx, c, answer); err != nil {
		return nil, err
	}
	f, err := os.Open(answer)
	if errors.Is(err, fs.ErrNotExist) {
		mu.Lock()
		defer mu.Unlock()
		return nil, &DescribeError{Output: tail}
	}
	if err != nil {
		return nil, fmt.Errorf("describe the operator: %w", err)
	}
	defer f.Close()
	return inspect.ReadDescriptions(f)
}

// awaitAnswer waits until the program has exited, or until the time for the descriptions of its operators is over.
func awaitAnswer(ctx context.Context, c *child, answer string) error {
	tick := time.NewTicker(describePolling)
	defer tick.Stop()
	limit := time.NewTimer(describeTimeout)
	defer limit.Stop()
	answered := false
	for {
		select {
		case <-c.done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-limit.C:
			if !answered {
				return &DescribeError{Output: []string{fmt.Sprintf("no answer within %s", describeTimeout)}}
			}
			return nil
		case <-tick.C:
			if _, err := os.Stat(answer); err == nil && !answered {
				answered = true
				limit.Reset(describeGrace)
			}
		}
	}
}

// DescribeError reports that a program has no operator that describes itself.
type DescribeError struct {
	Output []string // last lines that the program printed
}

func (e *DescribeError) Error() string {
	text := "the program does not describe its operator; it must call kopf.Main, or Run of a kopf.Operator"
	if len(e.Output) > 0 {
		text += ":\n" + strings.Join(e.Output, "\n")
	}
	return text
}
