package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// variable is a key's name in the environment.
func variable(key string) string {
	return "STRATA_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// serviceLinks match the variables, name=value, that Kubernetes sets for a
// Service called strata or strata-something. A plain PORT is one only when it
// holds a URL; else somebody meant a setting.
var serviceLinks = []*regexp.Regexp{
	regexp.MustCompile(`^STRATA_([A-Z0-9_]+_)?(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)=`),
	regexp.MustCompile(`^STRATA_([A-Z0-9_]+_)?PORT=(tcp|udp|sctp)://`),
}

func isServiceLink(entry string) bool {
	return slices.ContainsFunc(serviceLinks, func(r *regexp.Regexp) bool { return r.MatchString(entry) })
}

// readVariables takes values from the environment; an empty variable counts
// as absent. Unknown ones only warn, since the environment is shared.
func (l *loaded) readVariables(env environment) error {
	var names []string
	for _, s := range l.settings {
		name := variable(s.key)
		names = append(names, name)
		value, path := env.getenv(name), ""
		if s.secret {
			names = append(names, name+"_FILE")
			path = env.getenv(name + "_FILE")
		}
		var err error
		switch {
		case value != "" && path != "":
			err = fmt.Errorf("%s: %s and %s_FILE are both set; unset one", s.key, name, name)
		case path != "":
			err = s.setFile(path, name+"_FILE", name+"_FILE")
		case value != "":
			err = s.set(value, name)
		}
		if err != nil {
			return err
		}
	}
	for _, entry := range env.environ() {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "STRATA_") && value != "" && !slices.Contains(names, name) && !isServiceLink(entry) {
			l.warnings = append(l.warnings, fmt.Sprintf("unknown variable %s is ignored; %s", name, suggest(name, names)))
		}
	}
	slices.Sort(l.warnings)
	return nil
}
