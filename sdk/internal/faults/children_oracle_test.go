package faults

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// problems returns all that differs between the cluster and the shops, as the API server has them now.
func (x *household) problems() (all []string) {
	x.Helper()
	state := map[string]map[string]*kopf.Object{}
	for _, k := range append([]childKind{custom(shops)}, childKinds...) {
		state[k.Plural] = map[string]*kopf.Object{}
		for _, o := range x.cluster.List(k.listed()) {
			state[k.Plural][kopf.GetOr(o, "metadata.name", "")] = o
		}
	}
	claimed := map[*kopf.Object]bool{}
	for _, s := range x.shops {
		parent := state[shops.plural][s.name]
		if s.spec == nil {
			if parent != nil {
				all = append(all, fmt.Sprintf("Shop %s is not gone", s.name))
			}
			continue
		}
		for i := range childKinds {
			k := &childKinds[i]
			for _, name := range s.wanted(k) {
				child := state[k.Plural][name]
				claimed[child] = true
				if wrong := s.judge(k, child); wrong != "" {
					all = append(all, fmt.Sprintf("%s %s of %s: %s", k.Kind, name, s.uid, wrong))
				}
			}
		}
	}
	for _, k := range childKinds {
		for name, o := range state[k.Plural] {
			labels, _ := kopf.GetOr(o, "metadata.labels", tree{})[ownedByLabel].(string)
			switch {
			case claimed[o], labels == "", x.strangers[uidOf(o)] != nil:
			case k.Plural == keepsakes.plural:
			default:
				all = append(all, fmt.Sprintf("%s %s is left over", k.Kind, name))
			}
		}
	}
	return append(all, x.touched()...)
}

// judge returns the difference between a child and the wish of its shop; empty if there is none.
func (s *tenant) judge(k *childKind, child *kopf.Object) string {
	if child == nil {
		return "it is missing"
	}
	labels := kopf.GetOr(child, "metadata.labels", tree{})
	owner := ownerOf(nil, kopf.GetOr(child, "metadata.ownerReferences", []any{}))
	switch {
	case kopf.GetOr(child, k.value, "") != s.spec.Value:
		return fmt.Sprintf("its value is %q, want %q", kopf.GetOr(child, k.value, ""), s.spec.Value)
	case labels[ownerUIDLabel] != s.uid, labels[ownedByLabel] == nil:
		return fmt.Sprintf("its labels are %v", labels)
	case k.Plural != keepsakes.plural && owner != s.uid:
		return fmt.Sprintf("its owner is %q", owner)
	}
	return ""
}

// touched returns the strangers' objects that have changed.
func (x *household) touched() (all []string) {
	for uid, s := range x.strangers {
		switch now := x.world.living(configs.Plural, s.name); {
		case now == nil:
			all = append(all, fmt.Sprintf("ConfigMap %s of another client was deleted", s.name))
		case now.uid != uid:
			all = append(all, fmt.Sprintf("ConfigMap %s of another client was replaced", s.name))
		case now.version != s.version:
			all = append(all, fmt.Sprintf("ConfigMap %s of another client was changed", s.name))
		}
	}
	return all
}

// unprovoked returns the children that were deleted although their shops always wanted them, and the Secrets with a second password.
func (x *household) unprovoked() (all []string) {
	for _, k := range childKinds {
		for _, l := range x.world.all(k.Plural) {
			if len(l.passwords) > 1 {
				all = append(all, fmt.Sprintf("Secret %s had %d passwords", l.name, len(l.passwords)))
			}
			switch s := x.fates[l.owner]; {
			case !l.gone, x.deleted[l.uid], x.strangers[l.uid] != nil, s == nil:
			case k.Plural != keepsakes.plural && s.ended:
			case k.Plural == configs.Plural && !slices.Contains(s.always(), l.name):
			default:
				all = append(all, fmt.Sprintf("%s %s (%s) of %s was deleted", k.Kind, l.name, l.uid, l.owner))
			}
		}
	}
	return all
}

// listed is the name of the kind for [kopftest.Cluster.List].
func (k *childKind) listed() string { return strings.TrimSuffix(k.Plural+"."+k.Group, ".") }

// wanted returns the names of the children of a kind that a living shop wants.
func (s *tenant) wanted(k *childKind) (names []string) {
	if k.Plural != configs.Plural {
		return []string{s.name}
	}
	for i := range s.spec.Maps {
		names = append(names, mapName(s.name, i))
	}
	return names
}

// always returns the names of the ConfigMaps that the shop has wanted all the time.
func (s *fate) always() (names []string) {
	for i := range s.least {
		names = append(names, mapName(s.name, i))
	}
	return names
}
