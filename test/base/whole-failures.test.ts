import type { Context } from 'koa'
import t from 'tap'
import { isMachineFault, isStorageFault, isStoragePassing } from '../../lib/base/faults.ts'
import { createLog } from '../../lib/base/log.ts'
import { noMeter } from '../../lib/base/metrics.ts'

import { tellFailure } from '../../lib/cli/output.ts'
import { refusalOf } from '../../lib/core/submission/refusal.ts'
import { answerProblems } from '../../lib/http/problems.ts'
import { refuse } from '../../lib/smtpd/refusal.ts'
import { failures } from '../support/failures.ts'
import { type Facts, sameFacts } from '../support/kept-facts.ts'

/** A log, and what stands in it: how bad it is, and what it says. */
function openLog() {
  const lines: string[] = []
  const log = createLog('debug', {
    write: line => {
      const { level, msg } = JSON.parse(line)
      lines.push(`${level}: ${msg}`)
    },
  })
  return { log, logged: lines }
}

async function overHttp(error: unknown) {
  const { log, logged } = openLog()
  const headers: Record<string, string> = {}
  const set = (name: string | object, value?: string) =>
    Object.assign(headers, typeof name === 'string' ? { [name]: value } : name)
  const context = { method: 'GET', path: '/v1/me', set }
  const answered = context as unknown as Context
  await answerProblems(log, noMeter)(answered, async () => {
    throw error
  })
  return { status: answered.status, body: String(answered.body), headers, logged }
}

function overSmtp(error: unknown) {
  const { log, logged } = openLog()
  const { responseCode, message } = refuse(error, log)
  return { reply: `${responseCode} ${message}`, logged }
}

t.test('what each failure is told as, at each door', async t => {
  const said: string[] = []
  const { write } = process.stderr
  t.teardown(() => {
    process.stderr.write = write
  })
  const byCommand = (error: unknown, isJson: boolean) => {
    process.stderr.write = line => said.push(String(line)) > 0
    try {
      const code = tellFailure(error, isJson)
      return `${code}: ${said.splice(0).join('').trimEnd()}`
    } finally {
      process.stderr.write = write
    }
  }
  const facts: Facts[] = []
  for (const [what, error] of failures)
    facts.push([
      what,
      {
        http: await overHttp(error),
        smtp: overSmtp(error),
        submission: overSmtp(refusalOf(error)).reply,
        mailboxctl: [byCommand(error, false), byCommand(error, true)],
        is: Object.entries({ isStorageFault, isStoragePassing, isMachineFault })
          .filter(([, is]) => is(error))
          .map(([name]) => name)
          .join(' '),
      },
    ])
  sameFacts(t, 'failures', facts)
})
