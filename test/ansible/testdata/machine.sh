# Makes a lab machine one that plays Ansible's integration targets on itself, over ssh. /opt has Ansible (ansible),
# the source distribution of ansible-core, play.py, bpa_events.py, Debian packages (debs), a wheel, and the accelerations.
set -eu
mkdir -p /opt/results /opt/pristine /opt/core /usr/share/ansible/plugins/callback
mv /opt/ansible_core-*/test /opt/pristine/
mv /opt/bpa_events.py /usr/share/ansible/plugins/callback/
: >/opt/ansible.cfg
# Modules and tests use these packages of the node's Python, as ansible-test installs them there.
for package in jinja2 markupsafe yaml _yaml; do
	ln -s /opt/ansible/lib/python3*/site-packages/$package /usr/lib/python3/dist-packages/$package
done
python3 -m zipfile -e /opt/passlib-*.whl /opt/ansible/lib/python3*/site-packages
dpkg --install /opt/debs/*.deb >/opt/results/dpkg.log # programs of targets that a lab machine does not have
# Targets get their virtual environments from this script. That of ansible-test needs the package ensurepip.
cat >/opt/pristine/test/lib/ansible_test/_util/target/injector/virtualenv.sh <<'END'
rm -rf "$OUTPUT_DIR/venv"
/opt/ansible/bin/python3 -m venv --without-pip --system-site-packages "$OUTPUT_DIR/venv"
set +ux
. "$OUTPUT_DIR/venv/bin/activate"
set -ux
END
[ -e /usr/bin/python ] || ln -s python3 /usr/bin/python
ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519 </dev/null
cat /root/.ssh/id_ed25519.pub >>/root/.ssh/authorized_keys
cat >/opt/pristine/test/integration/inventory <<'END'
[testgroup]
testhost ansible_connection=ssh ansible_host=127.0.0.1 ansible_user=root ansible_pipelining=yes ansible_python_interpreter=/usr/bin/python3 ansible_ssh_extra_args="-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
END
