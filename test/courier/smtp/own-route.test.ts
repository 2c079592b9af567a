import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { hasRoute } from '../../../lib/courier/smtp/own-route.ts'
import { without } from '../../support/peers.ts'

t.test('by what this machine knows', async t => {
  t.equal(await hasRoute('127.0.0.1', undefined), true)
  t.equal(await hasRoute('127.0.0.1', '127.0.0.9'), true)
  t.equal(await hasRoute('127.0.0.1', '192.0.2.9'), false, 'no address of this machine')
  t.equal(await hasRoute('2001:db8::2', '2001:db8::1'), false)
})

/** A network of its own: a way out for both families, to a router that has none for what is asked below. */
const network = `set -e
ip link set lo up
unshare -n sleep 60 & router=$!
trap 'kill $router' EXIT
until [ "$(readlink /proc/$router/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
ip link add v0 type veth peer name v1
ip link set v1 netns $router
ip addr add fd00:3::1/64 dev v0 nodad; ip addr add 10.77.0.1/24 dev v0; ip link set v0 up
at="nsenter -t $router -n"
$at ip link set lo up
$at ip addr add fd00:3::2/64 dev v1 nodad; $at ip addr add 10.77.0.2/24 dev v1; $at ip link set v1 up
$at sh -c 'echo 1 > /proc/sys/net/ipv6/conf/all/forwarding; echo 1 > /proc/sys/net/ipv4/ip_forward'
ip -6 route add default via fd00:3::2; ip route add default via 10.77.0.2
"$@"`

t.test('a router of somebody else that has no way is not us', { skip: without('unshare', 'ip') }, async t => {
  const module = join(import.meta.dirname, '../../../lib/courier/smtp/own-route.ts')
  const script = `
      import { connect } from 'node:net'
      import { hasRoute } from ${JSON.stringify(module)}
      const asked = []
      for (const host of ['fd00:dead::1', '10.99.0.1']) {
        const error = await new Promise(resolve => connect({ host, port: 25 }).on('error', resolve))
        asked.push([error.code, await hasRoute(host, undefined)])
      }
      console.log(JSON.stringify(asked))`
  const node = [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    '--input-type=module',
    '-e',
    script,
  ]
  const args = ['--net', 'sh', '-c', network, 'sh', ...node]
  const { stdout } = await promisify(execFile)('unshare', args)
  const [six, four] = JSON.parse(stdout)
  t.strictSame(six, ['ENETUNREACH', true], 'the same error as without any route')
  t.strictSame(four[1], true)
})
