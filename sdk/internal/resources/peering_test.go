package resources

import "testing"

func TestPeerings_AllGroupsTheNewOneFirst(t *testing.T) {
	of := func(group, plural string, namespaced bool) Resource {
		return Resource{Group: group, Version: "v1", Plural: plural, Namespaced: namespaced}
	}
	all := []Resource{
		of("zalando.org", NamespacedPeerings, true), of("other.dev", ClusterPeerings, false),
		of("kopf.dev", NamespacedPeerings, true), of("kopf.dev", ClusterPeerings, true), of("zalando.org", ClusterPeerings, false),
	}
	if found := Peerings(all, true); len(found) != 2 || found[0] != &all[2] || found[1] != &all[0] {
		t.Errorf("%v", found)
	}
	if found := Peerings(all, false); len(found) != 1 || found[0] != &all[4] {
		t.Errorf("want the legacy group if there is no other: %v", found)
	}
	if found := Peerings(all[:2], false); found != nil {
		t.Errorf("%v", found)
	}
}
