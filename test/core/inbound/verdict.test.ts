import t from 'tap'
import { judge } from '../../../lib/core/inbound/verdict.ts'
import type { Authentication } from '../../../lib/model/message.ts'

const sure = { mailbox: { address: 'a@b.example', name: '' } }
const personal = { category: 'personal', autoReplyable: true, reason: 'none' } as const
const bulk = { category: 'marketing', autoReplyable: false, reason: 'list-id' } as const

t.test('a DMARC failure is spam and gets no automatic answer, whatever else is known', async t => {
  for (const classified of [personal, bulk]) {
    t.strictSame(judge(classified, { spf: 'pass', dkim: 'pass', dmarc: 'fail' }, sure), {
      verdict: 'spam',
      category: 'spam',
      autoReplyable: false,
      reason: 'dmarc-fail',
    })
  }
})

t.test('all else is clean, and is what it was classified as: doubt is no proof', async t => {
  const others: Authentication[] = [
    { spf: 'pass', dkim: 'pass', dmarc: 'pass' },
    { spf: 'fail', dkim: 'fail', dmarc: 'none' },
    { spf: 'softfail', dkim: 'none', dmarc: 'none' },
    { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' },
    { spf: 'permerror', dkim: 'permerror', dmarc: 'permerror' },
  ]
  for (const authentication of others) {
    for (const classified of [personal, bulk]) {
      t.strictSame(judge(classified, authentication, sure), { verdict: 'clean', ...classified })
    }
  }
})

t.test('a message of which it is not sure who wrote it is spam, whatever passes', async t => {
  const authentication: Authentication = { spf: 'pass', dkim: 'pass', dmarc: 'pass' }
  for (const classified of [personal, bulk]) {
    const judged = judge(classified, authentication, { fault: 'several From fields', shown: sure.mailbox })
    t.match(judged, { verdict: 'spam', category: 'spam', autoReplyable: false, reason: 'unproven-author' })
    t.match(judge(classified, authentication, undefined), { verdict: 'clean' }, 'known without its From')
  }
})
