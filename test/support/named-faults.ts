/** A fault that somebody made in a source once and no test noticed, and the tests that do since. */
export interface NamedFault {
  readonly what: string
  readonly file: string
  /** What stands there once, and what in its place. */
  readonly was: string
  readonly is: string
  readonly tests: readonly string[]
}

/** A bound that is a thousand times as large. */
const bound = (name: string, was: string, test: string): NamedFault => ({
  what: `${name} is no bound`,
  file: 'lib/base/limits.ts',
  was: `${name}: ${was},`,
  is: `${name}: 1000 * ${was},`,
  tests: [`test/${test}.test.ts`],
})

/** One of those who lock for writes that share a transaction of PostgreSQL. */
const ofWriters = (what: string, was: string, is: string, ...tests: string[]): NamedFault => ({
  what,
  file: 'lib/store/transactions/writers.ts',
  was,
  is,
  tests: tests.map(test => `test/store/transactions/${test}.test.ts`),
})

export const namedFaults: readonly NamedFault[] = [
  {
    what: 'rsa-sha1 is believed',
    file: 'lib/mail/signature/signature.ts',
    was: '/^(rsa|ed25519)-sha256$/i',
    is: '/^(rsa|ed25519)-sha(?:256|1)$/i',
    tests: ['test/mail/authentication/dkim.test.ts'],
  },
  {
    what: 'weak keys are believed',
    file: 'lib/mail/signature/key.ts',
    was: 'modulusLength >= limits.dkimKeyBitsMin && ',
    is: '',
    tests: ['test/mail/authentication/dkim.test.ts'],
  },
  {
    what: 'X-Forwarded-For is believed from anyone',
    file: 'lib/http/client-address.ts',
    was: 'while (isTrusted(address) && ',
    is: 'while (',
    tests: ['test/http/client-address.test.ts'],
  },
  {
    what: 'without the row of its domain a send is not refused by the gate',
    file: 'lib/core/domains/usable.ts',
    was: "  throw new Problem('unverified_domain')\n}\n\n/**\n * Whether mail that we send",
    is: '  return row!\n}\n\n/**\n * Whether mail that we send',
    tests: ['test/core/outbound/send.test.ts'],
  },
  {
    what: 'nor by who would sign it',
    file: 'lib/core/outbound/composing.ts',
    was: '  if (!domain) throw new Error(`no domain row',
    is: '  if (!domain) new Error(`no domain row',
    tests: ['test/core/outbound/send.test.ts'],
  },
  {
    what: 'mailboxctl stays root',
    file: 'lib/cli/installation.ts',
    was: '  process.setgid?.(group)\n  process.setuid?.(user)\n',
    is: '',
    tests: ['test/flow/mailboxctl-root.test.ts'],
  },
  {
    what: 'a throttle fills beyond what it holds',
    file: 'lib/base/throttle.ts',
    was: 'Math.min(most, bucket.tokens + (now - bucket.at) * perMs)',
    is: 'bucket.tokens + (now - bucket.at) * perMs',
    tests: ['test/base/throttle.test.ts'],
  },
  {
    what: 'requests are taken while it stops',
    file: 'lib/http/router.ts',
    was: "    if (parts.stopping.aborted) throw new Problem('unavailable')\n",
    is: '',
    tests: ['test/http/server.test.ts'],
  },
  {
    what: 'a problem is declared that nobody gives',
    file: 'lib/base/problem.ts',
    was: '  no_webhook_url: [',
    is: "  never_given: [400, 'Never.'],\n  no_webhook_url: [",
    tests: ['test/rules/unused.test.ts'],
  },
  bound('textPartsBytes', '4 * 1024 * 1024', 'mail/message/read'),
  bound('mxDeferrals', '5', 'courier/smtp/deferrals'),
  bound('smtpIdleSessions', '100', 'courier/smtp/pool'),
  bound('smtpIdleSessionsPerAddress', '20', 'courier/smtp/pool'),
  bound('smtpPartingSessions', '100', 'courier/smtp/pool'),
  bound('smtpPartingSessionsPerAddress', '20', 'courier/smtp/pool'),
  bound('webhookIdleMs', '4_000', 'courier/webhook/idle'),
  bound('webhookIdleMaxMs', '30_000', 'courier/webhook/idle'),
  bound('webhookReadBytes', '16 * 1024', 'courier/webhook/courier'),
  ofWriters(
    'what comes at once takes a connection for each write',
    'waiting.length === 0 || isStarting || ',
    'waiting.length === 0 || ',
    'lanes',
  ),
  ofWriters(
    'nobody starts after a connection was not to be had',
    '.finally(() => {\n      isStarting = false\n',
    '.finally(() => {\n',
    'lanes',
  ),
  ofWriters(
    'what was under way stays so',
    'for (const name of names) underWay.delete(name)',
    '',
    'lanes',
    'set-aside',
  ),
  ofWriters(
    'what is under way is begun beside it',
    'for (const name of names) underWay.add(name)',
    '',
    'lanes',
  ),
  ofWriters(
    'who waits is passed by those behind him that hold some of it',
    'for (const name of names) heldBefore.add(name)',
    '',
    'lanes',
  ),
  ofWriters(
    'what is tried alone is chosen before there is a connection for it',
    'const next = aside.next(underWay)',
    'const next = due',
    'lanes',
  ),
  ofWriters(
    'who holds what may be locked shares a transaction with others',
    'if (aside.isSuspect(names)) suspects.push(one)\n      else if',
    'if',
    'set-aside',
  ),
  ofWriters(
    'what was freed is forgotten',
    'waiting.push(...aside.free(one))',
    'aside.free(one)',
    'set-aside',
  ),
  ofWriters(
    'what can be done in parts waits for a lock',
    'if (one.held.isDivisible) one.reject(keptLocked())\n      else aside',
    'aside',
    'set-aside',
  ),
]
