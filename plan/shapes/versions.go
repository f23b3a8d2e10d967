package shapes

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// HandlerDifference is a handler of both builds whose behaviour or version differs.
type HandlerDifference struct {
	// IDs has the id of the handler. It has several ids if the behaviour of one of these handlers differs, and their common request does
	// not name the handler.
	IDs []string `json:"ids"`

	Old     string `json:"old"`     // version in the other build
	New     string `json:"new"`     // version in this build
	Differs bool   `json:"differs"` // the behaviour differs for an object of the copy
}

// versions collects the handlers with differences.
type versions struct {
	old, now map[string]string   // versions by the ids of handlers
	certain  map[string]bool     // handlers whose behaviour differs
	others   map[string][]string // groups of handlers with a common request that differs, by their joined ids
}

func newVersions(old, now Trial) *versions {
	return &versions{old: versionsOf(old), now: versionsOf(now), certain: make(map[string]bool), others: make(map[string][]string)}
}

// versionsOf returns the versions of the handlers that can have one. Without kopf.Version, the version is 1.
func versionsOf(t Trial) map[string]string {
	all := make(map[string]string)
	for _, h := range t.Handlers {
		switch h.Kind {
		case inspect.KindCreate, inspect.KindUpdate, inspect.KindField, inspect.KindResume:
			version := cmp.Or(h.Version, "1")
			if known := all[h.ID]; known != "" && known != version {
				version = known + ", " + version // a handler can be registered for several resources, with a version for each
			}
			all[h.ID] = version
		}
	}
	return all
}

// blame adds the handlers of a fact that differs between the builds. A build that lacks the fact has nil.
func (v *versions) blame(old, now *fact) {
	ids := make(map[string]bool)
	for _, f := range []*fact{old, now} {
		if f != nil {
			for _, id := range f.by {
				ids[v.registered(id)] = true
			}
		}
	}
	switch all := slices.Sorted(maps.Keys(ids)); len(all) {
	case 0:
	case 1:
		v.certain[all[0]] = true
	default:
		v.others[strings.Join(all, ", ")] = all
	}
}

// registered returns the id of the handler of a sub-handler. The ids of other handlers stay.
func (v *versions) registered(id string) string {
	for parent := id; ; {
		if v.old[parent] != "" || v.now[parent] != "" {
			return parent
		}
		end := strings.LastIndexByte(parent, '/')
		if end < 0 {
			return id
		}
		parent = parent[:end]
	}
}

// differences returns the handlers that both builds have.
func (v *versions) differences() []HandlerDifference {
	var all []HandlerDifference
	for id, now := range v.now {
		if old := v.old[id]; old != "" && (v.certain[id] || old != now) {
			all = append(all, HandlerDifference{IDs: []string{id}, Old: old, New: now, Differs: v.certain[id]})
		}
	}
	for _, ids := range v.others {
		explains := func(id string) bool { return v.certain[id] || v.old[id] != v.now[id] }
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return v.now[id] == "" && !explains(id) })
		if len(ids) > 0 && !slices.ContainsFunc(ids, explains) {
			all = append(all, HandlerDifference{IDs: ids, Old: joined(v.old, ids), New: joined(v.now, ids), Differs: true})
		}
	}
	slices.SortFunc(all, func(a, b HandlerDifference) int { return slices.Compare(a.IDs, b.IDs) })
	return all
}

// joined returns the different versions of some handlers.
func joined(versions map[string]string, ids []string) string {
	all := make(map[string]bool)
	for _, id := range ids {
		all[versions[id]] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), ", ")
}

// versions writes the lines about the versions of handlers.
func (a *Against) versions(line func(name, text string)) {
	var same, other []string
	for _, h := range a.Handlers {
		name := strings.Join(h.IDs, " or ")
		switch {
		case h.Old == h.New:
			same = append(same, name)
		case h.Differs:
			other = append(other, fmt.Sprintf("%s (%s → %s)", name, h.Old, h.New))
		default:
			other = append(other, fmt.Sprintf("%s (%s → %s, without a difference here)", name, h.Old, h.New))
		}
	}
	if len(same) > 0 {
		line("behaviour differs, but kopf.Version does not", strings.Join(same, ", ")+": existing objects will not be handled again (see kopf rehandle)")
	}
	if len(other) > 0 {
		line("kopf.Version differs", strings.Join(other, ", ")+": kopf rehandle calls the handlers for existing objects again")
	}
}
