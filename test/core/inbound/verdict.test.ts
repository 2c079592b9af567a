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

t.test('what others say: a virus weighs most, then DMARC, then rspamd and the lists', async t => {
  const none: Authentication = { spf: 'none', dkim: 'none', dmarc: 'none' }
  const failed: Authentication = { ...none, dmarc: 'fail' }
  const all = { virus: 'V', spamAction: 'add header', dnsList: 'bl.example' }
  const { virus: _, ...others } = all
  const said = (authentication: Authentication, opinions: Parameters<typeof judge>[3]) => {
    const { verdict, category, autoReplyable, reason } = judge(personal, authentication, sure, opinions)
    t.equal(category, verdict === 'clean' ? 'personal' : verdict)
    t.equal(autoReplyable, verdict === 'clean')
    return `${verdict} ${reason}`
  }
  t.equal(said(failed, all), 'malicious virus')
  t.equal(said(failed, others), 'spam dmarc-fail')
  t.equal(said(none, others), 'spam rspamd-add-header')
  t.equal(said(none, { spamAction: 'reject' }), 'spam rspamd-reject')
  t.equal(said(none, { dnsList: 'bl.example' }), 'spam dns-list')
  t.equal(said(none, {}), 'clean none')
})
