import type { Context, Middleware } from 'koa'
import {
  BlobsFault,
  BytesElsewhere,
  DatabaseDamaged,
  DiskFailed,
  damagedSentence,
  isDiskFull,
  StorageContended,
  StorageLocked,
  StorageUnreachable,
  tellSystemFault,
} from '../base/faults.ts'
import type { Log } from '../base/log.ts'
import type { Meter } from '../base/metrics.ts'
import { nameOf, Problem, statusOf } from '../base/problem.ts'

import { databaseOut } from '../core/app/status.ts'
import { noRoomForRequests } from '../core/app/storage.ts'
import { answerJson } from './json.ts'

/** The Retry-After during an outage of the database. */
const outageRetrySeconds = 10

/** Answers whatever is thrown further in: a Problem as it is; all else is a bug, logged here once, and a 500. */
export function answerProblems(log: Log, meter: Meter): Middleware {
  const answer = (context: Context, problem: Problem) => {
    meter.count('http_problems_total', nameOf(problem.code))
    answerProblem(context, problem)
  }
  return async (context, next) => {
    try {
      await next()
    } catch (error) {
      if (error instanceof Problem) return answer(context, error)
      const passing = passingProblem(error)
      if (passing) {
        const about = { err: error, method: context.method, path: context.path }
        if (error instanceof StorageContended || error instanceof StorageLocked)
          log.warn(about, 'request met others in the database')
        // A full disk and a damaged database are logged once, however many ask.
        else if (!isDiskFull(error) && !(error instanceof DatabaseDamaged))
          log.error(about, 'request could not be done now')
        return answer(context, passing)
      }
      const told = tellSystemFault(error)
      log.error(
        { err: error, method: context.method, path: context.path },
        `request met a fault${told === undefined ? '' : `: ${told}`}`,
      )
      answer(context, new Problem('internal_error'))
    }
  }
}

/** Of what will be well again without a restart: a full disk, a bucket or a database that is not reached, others that hold what is asked for in it. */
function passingProblem(error: unknown): Problem | undefined {
  if (isDiskFull(error)) return noRoomForRequests()
  if (error instanceof BlobsFault) {
    const message =
      error instanceof BytesElsewhere
        ? error.message
        : 'The store of large messages does not answer. Small ones can be sent and read; try again later.'
    return new Problem('unavailable', message, { retryAfterSeconds: 30 })
  }
  if (error instanceof DatabaseDamaged) return new Problem('unavailable', damagedSentence)
  if (error instanceof DiskFailed)
    return new Problem(
      'unavailable',
      'The disk failed to keep what was written, and the server ends. Try again shortly.',
    )
  if (error instanceof StorageUnreachable || error instanceof StorageContended) return databaseOut(error)
  if (!(error instanceof StorageLocked)) return undefined
  return new Problem(
    'unavailable',
    'Another program, or a slow disk, keeps the database locked. Try again shortly.',
  )
}

function answerProblem(context: Context, problem: Problem): void {
  context.set(headersOf(problem))
  context.status = statusOf(problem.code)
  answerJson(context, bodyOf(problem))
}

/** The header fields that belong to a problem. Who finds the server unavailable is always told when to ask again. */
export function headersOf({ code, more }: Problem): Record<string, string> {
  const { retryAfterSeconds = code === 'unavailable' ? outageRetrySeconds : undefined } = more
  return {
    ...(typeof retryAfterSeconds === 'number' && { 'Retry-After': String(retryAfterSeconds) }),
    // RFC 9110 §15.5.2
    ...(code === 'unauthorized' && { 'WWW-Authenticate': 'Bearer' }),
    // RFC 9110 §15.5.22, RFC 6455 §4.4
    ...(code === 'upgrade_required' && {
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Version': '13',
    }),
  }
}

/** What a client is told of a problem. */
export function bodyOf({ code, message, more }: Problem): Record<string, unknown> {
  const { retryAfterSeconds: _inHeader, ...rest } = more
  return { error: nameOf(code), message, ...rest }
}
