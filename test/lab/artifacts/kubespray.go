package artifacts

import "context"

// kubesprayFiles are the further downloads that the real kubespray makes.
func (s *Site) kubesprayFiles(context.Context) ([]file, error) {
	if s.Kubespray == "" {
		return nil, nil
	}
	return nil, nil
}
