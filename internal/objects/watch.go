package objects

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/kopf-dev/kopf/runner"
)

// pause is the time between two reads of a source that cannot be watched at present.
const pause = 2 * time.Second

// source is something to be followed: it is read once, and then its changes are watched.
type source interface {
	read(ctx context.Context) (version string, err error)
	watch(ctx context.Context, version string) (watch.Interface, error)
	change(event watch.Event) error
	report()
}

// Watch implements [runner.Objects].
func (c *Client) Watch(ctx context.Context, what runner.Look, report func(runner.Looked)) {
	seen := runner.Looked{Object: what.Object, Facet: what.Facet}
	for ctx.Err() == nil {
		client, err := c.connect()
		if err == nil {
			var s source
			if what.Facet == runner.FacetEvents {
				s = newEventSource(client, what, &seen, report)
			} else {
				s = &objectSource{client: client, what: what, seen: &seen, tell: report}
			}
			err = follow(ctx, s)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			seen.Error = explain(err).Error()
			report(seen)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// follow reads a source and reports its changes until the watch ends. Without the permission to watch, it polls; that
// is no error.
func follow(ctx context.Context, s source) error {
	version, err := s.read(ctx)
	if err != nil {
		return err
	}
	s.report()
	w, err := s.watch(ctx, version)
	if err != nil {
		if apierrors.IsForbidden(err) {
			return nil
		}
		return err
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, more := <-w.ResultChan():
			if !more {
				return nil
			}
			if event.Type == watch.Error {
				err := apierrors.FromObject(event.Object)
				if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
					return nil
				}
				return err
			}
			if err := s.change(event); err != nil {
				return err
			}
			s.report()
		}
	}
}

// objectSource follows one object.
type objectSource struct {
	client dynamic.Interface
	what   runner.Look
	seen   *runner.Looked
	tell   func(runner.Looked)
}

func (s *objectSource) report() { s.tell(*s.seen) }

func (s *objectSource) requests() dynamic.ResourceInterface {
	return within(s.client, resourceOf(s.what.Object.Resource), s.what.Object.Namespace)
}

func (s *objectSource) read(ctx context.Context) (string, error) {
	o, err := s.requests().Get(ctx, s.what.Object.Name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	return o.GetResourceVersion(), s.show(o)
}

func (s *objectSource) watch(ctx context.Context, version string) (watch.Interface, error) {
	return s.requests().Watch(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("metadata.name", s.what.Object.Name).String(), ResourceVersion: version,
	})
}

// errDeleted is the error of an object that is deleted while it is shown.
var errDeleted = errors.New("404 not found: the object was deleted; this is how it was last")

func (s *objectSource) change(event watch.Event) error {
	o, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	if err := s.show(o); err != nil {
		return err
	}
	if event.Type == watch.Deleted {
		return errDeleted
	}
	return nil
}

func (s *objectSource) show(o *unstructured.Unstructured) error {
	lines, err := lines(hide(o.Object, s.what.Hidden))
	if err != nil {
		return err
	}
	s.seen.Loaded, s.seen.Error = true, ""
	s.seen.Version, s.seen.YAML = o.GetResourceVersion(), lines
	return nil
}
