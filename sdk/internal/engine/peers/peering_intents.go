package peers

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/peering"
)

// Freeze pauses all operators with a lower priority than [peering.FreezePriority] in all peering objects of this
// operator, as "kopf freeze" does. If it fails, it returns the reason.
func (p *Peerings) Freeze(ctx context.Context, lifetime string) (reason string) {
	limit, err := time.ParseDuration(lifetime)
	if err != nil || limit < time.Second {
		return fmt.Sprintf("freeze: for how long? %q is not a duration of at least a second", lifetime)
	}
	now := time.Now()
	peer := &peering.Peer{
		Identity: peering.PersonalIdentity(), Priority: peering.FreezePriority, Lifetime: limit, LastSeen: now, Since: now,
		Message: "frozen for " + limit.String(),
	}
	return p.writeAll(ctx, peer)
}

// ReleasePeer removes the record of a peer. If it fails, it returns the reason.
func (p *Peerings) ReleasePeer(ctx context.Context, identity string) (reason string) {
	switch {
	case identity == "":
		return "release: which peer?"
	case identity == p.identity:
		return "release: this operator would come back at once; pause it, or stop it"
	}
	return p.writeAll(ctx, &peering.Peer{Identity: identity})
}

func (p *Peerings) writeAll(ctx context.Context, peer *peering.Peer) (reason string) {
	p.mu.Lock()
	objects := make([]*peeringObject, 0, len(p.all))
	for _, object := range p.all {
		objects = append(objects, object)
	}
	p.mu.Unlock()
	objects = slices.DeleteFunc(objects, func(o *peeringObject) bool { return !o.exists() })
	if len(objects) == 0 {
		return "this operator takes part in no peering"
	}
	for _, object := range objects {
		patched, err := object.write(ctx, "", map[string]*peering.Peer{peer.Identity: peer})
		if err != nil {
			return peering.Missing(err, peering.Kind(object.resource.Namespaced), object.namespace, object.settings.Name).Error()
		}
		object.see(patched, false)
	}
	return ""
}
