import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseYaml } from '@redocly/openapi-core'
import t from 'tap'
import { createNetworkSet } from '../../lib/base/network.ts'
import { parseEndpoint } from '../../lib/config/endpoint.ts'
import { type Config, parseConfig } from '../../lib/config/load.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')

interface Service {
  readonly image?: string
  readonly build?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly command?: readonly string[]
  readonly entrypoint?: readonly string[]
  readonly secrets?: readonly string[]
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly depends_on?: readonly string[] | Readonly<Record<string, { condition: string }>>
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly networks: {
    readonly default: { readonly ipam: { readonly config: readonly { subnet: string }[] } }
  }
  readonly secrets: Readonly<Record<string, { file: string }>>
  readonly volumes: Readonly<Record<string, null>>
}

const compose = parseYaml(read('packaging/compose/nodes.yaml')) as Compose
const { services } = compose
const config: Config = parseConfig(read('packaging/compose/mailboxd.toml'), 'packaging/compose/mailboxd.toml')
const nodes = Object.entries(services).filter(([, { build, command }]) => build && !command)
const portOf = (published: string) => Number(published.split(':').at(-1))
const secretPath = (name: string) => `/run/secrets/${name}`

t.test('each path and name in the compose file of several nodes is there', async t => {
  for (const [name, { volumes = [], secrets = [], depends_on = [], image, build }] of Object.entries(
    services,
  )) {
    t.ok(image ?? build, name)
    for (const secret of secrets) t.ok(compose.secrets[secret], `${name}: ${secret}`)
    for (const mount of volumes) {
      const [from = ''] = mount.split(':')
      if (from.startsWith('./')) t.ok(read(join('packaging/compose', from)), `${name}: ${from}`)
      else t.ok(from in compose.volumes, `${name}: ${from}`)
    }
    const needed = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)
    for (const one of needed) t.ok(services[one], `${name} waits for ${one}`)
  }
})

t.test('both nodes run as the image does, with what their configuration names', async t => {
  t.strictSame(
    nodes.map(([name]) => name),
    ['node1', 'node2'],
  )
  const dockerfile = read('Dockerfile')
  const [, file] = /^CMD \["--config", "([^"]+)"\]$/m.exec(dockerfile) ?? []
  t.match(dockerfile, `VOLUME ${config.data_dir}`)
  for (const [name, { volumes, secrets, ports = [] }] of nodes) {
    t.strictSame(volumes, [`./mailboxd.toml:${file}:ro`, `${name}:${config.data_dir}`])
    const files = [config.postgres.password_file, config.s3.secret_access_key_file]
    t.strictSame(files, secrets?.map(secretPath))
    const listening = config.smtp.listen.map(address => parseEndpoint(address).port)
    for (const port of ports) t.ok(listening.includes(portOf(port)), port)
  }
  const { volumes = [], entrypoint = [] } = services['node2-keys']!
  t.strictSame(volumes, [`node1:/node1:ro`, `node2:${config.data_dir}`])
  t.strictSame(entrypoint.slice(2), ['/node1/secrets.key', '/node1/bucket.owner', `${config.data_dir}/`])
})

t.test('the server of the database and that of the bucket are those of the configuration', async t => {
  const url = new URL(config.database!)
  const { environment = {} } = services[url.hostname]!
  t.match(environment, {
    POSTGRES_USER: url.username,
    POSTGRES_DB: url.pathname.slice(1),
    POSTGRES_PASSWORD_FILE: config.postgres.password_file,
  })
  const { hostname, port } = new URL(config.s3.endpoint!)
  const [script = ''] = services[hostname]?.command ?? []
  t.match(script, `-s3.port=${port}`)
  t.match(script, `"accessKey":"${config.s3.access_key_id}"`)
  t.match(script, `"$$(cat ${config.s3.secret_access_key_file})"`)
  t.match(services['bucket-made']?.command?.[0], `s3.bucket.create -name ${new URL(config.blobs!).hostname}`)
  t.equal(services['bucket-made']?.image, services[hostname]?.image)
})

t.test('the balancer asks both nodes, and is believed by them', async t => {
  const proxy = read('packaging/compose/haproxy.cfg')
  const asked = [...proxy.matchAll(/^ {2}server (\S+) (\S+):(\d+)$/gm)].map(([, , host, port]) => [
    host,
    Number(port),
  ])
  const [api] = config.http.listen.map(parseEndpoint)
  t.strictSame(
    asked,
    nodes.map(([name]) => [name, api?.port]),
  )
  t.equal(api?.host, '0.0.0.0')
  t.match(proxy, /option httpchk GET \/health\n/)
  const [, bound] = /^ {2}bind :(\d+)$/m.exec(proxy) ?? []
  t.strictSame(services.balancer?.ports?.map(portOf), [Number(bound)])
  const subnet = compose.networks.default.ipam.config[0]!.subnet
  t.strictSame(config.http.trusted_proxies, [subnet])
  t.ok(createNetworkSet([subnet])('172.31.25.7'))
})
