import t from 'tap'
import { callCtl } from '../support/called-ctl.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test('a suggestion means what was typed, and never the opposite', async t => {
  const dir = temporaryDir(t)
  const suggested = async (typed: string) => {
    const { code, stderr } = await callCtl(dir, ...typed.split(' '))
    t.equal(code, 2, stderr)
    return /Did you mean (.*)\?\)/.exec(stderr)?.[1]
  }
  for (const [typed, meant] of [
    ['queue delete', 'cancel'],
    ['queue relese', 'release'],
    ['key delete', 'revoke'],
    ['domain remove', 'delete'],
    ['domain get', 'show'],
    ['inbox show', 'get'],
    ['webhook add', 'set'],
    ['restart', 'systemctl restart mailboxd'],
    ['version', 'mailboxctl --version'],
    ['logs', 'journalctl -u mailboxd'],
    ['quue', 'queue'],
    ['queue xyzzy', undefined],
  ] as const) {
    t.equal(await suggested(typed), meant, typed)
  }
  const json = await callCtl(dir, '--json', 'queue', 'delete')
  t.match(JSON.parse(json.stderr), { message: /Did you mean cancel/ })
})
