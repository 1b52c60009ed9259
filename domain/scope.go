package domain

import "context"

// ScopeOf gives the tenant in scope, "" for none. One that no store could have stored
// is refused, so that it finds nothing and touches nothing.
func ScopeOf(ctx context.Context) (string, error) {
	tenant := TenantOf(ctx)
	if tenant == "" {
		return "", nil
	}
	return tenant, ValidateName("tenant", tenant, MaxTenant)
}
