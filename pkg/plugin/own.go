package plugin

import (
	"errors"
	"fmt"
	"reflect"
)

// CheckOwn returns an error if a plugin of a site, which is in a depot, has fields that BPA applies only for
// the plugins that it ships. The hosts and the inventory are chosen before a depot is read, so that these
// fields would be ignored: configure.yml would run on nodes for which it is not written.
func (p Plugin) CheckOwn() error {
	var errs []error
	if !reflect.ValueOf(p.Nodes).IsZero() {
		errs = append(errs, errors.New("nodes: a plugin of a site cannot have requirements on nodes, because its playbooks run on all nodes: remove nodes, and choose the hosts with conditions (when) in the playbooks"))
	}
	if len(p.Kubespray.Vars) > 0 {
		errs = append(errs, errors.New("kubespray.vars: a plugin of a site cannot have them: remove them, and write the variables to spec.kubespray.vars of the Provisioning"))
	}
	if len(p.Kubespray.Groups) > 0 {
		errs = append(errs, errors.New("kubespray.groups: a plugin of a site cannot have groups of the inventory: remove them"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%s: %w", DefinitionFile, err)
	}
	return nil
}
