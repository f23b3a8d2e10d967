package uninstall

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/kopf-dev/kopf/sdk/peering"
)

// podSuffix matches the end of the name of a Deployment's pod: the hash of its ReplicaSet and a random part. Kubernetes
// writes the hash, a number, with these ten characters, so that pods of a DaemonSet "NAME-agent" do not look like it.
const podSuffix = "-[456789bcdf]{1,10}-[bcdfghjklmnpqrstvwxz2456789]{5}$"

// peers returns the records in the peering objects that are of the replicas, or of pods of the Deployment.
func (r *remover) peers(ctx context.Context) ([]remain, error) {
	if r.target.Peering == "" {
		return nil, nil
	}
	objects, err := r.peering.Find(ctx, peering.Scope{Name: r.target.Peering, Namespaces: r.target.Namespaces})
	if errors.Is(err, peering.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pod := regexp.MustCompile("^" + regexp.QuoteMeta(r.target.Deployment) + podSuffix)
	var all []remain
	for _, object := range objects {
		for _, peer := range object.Peers {
			replica := peer.Identity == r.target.Election || peer.Identity == r.target.Shards
			if replica || r.target.Deployment != "" && pod.MatchString(peer.Identity) {
				all = append(all, r.record(object, &peer))
			}
		}
	}
	return all, nil
}

// record returns the record of an operator. A renewed record is in use, perhaps by another operator with a name of the same
// form.
func (r *remover) record(object *peering.Object, peer *peering.Peer) remain {
	one := remain{
		name: object.String(), what: "the record of " + peer.Identity,
		delete: func(ctx context.Context) error {
			return r.peering.Write(ctx, object, &peering.Peer{Identity: peer.Identity})
		},
	}
	if now := r.now(); !peer.IsDead(now) {
		one.inUse = fmt.Errorf("%w; if it was killed, its record expires in %s", ErrInUse, peer.Deadline.Sub(now).Round(time.Second))
	}
	return one
}

// awaitExpiry returns the records in the peering objects. After stopping the operator, awaitExpiry blocks until the records
// have expired, since a killed operator does not remove its record.
func (r *remover) awaitExpiry(ctx context.Context) (all []remain, err error) {
	look := func(ctx context.Context) error {
		if all, err = r.peers(ctx); err != nil || r.options.DryRun {
			return err
		}
		for _, one := range all {
			if one.inUse != nil {
				return one.inUse
			}
		}
		return nil
	}
	if err := r.await(ctx, look); !errors.Is(err, ErrInUse) {
		return all, err
	}
	return all, nil // removeAll says which are in use
}
