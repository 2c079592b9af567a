import { statfsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { serverFindings } from '../../lib/cli/server-findings.ts'
import { parseConfig } from '../../lib/config/load.ts'
import { writeCertificate } from '../support/certificate.ts'
import { writeExpiredCertificate } from '../support/expired-certificate.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

async function codesOf(t: Test, { top = '', more = '' }): Promise<string[]> {
  const text = `hostname = "mail.ours.example"
account_domain = "ours.example"
data_dir = "${temporaryDir(t)}"
${top}
${more}`
  const found = await serverFindings(parseConfig(text, 'test'))
  for (const { message } of found) t.notMatch(message, /\n/, 'one line')
  return found.map(({ level, code }) => `${level} ${code}`)
}

t.test('what of the configuration loses mail is told at the start, in a line each', async t => {
  const { cert, key } = await writeCertificate(temporaryDir(t), 'mail.ours.example')
  const other = await writeCertificate(temporaryDir(t), 'somebody-else.example')
  const withTls = (files: typeof other) =>
    `[[tls.certificate]]\ncertificate = "${files.cert}"\nkey = "${files.key}"\n`
  const sound = { top: 'min_free = 0\nbase_url = "https://mail.ours.example"', more: withTls({ cert, key }) }
  t.strictSame(await codesOf(t, sound), [])
  t.strictSame(await codesOf(t, { ...sound, more: '' }), ['warning certificate_self_signed'])
  t.strictSame(await codesOf(t, { ...sound, top: 'min_free = 0' }), ['warning base_url_missing'])
  t.strictSame(
    await codesOf(t, { top: 'min_free = 0', more: '[delivery]\nmode = "capture"' }),
    [],
    'a laboratory',
  )
  const { bavail, bsize } = statfsSync(temporaryDir(t))
  for (const [most, told] of [
    [2 ** 40, 'error disk_full'],
    [Math.floor(bavail * bsize * 0.7), 'warning disk_nearly_full'],
  ] as const) {
    const top = sound.top.replace('min_free = 0', `min_free = ${most}`)
    t.strictSame(await codesOf(t, { ...sound, top }), [told])
  }
  t.strictSame(await codesOf(t, { ...sound, more: withTls(other) }), ['warning certificate'])
  const expired = await writeExpiredCertificate(temporaryDir(t), 'mail.ours.example')
  t.strictSame(await codesOf(t, { ...sound, more: withTls(expired) }), ['error certificate'])
  t.strictSame(
    await codesOf(t, {
      top: 'min_free = 0\nbase_url = "http://mail.ours.example"',
      more: `[http]\nlisten = ["0.0.0.0:8025"]\n${withTls({ cert, key })}`,
    }),
    ['warning api_without_tls'],
  )
})
