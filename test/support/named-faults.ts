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
const bound = (file: string, name: string, was: string, test: string): NamedFault => ({
  what: `${name} is no bound`,
  file,
  was: `const ${name} = ${was}\n`,
  is: `const ${name} = 1000 * ${was}\n`,
  tests: [`test/${test}.test.ts`],
})

/** A fault of a write on PostgreSQL. */
const ofWrite = (what: string, was: string, is: string): NamedFault => ({
  what,
  file: 'lib/store/postgres/write.ts',
  was,
  is,
  tests: ['test/store/postgres/write.test.ts'],
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
    was: 'modulusLength >= dkimKeyBitsMin && ',
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
    file: 'lib/base/concurrency.ts',
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
  bound('lib/mail/tnef/tnef.ts', 'textPartsBytes', '4 * 1024 * 1024', 'mail/message/read'),
  bound('lib/courier/smtp/courier.ts', 'mxDeferrals', '5', 'courier/smtp/deferrals'),
  bound('lib/courier/smtp/pool.ts', 'smtpIdleSessions', '100', 'courier/smtp/pool'),
  bound('lib/courier/smtp/pool.ts', 'smtpIdleSessionsPerAddress', '20', 'courier/smtp/pool'),
  bound('lib/courier/smtp/pool.ts', 'smtpPartingSessions', '100', 'courier/smtp/pool'),
  bound('lib/courier/smtp/pool.ts', 'smtpPartingSessionsPerAddress', '20', 'courier/smtp/pool'),
  bound('lib/courier/webhook/connection.ts', 'webhookIdleMs', '4_000', 'courier/webhook/idle'),
  bound('lib/courier/webhook/connection.ts', 'webhookIdleMaxMs', '30_000', 'courier/webhook/idle'),
  bound('lib/courier/webhook/connection.ts', 'webhookReadBytes', '16 * 1024', 'courier/webhook/courier'),
  ofWrite('a write that met others is not done again', 'tried === retries', 'tried === 0'),
  ofWrite(
    'what the server undid is told as done',
    "if (command !== 'COMMIT') throw",
    "if (command === '') throw",
  ),
  ofWrite('a write that its caller splits waits for a lock', ' || !isWhole', ''),
  ofWrite(
    'what a write holds is not locked',
    'const locking = lockHeld(send, held)',
    'const locking = lockHeld(send, {})',
  ),
  {
    what: 'a node that lives is taken for gone',
    file: 'lib/store/nodes.ts',
    was: 'if (!rows[0]!.isFree || ',
    is: 'if (',
    tests: ['test/core/nodes/leases.test.ts'],
  },
  {
    what: 'after an outage of all, others are taken for gone',
    file: 'lib/core/nodes/nodes.ts',
    was: 'if (isAlone || !isSteady) return',
    is: 'if (isAlone) return',
    tests: ['test/core/nodes/leases.test.ts'],
  },
]
