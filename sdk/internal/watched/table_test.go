package watched

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
)

func name(text string) Name { return qualified(text, "ns") }

func sorted(uids []string) string {
	slices.Sort(uids)
	return fmt.Sprint(uids)
}

func check(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if sorted(got) != want {
		t.Errorf("%s concerns %s, want %s", what, sorted(got), want)
	}
}

func versionsOf(t *Table, parent string) string { return fmt.Sprint(maps.Collect(t.Versions(parent))) }

func TestTable_ParentsThatNameTheObject(t *testing.T) {
	table := NewTable(false)
	check(t, "an object that no parent names", table.Put(name("cert"), "1", "", nil), "[]")
	table.Follow("a", []Name{name("cert"), name("other")})
	table.Follow("b", []Name{name("cert")})
	check(t, "a known version", table.Put(name("cert"), "1", "", nil), "[]")
	check(t, "a new version", table.Put(name("cert"), "2", "", nil), "[a b]")
	check(t, "a namesake elsewhere", table.Put(name("x/cert"), "3", "", nil), "[]")
	if got := versionsOf(table, "a"); got != "map[ns/cert:2]" {
		t.Errorf("versions %s", got)
	}
	if table.Follow("b", []Name{name("cert")}) || !table.Follow("b", []Name{name("other")}) {
		t.Error("wrong reports of changed names")
	}
	check(t, "a new object", table.Put(name("other"), "4", "", nil), "[a b]")
	table.Forget("a")
	gone, known := table.Remove(name("other"))
	check(t, "a deletion", gone, "[b]")
	if _, again := table.Remove(name("other")); !known || again || versionsOf(table, "b") != "map[]" {
		t.Error("the deleted object is known")
	}
	check(t, "the object again", table.Put(name("other"), "5", "", nil), "[b]")
}

func TestTable_MappedObjects(t *testing.T) {
	table := NewTable(true)
	table.Follow("a", []Name{name("shop-a")})
	table.Follow("b", []Name{name("shop-b")})
	check(t, "an object for two parents", table.Put(name("config"), "1", "", []Name{name("shop-a"), name("shop-b")}), "[a b]")
	check(t, "an object for no parent", table.Put(name("shop-a"), "2", "", nil), "[]")
	if got := versionsOf(table, "a"); got != "map[ns/config:1]" {
		t.Errorf("versions %s", got)
	}
	check(t, "another mapping", table.Put(name("config"), "3", "", []Name{name("shop-b")}), "[a b]")
	check(t, "the same mapping", table.Put(name("config"), "4", "", []Name{name("shop-b")}), "[b]")
	if versionsOf(table, "a") != "map[]" || versionsOf(table, "b") != "map[ns/config:4]" {
		t.Errorf("versions %s, %s", versionsOf(table, "a"), versionsOf(table, "b"))
	}
	gone, _ := table.Remove(name("config"))
	check(t, "the deletion", gone, "[b]")
	check(t, "the object again without a mapping", table.Put(name("config"), "5", "", nil), "[]")
}

func TestTable_ChildDoesNotConcernItsOwnParent(t *testing.T) {
	table := NewTable(false)
	table.Follow("a", []Name{name("cert")})
	table.Follow("b", []Name{name("cert")})
	check(t, "a child of a", table.Put(name("cert"), "1", "a", nil), "[b]")
	if versionsOf(table, "a") != "map[]" || versionsOf(table, "b") != "map[ns/cert:1]" {
		t.Errorf("versions %s, %s", versionsOf(table, "a"), versionsOf(table, "b"))
	}
	check(t, "the same without its label", table.Put(name("cert"), "2", "", nil), "[a b]")
}

// The documentation states this number.
func TestTable_MemoryOfAnObject(t *testing.T) {
	const limit = 200
	objects := 100_000
	if testing.Short() {
		objects /= 8 // a power of two, so that the maps are as full
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	table := NewTable(false)
	for i := range objects {
		table.Put(Name{Namespace: fmt.Sprintf("team-%d", i%100), Name: fmt.Sprintf("some-certificate-%d", i)}, fmt.Sprint(10_000_000+i), "", nil)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(table)
	size := (after.HeapAlloc - before.HeapAlloc) / uint64(objects)
	t.Logf("%d bytes for each object", size)
	if size > limit {
		t.Errorf("an object takes %d bytes, want at most %d", size, limit)
	}
}
