import t from 'tap'
import { judge } from '../../../lib/core/inbound/verdict.ts'
import type { Authentication } from '../../../lib/model/message.ts'

const personal = { category: 'personal', autoReplyable: true, reason: 'none' } as const
const bulk = { category: 'marketing', autoReplyable: false, reason: 'list-id' } as const

t.test('a DMARC failure is spam and gets no automatic answer, whatever else is known', async t => {
  for (const classified of [personal, bulk]) {
    t.strictSame(judge(classified, { spf: 'pass', dkim: 'pass', dmarc: 'fail' }), {
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
      t.strictSame(judge(classified, authentication), { verdict: 'clean', ...classified })
    }
  }
})
