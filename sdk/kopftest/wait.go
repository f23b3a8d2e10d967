package kopftest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/object"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// WaitFor waits until the object exists and condition holds, and returns the object. The string what completes the
// failure message, as in "it has a volume".
func (o *Object) WaitFor(what string, condition func(*kopf.Object) bool) *kopf.Object {
	o.cluster.t.Helper()
	return o.wait(func() string { return what }, condition)
}

// WaitFor is [Object.WaitFor] with a condition of the decoded object. If the object does not decode into T, the test fails.
//
//	claim := kopftest.WaitFor(object, "it is bound", func(c *Claim) bool { return c.Status.Phase == "Bound" })
func WaitFor[T any](o *Object, what string, condition func(*T) bool) *T {
	o.cluster.t.Helper()
	var met *T
	var mistake error
	o.WaitFor(what, func(object *kopf.Object) bool {
		met = new(T)
		mistake = object.Decode("", met)
		return mistake != nil || condition(met)
	})
	if mistake != nil {
		o.cluster.t.Fatalf("kopftest: %s: waited until %s: %v", o, what, mistake)
	}
	return met
}

func (o *Object) wait(what func() string, condition func(*kopf.Object) bool) *kopf.Object {
	c := o.cluster
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	var met *kopf.Object
	err := c.follow(ctx, &o.resource, o.Namespace, o.Name, func(objects map[string]*object.Object) bool {
		object := objects[o.Name]
		if object == nil {
			return false
		}
		if view := c.view(object); condition(view) {
			met = view
		}
		return met != nil
	})
	if err != nil {
		c.t.Fatalf("kopftest: %s: waited until %s: %v\n%s", o, what(), err, c.report(o))
	}
	return met
}

// WaitValue waits until the value at a path equals the wanted value as JSON, and returns the object. If the wanted value is
// nil, the value must be absent.
func (o *Object) WaitValue(path kopf.Path, want any) *kopf.Object {
	o.cluster.t.Helper()
	wanted, err := object.Normalize(want)
	if err != nil {
		o.cluster.t.Fatalf("kopftest: %v", err)
	}
	var is any
	return o.wait(
		func() string { return fmt.Sprintf("%s is %s; it is %s", path, asJSON(wanted), asJSON(is)) },
		func(obj *kopf.Object) bool {
			is = obj.Get(path)
			return object.Equal(is, wanted)
		})
}

// WaitResult waits until a handler has a result, and decodes it.
func (o *Object) WaitResult(handler string, into any) {
	o.cluster.t.Helper()
	object := o.WaitFor("the handler "+handler+" has a result", func(object *kopf.Object) bool {
		status, _ := object.Get("status").(map[string]any)
		return status[handler] != nil
	})
	var stored struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	err := object.Decode("", &stored)
	if err == nil {
		err = json.Unmarshal(stored.Status[handler], into)
	}
	if err != nil {
		o.cluster.t.Fatalf("kopftest: %s: the result of %s: %v", o, handler, err)
	}
}

// WaitGone waits until the object does not exist.
func (o *Object) WaitGone() {
	c := o.cluster
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	var last *kopf.Object
	err := c.follow(ctx, &o.resource, o.Namespace, o.Name, func(objects map[string]*object.Object) bool {
		object := objects[o.Name]
		if object != nil {
			last = c.view(object)
		}
		return object == nil
	})
	if err != nil {
		c.t.Fatalf("kopftest: %s: waited until it is gone%s: %v\n%s", o, hindrance(last), err, c.report(o))
	}
}

// hindrance returns the reason why an object still exists, such as its finalizers.
func hindrance(object *kopf.Object) string {
	switch finalizers := object.Get("metadata.finalizers"); {
	case object == nil:
		return ""
	case object.Get("metadata.deletionTimestamp") == nil:
		return "; it is not being deleted"
	case finalizers != nil:
		return "; it is deleted but for its finalizers, " + asJSON(finalizers)
	default:
		return "; it is being deleted"
	}
}

