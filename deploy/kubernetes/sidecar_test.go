package kubernetes_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// manifest decodes every document strictly: an unknown or doubled field is an
// error, as it is for the API server with strict validation.
func manifest(t *testing.T) (appsv1.Deployment, corev1.PersistentVolumeClaim) {
	t.Helper()
	b, err := os.ReadFile("sidecar.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	var claim corev1.PersistentVolumeClaim
	for doc := range bytes.SplitSeq(b, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			t.Fatal(err)
		}
		var into any
		switch kind.APIVersion + " " + kind.Kind {
		case "apps/v1 Deployment":
			into = &deployment
		case "v1 PersistentVolumeClaim":
			into = &claim
		default:
			t.Fatalf("%s %s is not expected", kind.APIVersion, kind.Kind)
		}
		if err := yaml.UnmarshalStrict(doc, into); err != nil {
			t.Fatalf("%s: %v", kind.Kind, err)
		}
	}
	return deployment, claim
}

func env(c corev1.Container) map[string]string {
	out := map[string]string{}
	for _, e := range c.Env {
		out[e.Name] = e.Value
	}
	return out
}

func TestOneWriterOfTheFile(t *testing.T) {
	d, claim := manifest(t)
	if d.Spec.Replicas == nil || *d.Spec.Replicas != 1 || d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		t.Error("more than one pod can open the data at one time")
	}
	if !slices.Equal(claim.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}) {
		t.Errorf("access modes %v", claim.Spec.AccessModes)
	}
	pod := d.Spec.Template
	if !reflect.DeepEqual(d.Spec.Selector.MatchLabels, pod.Labels) {
		t.Error("the selector does not select the pod")
	}
	i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil })
	if i < 0 || pod.Spec.Volumes[i].PersistentVolumeClaim.ClaimName != claim.Name {
		t.Fatal("the claim is not a volume of the pod")
	}
	strata := pod.Spec.InitContainers[0]
	dir := env(strata)["STRATA_DATA_DIR"]
	if !slices.ContainsFunc(strata.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == pod.Spec.Volumes[i].Name && m.MountPath == dir }) {
		t.Errorf("STRATA_DATA_DIR %q is not on the claim's volume", dir)
	}
}

func TestSidecar(t *testing.T) {
	d, _ := manifest(t)
	spec := d.Spec.Template.Spec
	if len(spec.InitContainers) != 1 || len(spec.Containers) != 1 {
		t.Fatalf("%d sidecars, %d apps", len(spec.InitContainers), len(spec.Containers))
	}
	strata, app := spec.InitContainers[0], spec.Containers[0]
	if strata.RestartPolicy == nil || *strata.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Error("not a sidecar: restartPolicy is not Always")
	}
	if spec.EnableServiceLinks == nil || *spec.EnableServiceLinks {
		t.Error("service links are on")
	}
	set := env(strata)
	if set["STRATA_HEALTH_LISTEN"] != "0.0.0.0:4472" || set["STRATA_DATA_DIR"] != "/var/lib/strata" || set["STRATA_UPSTREAM_BASE_URL"] == "" {
		t.Errorf("environment %v", set)
	}
	if url := env(app)["OPENAI_BASE_URL"]; url != "http://127.0.0.1:4470/v1" {
		t.Errorf("the app calls %q", url)
	}
	for name, p := range map[string]struct {
		probe *corev1.Probe
		path  string
	}{"startup": {strata.StartupProbe, "/readyz"}, "readiness": {strata.ReadinessProbe, "/readyz"}, "liveness": {strata.LivenessProbe, "/livez"}} {
		if p.probe == nil || p.probe.HTTPGet == nil || p.probe.HTTPGet.Path != p.path || port(strata, p.probe) != 4472 {
			t.Errorf("%s probe: %+v", name, p.probe)
		}
	}
}

// port is the number of the port that a probe dials.
func port(c corev1.Container, p *corev1.Probe) int32 {
	if n := p.HTTPGet.Port.IntVal; n != 0 {
		return n
	}
	for _, named := range c.Ports {
		if named.Name == p.HTTPGet.Port.StrVal {
			return named.ContainerPort
		}
	}
	return 0
}

// TestKeyComesAsAFile: the secret is mounted where the variable says, and its
// value is nowhere in the manifest.
func TestKeyComesAsAFile(t *testing.T) {
	d, _ := manifest(t)
	spec := d.Spec.Template.Spec
	strata := spec.InitContainers[0]
	file := env(strata)["STRATA_UPSTREAM_API_KEY_FILE"]
	for _, m := range strata.VolumeMounts {
		i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		if i >= 0 && spec.Volumes[i].Secret != nil && m.ReadOnly && strings.HasPrefix(file, m.MountPath+"/") {
			return
		}
	}
	t.Errorf("%q is on no secret's read-only volume", file)
}

func TestLeastPrivilege(t *testing.T) {
	d, _ := manifest(t)
	spec := d.Spec.Template.Spec
	pod := spec.SecurityContext
	if pod == nil || pod.RunAsNonRoot == nil || !*pod.RunAsNonRoot || *pod.RunAsUser != 65532 || *pod.FSGroup != 65532 ||
		pod.SeccompProfile == nil || pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("pod: %+v", pod)
	}
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		s := c.SecurityContext
		if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			s.Capabilities == nil || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
			t.Errorf("%s: %+v", c.Name, s)
		}
		if c.Resources.Requests.Memory().IsZero() || c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
			t.Errorf("%s: resources %+v", c.Name, c.Resources)
		}
	}
}

// TestGraceOutlastsTheDrain reads drain.max's default where it is set.
func TestGraceOutlastsTheDrain(t *testing.T) {
	b, err := os.ReadFile("../../cli/config.go")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(b), "c.Drain.Max = ")
	var seconds int
	if _, err := fmt.Sscanf(after, "%d * time.Second", &seconds); err != nil {
		t.Fatalf("drain.max has no default that can be read: %v", err)
	}
	d, _ := manifest(t)
	grace := d.Spec.Template.Spec.TerminationGracePeriodSeconds
	if grace == nil || time.Duration(*grace)*time.Second < time.Duration(seconds+5)*time.Second {
		t.Errorf("grace %v s, drain.max %d s", grace, seconds)
	}
}

// TestVariablesExist: each STRATA_ variable is a key of the configuration.
func TestVariablesExist(t *testing.T) {
	known := variables(t)
	d, _ := manifest(t)
	for _, c := range append(d.Spec.Template.Spec.InitContainers, d.Spec.Template.Spec.Containers...) {
		for name := range env(c) {
			if strings.HasPrefix(name, "STRATA_") && !slices.Contains(known, name) {
				t.Errorf("%s: there is no variable %s", c.Name, name)
			}
		}
	}
}

// variables reads the names from the yaml tags of the Config struct; secrets
// have a twin ending in _FILE.
func variables(t *testing.T) (out []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../cli/config.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != "Config" {
			return true
		}
		out = fields(spec.Type.(*ast.StructType), "STRATA")
		return false
	})
	if len(out) < 10 {
		t.Fatalf("only %d variables found", len(out))
	}
	return out
}

func fields(s *ast.StructType, prefix string) (out []string) {
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		raw, _ := strconv.Unquote(f.Tag.Value)
		tag := reflect.StructTag(raw)
		name := prefix + "_" + strings.ToUpper(tag.Get("yaml"))
		if inner, ok := f.Type.(*ast.StructType); ok {
			out = append(out, fields(inner, name)...)
			continue
		}
		out = append(out, name)
		if tag.Get("secret") == "true" {
			out = append(out, name+"_FILE")
		}
	}
	return out
}
