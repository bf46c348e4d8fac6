package v1alpha1

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
	"knative.dev/pkg/apis"
)

var (
	imageFormats = []string{"raw", "qcow2", "vdi", "vmdk", "live-iso"}
	imageSchemes = []string{"http", "https", "oci"}
	sumSchemes   = []string{"http", "https"}
	// digestLengths are in hexadecimal digits.
	digestLengths = map[string]int{"md5": 32, "sha256": 64, "sha512": 128}
	hexPattern    = regexp.MustCompile(`^[0-9A-Fa-f]+$`)
	// placeholders are what the name of a Secret may hold, with a text that is as good as any that can take its place.
	placeholders = strings.NewReplacer("$(host)", "host", "$(node)", "node")
)

func (o *OSImageSpec) validate() *apis.FieldError {
	if o == nil {
		return nil
	}
	errs := o.validateSource()
	if o.Format != "" && !slices.Contains(imageFormats, o.Format) {
		errs = errs.Also(problem("format", "use one of "+strings.Join(imageFormats, ", ")+", or leave it out", "%q is no format of an image", o.Format))
	}
	return errs.Also(
		validateSecretTemplate("userData", o.UserData),
		validateSecretTemplate("networkData", o.NetworkData),
		validateSecretTemplate("metaData", o.MetaData),
	)
}

// uploadPattern is owner, cluster and name as the depot takes them; none of them is a path.
var uploadPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+~@:=,-]*(/[A-Za-z0-9][A-Za-z0-9._+~@:=,-]*){2}$`)

func (o *OSImageSpec) validateSource() *apis.FieldError {
	switch {
	case o.Upload == "":
		return validateImageURL("url", o.URL, imageSchemes).Also(o.validateChecksum())
	case o.URL != "" || o.Checksum != "" || o.ChecksumType != "":
		return problem("upload", "leave url, checksum and checksumType out: they are the depot's", "there are two sources of one image")
	case !uploadPattern.MatchString(o.Upload) || len(o.Upload) > 3*128+2:
		return problem("upload", "write OWNER/CLUSTER/NAME, as it was uploaded to /v1/baremetalcluster/OWNER/CLUSTER/os_images/NAME", "%q names no upload", o.Upload)
	}
	return nil
}

// validateImageURL wants an address that Ironic can read by itself, on the network: file: would be files of Ironic's own machine, which the author of a
// Provisioning need not have a right to.
func validateImageURL(field, text string, schemes []string) *apis.FieldError {
	const advice = "write the address as Ironic reaches it, such as http://10.60.0.1:5000/files/debian-13.qcow2"
	if strings.ContainsFunc(text, func(c rune) bool { return c > unicode.MaxASCII || !unicode.IsPrint(c) || c == ' ' }) {
		return problem(field, advice, "%q holds a character that no URL has", text)
	}
	u, err := url.Parse(text)
	switch {
	case text == "":
		return problem(field, advice, "there is no URL")
	case err != nil || u.Scheme == "":
		return problem(field, advice, "%q is no whole URL", text)
	case !slices.Contains(schemes, u.Scheme):
		return problem(field, "use one of "+strings.Join(schemes, ", "), "the URL's scheme is %s", u.Scheme)
	case u.User != nil:
		return problem(field, "take user and password out: everybody who may read the object sees them", "the URL holds credentials")
	case u.Hostname() == "":
		return problem(field, advice, "%q names no server", text)
	case strings.Trim(u.Path, "/") == "":
		return problem(field, advice, "%q names no file", text)
	}
	return nil
}

func (o *OSImageSpec) validateChecksum() *apis.FieldError {
	const advice = "write the digest in hexadecimal digits (32 of md5, 64 of sha256, 128 of sha512), or the URL of a file with it"
	length, known := digestLengths[o.ChecksumType]
	switch {
	case !known && o.ChecksumType != "" && o.ChecksumType != "auto":
		return problem("checksumType", "use one of md5, sha256, sha512, auto, or leave it out", "%q is no type of a checksum", o.ChecksumType)
	case o.Checksum == "":
		if o.Format == "live-iso" || strings.HasPrefix(strings.ToLower(o.URL), "oci://") {
			return nil
		}
		return problem("checksum", advice, "the image has no checksum")
	case strings.Contains(o.Checksum, "://"):
		return validateImageURL("checksum", o.Checksum, sumSchemes)
	case !hexPattern.MatchString(o.Checksum):
		return problem("checksum", advice, "%q is no checksum", o.Checksum)
	case known && len(o.Checksum) != length:
		return problem("checksum", advice, "%d digits are no %s, which has %d", len(o.Checksum), o.ChecksumType, length)
	case !known && !slices.Contains([]int{32, 64, 128}, len(o.Checksum)):
		return problem("checksum", advice, "no checksum has %d digits", len(o.Checksum))
	}
	return nil
}

// validateSecretTemplate wants what becomes a Secret's name once the placeholders are filled in.
func validateSecretTemplate(field, text string) *apis.FieldError {
	if text == "" {
		return nil
	}
	const advice = "write the name of a Secret in the same namespace, with $(host) for the BareMetalHost's name and $(node) for the node's"
	name := placeholders.Replace(text)
	if strings.Contains(name, "$") {
		return problem(field, advice, "%q holds a placeholder that is not known", text)
	}
	if why := validation.IsDNS1123Subdomain(name); len(why) > 0 {
		return problem(field, advice, "%q is no name of a Secret", text)
	}
	return nil
}
