package controllers

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
	accounts "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/utils/clock"
)

// accountControllers are the controllers of service accounts, their tokens and their roles.
var accountControllers = []controller{
	{name: names.ServiceAccountTokenController, agent: "tokens-controller", build: buildTokens},
	{
		name: names.ServiceAccountController, agent: "service-account-controller",
		build: func(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core := e.informers.Core().V1()
			c, err := accounts.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(), client,
				accounts.DefaultServiceAccountsControllerOptions())
			return workers(c.Run, 1), err
		},
	},
	{
		name: names.LegacyServiceAccountTokenCleanerController, agent: "legacy-service-account-token-cleaner",
		build: func(_ context.Context, e *environment, client kubernetes.Interface) (run, error) {
			core := e.informers.Core().V1()
			c, err := accounts.NewLegacySATokenCleaner(core.ServiceAccounts(), core.Secrets(), core.Pods(), client, clock.RealClock{},
				accounts.LegacySATokenCleanerOptions{
					CleanUpPeriod: e.settings.LegacySATokenCleaner.CleanUpPeriod.Duration,
					SyncInterval:  accounts.DefaultCleanerSyncInterval,
				})
			return c.Run, err
		},
	},
	{
		name: names.ClusterRoleAggregationController, agent: "clusterrole-aggregation-controller",
		build: func(_ context.Context, e *environment, client kubernetes.Interface) (run, error) {
			c := clusterroleaggregation.NewClusterRoleAggregation(e.informers.Rbac().V1().ClusterRoles(), client.RbacV1())
			return workers(c.Run, 5), nil
		},
	},
}

func buildTokens(ctx context.Context, e *environment, client kubernetes.Interface) (run, error) {
	key, err := keyutil.PrivateKeyFromFile(e.settings.SAController.ServiceAccountKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read the key of service accounts: %w", err)
	}
	tokens, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
	if err != nil {
		return nil, fmt.Errorf("use the key of service accounts: %w", err)
	}
	core := e.informers.Core().V1()
	c, err := accounts.NewTokensController(klog.FromContext(ctx), core.ServiceAccounts(), core.Secrets(), client,
		accounts.TokensControllerOptions{TokenGenerator: tokens, RootCA: e.rootCA})
	return workers(c.Run, e.settings.SAController.ConcurrentSATokenSyncs), err
}
