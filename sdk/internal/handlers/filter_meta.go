package handlers

import (
	"slices"
	"strings"
)

// Meta are the criteria for labels or for annotations, made with [NewLabels] or with
// [NewAnnotations].
type MetaFilter struct {
	kind     MismatchKind
	criteria []named
}

type named struct {
	name      string
	criterion Criterion
}

// NewLabels makes criteria for labels by their names.
func NewLabelsFilter(criteria map[string]Criterion) MetaFilter {
	return newMeta(MismatchLabel, criteria)
}

// NewAnnotations makes criteria for annotations by their names.
func NewAnnotationsFilter(criteria map[string]Criterion) MetaFilter {
	return newMeta(MismatchAnnotation, criteria)
}

// The criteria are sorted so that the first that fails is always the same one.
func newMeta(kind MismatchKind, criteria map[string]Criterion) MetaFilter {
	m := MetaFilter{kind: kind}
	for name, criterion := range criteria {
		m.criteria = append(m.criteria, named{name, criterion})
	}
	slices.SortFunc(m.criteria, func(a, b named) int { return strings.Compare(a.name, b.name) })
	return m
}

// Match checks all criteria against the labels or annotations of an object. If why is
// not nil, it is told the first that fails.
func (m *MetaFilter) Match(values map[string]any, why *Mismatch) bool {
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
