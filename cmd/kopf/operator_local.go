package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// localOperator connects to the operator of a choice on this machine, also after it was built again: the next
// process has another address.
type localOperator struct {
	choice operatorChoice

	mu      sync.Mutex
	address string // last address of the inspector
}

// dial connects to the inspector.
func (o *localOperator) dial(ctx context.Context) (net.Conn, error) {
	o.mu.Lock()
	address := o.address
	o.mu.Unlock()
	conn, err := dialSocket(ctx, address)
	if err == nil || !isUnreachable(err) {
		return conn, err
	}
	op, err := o.choice.one(ctx)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	o.address = op.Address
	o.mu.Unlock()
	return dialSocket(ctx, op.Address)
}

// dialSocket connects to the inspector at a Unix socket.
func dialSocket(ctx context.Context, address string) (net.Conn, error) {
	network, path, err := inspect.ParseAddress(address)
	if err != nil {
		return nil, err
	}
	if network != "unix" {
		return nil, fmt.Errorf("connect to the operator at %s: want a Unix socket", address)
	}
	conn, err := new(net.Dialer).DialContext(ctx, network, path)
	if err != nil {
		return nil, err
	}
	if err := inspect.CheckPeer(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}
