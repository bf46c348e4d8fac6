package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/akraino-icn/bpa/pkg/artifacts"
	"github.com/akraino-icn/bpa/pkg/digest"
	"sigs.k8s.io/yaml"
)

const (
	maxName = 40 // names of namespaces and accounts are the plugin's name with a prefix
	maxText = 500
	maxNeed = 20
	maxList = 100
)

var (
	namePattern     = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	versionPattern  = regexp.MustCompile(`^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,63}$`) // a tag of an OCI registry
	variablePattern = regexp.MustCompile(`^[a-z][a-z0-9_]{0,99}$`)
	groupPattern    = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)
)

// CheckName returns an error unless name can be the name of a plugin.
func CheckName(name string) error {
	if len(name) > maxName || !namePattern.MatchString(name) {
		return fmt.Errorf("%.*q is not a name of a plugin: use at most %d lower case letters, digits and dashes, and begin with a letter", 2*maxName, name, maxName)
	}
	return nil
}

// check returns everything that is wrong with the plugin, and sets schema.
func (p *Plugin) check() error {
	errs := []error{field("name", CheckName(p.Name)), field("description", checkText(p.Description, true)),
		field("reason", checkText(p.Reason, p.Status == Retired))}
	switch p.Status {
	case "", Live:
		p.Status = Live
		errs = append(errs, p.checkLive()...)
	case Retired:
		errs = append(errs, p.checkRetired())
	default:
		errs = append(errs, fmt.Errorf("status: %q is not live or retired", p.Status))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", DefinitionFile, err)
	}
	return errors.Join(p.checkFiles()...)
}