// conditionInterval is how often [Cluster.WaitUntil] calls its condition.
const conditionInterval = 5 * time.Millisecond

// WaitUntil waits until a condition outside of the cluster holds, for example that a handler was called. It calls condition
// every few milliseconds. The string what completes the failure message.
func (c *Cluster) WaitUntil(what string, condition func() bool) {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	ticker := time.NewTicker(conditionInterval)
	defer ticker.Stop()
	for !condition() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			c.t.Fatalf("kopftest: waited until %s: %v\n%s%s", what, context.Cause(ctx), c.overview(), c.lastLines())
		}
	}
}

// List returns the objects of a resource in the test's namespace, sorted by name. For a cluster-scoped resource, it returns
// all objects of the cluster.
func (c *Cluster) List(resource string) []*kopf.Object {
	c.t.Helper()
	return c.WaitList(resource, "there is a list", func([]*kopf.Object) bool { return true })
}

// WaitList waits until the list of a resource's objects meets a condition, for example if the names of children are not
// known. The list is the result of [Cluster.List].
func (c *Cluster) WaitList(resource, what string, condition func([]*kopf.Object) bool) []*kopf.Object {
	c.t.Helper()
	ctx, cancel := c.context()
	defer cancel()
	res, err := c.resourceOf(ctx, resource)
	if err != nil {
		c.t.Fatalf("kopftest: %v", err)
	}
	namespace := ""
	if res.Namespaced {
		namespace = c.Namespace
	}
	var list []*kopf.Object
	err = c.follow(ctx, res, namespace, "", func(objects map[string]*object.Object) bool {
		list = list[:0:0]
		for _, name := range slices.Sorted(maps.Keys(objects)) {
			list = append(list, c.view(objects[name]))
		}
		return condition(list)
	})
	if err != nil {
		c.t.Fatalf("kopftest: %s: waited until %s: %v\n%s", res.Key(), what, err, c.reportList(res, namespace, list))
	}
	return list
}

// follow calls enough with the objects of a resource by name, or with one object, at first and after each change,
// until enough returns true.
func (c *Cluster) follow(ctx context.Context, res *resources.Resource, namespace, name string, enough func(map[string]*object.Object) bool) error {
	selector := ""
	if name != "" {
		selector = "metadata.name=" + name
	}
	for {
		list, err := c.client.List(ctx, res, namespace, kube.ListOptions{FieldSelector: selector})
		if err != nil {
			return waitError(ctx, err)
		}
		objects := make(map[string]*object.Object, len(list.Items))
		for _, object := range list.Items {
			objects[object.Name] = object
		}
		if enough(objects) {
			return nil
		}
		stream, err := c.client.Watch(ctx, res, namespace, kube.ListOptions{FieldSelector: selector, ResourceVersion: list.ResourceVersion})
		if err != nil {
			return waitError(ctx, err)
		}
		done := changes(stream, objects, enough)
		stream.Close()
		if done {
			return nil
		}
		if ctx.Err() != nil {
			return waitError(ctx, nil)
		}
	}
}

// changes follows a stream until enough returns true, or until the stream ends. After the end of a stream, the caller lists
// the objects again.
func changes(stream *kube.Stream, objects map[string]*object.Object, enough func(map[string]*object.Object) bool) bool {
	for {
		frame, err := stream.Next()
		if err != nil {
			return false
		}
		switch frame.Type {
		case object.EventAdded, object.EventModified:
			objects[frame.Object.Name] = frame.Object
		case object.EventDeleted:
			delete(objects, frame.Object.Name)
		case object.EventError:
			return false
		default:
			continue
		}
		if enough(objects) {
			return true
		}
	}
}

// waitError returns the cause of the context's end, or err if the context has not ended.
func waitError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func asJSON(v any) string {
	if v == nil {
		return "absent"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}
