package tunnel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

// Cluster is the cluster whose API server has to call the handlers.
type Cluster struct {
	Config    *rest.Config
	Embedded  bool   // it runs on this machine, as a process
	Context   string // context of the kubeconfig
	Server    string // URL
	Namespace string // namespace of the session's objects; "default" if it is empty
}

// Options configure [Open].
type Options struct {
	Cluster Cluster

	// Way is the name of the way, or [Auto], which is the default.
	Way string
	// Custom is a way of your own, in place of Way.
	Custom Way

	Local   LocalOptions
	Service *webhook.Service // service that leads to this machine, for the way "service"
	URL     string           // address that leads to this machine, for the way "url"
	Ngrok   Ngrok
	Relay   Relay

	Certificates Certificates

	// Wait is how long a review waits for an operator. Defaults to 10s, and the API server's own limit.
	Wait time.Duration

	// Say is called with lines for a person. Verbose lines are for those who asked for details.
	Say func(verbose bool, line string)

	// Changed is called when the way is lost, when there is a new reason for that, when it is there again, and when the
	// authority has changed: see [Session.Status]. Calls follow each other. May be nil.
	Changed func(*Session)
}

// Open opens a tunnel and proves that the API server reaches this machine by it. The caller
// closes the session. The context limits the opening only.
func Open(ctx context.Context, o Options) (_ *Session, err error) {
	if o.Say == nil {
		o.Say = func(bool, string) {}
	}
	if o.Changed == nil {
		o.Changed = func(*Session) {}
	}
	if o.Cluster.Namespace == "" {
		o.Cluster.Namespace = "default"
	}
	client, err := dynamic.NewForConfig(o.Cluster.Config)
	if err != nil {
		return nil, err
	}
	directory, err := sessionDirectory()
	if err != nil {
		return nil, err
	}
	session := randomName()
	unlock, err := lockSession(directory, session)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, unlock())
		}
	}()
	f, err := learn(ctx, client, o.Cluster)
	if err != nil {
		return nil, err
	}
	o.Relay.cluster, o.Relay.session = o.Cluster, session
	ways, err := o.candidates(f)
	if err != nil {
		return nil, err
	}
	var tried []error
	for _, c := range ways {
		s := &Session{
			ID: session, Way: c.way.Name(), Why: c.why, Forwarder: NewForwarder(o.Wait),
			way: c.way, options: o, client: client, unlock: unlock,
		}
		o.Say(true, fmt.Sprintf("webhooks: trying %s, since %s", s.Way, s.Why))
		if opened, err := s.open(ctx); err == nil {
			o.Say(false, s.describe(opened))
			s.keepOpen(ctx, opened)
			return s, nil
		} else if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		} else {
			tried = append(tried, fmt.Errorf("%s (%s): %w", c.way.Name(), c.why, err))
			o.Say(true, tried[len(tried)-1].Error())
		}
	}
	return nil, &NoWayError{Tried: tried}
}
