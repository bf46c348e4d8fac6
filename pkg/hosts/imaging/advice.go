package imaging

import "strings"

// advice returns the next step for the user, if the error of Ironic is caused by the image and not
// by the host. It is empty for other errors. The advice is placed before the message of Ironic,
// because a long message is cut at its end. The patterns match messages of Ironic's conductor
// 39.0.0 and its agent 13.0.0.
func advice(message string) string {
	for _, a := range []struct{ text, advice string }{
		{"CERTIFICATE_VERIFY_FAILED", "Ironic does not trust the certificate of the image server: add the certificate authority to Ironic, or set spec.depot.imageURL to the depot's HTTP endpoint"},
		{"Got HTTP code 404", "the image does not exist: upload it, or correct spec.osImage"},
		{"failed to verify against checksum", "the image does not match its checksum: correct spec.osImage, or upload the image again"},
		{"Checksum file does not contain name", "Ironic does not find names with a + in checksum files: upload the image under another name, or set spec.osImage.checksum to its digest"},
	} {
		if strings.Contains(message, a.text) {
			return a.advice + ": "
		}
	}
	return ""
}
