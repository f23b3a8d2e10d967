package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

func TestLogins_UsedByPriority(t *testing.T) {
	login := func(id, host string, priority int, namespace string) *handlers.Handler {
		return handlerOf(handlers.Login, id, func(context.Context, int) (any, error) {
			if host == "" {
				return nil, nil
			}
			return &Login{Config: &rest.Config{Host: host}, Priority: priority, Namespace: namespace}, nil
		})
	}
	o, text := newTestOperator(t, nil)
	o.config.Logins = []*handlers.Handler{
		login("low", "http://low", 1, "one"), login("none", "", 0, ""), login("high", "http://high", 2, "two"),
	}
	l := o.newLogins(t.Context())
	defer l.Close()
	high, err := l.Current(t.Context())
	if err != nil || high.Server() != "http://high" || l.Namespace() != "two" {
		t.Fatal(high, err)
	}
	l.Invalidate(high)
	if low, err := l.Current(t.Context()); err != nil || low.Server() != "http://low" {
		t.Error(low, err)
	}
	for _, line := range []string{"Initial authentication has been initiated.", "Initial authentication has finished."} {
		if strings.Count(text.String(), line) != 1 {
			t.Error(text)
		}
	}
}

func TestLogins_NoCredentialsStopOperator(t *testing.T) {
	for name, login := range map[string]func(context.Context, int) (any, error){
		"nothing": func(context.Context, int) (any, error) { return nil, nil },
		"failure": func(context.Context, int) (any, error) { return nil, permanent{} },
		"expired": func(context.Context, int) (any, error) {
			return &Login{Config: &rest.Config{Host: "http://x"}, Expires: time.Unix(1, 0)}, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			registry := &handlers.Registry{}
			registry.Add(handlerOf(handlers.Login, "h", login))
			cleaned := false
			registry.Add(handlerOf(handlers.Cleanup, "c", func(context.Context, int) (any, error) { cleaned = true; return nil, nil }))
			err := Run(t.Context(), Config{
				Registry: registry, Settings: func() core.Settings { return core.Settings{} }, Logins: registry.Activities(handlers.Login),
				Logger: slog.New(slog.DiscardHandler), OnLogins: func(*Logins) {},
			})
			if !errors.Is(err, ErrLogin) || !cleaned {
				t.Error(err, cleaned)
			}
		})
	}
}

func TestLogins_HandlerCannotUseSessionItProvides(t *testing.T) {
	o, _ := newTestOperator(t, nil)
	var l *Logins
	o.config.Logins = []*handlers.Handler{handlerOf(handlers.Login, "h", func(ctx context.Context, _ int) (any, error) {
		_, err := l.Current(ctx)
		return nil, errors.Join(permanent{}, err)
	})}
	l = o.newLogins(t.Context())
	defer l.Close()
	if _, err := l.Current(t.Context()); err == nil || !strings.Contains(err.Error(), "must not use the client that it logs in") {
		t.Error(err)
	}
}

var _ kube.Source = (*Logins)(nil)
