import { existsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { committed, type Judged, judgeBounces, shared } from './bounce-corpus.ts'

const skip = existsSync(shared) ? false : 'the corpora are not here'

/** Read otherwise than by the other reader, and why; docs/standards.md tells of each. */
const otherwise: Record<string, string> = {
  'lhost-bigfoot-02': 'it says 5.7.1, a policy, beside "invalid recipient"',
  'lhost-dragonfly-22': '501 5.1.3: it does not read the address, which says nothing of who has it',
  'lhost-exim-31':
    'one sentence for an account, a domain, a list and DNS: nothing that speaks of the recipient alone',
  'lhost-exim-37': 'a bare "<domain> does not exist" may be ours',
  'lhost-fml-02': 'a list that answers those who are no members, by mail like any other',
  'lhost-gsuite-03': 'the domain takes no mail, whatever 4.0.0 beside it says',
  'lhost-gsuite-05': 'the domain does not exist, whatever 4.0.0 beside it says',
  'lhost-gsuite-15': 'the domain does not exist, whatever 4.0.0 beside it says',
  'lhost-interscanmss-03': 'it says that nothing could be delivered, and not why',
  'lhost-messagelabs-03': '"Rejected" alone says nothing of the recipient',
  'lhost-office365-02': 'it names an address to which the mail was passed on',
  'rfc3464-01': 'a mailbox of another name in it was full; that of the recipient is unknown',
  'rfc3464-35': '"is not a registered user"',
  'rhost-nttdocomo-02': '"Unknown user"',
}

function share(t: Test, name: string, judged: readonly Judged[]) {
  const failed = judged.filter(({ got, wanted }) => (got === 'none') === (wanted === 'none'))
  const right = failed.filter(({ got, wanted }) => wanted === undefined || got === wanted)
  const percent = (some: readonly unknown[]) => (100 * some.length) / Math.max(1, judged.length)
  t.comment(
    `${name}: ${judged.length} deliveries, failed or not ${percent(failed).toFixed(1)} %, and for how long suppressed ${percent(right).toFixed(1)} %`,
  )
  return { wrong: judged.filter(one => !right.includes(one)), failed: percent(failed), right: percent(right) }
}

t.test('the bounces that come with the checkout', async t => {
  const judged = judgeBounces(committed)
  t.ok(judged.length >= 75, `${judged.length} deliveries`)
  const { wrong, failed, right } = share(t, 'committed', judged)
  for (const { name, recipient, wanted, got, label } of wrong) {
    t.ok(otherwise[name], `${name} ${recipient}: want ${wanted}, got ${got} (${label})`)
  }
  t.ok(failed >= 97, 'failed or not')
  t.ok(right >= 93, 'suppressed or not')
})

t.test('all that others have labelled, end to end', { skip }, async t => {
  const judged = judgeBounces(shared)
  for (const [family, some] of Map.groupBy(judged, one => one.family)) {
    const { wrong } = share(t, family, some)
    for (const { name, recipient, wanted, got, label } of wrong) {
      const why = otherwise[name]
      t.ok(why, `${name} ${recipient}: want ${wanted}, got ${got} (${label}); ${why}`)
    }
  }
  share(
    t,
    'by which the rules were written',
    judged.filter(one => !one.isHeldBack),
  )
  share(
    t,
    'held back',
    judged.filter(one => one.isHeldBack),
  )
  const { failed, right } = share(t, 'all', judged)
  t.ok(failed >= 99, `${failed} % are known to have failed or not`)
  t.ok(right >= 95, `${right} % end to end`)
})
