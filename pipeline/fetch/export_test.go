package fetch

// Target is target.
var Target = target

// SetOnline says what c believes of this machine's routes.
func (c *Client) SetOnline(online bool) { c.online = func() bool { return online } }
