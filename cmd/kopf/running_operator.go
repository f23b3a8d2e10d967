package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// operatorsAt returns the operator whose inspector has an address or, if the address is empty, those that run on
// this machine. There is at least one. Unread is why others cannot be read.
func operatorsAt(ctx context.Context, address string) (operators []runner.RunningOperator, unread, err error) {
	if address != "" {
		if _, err := inspect.Dial(address); err != nil { // Dial only parses the address
			return nil, nil, usagef("--inspect: %w", err)
		}
		op, err := runner.ConnectOperator(ctx, address)
		switch {
		case err != nil && isUnreachable(err):
			return nil, nil, fmt.Errorf("%w; is it running?", err)
		case err != nil:
			return nil, nil, err // it has answered: do not ask whether it is running
		}
		return []runner.RunningOperator{op}, nil, nil
	}
	operators, unread = runner.RunningOperators(ctx)
	switch {
	case len(operators) > 0:
		return operators, unread, nil
	case unread != nil:
		return nil, nil, unread
	}
	return nil, nil, errors.New("no operator runs on this machine; start it with kopf run or kopf dev, or name the address of a deployed one with --inspect")
}

// oneOperator returns the only operator that operatorsAt returns.
func oneOperator(ctx context.Context, address string) (runner.RunningOperator, error) {
	operators, unread, err := operatorsAt(ctx, address)
	switch {
	case err != nil:
		return runner.RunningOperator{}, err
	case len(operators) > 1:
		return runner.RunningOperator{}, errors.New("several operators run on this machine; name one with --inspect:" + listOperators(operators))
	case unread != nil:
		return runner.RunningOperator{}, fmt.Errorf("several operators run on this machine, and not all can be read; name one with --inspect:%s\n%w", listOperators(operators), unread)
	}
	return operators[0], nil
}

// isUnreachable reports whether an error means that no process listens at an address.
func isUnreachable(err error) bool {
	network, ok := errors.AsType[*net.OpError](err)
	return ok && network.Op == "dial"
}
