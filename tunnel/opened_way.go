package tunnel

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/sdk/webhook"
)

// openedWay is a way that is open, and served.
type openedWay struct {
	entrance *Entrance
	target   Target // target of webhook configurations, with the secret
	losses   int    // number of losses of the link that were reported

	end     context.CancelCauseFunc // ends the way
	stop    context.CancelFunc      // ends the server; nil before its start
	serving sync.WaitGroup

	announced chan webhook.ClientConfig // has the newest one
	failed    chan error                // has why the listener has ended
}

// open opens the way, serves it and checks it. The way outlives the context, unless that ends before.
func (s *Session) open(ctx context.Context) (_ *openedWay, err error) {
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	w := &openedWay{end: end, announced: make(chan webhook.ClientConfig, 1), failed: make(chan error, 1)}
	detach := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer detach()
	if w.entrance, err = s.way.Open(life); err != nil {
		end(nil)
		return nil, err
	}
	w.target = w.entrance.Target.below(s.Forwarder.secret)
	s.Forwarder.announce(w.target.path())
	ca, err := w.serve(ctx, s)
	if err == nil {
		err = s.check(ctx, w, ca)
	}
	if err != nil {
		return nil, errors.Join(err, w.close(ctx))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status.Target, s.status.CA = w.target, ca
	return w, nil
}

// check proves that the API server reaches the way.
func (s *Session) check(ctx context.Context, w *openedWay, ca []byte) error {
	c := &checker{client: s.client, namespace: s.options.Cluster.Namespace, forwarder: s.Forwarder, mark: newMark(s.ID, time.Now())}
	return c.check(ctx, w.entrance.Target, ca, w.entrance.Settles)
}

// serve accepts connections until the way is closed. It returns the authority that API servers have to trust.
func (w *openedWay) serve(ctx context.Context, s *Session) ([]byte, error) {
	server := &webhook.Server{
		Listener: w.entrance.Listener, URL: w.entrance.Target.URL, Service: w.entrance.Target.Service,
		// Handshakes fail for port scanners, and for API servers that do not trust the certificate, which the check
		// reports.
		Logger:   slog.New(slog.DiscardHandler),
		Insecure: w.entrance.Plain,
	}
	if server.Service != nil {
		server.URL = ""
	}
	certificates := s.options.Certificates
	switch {
	case !w.entrance.Plain:
		certificates.apply(server)
	case certificates != Certificates{}:
		return nil, fmt.Errorf("%s ends the TLS of the API server itself: leave out the files of certificates", s.Way)
	}
	ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
	w.serving.Go(func() {
		w.failed <- server.Serve(ctx, s.Forwarder, func(c webhook.ClientConfig) {
			select {
			case <-w.announced: // an older announcement, which was not read
			default:
			}
			w.announced <- c
		})
	})
	if renew := w.entrance.Renew; renew != nil {
		w.serving.Go(func() { renewMarks(ctx, renew, s.options.Say) })
	}
	select {
	case config := <-w.announced:
		return s.authority(config), nil
	case err := <-w.failed:
		return nil, err
	}
}

// authority returns the authority that API servers have to trust.
func (s *Session) authority(config webhook.ClientConfig) []byte {
	if s.options.Certificates.CAFile == SystemCA {
		return nil
	}
	return config.CABundle
}

// close closes the way, and removes its objects.
func (w *openedWay) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if w.stop != nil {
		w.stop()
	}
	w.serving.Wait()
	defer w.end(nil)
	_ = w.entrance.Listener.Close() // the server has closed it, unless it was never started
	if w.entrance.Release != nil {
		return w.entrance.Release(ctx)
	}
	return nil
}
