import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import t from 'tap'
import { zoneFile } from '../../lib/mail/domain/records.ts'
import type { Domain } from '../../lib/model/domain.ts'
import { writeCertificateFor } from '../support/certificate.ts'
import { startDaemon } from '../support/daemon.ts'
import { startKnot } from '../support/knot.ts'
import { without } from '../support/peers.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** Nobody else listens there: 25 is where mail comes, 53 where name servers are asked, 443 where the API is. */
const address = '127.53.14.1'
const silentAddress = '127.53.14.2'

interface Said {
  readonly findings: readonly { level: string; code: string; subject: string }[]
}

t.test(
  'the doctor is content with a sound server, and with nothing else',
  { skip: without('knot', 'keymgr') },
  async t => {
    const dir = temporaryDir(t)
    const { cert, key } = await writeCertificateFor(dir, ['mail.ours.example', 'mta-sts.ours.example'])
    const daemon = await startDaemon(t, {
      dns: `${address}:53`,
      smtpListen: `${address}:25`,
      mxPort: 25,
      env: { NODE_EXTRA_CA_CERTS: cert },
      toml: `base_url = "https://mail.ours.example"
[[tls.certificate]]
certificate = "${cert}"
key = "${key}"
[mta_sts]
mode = "enforce"
[dns_lists]
zones = ["list.example"]`,
    })
    const api = createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (_, response) => {
      response.setHeader('Content-Type', 'text/plain')
      response.end('version: STSv1\r\nmode: enforce\r\nmx: mail.ours.example\r\nmax_age: 604800\r\n')
    })
    api.listen(443, address)
    await once(api, 'listening')
    t.teardown(() => {
      api.closeAllConnections()
      api.close()
    })
    const { data: records } = (await daemon.ctl('domain', 'records')) as { data: Domain['records'] }
    const host = `mail A ${address}\nmail TXT "v=spf1 a -all"\nmail CAA 0 issue "letsencrypt.org"\n`
    const reports = '_smtp._tls TXT "v=TLSRPTv1; rua=mailto:postmaster@ours.example"\n'
    await startKnot(
      t,
      address,
      {
        example: '',
        'ours.example': `${host}${reports}${zoneFile(records)}_dmarc.ours.example. TXT "v=DMARC1; p=none"\n`,
        'elsewhere.example': `mx A ${address}\n`,
        'list.example': '2.0.0.127 A 127.0.0.2\n',
        '14.53.127.in-addr.arpa': '1 PTR mail.ours.example.\n',
      },
      { 'ours.example': 'joined' },
    )
    const examine = async (...args: string[]) => {
      const { code, stdout, stderr } = await daemon.ctlResult(
        'doctor',
        '--reach',
        'mx.elsewhere.example',
        ...args,
      )
      const { findings } = (stdout === '' ? { findings: [] } : JSON.parse(stdout)) as Said
      // What this machine has, and whom it can ask for the time, is not of this story.
      const told = findings.filter(
        ({ subject }) => !['memory', 'files', 'clock', daemon.dataDir].includes(subject),
      )
      return {
        code,
        told: told.map(({ level, code, subject }) => `${level} ${code} ${subject}`),
        stderr,
        findings,
      }
    }
    const sound = await examine()
    t.strictSame(sound.told, [], sound.stderr)
    const isQuiet = sound.findings.every(({ level }) => level === 'hint')
    if (isQuiet) t.equal(sound.code, 0)

    await daemon.end('SIGTERM')
    const stopped = await examine('--deep')
    t.equal(stopped.code, 2)
    t.ok(stopped.findings.some(({ code }) => code === 'not_running'))
    t.ok(stopped.told.includes(`error door_closed ${address}:25`), stopped.told.join())

    // Whoever is asked says nothing: it comes to an end all the same, and nothing is taken for well.
    const nobody = createSocket('udp4')
    nobody.bind(53, silentAddress)
    await once(nobody, 'listening')
    t.teardown(() => nobody.close())
    const silent = readFileSync(daemon.configPath, 'utf8').replace(
      `servers = ["${address}:53"]`,
      `servers = ["${silentAddress}:53"]`,
    )
    writeFileSync(daemon.configPath, silent)
    const doubtful = await examine()
    t.equal(doubtful.code, 2)
    for (const what of ['dns_unanswered ours.example', 'not_checked mail.ours.example'])
      t.ok(
        doubtful.told.some(line => line.endsWith(what)),
        `${what}: ${doubtful.told.join()}`,
      )
  },
)
