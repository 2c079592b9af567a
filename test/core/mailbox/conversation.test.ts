import t from 'tap'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

const index = (replies: number, id = 'aa') =>
  Buffer.concat([Buffer.from(`01d8c0ffee00${id.repeat(16)}`, 'hex'), Buffer.alloc(5 * replies, 1)]).toString(
    'base64',
  )

t.test(
  'a reply of Exchange that names no id comes to the thread of its conversation, and only there',
  async t => {
    const { port, inbox, messages } = await openDoor(t)
    await inbox('ann')
    await inbox('bob')
    const dialog = await greetedDialog(port)
    /** Gives the thread that a message comes to. */
    const threadOf = async (fields: Record<string, string>, to = 'ann') => {
      const all = { From: 'Eve <eve@x.example>', To: `${to}@ours.example`, Cc: 'zoe@x.example', ...fields }
      await dialog.envelope('eve@x.example', `${to}@ours.example`)
      const text = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
      t.equal((await dialog.data(`${text.join('')}\r\nHello`)).code, 250)
      return (await messages()).at(-1)!.threadId
    }
    const first = await threadOf({
      Subject: 'Plans',
      'Message-ID': '<1@x.example>',
      'Thread-Index': index(0),
    })
    for (const [what, fields] of Object.entries({
      'its author': { Subject: 'RE: Plans' },
      'in German, twice': { Subject: 'AW: Re: plans' },
      'who had a copy': { Subject: 'Re: Plans', From: 'zoe@x.example' },
      'in another case': { Subject: 'Re: Plans', From: 'ZOE@X.example' },
    })) {
      t.equal(await threadOf({ 'Thread-Index': index(1), ...fields }), first, what)
    }
    const others = {
      'another subject': { Subject: 'Re: Other plans', 'Thread-Index': index(1) },
      'somebody else': { Subject: 'Re: Plans', From: 'mallory@y.example', Cc: '', 'Thread-Index': index(1) },
      'another conversation': { Subject: 'Re: Plans', 'Thread-Index': index(1, 'bb') },
      'no reply': { Subject: 'Re: Plans', 'Thread-Index': index(0) },
      'ids that name another': {
        Subject: 'Re: Plans',
        'In-Reply-To': '<unknown@x.example>',
        'Thread-Index': index(1),
      },
      'none at all': { Subject: 'Re: Plans' },
      'no such thing': { Subject: 'Re: Plans', 'Thread-Index': 'Ad==' },
    }
    const seen = new Set([first])
    for (const [what, fields] of Object.entries(others)) {
      const thread = await threadOf(fields)
      t.notOk(seen.has(thread), what)
      seen.add(thread)
    }
    t.notOk(
      seen.has(await threadOf({ Subject: 'Re: Plans', 'Thread-Index': index(1) }, 'bob')),
      'another inbox',
    )
  },
)

t.test(
  'a conversation that Exchange begins when it answers is remembered, also by encoded References',
  async t => {
    const { port, inbox, messages } = await openDoor(t)
    await inbox('ann')
    const dialog = await greetedDialog(port)
    const threadOf = async (fields: Record<string, string>) => {
      await dialog.envelope('eve@x.example', 'ann@ours.example')
      const all = { From: 'Eve <eve@x.example>', To: 'ann@ours.example', ...fields }
      const text = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
      t.equal((await dialog.data(`${text.join('')}\r\nHello`)).code, 250)
      return (await messages()).at(-1)!.threadId
    }
    const first = await threadOf({ Subject: 'Offer', 'Message-ID': '<abc=def@x.example>' })
    const answered = {
      Subject: 'Re: Offer',
      References: '=?us-ascii?Q?<a@x>=0D=0A_<abc=3Ddef@x.example>?=',
      'Thread-Index': index(1),
    }
    const stranger = { ...answered, From: 'mallory@y.example', 'Thread-Index': index(1, 'cc') }
    t.equal(await threadOf(stranger), first, 'a stranger gives it no conversation')
    t.equal(await threadOf(answered), first)
    t.equal(
      await threadOf({ Subject: 'Re: Offer', 'Thread-Index': index(2) }),
      first,
      'from a phone, without ids',
    )
    t.not(await threadOf({ Subject: 'Re: Offer', 'Thread-Index': index(2, 'cc') }), first)
  },
)
