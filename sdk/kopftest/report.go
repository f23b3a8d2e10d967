package kopftest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/resources"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

const (
	// reportTimeout limits the time to gather a report for a failed test.
	reportTimeout = 3 * time.Second
	// reportedLines is the number of log lines in a failure. reportedObjects is the number of objects in a failure without
	// a known object.
	reportedLines   = 25
	reportedObjects = 10
)

// reporting returns a context for gathering a report. The test's own context may have timed out, which can be the
// reason for the report.
func (c *Cluster) reporting() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(c.t.Context()), reportTimeout)
}

// report returns the explanation of an object's state: the state in the operators' inspectors, the object itself, and the
// ends of the logs.
func (c *Cluster) report(o *Object) string {
	var b, logs strings.Builder
	for _, op := range c.running() {
		op.explain(&b, o)
		logs.WriteString(op.lastLines())
	}
	fmt.Fprintf(&b, "\n%s is now:\n%s", o, indented(c.yamlOf(&o.resource, o.Namespace, o.Name)))
	return b.String() + logs.String()
}

func (c *Cluster) reportList(res *resources.Resource, namespace string, list []*kopf.Object) string {
	var b strings.Builder
	b.WriteString(c.overview())
	switch {
	case len(list) == 0 && namespace != "":
		fmt.Fprintf(&b, "\nthere are no %s in %s\n", res.Plural, namespace)
	case len(list) == 0:
		fmt.Fprintf(&b, "\nthere are no %s\n", res.Plural)
	default:
		fmt.Fprintf(&b, "\nthere are %d %s:\n", len(list), res.Plural)
	}
	for _, object := range list[:min(len(list), reportedObjects)] {
		tree, _ := object.Get("").(map[string]any)
		raw, err := yaml.Marshal(c.withoutSecrets(tree))
		if err != nil {
			raw = []byte(err.Error())
		}
		b.WriteString(indented("---\n" + string(raw)))
	}
	return b.String() + c.lastLines()
}

func (c *Cluster) lastLines() string {
	var b strings.Builder
	for _, op := range c.running() {
		b.WriteString(op.lastLines())
	}
	return b.String()
}

func (c *Cluster) running() []*Operator {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.operators)
}

// explain writes an operator's state of an object.
func (op *Operator) explain(b *strings.Builder, o *Object) {
	ctx, cancel := op.cluster.reporting()
	defer cancel()
	snapshot, err := op.snapshot(ctx)
	switch state := find(snapshot, o); {
	case err != nil:
		fmt.Fprintf(b, "\nthe operator cannot be looked into: %v\n", err)
	case state == nil:
		fmt.Fprintf(b, "\nthe operator has not seen it: %s\n", served(snapshot))
	default:
		fmt.Fprintf(b, "\nfor the operator it is %s:\n%s", state.State, op.handlers(state))
		if state.Failing != nil {
			fmt.Fprintf(b, "    %s\n", state.Failing)
		}
	}
}

// overview returns the operators' states of all objects, up to a limit.
func (c *Cluster) overview() string {
	ctx, cancel := c.reporting()
	defer cancel()
	var b strings.Builder
	for _, op := range c.running() {
		snapshot, err := op.snapshot(ctx)
		if err != nil {
			fmt.Fprintf(&b, "\nthe operator cannot be looked into: %v\n", err)
			continue
		}
		if len(snapshot.Objects) == 0 {
			fmt.Fprintf(&b, "\nthe operator has not seen any object: %s\n", served(snapshot))
		}
		for _, state := range snapshot.Objects[:min(len(snapshot.Objects), reportedObjects)] {
			fmt.Fprintf(&b, "\nfor the operator, %s %s is %s:\n%s", state.Kind, state.Name, state.State, op.handlers(state))
		}
	}
	return b.String()
}

func served(snapshot *inspect.Snapshot) string {
	var served, not []string
	for _, res := range snapshot.Served {
		served = append(served, res.Key)
	}
	for _, u := range snapshot.Unserved {
		not = append(not, fmt.Sprintf("%s (%s)", u.Selector, u.Reason))
	}
	text := "it serves " + strings.Join(served, ", ")
	if len(served) == 0 {
		text = "it serves nothing"
	}
	if len(not) > 0 {
		text += ", and cannot serve " + strings.Join(not, ", ")
	}
	return text
}

// handlers returns the state of each handler.
func (op *Operator) handlers(state *inspect.Object) string {
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
			fmt.Fprintf(&b, ", again in %s", roughly(time.Until(h.Next)))
		}
		if h.Error != nil {
			fmt.Fprintf(&b, ", %s", failure(h.Error))
		}
		if w := h.Why; w != nil {
			b.WriteString(": " + mismatch(w))
		}
		b.WriteByte('\n')
		if h.State == inspect.PhaseRunning {
			b.WriteString(indented(indented(op.whereabouts(h.ID))))
		}
	}
	return b.String()
}

// failure returns an error's message. It adds the kind of the error if the message does not contain it.
func failure(err *inspect.HandlerError) string {
	switch err.Kind {
	case inspect.ErrorTemporary, inspect.ErrorPermanent, inspect.ErrorArbitrary:
		return string(err.Kind) + " error: " + err.Message
	default:
		return err.Message
	}
}

func mismatch(w *inspect.Mismatch) string {
	what, is := strings.TrimSpace(string(w.Kind)+" "+w.Path), w.Is
	if w.Absent {
		is = "absent"
	}
	return fmt.Sprintf("%s is %s, not %s", what, is, w.Wants)
}

// roughly rounds a duration for messages.
func roughly(d time.Duration) time.Duration {
	if d < 10*time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

func (op *Operator) lastLines() string {
	lines := op.log.last(reportedLines)
	if len(lines) == 0 {
		return "\nthe operator's log is empty\n"
	}
	return "\nthe last lines of the operator's log:\n" + indented(strings.Join(lines, "\n"))
}

// namesakes lists the existing objects of a resource in the namespace of a missing object.
func (c *Cluster) namesakes(ctx context.Context, res *resources.Resource, namespace string) string {
	list, err := c.client.WithoutRetries().List(ctx, res, namespace, kube.ListOptions{Limit: reportedObjects})
	if err != nil {
		return err.Error()
	}
	var names []string
	for _, object := range list.Items {
		names = append(names, object.Name)
	}
	if len(names) == 0 {
		return "nor does any other of the " + res.Plural
	}
	return "of the " + res.Plural + ", there are: " + strings.Join(names, ", ")
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}
