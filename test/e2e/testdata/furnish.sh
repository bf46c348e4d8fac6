# Gives a machine what servers of a site can have. See TestInstall.
set -eu
iptables -w -N SITE-INPUT
iptables -w -A SITE-INPUT -i lo -j ACCEPT
iptables -w -A SITE-INPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT
iptables -w -A SITE-INPUT -s 10.0.0.0/8 -m comment --comment "kubernetes of the site" -j ACCEPT
iptables -w -A INPUT -j SITE-INPUT
iptables -w -P INPUT DROP
iptables -w -t nat -N SITE-NAT
iptables -w -t nat -A PREROUTING -j SITE-NAT
iptables -w -t nat -A SITE-NAT -p tcp --dport 8081 -j REDIRECT --to-ports 80
iptables -w -t nat -A POSTROUTING -s 192.0.2.0/24 -o eth0 -j MASQUERADE
iptables -w -t mangle -A OUTPUT -d 203.0.113.0/24 -j DROP
ip6tables -w -A INPUT -i lo -j ACCEPT
ip6tables -w -A INPUT -p ipv6-icmp -j ACCEPT
ip6tables -w -P FORWARD DROP
ipset create site-admins hash:ip
ipset add site-admins 10.60.0.1
iptables -w -I SITE-INPUT -m set --match-set site-admins src -p tcp --dport 22 -j ACCEPT
ip link add br-site type bridge
ip addr add 192.0.2.1/24 dev br-site
ip link set br-site up
ip link add site0 type veth peer name site1
ip link set site0 master br-site
ip netns add site-ns
ip link set site1 netns site-ns
ip route add 198.51.100.0/24 via 192.0.2.2 dev br-site
ip rule add from 192.0.2.0/24 table 100 pref 1000
ip route add default via 192.0.2.2 table 100
echo "192.0.2.9 site.example # by the site" >>/etc/hosts
echo "net.core.somaxconn=4096" >/etc/sysctl.d/50-site.conf
echo br_netfilter >/etc/modules-load.d/site.conf
mkdir -p /usr/local/bin /opt/site
printf "#!/bin/sh\necho site\n" >/usr/local/bin/site-tool; chmod 755 /usr/local/bin/site-tool
printf "[Unit]\nDescription=site\n[Service]\nExecStart=/bin/sleep infinity\n[Install]\nWantedBy=multi-user.target\n" >/etc/systemd/system/site.service
systemctl daemon-reload; systemctl enable --now site.service
