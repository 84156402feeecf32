package policy

import (
	"sync"
	"time"
)

// Zones keeps the time zones that callers name: looking one up reads files.
// The zero value is ready; it is safe for concurrent use.
type Zones struct {
	mu   sync.Mutex
	byID map[string]*time.Location // nil = there is none of this name
}

const maxZones = 1000 // more than there are; the rest are wrong names

// Find returns the zone with an IANA name, otherwise where there is none or
// no name.
func (z *Zones) Find(name string, otherwise *time.Location) *time.Location {
	if name == "" {
		return otherwise
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	zone, known := z.byID[name]
	if !known {
		var err error
		if zone, err = time.LoadLocation(name); err != nil {
			zone = nil
		}
		if z.byID == nil || len(z.byID) > maxZones {
			z.byID = map[string]*time.Location{}
		}
		z.byID[name] = zone
	}
	if zone == nil {
		return otherwise
	}
	return zone
}
