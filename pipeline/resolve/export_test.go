package resolve

// ForgetIPv6 makes r behave as on a machine without IPv6.
func (r *Resolver) ForgetIPv6() { r.aaaa = Auto }
