package imaging

import "strings"

// advice is what to do next about an error of Ironic that has its cause in the image and not in the host; empty: Ironic's words are all there is.
// It is said first: Ironic's words may be long, and what is too long is cut. Those looked for are those of Ironic's conductor and of its agent (39.0.0 and 13.0.0).
func advice(message string) string {
	for _, a := range []struct{ said, do string }{
		{"CERTIFICATE_VERIFY_FAILED", "Ironic does not know who signs that server's certificate: give it the authority, or name the depot's HTTP door in spec.depot.imageURL"},
		{"Got HTTP code 404", "the image is not there: upload it, or correct spec.osImage"},
		{"failed to verify against checksum", "the image and its checksum do not belong together: correct spec.osImage, or upload the image again"},
		{"Checksum file does not contain name", "Ironic does not find names with a + in checksum files: upload the image by another name, or give its digest in spec.osImage.checksum"},
	} {
		if strings.Contains(message, a.said) {
			return a.do + ": "
		}
	}
	return ""
}
