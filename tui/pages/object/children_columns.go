package object

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/explain"
	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/parts"
	"github.com/kopf-dev/kopf/tui/render"
)

// ownerLabel is the label of children with the UID of their parent.
const ownerLabel = "kopf.dev/owner-uid"

// readAgain is the interval between two reads of the shown objects from the cluster; readSoon is the interval after a new answer
// of the operator.
const (
	readAgain = 5 * time.Second
	readSoon  = time.Second
)

// childColumns are the columns that kubectl would show for the children, read from the cluster.
type childColumns struct {
	readFor *inspect.ChildList // operator's answer at the last read
	readAt  time.Time
	byUID   map[string][]runner.Column
	unread  map[string]error // errors of the last read, by the key of the resource
}

// of returns the columns of a child as a text, such as "READY 1/3  AGE 12m"; empty if they are unknown.
func (c *childColumns) of(child *inspect.Child) string {
	if child.State == "" {
		return ""
	}
	return columnText(c.byUID[child.UID])
}

// columnText returns columns as pairs of title and value, without empty values. Two spaces separate the pairs.
func columnText(columns []runner.Column) string {
	var pairs []string
	for _, c := range columns {
		if c.Text != "" && c.Text != "<none>" {
			pairs = append(pairs, render.Clean(c.Title+" "+c.Text))
		}
	}
	return strings.Join(pairs, "  ")
}

// cutColumns drops pairs at the end of a text of [columnText], until the remaining pairs fit into w cells.
func cutColumns(text string, w int) string {
	for render.Width(text) > w {
		text = text[:max(0, strings.LastIndex(text, "  "))]
	}
	return text
}

// drawColumns draws a text of [columnText] in at most n lines, and breaks it between the pairs.
func drawColumns(b *render.Block, text string, n int) {
	for ; n > 0 && text != ""; n-- {
		line := cutColumns(text, b.W-2)
		if line == "" {
			b.Prose(explain.Dim, text, n) // a long value
			return
		}
		b.End(b.Line().Skip(1).Put(explain.Dim, line))
		text = strings.TrimPrefix(text[len(line):], "  ")
	}
}

// readColumns reads the columns of the children of an object from the cluster, one request for each resource and namespace, unless
// they were just read.
func (p *childrenPane) readColumns(o *inspect.Object) parts.Inquiry {
	c, s := &p.columns, p.screen
	age := s.Now.Sub(c.readAt)
	if p.seen == nil || p.opened != nil || s.State.NotConnected() != "" || age < readSoon || c.readFor == p.seen && age < readAgain {
		return nil
	}
	c.readFor, c.readAt = p.seen, s.Now
	var queries []runner.RowQuery
	asked := map[inspect.Ref]bool{}
	for i := range p.seen.Children {
		ref := p.seen.Children[i].Ref
		of := inspect.Ref{Resource: ref.Resource, Namespace: ref.Namespace}
		if p.seen.Children[i].State == "" || asked[of] {
			continue
		}
		asked[of] = true
		queries = append(queries, runner.RowQuery{Resource: of.Resource, Namespace: of.Namespace, Labels: ownerLabel + "=" + o.UID, Hidden: s.State.Snapshot.Operator.Hidden})
	}
	if len(queries) == 0 {
		return nil
	}
	return func(ctx context.Context, operator parts.Operator) func() {
		byUID, unread := columnsOf(ctx, operator.Objects(), queries)
		return func() { c.byUID, c.unread = byUID, unread }
	}
}

// errNotConnected is the error of reads without a cluster.
var errNotConnected = errors.New("the cluster is not ready")

// columnsOf returns the columns of the selected objects, by their UIDs, and the errors by the keys of the resources.
func columnsOf(ctx context.Context, objects runner.Objects, queries []runner.RowQuery) (byUID map[string][]runner.Column, unread map[string]error) {
	byUID, unread = map[string][]runner.Column{}, map[string]error{}
	answers, errs := make([][]runner.Row, len(queries)), make([]error, len(queries))
	var tasks sync.WaitGroup
	for i, q := range queries {
		if objects == nil {
			errs[i] = errNotConnected
			continue
		}
		tasks.Go(func() { answers[i], errs[i] = objects.Rows(ctx, q) })
	}
	tasks.Wait()
	for i, rows := range answers {
		if errs[i] != nil {
			unread[queries[i].Resource] = errs[i]
		}
		for _, r := range rows {
			byUID[r.UID] = r.Columns
		}
	}
	return byUID, unread
}
