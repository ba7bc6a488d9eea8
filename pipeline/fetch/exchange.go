package fetch

// headerLimit is the most bytes of header one response may have.
const headerLimit = 64 << 10
