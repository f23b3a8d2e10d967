package inspect

import "testing"

func TestObject_HandlerIsTheFirstWithTheID(t *testing.T) {
	o := Object{Handlers: []HandlerState{{ID: "a", Kind: KindUpdate}, {ID: "b"}, {ID: "a", Kind: KindIndex}}}
	if h := o.Handler("a"); h != &o.Handlers[0] {
		t.Errorf("a is %+v", h)
	}
	if h := o.Handler("b"); h != &o.Handlers[1] {
		t.Errorf("b is %+v", h)
	}
	if h := o.Handler("c"); h != nil {
		t.Errorf("c is %+v", h)
	}
}
