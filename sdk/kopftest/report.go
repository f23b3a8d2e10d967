package kopftest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/resource"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

const (
	// reportTimeout is what the gathering of a report may take: it is for a test that
	// has failed anyway.
	reportTimeout = 3 * time.Second
	// reportedLines is how much of the log is told with a failure.
	reportedLines = 25
)

// report tells all that may explain why an object is not as it should be.
func (c *Cluster) report(o *Object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s is now:\n%s", o, indented(c.yamlOf(&o.resource, o.Namespace, o.Name)))
	for _, op := range c.running() {
		op.explain(&b, o)
	}
	return b.String()
}

func (c *Cluster) reportList(res *resource.Resource, namespace string, list []*kopf.Object) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\nthere are %d %s in %q:\n", len(list), res.Plural, namespace)
	for _, object := range list {
		raw, err := object.MarshalJSON()
		if err == nil {
			raw, err = yaml.JSONToYAML(raw)
		}
		if err != nil {
			raw = []byte(err.Error())
		}
		b.WriteString(indented(string(raw)))
	}
	for _, op := range c.running() {
		b.WriteString(op.lastLines())
	}
	return b.String()
}

func (c *Cluster) running() []*Operator {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.operators
}

// explain tells what an operator thinks of an object, and the end of its log.
func (op *Operator) explain(b *strings.Builder, o *Object) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(op.cluster.t.Context()), reportTimeout)
	defer cancel()
	snapshot, err := op.snapshot(ctx)
	switch state := find(snapshot, o); {
	case err != nil:
		fmt.Fprintf(b, "\nthe operator does not run: %v\n", err)
	case state == nil:
		fmt.Fprintf(b, "\nthe operator has not seen it; it serves %s\n", served(snapshot))
	default:
		fmt.Fprintf(b, "\nfor the operator it is %s:\n%s", state.State, progress(state))
	}
	b.WriteString(op.lastLines())
}

func served(snapshot *inspect.Snapshot) string {
	var words []string
	for _, res := range snapshot.Served {
		words = append(words, res.Key)
	}
	for _, u := range snapshot.Unserved {
		words = append(words, fmt.Sprintf("not %s (%s)", u.Selector, u.Reason))
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// progress tells where the handlers stand.
func progress(state *inspect.Object) string {
	var b strings.Builder
	for _, h := range state.Handlers {
		fmt.Fprintf(&b, "    %-30s %s", h.ID, h.State)
		if h.Attempt > 0 {
			fmt.Fprintf(&b, ", attempt %d", h.Attempt)
			if h.Limit > 0 {
				fmt.Fprintf(&b, " of %d", h.Limit)
			}
		}
		if h.State == inspect.PhaseRetrying && !h.Next.IsZero() {
			fmt.Fprintf(&b, ", again in %s", time.Until(h.Next).Round(100*time.Millisecond))
		}
		if h.Error != nil {
			fmt.Fprintf(&b, ", %s error: %s", h.Error.Kind, h.Error.Message)
		}
		if w := h.Why; w != nil {
			is := w.Is
			if w.Absent {
				is = "absent"
			}
			fmt.Fprintf(&b, ": %s %s is %s, not %s", w.Kind, w.Path, is, w.Wants)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (op *Operator) lastLines() string {
	lines := op.log.last(reportedLines)
	if len(lines) == 0 {
		return "\nthe operator's log is empty\n"
	}
	return "\nthe last lines of the operator's log:\n" + indented(strings.Join(lines, "\n"))
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
