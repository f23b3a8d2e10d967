package handlers

import "sort"

// metaFilter is the conditions on labels or on annotations.
type metaFilter struct {
	kind     MismatchKind
	criteria []named
}

type named struct {
	name      string
	criterion Criterion
}

// newLabelsFilter returns conditions on labels by their names.
func newLabelsFilter(criteria map[string]Criterion) metaFilter {
	return newMeta(MismatchLabel, criteria)
}

// newAnnotationsFilter returns conditions on annotations by their names.
func newAnnotationsFilter(criteria map[string]Criterion) metaFilter {
	return newMeta(MismatchAnnotation, criteria)
}

// newMeta sorts the conditions, so that the first one that fails is always the same.
func newMeta(kind MismatchKind, criteria map[string]Criterion) metaFilter {
	m := metaFilter{kind: kind}
	for name, criterion := range criteria {
		m.criteria = append(m.criteria, named{name, criterion})
	}
	sort.Slice(m.criteria, func(i, j int) bool { return m.criteria[i].name < m.criteria[j].name })
	return m
}

// match checks all conditions. If why is not nil, it receives the first one that fails.
func (m *metaFilter) match(c *Cause, values map[string]any, why *Mismatch) bool {
	for i := range m.criteria {
		wanted := &m.criteria[i]
		value, found := values[wanted.name]
		if wanted.criterion.accepts(c, value, found) {
			continue
		}
		if why != nil {
			why.fail(m.kind, wanted.name, value, found, wanted.criterion.Wants())
		}
		return false
	}
	return true
}
