package domain

import "context"

type tenantKey struct{}

// WithTenant puts a tenant in scope: enqueues below it are stamped with it and
// operator calls below it see its jobs only. An empty name takes it out of scope.
func WithTenant(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// TenantOf gives the tenant in scope, "" for none.
func TenantOf(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}
