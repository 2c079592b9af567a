import { randomUUID } from 'node:crypto'
import t from 'tap'
import { callCtl } from '../support/called-ctl.ts'
import { ctlIn, makeLocalInstallation } from '../support/local-daemon.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test(
  'before harm is done, it is asked with what it is about, and nothing is done without an answer',
  async t => {
    const dir = temporaryDir(t)
    await makeLocalInstallation(t, dir)
    const ctl = ctlIn(dir)
    await ctl('pod create', '--client-id', 'first')
    const [inbox, key] = await Promise.all([
      ctl('inbox create', '--mailbox-name', 'ann', '--pod', 'first'),
      ctl('key create', '--name', 'a key', '--pod', 'first'),
    ])
    t.match(await ctl('suppression add', 'gone@example.org', '--evidence', '550 gone'), {
      recipient: 'gone@example.org',
    })
    await ctl('member add', 'boss@example.org')
    await ctl('inbox update', inbox.id, '--forward-to', 'boss@example.org', '--forward-when', 'always')
    const rule = await ctl('policy add', 'block', 'example.net', '--direction', 'inbound')
    const rules =
      '{"mode":"none","rules":[{"type":"allow","value":"a.example"},{"type":"allow","value":"b.example"}]}'

    const asked: readonly [command: readonly string[], told: RegExp][] = [
      [
        ['suppression', 'remove', 'gone@example.org'],
        /^gone@example\.org is suppressed for all since .*: manual, 550 gone\.\n/,
      ],
      [['member', 'remove', 'Boss@example.org'], /^1 inbox forwards to it\. .*already goes on/],
      [['policy', 'replace', '--inbound', rules], /^inbound: 1 rule here, 2 given\. /],
      [['policy', 'remove', rule.id], /^It is block example\.net, inbound\. The rule holds no more/],
      [
        ['inbox', 'delete', 'ann@mailboxd.localhost'],
        /^ann@mailboxd\.localhost has 0 messages in 0 threads\. .*burnt/,
      ],
      [['pod', 'delete', 'first'], /^It has 1 inbox\. /],
      [
        ['key', 'revoke', key.id],
        /^It is "a key" \(….{4}, pod \S+\); it was never used\. .*never given back/,
      ],
      [['secrets', 'rotate'], /keep the old one/],
    ]
    for (const [command, told] of asked) {
      const { code, stderr, stdout } = await callCtl(dir, ...command)
      t.strictSame([code, stdout], [1, ''], command.join(' '))
      t.match(stderr, told)
      t.match(stderr, /say --yes/)
    }
    const nobody = await callCtl(dir, '--json', 'key', 'revoke', key.id)
    t.equal(nobody.code, 1)
    t.match(JSON.parse(nobody.stderr), { error: 'refused', message: /say --yes/ })
    const none = randomUUID()
    const gone: readonly (readonly string[])[] = [
      ['suppression', 'remove', 'nobody@example.org'],
      ['member', 'remove', 'nobody@example.org'],
      ['key', 'revoke', 'nokey'],
      ['key', 'revoke', none],
      ...['pod', 'inbox', 'message', 'thread', 'draft', 'domain'].map(noun => [noun, 'delete', none]),
      ['policy', 'remove', none],
      ['webhook', 'delete'],
      ['webhook', 'delete', '--inbox', none],
      ['webhook', 'rotate-secret'],
    ]
    for (const command of gone) {
      const { code, stderr } = await callCtl(dir, ...command)
      t.equal(code, 1, command.join(' '))
      t.match(stderr, /\((not_found|no_webhook_url)\)\n$/, 'nobody is asked about what is not there')
    }
    t.match(await ctl('suppression list'), { total: 1 }, 'nothing was done')
    t.match(await ctl('policy get'), { inbound: { rules: [{ value: 'example.net' }] } })

    await ctl('suppression remove', 'gone@example.org', '--yes')
    t.match(await ctl('suppression list'), { total: 0 })
    t.match(await ctl('policy replace', '--inbound', rules, '--yes'), { inbound: { rules: { length: 2 } } })
    await ctl('member remove', 'boss@example.org', '--yes')
    t.match(await ctl('member list'), { data: [] })
    t.type(await ctl('secrets rotate', '--yes'), Object)
    t.match(await ctl('message purge', '--older-than', '1h'), { matched: 0, deleted: null })
    const spam = ['--inbox', inbox.id, '--pod', inbox.podId, '--category', 'spam']
    t.match(await ctl('message purge', '--older-than', '30d', ...spam, '--yes'), { deleted: 0 })
    t.match(await ctl('pod update', 'first', '--name', 'Changed'), { name: 'Changed', clientId: 'first' })
    t.match(await ctl('inbox suspend', 'ann@mailboxd.localhost', '--reason', 'complaints'), {
      id: inbox.id,
      suspendedAt: String,
      suspendedReason: 'complaints',
    })
    t.match(await ctl('inbox resume', inbox.id), { address: inbox.address, suspendedAt: null })
    t.match(await ctl('inbox delete', 'ann@mailboxd.localhost', '--yes'), {
      deleted: 'ann@mailboxd.localhost',
    })
    t.match(await ctl('key revoke', key.id, '--yes'), { revoked: key.id })
    t.match(await ctl('pod delete', 'first', '--yes'), { deleted: 'first' })
    const refused = await callCtl(dir, '--json', 'pod', 'get', 'first')
    t.equal(refused.code, 1)
    t.match(JSON.parse(refused.stderr), { error: 'not_found', message: String })
    t.equal(refused.stdout, '')
  },
)
