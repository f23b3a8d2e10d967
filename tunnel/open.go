package tunnel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

// Cluster is the cluster whose API server has to call the handlers.
type Cluster struct {
	Config    *rest.Config
	Embedded  bool   // it runs on this machine, as a process
	Context   string // of the kubeconfig
	Server    string // URL
	Namespace string // for what the session creates; "default" if it is empty
}

// Options configure [Open].
type Options struct {
	Cluster Cluster

	// Way is the name of the way, or [Auto], which is the default.
	Way string
	// Custom is a way of your own, in place of Way.
	Custom Way

	Local   LocalOptions
	Service *webhook.Service // for the way "service": one that leads to this machine
	URL     string           // for the way "url": an address that leads to this machine
	Ngrok   Ngrok
	Relay   Relay

	Certificates Certificates

	// Wait is how long a review waits for an operator. Defaults to 10s, and the API server's own limit.
	Wait time.Duration

	// Say is called with lines for a person. Verbose lines are for those who asked for details.
	Say func(verbose bool, line string)
}

// Session is an open way in. It outlives the operators that it passes reviews to.
type Session struct {
	// ID identifies the session in its marks.
	ID string
	// Way is the name of the way, and Why the reason for the choice.
	Way, Why string
	// Target is what webhook configurations have to name; the path is a secret.
	Target Target
	// CA is the authority that API servers have to trust, in PEM. Without one, they trust those of their
	// system.
	CA []byte
	// Forwarder passes the reviews on.
	Forwarder *Forwarder

	config   *rest.Config
	entrance *Entrance
	end      context.CancelCauseFunc // of the way
	stop     context.CancelFunc      // of the server
	serving  sync.WaitGroup
	unlock   func() error

	mu     sync.Mutex
	failed error // why the listener has ended
}

// Open opens a way in and proves that the API server reaches this machine by it. The caller
// closes the session. The context limits the opening only.
func Open(ctx context.Context, o Options) (_ *Session, err error) {
	if o.Say == nil {
		o.Say = func(bool, string) {}
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
		s := &Session{ID: session, Way: c.way.Name(), Why: c.why, Forwarder: NewForwarder(o.Wait), config: o.Cluster.Config, unlock: unlock}
		o.Say(true, fmt.Sprintf("webhooks: trying %s, since %s", s.Way, s.Why))
		if err := s.try(ctx, client, c.way, o); err == nil {
			o.Say(false, s.String())
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

// try opens one way, serves it and checks it. The way outlives the context, unless that ends before.
func (s *Session) try(ctx context.Context, client dynamic.Interface, way Way, o Options) (err error) {
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	s.end = end
	detach := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer detach()
	if s.entrance, err = way.Open(life); err != nil {
		end(nil)
		return err
	}
	s.Target = s.entrance.Target.below(s.Forwarder.secret)
	s.Forwarder.base = s.Target.path()
	if err = s.serve(ctx, o); err == nil {
		c := &checker{client: client, namespace: o.Cluster.Namespace, forwarder: s.Forwarder, mark: newMark(s.ID, time.Now())}
		err = c.check(ctx, s.entrance.Target, s.CA, s.entrance.Settles)
	}
	if err != nil {
		err = errors.Join(err, s.closeWay(ctx))
	}
	return err
}

// serve accepts connections until the way is closed.
func (s *Session) serve(ctx context.Context, o Options) error {
	server := &webhook.Server{
		Listener: s.entrance.Listener, URL: s.entrance.Target.URL, Service: s.entrance.Target.Service,
		// Handshakes of port scanners fail, and those of API servers that do not trust us: the check tells.
		Logger:   slog.New(slog.DiscardHandler),
		Insecure: s.entrance.Plain,
	}
	if server.Service != nil {
		server.URL = ""
	}
	switch {
	case !s.entrance.Plain:
		o.Certificates.apply(server)
	case o.Certificates != Certificates{}:
		return fmt.Errorf("%s ends the TLS of the API server itself: leave out the files of certificates", s.Way)
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	announced := make(chan webhook.ClientConfig, 1)
	s.serving.Go(func() {
		err := server.Serve(ctx, s.Forwarder, func(c webhook.ClientConfig) {
			select {
			case announced <- c:
			default: // the operators follow the file themselves
			}
		})
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = err
		close(announced)
	})
	config, ok := <-announced
	if !ok {
		return s.Err()
	}
	if o.Certificates.CAFile != SystemCA {
		s.CA = config.CABundle
	}
	if renew := s.entrance.Renew; renew != nil {
		s.serving.Go(func() { renewMarks(ctx, renew, o.Say) })
	}
	return nil
}

// Err returns why no more reviews come in, or nil while they do.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// String says in one line what was chosen and why.
func (s *Session) String() string {
	text := fmt.Sprintf("webhooks: %s, since %s; the API server reaches %s", s.Way, s.Why, s.entrance.Target)
	if s.entrance.Detail != "" {
		text += " (" + s.entrance.Detail + ")"
	}
	return text
}

// Address is what the API server reaches, for people: without the secret.
func (s *Session) Address() string { return s.entrance.Target.String() }

// Close closes the way, after the operators have ended. If the cluster is still there, it first removes their
// configurations, so that they call nobody.
func (s *Session) Close(ctx context.Context, clusterIsThere bool) error {
	s.Forwarder.Hold()
	var failed error
	if clusterIsThere {
		failed = removeOwn(ctx, s.config, s.ID)
	}
	return errors.Join(failed, s.closeWay(ctx), s.unlock())
}

func (s *Session) closeWay(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	s.Forwarder.end()
	if s.stop != nil {
		s.stop()
	}
	s.serving.Wait()
	defer s.end(nil)
	_ = s.entrance.Listener.Close() // the server has closed it, unless it was never started
	if s.entrance.Release != nil {
		return s.entrance.Release(ctx)
	}
	return nil
}
