package engine

import "testing"

func TestHandledStates_KeepsThoseOfHandlersAndTheirSubHandlers(t *testing.T) {
	s := &handledStates{first: version(t, `{"metadata":{}}`), hashes: map[string]uint64{"a": 1, "a/sub": 2, "ab": 3}}
	if some := s.of([]string{"a"}); some.first != s.first || len(some.hashes) != 2 || some.hashes["a/sub"] != 2 {
		t.Errorf("kept %v", some)
	}
	if some := s.of([]string{"b"}); some != nil {
		t.Errorf("kept %v of nobody", some)
	}
	if some := (*handledStates)(nil).of([]string{"a"}); some != nil {
		t.Errorf("kept %v of nothing", some)
	}
}
