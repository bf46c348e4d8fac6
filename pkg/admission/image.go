package admission

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"

	"github.com/akraino-icn/bpa/pkg/apis/bpa/v1alpha1"
)

var (
	imageFormats = []string{"raw", "qcow2", "vdi", "vmdk", "live-iso"}
	imageSchemes = []string{"http", "https", "oci"}
	sumSchemes   = []string{"http", "https"}
	// digestLengths are the lengths of digests, in hexadecimal digits, by checksum type.
	digestLengths = map[string]int{"md5": 32, "sha256": 64, "sha512": 128}
	hexPattern    = regexp.MustCompile(`^[0-9A-Fa-f]+$`)
	// placeholders replaces the placeholders in the name of a Secret by valid example values.
	placeholders = strings.NewReplacer("$(host)", "host", "$(node)", "node")
)

func validateImage(o *v1alpha1.OSImageSpec) *apis.FieldError {
	if o == nil {
		return nil
	}
	errs := validateImageSource(o)
	if o.Format != "" && !slices.Contains(imageFormats, o.Format) {
		errs = errs.Also(problem("format", "use one of "+strings.Join(imageFormats, ", ")+", or leave it out", "%q is not an image format", o.Format))
	}
	return errs.Also(
		validateSecretTemplate("userData", o.UserData),
		validateSecretTemplate("networkData", o.NetworkData),
		validateSecretTemplate("metaData", o.MetaData),
	)
}

// uploadPattern matches OWNER/CLUSTER/NAME with the characters that the depot accepts. Each of the
// three parts begins with a letter or digit and contains no slash, so that no part can be "." or
// "..".
var uploadPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~@:=,-]*(/[A-Za-z0-9][A-Za-z0-9._+~@:=,-]*){2}$`)

func validateImageSource(o *v1alpha1.OSImageSpec) *apis.FieldError {
	switch {
	case o.Upload == "":
		return validateImageURL("url", o.URL, imageSchemes).Also(validateImageChecksum(o))
	case o.URL != "" || o.Checksum != "" || o.ChecksumType != "":
		return problem("upload", "leave url, checksum and checksumType out: the depot provides them", "the image has two sources")
	case !uploadPattern.MatchString(o.Upload) || len(o.Upload) > 3*128+2:
		return problem("upload", "write OWNER/CLUSTER/NAME, as it was uploaded to /v1/baremetalcluster/OWNER/CLUSTER/os_images/NAME", "%q does not name an upload", o.Upload)
	}
	return nil
}

// validateImageURL requires a network address from which Ironic can download. A file: URL would
// refer to files of Ironic's own machine, which the author of a Provisioning may not be allowed to
// read.
func validateImageURL(field, text string, schemes []string) *apis.FieldError {
	const advice = "write the address at which Ironic reaches the file, such as http://10.60.0.1:5000/files/debian-13.qcow2"
	if strings.ContainsFunc(text, func(c rune) bool { return c > unicode.MaxASCII || !unicode.IsPrint(c) || c == ' ' }) {
		return problem(field, advice, "%q contains a character that is not allowed in a URL", text)
	}
	u, err := url.Parse(text)
	switch {
	case text == "":
		return problem(field, advice, "the URL is missing")
	case err != nil || u.Scheme == "":
		return problem(field, advice, "%q is not a complete URL", text)
	case !slices.Contains(schemes, u.Scheme):
		return problem(field, "use one of "+strings.Join(schemes, ", "), "the URL's scheme is %s", u.Scheme)
	case u.User != nil:
		return problem(field, "remove user and password: every user who can read the object can read them", "the URL contains credentials")
	case u.Hostname() == "":
		return problem(field, advice, "%q does not name a server", text)
	case strings.Trim(u.Path, "/") == "":
		return problem(field, advice, "%q does not name a file", text)
	}
	return nil
}

func validateImageChecksum(o *v1alpha1.OSImageSpec) *apis.FieldError {
	const advice = "write the digest in hexadecimal digits (md5 has 32, sha256 64, sha512 128), or the URL of a file with the digest"
	length, known := digestLengths[o.ChecksumType]
	switch {
	case !known && o.ChecksumType != "" && o.ChecksumType != "auto":
		return problem("checksumType", "use one of md5, sha256, sha512, auto, or leave it out", "%q is not a checksum type", o.ChecksumType)
	case o.Checksum == "":
		if o.Format == "live-iso" || strings.HasPrefix(strings.ToLower(o.URL), "oci://") {
			return nil
		}
		return problem("checksum", advice, "the image has no checksum")
	case strings.Contains(o.Checksum, "://"):
		return validateImageURL("checksum", o.Checksum, sumSchemes)
	case !hexPattern.MatchString(o.Checksum):
		return problem("checksum", advice, "%q is not a checksum", o.Checksum)
	case known && len(o.Checksum) != length:
		return problem("checksum", advice, "the checksum has %d digits, but %s has %d", len(o.Checksum), o.ChecksumType, length)
	case !known && !slices.Contains([]int{32, 64, 128}, len(o.Checksum)):
		return problem("checksum", advice, "no supported checksum type has %d digits", len(o.Checksum))
	}
	return nil
}

// validateSecretTemplate requires that text is a valid name of a Secret once the placeholders are
// replaced.
func validateSecretTemplate(field, text string) *apis.FieldError {
	if text == "" {
		return nil
	}
	const advice = "write the name of a Secret in the same namespace, with $(host) for the BareMetalHost's name and $(node) for the node's name"
	name := placeholders.Replace(text)
	if strings.Contains(name, "$") {
		return problem(field, advice, "%q contains an unknown placeholder", text)
	}
	if why := validation.IsDNS1123Subdomain(name); len(why) > 0 {
		return problem(field, advice, "%q is not a valid Secret name", text)
	}
	return nil
}
