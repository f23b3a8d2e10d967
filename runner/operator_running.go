package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// RunningOperator is an operator that was started on this machine by [Run] or a [Session].
type RunningOperator struct {
	Address  string // address of its inspector
	Project  string // folder of the operator's project; empty if unknown
	Client   *inspect.Client
	Snapshot *inspect.Snapshot

	// Err is the reason why the operator's state cannot be read; nil if it can. With an Err, Client and Snapshot are nil.
	Err error
}

// snapshotTimeout limits the time until an operator responds with its state.
const snapshotTimeout = 10 * time.Second

// RunningOperators returns the user's running operators on this machine, except for operators whose inspector has
// another address: see [RunOptions]. It includes operators that cannot be read: see Err.
func RunningOperators(ctx context.Context) ([]RunningOperator, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("find the running operators: %w", err)
	}
	return findOperators(ctx, filepath.Join(cache, "kopf", "operators", "run-*"), filepath.Join(os.TempDir(), socketPrefix+"*"))
}

// findOperators finds the operators with a socket in one of the folders.
func findOperators(ctx context.Context, folders ...string) ([]RunningOperator, error) {
	var found []RunningOperator
	for _, folder := range folders {
		sockets, err := filepath.Glob(filepath.Join(folder, "*.sock"))
		if err != nil {
			return nil, fmt.Errorf("find the running operators in %s: %w", folder, err)
		}
		for _, socket := range sockets {
			op, err := ConnectOperator(ctx, "unix:"+socket)
			if err != nil && hasEnded(err) {
				continue
			}
			op.Address, op.Project, op.Err = "unix:"+socket, projectOf(socket), err
			found = append(found, op)
		}
	}
	return found, nil
}

// projectOf returns the project folder of the operator with the socket. It is empty if another version of this program
// started the operator, or if the operator is ending.
func projectOf(socket string) string {
	folder, err := os.ReadFile(filepath.Join(filepath.Dir(socket), projectFile))
	if err != nil {
		return ""
	}
	return string(folder)
}

// ConnectOperator reads the state of the operator whose inspector has the address.
func ConnectOperator(ctx context.Context, address string) (RunningOperator, error) {
	client, err := inspect.Dial(address)
	if err != nil {
		return RunningOperator{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	snapshot, err := client.Snapshot(ctx)
	if err != nil {
		return RunningOperator{}, fmt.Errorf("read the state of the operator at %s: %w", address, err)
	}
	return RunningOperator{Address: address, Client: client, Snapshot: snapshot}, nil
}

// hasEnded reports whether an error means that no operator of this user listens at a socket: the operator was killed, is
// starting or stopping, or the socket in a shared folder belongs to another user.
func hasEnded(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
}

// String identifies an operator whose state was read: "operator 4711 of /home/me/hello at unix:/…".
func (o RunningOperator) String() string {
	name := "operator " + strconv.Itoa(o.Snapshot.Operator.PID)
	if o.Project != "" {
		name += " of " + o.Project
	}
	return name + " at " + o.Address
}
