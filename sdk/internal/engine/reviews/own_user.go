package reviews

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/engine/core"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
	"github.com/kopf-dev/kopf/sdk/internal/observe"
)

const (
	// ownUserTimeout limits a request for the name of the operator's user.
	ownUserTimeout = 5 * time.Second
	// ownUserInterval is the delay after a failed request.
	ownUserInterval = 30 * time.Second
)

// ownUser is the user of the operator's requests. It is safe for concurrent use.
type ownUser struct {
	deps *core.Deps
	name atomic.Pointer[string] // nil until the API server has responded
}

// keepAsking repeats the request until the name is known, or the API server refuses the request.
func (u *ownUser) keepAsking(ctx context.Context) {
	for u.name.Load() == nil && !u.ask(ctx) && core.Sleep(ctx, ownUserInterval) == nil {
	}
}

// ask requests the name once. It reports whether the result is final.
func (u *ownUser) ask(ctx context.Context) (final bool) {
	if u.deps.Settings.Admission.ReviewOwn {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, ownUserTimeout)
	defer cancel()
	name, err := u.request(ctx)
	if err == nil {
		u.name.Store(&name)
		return true
	}
	class := kube.Classify(err)
	final = class == kube.NotFound || class == kube.Forbidden
	u.deps.Logger.Debug("Cannot find out the operator's own user name; its admission handlers are asked about its own records, too",
		observe.EventKey, observe.LogReviewUnidentified, "error", err)
	return final
}

func (u *ownUser) request(ctx context.Context) (string, error) {
	answer, err := u.deps.Client.WithoutRetries().Do(ctx, kube.Request{
		Method: http.MethodPost, Path: "/apis/authentication.k8s.io/v1/selfsubjectreviews", ContentType: "application/json",
		Body: []byte(`{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}`), // available since Kubernetes 1.28, to all users
	})
	if err != nil {
		return "", err
	}
	var review struct {
		Status struct {
			UserInfo struct {
				Username string `json:"username"`
			} `json:"userInfo"`
		} `json:"status"`
	}
	if err := json.Unmarshal(answer, &review); err != nil {
		return "", err
	}
	return review.Status.UserInfo.Username, nil
}
