package chat

// Room is the capacity that a collector holds on to.
func (c *Collector) Room() int { return cap(c.buf) }
