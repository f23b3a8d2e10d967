package filter

import (
	"slices"
	"strings"
)

// Meta are the criteria for labels or for annotations, made with [NewLabels] or with
// [NewAnnotations].
type Meta struct {
	kind     Kind
	criteria []named
}

type named struct {
	name      string
	criterion Criterion
}

// NewLabels makes criteria for labels by their names.
func NewLabels(criteria map[string]Criterion) Meta { return newMeta(KindLabel, criteria) }

// NewAnnotations makes criteria for annotations by their names.
func NewAnnotations(criteria map[string]Criterion) Meta { return newMeta(KindAnnotation, criteria) }

// The criteria are sorted so that the first that fails is always the same one.
func newMeta(kind Kind, criteria map[string]Criterion) Meta {
	m := Meta{kind: kind}
	for name, criterion := range criteria {
		m.criteria = append(m.criteria, named{name, criterion})
	}
	slices.SortFunc(m.criteria, func(a, b named) int { return strings.Compare(a.name, b.name) })
	return m
}

// Match checks all criteria against the labels or annotations of an object. If why is
// not nil, it is told the first that fails.
func (m *Meta) Match(values map[string]any, why *Mismatch) bool {
	for i := range m.criteria {
		c := &m.criteria[i]
		value, found := values[c.name]
		if c.criterion.Accepts(value, found) {
			continue
		}
		if why != nil {
			why.fail(m.kind, c.name, value, found, c.criterion.Wants())
		}
		return false
	}
	return true
}
