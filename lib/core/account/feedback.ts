import {
  type FoundFault,
  faultsOf,
  faultsOfText,
  type Given,
  invalidRequest,
  Problem,
} from '../../base/problem.ts'

import { type Feedback, type FeedbackCreation, feedbackLength } from '../../model/feedback.ts'
import type { Listed, Page } from '../../model/page.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import * as feedback from '../../store/feedback.ts'
import type { FeedbackRow } from '../../store/tables.ts'
import { addUsage } from '../../store/usage.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { nextDay, secondsUntil, utcDay } from '../quota/period.ts'

/** Notes for the operator: a day by one key, a day by a pod, kept in all. */
export const feedbackPerKey = 20
export const feedbackPerPod = 200
export const feedbackKept = 10_000

/**
 * Keeps a note for the operator; the newest feedbackKept are kept.
 * @throws Problem `rate_limit_exceeded` when the key, or all keys of its pod, gave as much today as they may;
 * `invalid_request` for a message that nobody can see and a context that is too long
 */
export async function giveFeedback(app: App, caller: Caller, given: FeedbackCreation): Promise<Feedback> {
  const context = given.context === undefined ? null : requireContext(given.context)
  const message = requireMessage(given.message)
  const row: FeedbackRow = {
    id: app.ids.next(),
    type: given.type,
    message,
    context,
    podId: caller.podId,
    inboxId: caller.inboxId,
    keyId: caller.keyId,
    createdAt: app.clock.now().toISOString(),
  }
  await app.store.write(async db => {
    await takeNote(app, db, caller.keyId, feedbackPerKey)
    await takeNote(app, db, caller.podId, feedbackPerPod)
    await feedback.insertFeedback(db, row)
    await feedback.deleteOldFeedback(db, feedbackKept)
  })
  return present(row)
}

async function takeNote(app: App, db: WriteDb, subject: string | null, most: number): Promise<void> {
  if (subject === null) return
  const now = app.clock.now()
  const given = await addUsage(db, { subject, kind: 'feedback', period: utcDay(now), count: 1 })
  if (given <= most) return
  const message =
    'As much feedback came by this key, or its pod, as is taken in a day (UTC). Thank you; go on tomorrow.'
  throw new Problem('rate_limit_exceeded', message, { retryAfterSeconds: secondsUntil(nextDay(now), now) })
}

/** Newest first (for the operator). */
export async function listFeedback(app: App, page: Page): Promise<Listed<Feedback>> {
  const { rows, total } = await feedback.listFeedback(app.store.read, page)
  return { rows: rows.map(present), total }
}

function present({ keyId: _keyId, context, ...row }: FeedbackRow): Feedback {
  return {
    ...row,
    type: row.type as Feedback['type'],
    context: context === null ? null : JSON.parse(context),
  }
}

/** It is read on a terminal: what moves the cursor there, or hides text, is left out. */
function printable(text: string): string {
  return text.replace(/[^\P{Cc}\n\t]|[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '').toWellFormed()
}

/** What no schema says of a note that is given. */
export function* feedbackFaults(given: Given): Generator<FoundFault> {
  yield* faultsOfText(given, 'message', requireMessage)
  const { context } = given
  if (context !== undefined && context !== null) yield* faultsOf('/context', () => requireContext(context))
}

function requireContext(context: unknown): string {
  const text = printable(JSON.stringify(context))
  if (text.length <= feedbackLength) return text
  throw invalidRequest('body/context', `must have at most ${feedbackLength} characters as JSON`)
}

function requireMessage(text: string): string {
  const message = printable(text)
  if (message.trim() === '') throw invalidRequest('body/message', 'must have a character that can be seen')
  return message
}
