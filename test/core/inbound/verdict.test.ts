import t from 'tap'
import { judge, type Proof } from '../../../lib/core/inbound/verdict.ts'
import type { Authentication } from '../../../lib/model/message.ts'

const personal = {
  category: 'personal',
  autoReplyable: true,
  autoReplyReason: 'person',
  reason: 'none',
} as const
const bulk = {
  category: 'marketing',
  autoReplyable: false,
  autoReplyReason: 'bulk',
  reason: 'list-id',
} as const
const spam = (reason: string) => ({
  verdict: 'spam',
  category: 'spam',
  autoReplyable: false,
  autoReplyReason: 'spam',
  reason,
})
const proof = (authentication: Partial<Authentication>, more: Partial<Proof> = {}): Proof => ({
  authentication: { spf: 'pass', dkim: 'pass', dmarc: 'pass', ...authentication },
  policy: undefined,
  isDenied: false,
  isExcused: false,
  isAuthorSure: true,
  isAligned: false,
  requiresProof: false,
  isWhole: true,
  ...more,
})

t.test('a DMARC failure is spam where the domain asks for quarantine or reject', async t => {
  for (const policy of ['reject', 'quarantine'] as const) {
    for (const classified of [personal, bulk]) {
      t.strictSame(judge(classified, proof({ dmarc: 'fail' }, { policy }), {}, true), spam('dmarc-fail'))
    }
  }
})

t.test('a DMARC failure under p=none asks for no action: the message is clean and not answered', async t => {
  const failed = proof({ dmarc: 'fail' }, { policy: 'none', requiresProof: true })
  t.strictSame(judge(personal, failed, {}, true), {
    verdict: 'clean',
    ...personal,
    autoReplyable: false,
    autoReplyReason: 'unproven',
  })
  const bounce = { category: 'bounce', autoReplyable: false, autoReplyReason: 'bounce', reason: 'x' } as const
  t.strictSame(judge(bounce, failed, {}, true), { verdict: 'clean', ...bounce }, 'a bounce stays a bounce')
})

t.test('programs answer proven authors alone, unless authentication is off', async t => {
  const none = { spf: 'none', dkim: 'none', dmarc: 'none' } as const
  const said = (more: Partial<Proof>) => {
    const { autoReplyable, autoReplyReason } = judge(personal, proof(none, more), {}, true)
    return `${autoReplyable} ${autoReplyReason}`
  }
  t.equal(said({ requiresProof: true }), 'false unproven')
  t.equal(said({ requiresProof: true, isAligned: true }), 'true person')
  t.equal(said({ requiresProof: false }), 'true person')
})

t.test('nor is clean what the SPF of its own domain denies, where that has no policy', async t => {
  const denied = { spf: 'fail', dkim: 'none', dmarc: 'none' } as const
  t.strictSame(judge(personal, proof(denied, { isDenied: true }), {}, true), spam('spf-fail'))
  t.match(judge(personal, proof(denied, { isDenied: true, isExcused: true }), {}, true), { verdict: 'clean' })
  t.match(judge(personal, proof(denied, { isDenied: true }), {}, false), { verdict: 'clean' })
})

t.test('not where a trusted sealer excuses it, or where the operator says so', async t => {
  const failed = { dmarc: 'fail' } as const
  t.strictSame(judge(personal, proof(failed, { policy: 'reject', isExcused: true }), {}, true), {
    verdict: 'clean',
    ...personal,
  })
  t.strictSame(judge(personal, proof(failed, { policy: 'reject' }), {}, false), {
    verdict: 'clean',
    ...personal,
  })
})

t.test('what a domain wants kept away is not let in by doubt', async t => {
  const unknown = { dmarc: 'temperror' } as const
  for (const policy of ['reject', 'quarantine'] as const) {
    t.strictSame(judge(personal, proof(unknown, { policy }), {}, true), spam('dmarc-unknown'))
  }
  t.match(judge(personal, proof(unknown, { policy: 'none' }), {}, true), { verdict: 'clean' })
})

t.test('an author who is not sure is spam, whatever is known and set', async t => {
  for (const heedsDmarc of [true, false]) {
    const unsure = proof({ dmarc: 'permerror' }, { isAuthorSure: false, isExcused: true })
    t.strictSame(judge(personal, unsure, {}, heedsDmarc), spam('unproven-author'))
  }
})

t.test('all else is clean, and is what it was classified as: doubt is no proof', async t => {
  const others: Authentication[] = [
    { spf: 'pass', dkim: 'pass', dmarc: 'pass' },
    { spf: 'fail', dkim: 'fail', dmarc: 'none' },
    { spf: 'softfail', dkim: 'none', dmarc: 'none' },
    { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' },
  ]
  for (const authentication of others) {
    for (const classified of [personal, bulk]) {
      t.strictSame(judge(classified, proof(authentication), {}, true), { verdict: 'clean', ...classified })
    }
  }
})

t.test('what others say: a virus weighs most, then DMARC, then rspamd and the lists', async t => {
  const none: Authentication = { spf: 'none', dkim: 'none', dmarc: 'none' }
  const failed: Authentication = { ...none, dmarc: 'fail' }
  const all = { virus: 'V', spamAction: 'add header', dnsList: 'bl.example' }
  const { virus: _, ...others } = all
  const said = (authentication: Authentication, opinions: Parameters<typeof judge>[2]) => {
    const { verdict, category, autoReplyable, reason } = judge(
      personal,
      proof(authentication, { policy: 'reject' }),
      opinions,
      true,
    )
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

t.test(
  'what could not be read is believed of who is proven and of nobody else, and never answered',
  async t => {
    const none = { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' } as const
    const unread = { isWhole: false, isAligned: false }
    t.strictSame(judge(personal, proof(none, unread), {}, true), spam('unread'))
    t.match(judge(personal, proof({}, { isWhole: false, isAligned: true }), {}, true), {
      verdict: 'clean',
      category: 'personal',
      autoReplyable: false,
    })
    t.strictSame(
      judge(personal, proof({ dmarc: 'fail' }, { ...unread, policy: 'reject' }), {}, true),
      spam('dmarc-fail'),
    )
  },
)
