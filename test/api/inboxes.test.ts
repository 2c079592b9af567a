import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ensureDomain } from '../../lib/core/domains/domains.ts'
import { resolveRecipient } from '../../lib/core/inbound/recipient.ts'
import { startApi } from '../support/api-app.ts'
import { insertMessageRow, insertThreadRow } from '../support/rows.ts'
import { addVerifiedDomain } from '../support/verified-domain.ts'

const root = join(import.meta.dirname, '..', '..')

t.test('inboxes', async t => {
  const server = await startApi(t)
  const { api, app } = server
  const create = (body: object) => api.post('/v1/inboxes', body)

  await t.test('mailbox names', async t => {
    for (const [given, name] of [
      ['abc', 'abc'],
      ['a.b', 'a.b'],
      ['0-9', '0-9'],
      ['a_b', 'a_b'],
      ['a--b', 'a--b'],
      ['a._-b', 'a._-b'],
      ['MiXed.Case', 'mixed.case'],
      ['x'.repeat(30), 'x'.repeat(30)],
    ] as const) {
      const { status, body } = await create({ mailboxName: given })
      t.strictSame([status, body.address], [201, `${name}@ours.example`], given)
    }
    for (const given of [
      '',
      'ab',
      'x'.repeat(31),
      'x'.repeat(1000),
      '.abc',
      'abc.',
      '-abc',
      'abc-',
      '_abc',
      'abc_',
      'a..b',
      'a b',
      'a+b',
      'a@b',
      'abc\n',
      'ab\r\nc',
      'äbc',
      'abс', // the last one is Cyrillic
      '"abc"',
      'a/b',
    ]) {
      const { status, body } = await create({ mailboxName: given })
      t.strictSame([status, body.error], [400, 'invalid_mailbox_name'], JSON.stringify(given))
    }
  })

  await t.test('names that are reserved', async t => {
    const names = readFileSync(join(root, 'config/reserved-names.txt'), 'utf8')
      .split('\n')
      .map(line => line.replace(/#.*/, '').trim())
      .filter(name => name.length >= 3 && name.length <= 30)
    for (const name of ['postmaster', 'abuse', 'hostmaster', 'webmaster', 'admin', 'root', 'mailer-daemon']) {
      t.ok(names.includes(name), name)
    }
    for (const name of ['noreply', 'no-reply', 'bounces', 'dmarc-reports', 'tls-reports', 'security']) {
      t.ok(names.includes(name), name)
    }
    const answers = await Promise.all(names.map(name => create({ mailboxName: name.toUpperCase() })))
    const given = answers.filter(({ status, body }) => status !== 409 || body.error !== 'address_taken')
    t.strictSame(
      given.map(answer => answer.body),
      [],
    )
  })

  await t.test('random names, and none twice', async t => {
    const made = await Promise.all(Array.from({ length: 20 }, () => create({})))
    const addresses = made.map(answer => answer.body.address)
    for (const address of addresses) t.match(address, /^[a-z0-9]{8}@ours\.example$/)
    t.equal(new Set(addresses).size, 20)
  })

  await t.test('an address is given out once', async t => {
    const race = await Promise.all(Array.from({ length: 10 }, () => create({ mailboxName: 'once' })))
    t.strictSame(race.map(answer => answer.status).sort(), [201, ...Array(9).fill(409)])
    const { id } = race.find(answer => answer.status === 201)!.body
    t.equal((await create({ mailboxName: 'ONCE' })).body.error, 'address_taken')
    t.equal((await api.delete(`/v1/inboxes/${id}`)).status, 204)
    t.equal((await api.get(`/v1/inboxes/${id}`)).status, 404)
    t.equal((await api.delete(`/v1/inboxes/${id}`)).status, 404)
    t.equal((await api.patch(`/v1/inboxes/${id}`, { displayName: 'x' })).status, 404)
    t.equal((await create({ mailboxName: 'once' })).body.error, 'address_taken', 'and never again')
    const { id: pod } = (await api.post('/v1/pods', {})).body
    t.equal((await create({ mailboxName: 'once', podId: pod })).body.error, 'address_taken')
    await t.rejects(resolveRecipient(app, 'once@ours.example'), { code: 550 })
  })

  await t.test('domains and pods', async t => {
    await ensureDomain(app, 'second.example')
    t.match((await create({ domain: 'second.example' })).body, { error: 'invalid_domain' }, 'not verified')
    await addVerifiedDomain(app, 'second.example')
    t.match((await create({ domain: 'Second.Example' })).body.address, /@second\.example$/)
    t.equal((await create({ domain: 'second.example', mailboxName: 'abc' })).status, 201, 'abc is free there')
    for (const domain of [
      'elsewhere.example',
      '',
      'ours.example.',
      '@ours.example',
      'a b',
      'ours.example\n',
    ]) {
      const { status, body } = await create({ domain })
      t.strictSame([status, body.error], [400, 'invalid_domain'], JSON.stringify(domain))
    }
    for (const podId of ['nobodys', '', '01890000-0000-7000-8000-000000000000']) {
      const { status, body } = await create({ podId })
      t.strictSame([status, body.error], [400, 'invalid_pod'], JSON.stringify(podId))
    }
  })

  await t.test('display names', async t => {
    const { id, displayName } = (await create({ displayName: 'Ann 🙂' })).body
    t.equal(displayName, 'Ann 🙂')
    const change = async (body: object) => (await api.patch(`/v1/inboxes/${id}`, body)).body.displayName
    t.equal(await change({}), 'Ann 🙂')
    t.equal(await change({ displayName: 'é'.repeat(200) }), 'é'.repeat(200))
    t.equal((await api.patch(`/v1/inboxes/${id}`, { displayName: 'x'.repeat(201) })).status, 400)
    t.equal(await change({ displayName: null }), null)
    t.equal((await api.get(`/v1/inboxes/${id}`)).body.displayName, null)
    t.equal((await create({ displayName: null })).body.displayName, null)
    t.equal(await change({ displayName: 'Ann\r\nBcc: eve@example.net' }), 'Ann Bcc: eve@example.net')
  })

  await t.test('the inbox of postmaster stays', async t => {
    const { inboxId, address } = await resolveRecipient(app, 'Postmaster')
    t.equal(address, 'postmaster@ours.example')
    const { status, body } = await api.delete(`/v1/inboxes/${inboxId}`)
    t.strictSame([status, body.error], [403, 'forbidden'])
    t.equal((await resolveRecipient(app, 'abuse@ours.example')).inboxId, inboxId)
  })
  t.strictSame(server.faults, [])
})

t.test('lists', async t => {
  const server = await startApi(t)
  const { api, app } = server
  const { id: pod } = (await api.post('/v1/pods', {})).body
  const ids: string[] = []
  for (let i = 0; i < 5; i++) ids.push((await api.post('/v1/inboxes', { podId: pod })).body.id)
  const inbox = ids[0]!
  const authentication = JSON.stringify({ spf: 'none', dkim: 'none', dmarc: 'none' })
  await app.store.write(async db => {
    for (let i = 0; i < 120; i++) {
      const thread = await insertThreadRow(db, inbox, { isRead: i < 110 ? 1 : 0 })
      await insertMessageRow(db, thread, { direction: i < 115 ? 'inbound' : 'outbound', authentication })
    }
  })
  const lists = [
    '/v1/pods',
    '/v1/inboxes',
    `/v1/inboxes?podId=${pod}`,
    `/v1/inboxes/${inbox}/messages`,
    `/v1/inboxes/${inbox}/threads`,
  ]
  const with_ = (list: string, more: string) => `${list}${list.includes('?') ? '&' : '?'}${more}`

  for (const list of lists) {
    await t.test(list.replace(/[0-9a-f]{8}-[0-9a-f-]+/, '…'), async t => {
      const all = (await api.get(with_(list, 'limit=100'))).body
      t.equal(all.data.length, Math.min(100, all.total))
      t.equal((await api.get(list)).body.data.length, Math.min(50, all.total), '50 unless asked')
      for (const large of ['101', '500', '999999999999999', '99999999999999999999999']) {
        t.strictSame((await api.get(with_(list, `limit=${large}`))).body, all, `limit=${large}`)
      }
      for (const none of [
        'limit=0',
        'limit=-0',
        'offset=1000000',
        'offset=999999999999999',
        `offset=${'9'.repeat(30)}`,
      ]) {
        const { status, body } = await api.get(with_(list, none))
        t.strictSame([status, body], [200, { data: [], total: all.total }], none)
      }
      t.strictSame((await api.get(with_(list, 'limit=1&offset=0'))).body.data, all.data.slice(0, 1))
      for (const wrong of ['-1', '1.5', 'abc', '', '1e1', '0x5', '%20', '5%00', '٣', 'NaN', 'null', '%ff']) {
        for (const name of ['limit', 'offset']) {
          const { status, body } = await api.get(with_(list, `${name}=${wrong}`))
          t.strictSame([status, body.error], [400, 'invalid_request'], `${name}=${wrong}`)
          t.equal(body.details[0].path, `/${name}`)
          t.match(body.message, name)
        }
      }
      t.equal((await api.get(with_(list, 'limit=1&limit=2'))).status, 400, 'twice')
      t.equal((await api.get(with_(list, 'offset=1&offset=1'))).status, 400, 'twice')
      const other = await api.get(with_(list, 'unknown=1&__proto__=x'))
      t.match(other, { status: 400, body: { message: /query\/unknown is not .*query\/__proto__ is not / } })
    })
  }

  await t.test('pages meet without a gap', async t => {
    for (const list of lists.slice(3)) {
      const seen: string[] = []
      for (let offset = 0; offset < 120; offset += 50) {
        const { data } = (await api.get(with_(list, `offset=${offset}`))).body
        seen.push(...data.map((one: { id: string }) => one.id))
      }
      t.equal(new Set(seen).size, 120)
    }
    const { data, total } = (await api.get(`/v1/inboxes?podId=${pod}&limit=2&offset=1`)).body
    t.strictSame([data.map((one: { id: string }) => one.id), total], [[ids[3], ids[2]], 5], 'newest first')
  })

  await t.test('filters and their totals', async t => {
    const threads = async (filter: string) => {
      const { data, total } = (await api.get(`/v1/inboxes/${inbox}/threads?limit=100&${filter}`)).body
      const reads = new Set(data.map((one: { isRead: boolean }) => one.isRead))
      return [data.length, total, ...reads]
    }
    t.strictSame(await threads('is_read=false'), [10, 10, false])
    t.strictSame(await threads('isRead=false'), [10, 10, false])
    t.strictSame(await threads('is_read=true'), [100, 110, true])
    t.strictSame(await threads('isRead=true'), [100, 110, true])
    for (const wrong of ['1', 'True', '', 'null']) {
      t.equal((await api.get(`/v1/inboxes/${inbox}/threads?is_read=${wrong}`)).status, 400, wrong)
      t.equal((await api.get(`/v1/inboxes/${inbox}/threads?isRead=${wrong}`)).status, 400, wrong)
    }
    const messages = async (direction: string) =>
      (await api.get(`/v1/inboxes/${inbox}/messages?direction=${direction}`)).body.total
    t.strictSame([await messages('inbound'), await messages('outbound')], [115, 5])
    t.equal((await api.get(`/v1/inboxes/${inbox}/messages?direction=sideways`)).status, 400)
    for (const podId of ['nobodys', '', '%25', '01890000-0000-7000-8000-000000000000']) {
      const { status, body } = await api.get(`/v1/inboxes?podId=${podId}`)
      t.strictSame([status, body], [200, { data: [], total: 0 }], podId)
    }
  })

  await t.test('a thread is marked read and unread, in either spelling', async t => {
    const { data } = (await api.get(`/v1/inboxes/${inbox}/threads?is_read=false&limit=1`)).body
    const path = `/v1/threads/${data[0].id}`
    const unread = async () => (await api.get(`/v1/inboxes/${inbox}/threads?is_read=false`)).body.total
    t.strictSame((await api.patch(path, { is_read: true })).body, { ok: true })
    t.equal((await api.get(path)).body.isRead, true)
    t.equal((await api.patch(path, { isRead: true })).status, 200)
    t.equal(await unread(), 9, 'counted once')
    t.equal((await api.patch(path, { isRead: false })).status, 200)
    t.equal((await api.get(`${path}/messages`)).body.isRead, false)
    t.equal(await unread(), 10)
    t.equal((await api.patch(path, {})).status, 400)
    t.equal((await api.patch(path, { is_read: 'true' })).status, 400)
  })
  t.strictSame(server.faults, [])
})
