# The rest of the Internet for a machine of booted-system.ts, in its network namespace `world`: name servers (Knot) with the root, com and net, the
# reverse zone, example.net and whatever is published; a mail server of example.net that keeps what it is given in /world/mail; and
# Let's Encrypt (Pebble behind nginx, so that its addresses are the real ones), whose root is /world/ca.pem.
# What it needs stands in /given: ca.pem, letsencrypt.pem, letsencrypt.key.
mkdir -p /world/zones /world/knot /world/mail
serial=0

# zone NAME: serves it with the lines on standard input.
zone() {
  serial=$((serial + 1))
  name=${1%.}.
  {
    echo "\$ORIGIN $name"
    echo '$TTL 60'
    echo "@ SOA ns.example.net. hostmaster.example.net. $serial 3600 600 86400 60"
    echo '@ NS ns.example.net.'
    cat
  } > "/world/zones/$1.zone"
  if [ -S /world/knot/knot.sock ]; then knotc -s /world/knot/knot.sock -b zone-reload "$name" >> /world/knot/log; fi
}

zone . <<END
com. NS ns.example.net.
net. NS ns.example.net.
ns.example.net. A 193.0.0.53
acme-v02.api.letsencrypt.org. A 193.0.0.27
END
zone com <<END
example NS ns.example.net.
gmail-smtp-in.l.google A 193.0.0.26
END
zone net <<END
example NS ns.example
ns.example A 193.0.0.53
END
zone example.net <<END
ns A 193.0.0.53
@ MX 10 mx
@ TXT "v=spf1 mx -all"
_dmarc TXT "v=DMARC1; p=reject"
mx A 193.0.0.26
END
# The server's name and its PTR are there before mailboxd, as the README asks.
echo 'mail A 193.0.0.25' | zone example.com
zone 0.0.193.in-addr.arpa <<END
25 PTR mail.example.com.
26 PTR mx.example.net.
END

cat > /world/knot/knot.conf <<END
server:
    rundir: /world/knot
    listen: 193.0.0.53@53
database:
    storage: /world/knot
log:
  - target: /world/knot/log
    any: info
template:
  - id: default
    storage: /world/zones
zone:
  - domain: .
    file: ..zone
  - domain: com
  - domain: net
  - domain: example.com
  - domain: example.net
  - domain: 0.0.193.in-addr.arpa
END

cat > /world/nginx.conf <<END
pid /world/nginx.pid;
error_log /world/nginx.log;
events {}
http {
  access_log off;
  server {
    listen 193.0.0.27:443 ssl;
    ssl_certificate /given/letsencrypt.pem;
    ssl_certificate_key /given/letsencrypt.key;
    location = /directory { proxy_pass https://127.0.0.1:14000/dir; proxy_set_header Host \$host; }
    location / { proxy_pass https://127.0.0.1:14000; proxy_set_header Host \$host; }
  }
}
END
cat > /world/pebble.json <<END
{"pebble": {"listenAddress": "127.0.0.1:14000", "managementListenAddress": "127.0.0.1:15000",
  "certificate": "/given/letsencrypt.pem", "privateKey": "/given/letsencrypt.key", "httpPort": 80, "tlsPort": 443}}
END

# in_world COMMAND…: runs it there, in the background.
in_world() { ip netns exec world "$@" & }
in_world knotd -c /world/knot/knot.conf > /world/knot/out 2>&1
in_world env PEBBLE_VA_NOSLEEP=1 pebble -config /world/pebble.json -dnsserver 193.0.0.53:53 > /world/pebble.log 2>&1
in_world nginx -c /world/nginx.conf > /world/nginx.out 2>&1
cd /world/mail && in_world smtp-sink -u root -h mx.example.net -d %M. 193.0.0.26:25 100 > /world/sink.log 2>&1 && cd /root

# until_done COMMAND…: runs it until it succeeds.
until_done() { until "$@" > /dev/null 2>&1; do sleep 0.2; done; }
until_done curl -sS --fail-with-body --cacert /given/ca.pem https://acme-v02.api.letsencrypt.org/directory
# Whoever trusts the CAs of Debian trusts these, too: that of Let's Encrypt's own door, and that of what it issues.
ip netns exec world curl -sS -k https://127.0.0.1:15000/roots/0 > /world/issuer.pem
mkdir -p /usr/local/share/ca-certificates
cp /given/ca.pem /usr/local/share/ca-certificates/door.crt
cp /world/issuer.pem /usr/local/share/ca-certificates/issuer.crt
update-ca-certificates > /dev/null 2>&1
export NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
systemctl set-environment NODE_EXTRA_CA_CERTS=$NODE_EXTRA_CA_CERTS