func field(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

func checkText(text string, required bool) error {
	switch {
	case required && strings.TrimSpace(text) == "":
		return errors.New("it is empty")
	case len(text) > maxText:
		return fmt.Errorf("it has %d bytes, more than %d", len(text), maxText)
	}
	return nil
}

// checkRetired allows only the fields that explain the retirement.
func (p *Plugin) checkRetired() error {
	rest := p.Definition
	rest.Name, rest.Description, rest.Status, rest.Reason, rest.Successor, rest.Upstream, rest.License = "", "", "", "", "", "", ""
	if text, err := json.Marshal(rest); err != nil || string(text) != emptyDefinition {
		return fmt.Errorf("a retired plugin has only name, description, status, reason, successor, upstream and license")
	}
	if p.Successor == "" {
		return nil
	}
	return field("successor", CheckName(p.Successor))
}

var emptyDefinition = func() string { text, _ := json.Marshal(Definition{}); return string(text) }()

func (p *Plugin) checkLive() (errs []error) {
	if !versionPattern.MatchString(p.Version) {
		errs = append(errs, fmt.Errorf("version: %.100q is not a version: use at most 64 letters, digits, dots, dashes and underscores", p.Version))
	}
	if p.Successor != "" {
		errs = append(errs, errors.New("successor: only a retired plugin has one"))
	}
	if p.Namespace != "" && (len(p.Namespace) > 63 || !namePattern.MatchString(p.Namespace)) {
		errs = append(errs, fmt.Errorf("namespace: %.100q is not a name of a namespace", p.Namespace))
	}
	errs = append(errs, p.checkNeeds()...)
	errs = append(errs, p.checkImages()...)
	errs = append(errs, p.checkDownloads()...)
	schema, err := parseSchema(p.Parameters)
	p.schema = schema
	return append(errs, field("parameters", err), p.checkKubespray())
}

func (p *Plugin) checkNeeds() (errs []error) {
	if len(p.Needs) > maxNeed {
		return []error{fmt.Errorf("needs: it has %d names, more than %d", len(p.Needs), maxNeed)}
	}
	for i, need := range p.Needs {
		at := fmt.Sprintf("needs[%d]", i)
		switch {
		case need == p.Name:
			errs = append(errs, fmt.Errorf("%s: the plugin needs itself", at))
		case slices.Contains(p.Needs[:i], need):
			errs = append(errs, fmt.Errorf("%s: %q is listed twice", at, need))
		default:
			errs = append(errs, field(at, CheckName(need)))
		}
	}
	return errs
}

// checkImages requires complete references, because a short one has another meaning on a machine with
// other search registries.
func (p *Plugin) checkImages() (errs []error) {
	seen := map[string]bool{}
	for name, list := range map[string][]string{"images": p.Images, "indirectImages": p.IndirectImages} {
		if len(list) > maxList {
			errs = append(errs, fmt.Errorf("%s: it has %d images, more than %d", name, len(list), maxList))
			continue
		}
		for i, image := range list {
			at := fmt.Sprintf("%s[%d]", name, i)
			if seen[image] {
				errs = append(errs, fmt.Errorf("%s: %q is listed twice", at, image))
			}
			seen[image] = true
			errs = append(errs, field(at, CheckImage(image)))
		}
	}
	return errs
}

// CheckImage returns an error unless image is a complete reference: with a registry, and with a tag, a
// digest or both.
func CheckImage(image string) error {
	ref, digest, both := strings.Cut(image, "@")
	if _, tagged := tagOf(ref); !tagged && !both {
		return fmt.Errorf("image %.200q has neither a tag nor a digest", image)
	}
	registry, _, ok := strings.Cut(ref, "/")
	if !ok || !strings.ContainsAny(registry, ".:") && registry != "localhost" {
		return fmt.Errorf("image %.200q has no registry: write it as in docker.io/library/busybox:1.37", image)
	}
	_, err := ImageArtifact(image).Place()
	if err == nil && both && !strings.HasPrefix(digest, "sha256:") {
		return fmt.Errorf("image %.200q: the digest is not of the kind sha256", image)
	}
	return err
}

// ImageArtifact returns an image of a plugin as an artifact for the check against a depot. A reference
// with tag and digest is the tag with the digest as its expected content.
func ImageArtifact(image string) artifacts.Image {
	ref, digest, _ := strings.Cut(image, "@")
	if _, tagged := tagOf(ref); tagged {
		return artifacts.Image{Ref: ref, Digest: digest}
	}
	return artifacts.Image{Ref: image}
}

// tagOf returns the tag of a reference without a digest. A colon before the last slash belongs to the
// port of a registry.
func tagOf(ref string) (tag string, ok bool) {
	_, tag, ok = strings.Cut(ref[strings.LastIndex(ref, "/")+1:], ":")
	return tag, ok
}

func (p *Plugin) checkDownloads() (errs []error) {
	if len(p.Files) > maxList {
		return []error{fmt.Errorf("files: it has %d files, more than %d", len(p.Files), maxList)}
	}
	seen := map[string]bool{}
	for i, f := range p.Files {
		at := fmt.Sprintf("files[%d]", i)
		if !variablePattern.MatchString(f.Name) || seen[f.Name] {
			errs = append(errs, fmt.Errorf("%s.name: %.100q is not a name of a variable, or used twice", at, f.Name))
		}
		seen[f.Name] = true
		if !digest.IsSHA256(f.SHA256) {
			errs = append(errs, fmt.Errorf("%s.sha256: %.100q is not 64 hexadecimal digits", at, f.SHA256))
		}
		_, err := f.Artifact()
		errs = append(errs, field(at+".url", err))
		if f.Size < 0 {
			errs = append(errs, fmt.Errorf("%s.size: %d is negative", at, f.Size))
		}
	}
	return errs
}

// Artifact returns the file as an artifact for the check against a depot.
func (f File) Artifact() (artifacts.File, error) {
	u, err := url.Parse(f.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return artifacts.File{}, fmt.Errorf("%.200q is not like https://host/path", f.URL)
	}
	path := u.Host + u.Path
	return artifacts.File{Path: path, SHA256: f.SHA256, Size: f.Size}, artifacts.CheckPath(path)
}

// checkKubespray also checks that parameters that variables name exist.
func (p *Plugin) checkKubespray() error {
	var errs []error
	for name, value := range p.Kubespray.Vars {
		if !variablePattern.MatchString(name) {
			errs = append(errs, fmt.Errorf("kubespray.vars: %.100q is not a name of a variable", name))
		}
		errs = append(errs, field("kubespray.vars."+name, p.checkReferences(value)))
	}
	for name, members := range p.Kubespray.Groups {
		if !groupPattern.MatchString(name) {
			errs = append(errs, fmt.Errorf("kubespray.groups: %.100q is not a name of a group", name))
		}
		if known := []string{string(All), string(ControlPlanes), string(Workers), string(Fitting)}; !slices.Contains(known, string(members)) {
			errs = append(errs, fmt.Errorf("kubespray.groups.%s: %q is not one of %s", name, members, strings.Join(known, ", ")))
		}
	}
	return errors.Join(errs...)
}

// checkFiles checks the files that have a meaning, as far as that is possible without rendering.
func (p *Plugin) checkFiles() (errs []error) {
	if p.Status == Retired {
		if len(p.Content) > 1 {
			errs = append(errs, errors.New("a retired plugin has no file but plugin.yaml"))
		}
		return errs
	}
	if p.Has(ManifestsDir) && p.Has(ChartDir) {
		errs = append(errs, fmt.Errorf("the plugin has both %s/ and %s/: keep one of them", ManifestsDir, ChartDir))
	}
	if !p.Has(ManifestsDir) && !p.Has(ChartDir) && !p.Has(ConfigureFile) && len(p.Kubespray.Vars) == 0 {
		errs = append(errs, fmt.Errorf("the plugin does nothing: it has no %s/, no %s/, no %s and no kubespray.vars", ManifestsDir, ChartDir, ConfigureFile))
	}
	for _, name := range []string{ConfigureFile, RemoveFile} {
		if text, ok := p.Content[name]; ok {
			errs = append(errs, field(name, checkPlaybook(text)), field(name, p.checkVariables()))
		}
	}
	return errs
}

// checkPlaybook checks that a playbook is a list of plays. Ansible checks the rest when it runs.
func checkPlaybook(text []byte) error {
	if len(text) > maxDefinition {
		return fmt.Errorf("it has %d bytes, more than %d", len(text), maxDefinition)
	}
	var plays []map[string]any
	if err := yaml.Unmarshal(text, &plays); err != nil {
		return fmt.Errorf("it is not a list of plays: %w", err)
	}
	if len(plays) == 0 {
		return errors.New("it has no plays")
	}
	return nil
}

// checkVariables returns an error if a parameter cannot be a variable of a playbook.
func (p *Plugin) checkVariables() error {
	if p.schema == nil {
		return nil
	}
	for name := range p.schema.properties {
		if strings.Contains(name, "-") {
			return fmt.Errorf("the parameter %s cannot be a variable of a playbook: use an underscore", name)
		}
	}
	return nil
}
