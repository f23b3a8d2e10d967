package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/kopf-dev/kopf/sdk/peering"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// handOverVariable makes an operator leave its record in the peering to its next process.
const handOverVariable = "KOPF_PEERING_HANDOVER"

// privateVariable makes an operator in development silent about peering that is missing.
const privateVariable = "KOPF_PRIVATE_CLUSTER"

// leaveTimeout limits how long kopf dev tries to leave the peering. Its record expires soon in any case.
const leaveTimeout = 5 * time.Second

// leavePeering removes the record of the operator, so that deployed operators resume at once.
func (c *operatorCluster) leavePeering(ctx context.Context, f *operatorFlags, stderr io.Writer) {
	c.mu.Lock()
	cluster := c.cluster
	c.mu.Unlock()
	if cluster == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	config, err := cluster.RESTConfig()
	if err == nil {
		var client *peering.Client
		if client, err = peering.NewClient(config); err == nil {
			defer client.Close()
			err = leaveAll(ctx, client, f)
		}
	}
	if err != nil {
		fmt.Fprintf(stderr, "kopf: cannot leave the peering; the operators that were paused resume within 10s: %s\n",
			printable.Paragraph(printable.WithoutPasswords(err.Error())))
	}
}

// leaveAll removes the record from all peering objects that have it: the code of the operator may name others
// than the flags do.
func leaveAll(ctx context.Context, client *peering.Client, f *operatorFlags) error {
	objects, err := client.Find(ctx, peering.Scope{All: true})
	if err != nil && !errors.Is(err, peering.ErrNotFound) {
		objects, err = client.Find(ctx, peering.Scope{Name: f.peering, Namespaces: f.namespaces})
	}
	if errors.Is(err, peering.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range objects {
		if o.Peer(f.identity) != nil {
			errs = append(errs, client.Write(ctx, o, &peering.Peer{Identity: f.identity}))
		}
	}
	return errors.Join(errs...)
}
