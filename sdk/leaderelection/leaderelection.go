// Package leaderelection makes one of several replicas of an operator handle the objects, by means of client-go's
// leader election. It is a separate module because client-go's package links all types of the Kubernetes API, which
// increases an operator's program from 12 to about 30 MB. See [Scaling].
//
// [Scaling]: https://github.com/kopf-dev/kopf/blob/main/docs/scaling.md
package leaderelection

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	coordination "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/election"
)

// Register makes the operator able to take part in leader elections: if [kopf.ScalingSettings].LeaderElection is
// set, as by the flag --leader-elect. Call it once, where the handlers are registered:
//
//	func Register(r *kopf.Registry) {
//		leaderelection.Register(r)
//		kopf.OnCreate(r, claims, create)
//	}
func Register(r *kopf.Registry) {
	kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
		if a.Settings.Scaling.Elector == nil {
			a.Settings.Scaling.Elector = Elector{}
		}
		return nil
	}, kopf.ID("leader-election"))
}

// Elector implements [election.Elector] by a Lease, as client-go does: an operator made with another framework that
// uses the same Lease is excluded too. Programs that do not call [Register] set it as
// [kopf.ScalingSettings].Elector. A leader that loses its lease does not exit, but stands by and takes part in
// the next elections.
type Elector struct{}

// Elect implements [election.Elector].
func (Elector) Elect(ctx context.Context, e *election.Election) error {
	transport, err := rest.HTTPClientFor(e.Config)
	if err != nil {
		return fmt.Errorf("create a client of leases: %w", err)
	}
	defer utilnet.CloseIdleConnectionsFor(transport.Transport)
	client, err := coordination.NewForConfigAndClient(e.Config, transport)
	if err != nil {
		return fmt.Errorf("create a client of leases: %w", err)
	}
	c := &candidacy{election: e, Interface: &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: e.Namespace, Name: e.Name},
		Client:     client,
		LockConfig: resourcelock.ResourceLockConfig{Identity: e.Identity},
	}}
	// The library logs the same events as the operator, so its lines are logged at the debug level.
	ctx = klog.NewContext(ctx, logr.FromSlogHandler(debugHandler{e.Logger.Handler()}))
	for ctx.Err() == nil {
		if err := c.serveTerm(ctx); err != nil {
			return err
		}
	}
	if e.MayRelease() {
		c.release(ctx)
	}
	return nil
}
